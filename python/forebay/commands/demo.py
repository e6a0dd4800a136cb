"""`forebay demo`: the effect of Forebay on two typical outputs, in one table."""

from __future__ import annotations

import statistics
from pathlib import Path

import click
from rich import box
from rich.console import Console
from rich.table import Table

from forebay.bench.mpi import find_mpi, mpi_option
from forebay.bench.runs import SIDES, WORKLOADS, Bench, Report

# Workload, its figure, and the name shown for it.
_ROWS = (
    ("small", "write", "small records, write"),
    ("small", "read", "small records, read"),
    ("flash", "write", "FLASH checkpoint"),
)


@click.command(short_help="Compare two workloads with and without Forebay on this machine.")
@click.option(
    "--dir",
    "directory",
    type=click.Path(exists=True, file_okay=False, writable=True, path_type=Path),
    default=".",
    show_default=True,
    help="Directory of the files.",
)
@click.option("--ranks", type=click.IntRange(1), default=4, show_default=True)
@mpi_option
@click.option("--repeat", type=click.IntRange(1), default=3, show_default=True)
def demo(directory: Path, ranks: int, mpi: str | None, repeat: int) -> None:
    """Run small records and a FLASH-like checkpoint without and with Forebay.

    The files of both sides are compared byte for byte.
    """
    found = find_mpi(mpi)
    reports: dict[str, Report] = {}
    with Console(stderr=True).status("compiling") as status:
        for name in dict.fromkeys(workload for workload, _, _ in _ROWS):
            bench = Bench(WORKLOADS[name], found, directory, ranks, repeat=repeat)
            reports[name] = bench.run(status.update)
    Console().print(_table(reports, f"{ranks} ranks, {found.family} {found.version}"))
    click.echo("The files are the same, byte for byte.")


def _table(reports: dict[str, Report], title: str) -> Table:
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("")
    table.add_column("")
    for heading in ("MPI calls", "requests", "seconds", "speed-up"):
        table.add_column(heading, justify="right")
    for workload, name, label in _ROWS:
        report = reports[workload]
        figure = report.figure(name)
        seconds = {side: statistics.median(figure.of(side)) for side in SIDES}
        for side in SIDES:
            table.add_row(
                label if side == "plain" else "",
                "plain" if side == "plain" else "Forebay",
                f"{report.calls[name]:,}",
                f"{report.requests[side][name]:,}",
                f"{seconds[side]:.3f}",
                # The ratio of the seconds shown, not the median of the pairs' ratios.
                "" if side == "plain" else f"{seconds['plain'] / seconds['forebay']:.1f}x",
                end_section=side == "forebay",
            )
    return table
