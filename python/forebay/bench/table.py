"""The table that `forebay bench` prints."""

from __future__ import annotations

import statistics

from rich.table import Table

from forebay.bench.runs import SIDES, Figure, Report


def report_table(report: Report) -> Table:
    """One row per figure: medians of both sides, the median ratio and its 95 % interval."""
    nodes = f" on {report.nodes} nodes" if report.nodes > 1 else ""
    title = f"{report.workload} on {report.ranks} ranks{nodes}, {report.mpi} "
    title += _text(report.options)
    if report.baseline:
        title = f"{title.rstrip()}, baseline: Forebay with {_text(report.baseline)}"
    table = Table(
        title=title.rstrip(),
        caption=_caption(report),
        title_justify="left",
        caption_justify="left",
    )
    table.add_column("")
    for heading in (*report.headings, "speed-up", "95 % interval"):
        table.add_column(heading, justify="right")
    for figure in report.figures:
        low, high = figure.speed_up_interval
        table.add_row(
            f"  {figure.name}, first file" if figure.first_file else figure.name,
            format_value(figure, figure.plain),
            format_value(figure, figure.forebay),
            f"{figure.speed_up:.2f}x",
            f"{low:.2f} - {high:.2f}",
        )
    return table


def _text(options: dict[str, str]) -> str:
    return " ".join(f"{name}={value}" for name, value in options.items())


def format_value(figure: Figure, values: list[float]) -> str:
    """The median with its unit; for calls also the minimum, which noise does not affect."""
    median = statistics.median(values)
    if figure.unit == "s":
        return f"{median * 1e3:,.1f} ms"
    return f"{median:,.0f} ns (min {min(values):,.0f})"


def times_computation(report: Report, side: str) -> float | None:
    """The time of a workload that computes, as a multiple of its computation alone. None: other
    workloads."""
    if not any(figure.name == "compute" for figure in report.figures):
        return None
    read, compute = report.figure("read").of(side), report.figure("compute").of(side)
    return statistics.median(r / c for r, c in zip(read, compute, strict=True))


def _caption(report: Report) -> str:
    calls = sum(report.calls.values())
    lines = [f"{calls:,} calls, {report.bytes / 1e6:,.1f} MB; the same data on both sides"]
    plain, forebay = report.requests["plain"], report.requests["forebay"]
    first, second = report.headings
    for kind in (kind for kind in ("write", "read") if report.calls[kind]):
        lines.append(f"{kind} requests: {first} {plain[kind]:,}, {second} {forebay[kind]:,}")
    lines.append(f"system calls: {first} {plain['syscalls']:,}, {second} {forebay['syscalls']:,}")
    if report.aside_calls:
        lines.append(f"Forebay stepped aside in {report.aside_calls:,} calls")
    slowdowns = [times_computation(report, side) for side in SIDES]
    if slowdowns[0] is not None:
        lines.append(
            f"times its computation alone: {first} {slowdowns[0]:.2f}, {second} {slowdowns[1]:.2f}"
        )
    return "\n".join(lines)
