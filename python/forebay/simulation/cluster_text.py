"""Run times of simulated jobs as tables, for a terminal and for pages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.markup import escape
from rich.table import Table

from forebay.notebook import Part, parts_of
from forebay.simulation.cluster_results import ClusterResult, ClusterResults
from forebay.sizes import shown_size
from forebay.text import one_line


@parts_of.register
def _of_clusters(results: ClusterResults) -> Iterator[Part]:
    """A row for each setting, and below it where the time went."""
    if not results:
        return
    yield f"[bold]{escape(one_line(results[0].trace))}[/]"
    yield from map(escape, summary_of(results))
    runs = run_times_of(results)
    table = Table(box=None, header_style="bold", pad_edge=False)
    for number, title in enumerate(runs.titles):
        if number < runs.texts:
            table.add_column(escape(title))
        else:
            table.add_column(title, justify="right", no_wrap=True)
    for row in runs.rows:
        table.add_row(*map(escape, row))
    yield table
    for one in results:
        yield f"{escape(named_of(one, results) or 'it')}: {', '.join(busy_of(one))}."


@dataclass(frozen=True)
class Cells:
    """A table: the first `texts` columns are words, the others numbers."""

    titles: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    texts: int


def _differing(results: Sequence[ClusterResult]) -> list[str]:
    """The names of the settings that are not the same in all results."""
    named = dict.fromkeys(key for one in results for key in one.settings)
    return [key for key in named if len({one.settings.get(key, "-") for one in results}) > 1]


def named_of(one: ClusterResult, results: Sequence[ClusterResult]) -> str:
    """What distinguishes a result from the others; empty: nothing."""
    return one_line(", ".join(f"{key}={one.settings.get(key, '-')}" for key in _differing(results)))


def summary_of(results: Sequence[ClusterResult]) -> list[str]:
    """What was simulated, in lines: the job and, if it is one, the machine."""
    first = results[0]
    moved = first.read_bytes + first.written_bytes
    added = first.processes - first.traced_processes
    beyond = f", {added:,} of them beyond the trace's {first.traced_processes:,}," if added else ""
    lines = [
        f"{_counted(first.processes, 'process', 'processes')}{beyond} make"
        f" {_counted(first.accesses, 'access', 'accesses')} to {shown_size(moved)}"
    ]
    said = ("machine.servers", "machine.nodes", *_differing(results))
    common = [f"{key}={value}" for key, value in first.settings.items() if key not in said]
    if len({(one.machine, one.nodes, one.servers) for one in results}) == 1:
        nodes = _counted(first.nodes, "node", "nodes")
        lines.append(
            f"on {first.machine}: {nodes}, {_counted(first.servers, 'server', 'servers')}"
            + "".join(f", {one_line(each)}" for each in common)
        )
    return lines


def run_times_of(results: Sequence[ClusterResult]) -> Cells:
    """The run times and their parts, a row for each result."""
    keys = _differing(results)
    parts = {
        "open": [one.opening_s for one in results],
        "read": [one.reading_s for one in results],
        "write": [one.writing_s for one in results],
        "close": [one.closing_s for one in results],
        "compute": [one.computing_s for one in results],
    }
    shown = {heading: times for heading, times in parts.items() if any(times)}
    in_ms = max(one.run_s for one in results) < 1
    scale = 1e3 if in_ms else 1.0
    rows = tuple(
        (
            *(one_line(one.settings.get(key, "-")) for key in keys),
            f"{scale * one.run_s:,.3f}",
            f"{results[0].run_s / one.run_s:.2f}" if one.run_s else "-",
            f"{one.bytes_per_second / 1e6:,.1f}",
            *(f"{scale * times[number]:,.3f}" for times in shown.values()),
            f"{one.requests:,}",
        )
        for number, one in enumerate(results)
    )
    titles = (*keys, "time ms" if in_ms else "time s", "speed-up", "MB/s", *shown, "requests")
    return Cells(titles, rows, len(keys))


def _counted(number: int, one: str, several: str) -> str:
    return f"{number:,} {one if number == 1 else several}"


def busy_of(one: ClusterResult) -> list[str]:
    """What was busiest, and what was lost."""
    said = [
        f"the busiest server works for {one.server_busy:.0%} of the time",
        f"the busiest disk for {one.disk_busy:.0%}",
    ]
    if one.agent_questions:
        said.append(
            f"{_counted(one.agent_questions, 'question', 'questions')} to other nodes move"
            f" {shown_size(one.agent_bytes)}"
        )
    if one.lock_requests:
        said.append(
            f"{_counted(one.lock_requests, 'lock is', 'locks are')} asked for and"
            f" {one.locks_called_back:,} called back"
        )
    if one.dropped_frames:
        said.append(
            f"the switch drops {_counted(one.dropped_frames, 'frame', 'frames')}"
            f" ({_counted(one.timeouts, 'timeout', 'timeouts')})"
        )
    if one.hits + one.misses:
        rate = one.hits / (one.hits + one.misses)
        said.append(f"{_counted(one.caches, 'cache', 'caches')} with {rate:.0%} hits")
    if one.collective_calls:
        said.append(
            f"{_counted(one.collective_calls, 'collective call', 'collective calls')} exchange"
            f" {shown_size(one.exchanged_bytes)}"
        )
    if one.incomplete_calls:
        said.append(
            f"{_counted(one.incomplete_calls, 'collective call takes', 'collective calls take')}"
            " place without all processes"
        )
    return said
