"""An analysis as text: tables for a terminal, and sentences, which report pages use, too."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from rich.markup import escape
from rich.table import Table

from forebay.analysis.known_calls import KnownCalls
from forebay.analysis.phases import Phase
from forebay.analysis.result import Analysis, FileAnalysis, unknown_of
from forebay.notebook import Part, parts_of
from forebay.text import one_line

_MOST_FINDINGS = 5
_MOST_PHASES = 8
_MOST_NAMES = 3  # of files in a phase
_NEEDS = {
    "any": "No process touches bytes that another process writes: every consistency and scope is"
    " safe.",
    "mpi": "The program hands shared bytes over by sync or close, in an order that it guarantees:"
    " consistency=mpi is safe.",
    "posix": "The program orders the accesses to shared bytes, but without a sync between them:"
    " consistency=posix is needed.",
    "unknown": "In this run processes accessed shared bytes one after another; no recorded call"
    " guarantees this order.",
    "none": "In this run processes accessed the same bytes at the same time, at least one of them"
    " writing; no recorded call orders these accesses.",
}
_NEEDS_WITHOUT_ORDER = {
    "any": _NEEDS["any"],
    "unknown": "In this run processes accessed shared bytes one after another; this trace does not"
    " show whether the program guarantees this order.",
    "none": "In this run processes accessed the same bytes at the same time, at least one of them"
    " writing.",
}
_NEEDS_UNTRACED = (
    "This log does not show whether processes share bytes, or which consistency they need."
)
_AMONG_THOSE_EXAMINED = "Among the examined accesses: "
ZERO = "Times are in seconds after the start of the first call."


def losses_of(analysis: Analysis) -> list[str]:
    """What is missing from the trace, one line each."""
    totals = analysis.totals
    counted = (
        (totals.lost, "were made but not recorded"),
        (totals.damaged, "were recorded but cannot be read"),
        (totals.folded, "have no times of their own, only histograms"),
        (analysis.unplaced, "have an unknown offset in their file"),
    )
    lines = [f"{count:,} calls {what}" for count, what in counted if count]
    lines += [
        f"{one_line(file.path)}: {file.left_out:,} of {file.accesses:,} accesses were not examined"
        " for conflicts and shared bytes (--most-runs raises the limit)"
        for file in analysis.files
        if file.left_out
    ]
    return [*lines, *analysis.problems]


def counted_cells(file: FileAnalysis) -> tuple[str, ...]:
    """A table row with the counters of a Darshan log; `?`: unknown."""
    counters = file.counters
    mpiio = counters.mpiio if counters is not None else None
    posix = counters.posix if counters is not None else None
    stripes = counters.stripes if counters is not None else None
    return (
        _percent(file.known_writes),
        _percent(file.known_reads),
        "?" if mpiio is None else f"{mpiio.collective_opens + mpiio.independent_opens:,}",
        "?" if mpiio is None else f"{mpiio.views:,}",
        _number(file.syncs),
        "?" if posix is None else f"{posix.write.requests:,}",
        "?" if posix is None else f"{posix.read.requests:,}",
        "?" if posix is None else _share(posix.unaligned, posix.requests),
        "?" if stripes is None else f"{stripes.count:,}",
    )


COUNTED_TITLES = (
    *("writes collective", "reads collective", "opens", "views", "syncs"),
    *("write requests", "read requests", "requests unaligned", "stripes"),
)
"""Titles of the cells of counted_cells()."""


def _percent(calls: KnownCalls) -> str:
    if not calls.calls:
        return "-"
    return "?" if calls.collective is None else _share(calls.collective, calls.calls)


def _number(count: int | None) -> str:
    return "?" if count is None else f"{count:,}"


def other_seconds(file: FileAnalysis) -> str:
    """Seconds of opening, closing, views and syncs, as text. A Darshan log counts syncs as
    writes."""
    if file.metadata_seconds is None:
        return "?"
    return f"{file.metadata_seconds + (file.sync_seconds or 0):,.3f}"


def time_in_calls(analysis: Analysis) -> str:
    """The name of the interface whose calls took the time."""
    return "in MPI-IO" if analysis.layer == "MPI-IO" else "in POSIX calls"


def known_accesses(analysis: Analysis) -> int:
    """The accesses of the trace; if it has only counters, the reads and writes that they count."""
    if analysis.traced:
        return analysis.totals.accesses
    return sum(file.known_reads.calls + file.known_writes.calls for file in analysis.files)


def steps_of(analysis: Analysis) -> str:
    """A line on the steps of caches in the trace."""
    return f"{analysis.steps:,} steps of the cache recorded (deterministic)"


def needs_of(analysis: Analysis) -> str:
    """A line on the consistency that the job needs."""
    if not analysis.traced:
        return _NEEDS_UNTRACED
    lines = _NEEDS if analysis.tells_order else _NEEDS_WITHOUT_ORDER
    return (_AMONG_THOSE_EXAMINED if _in_part(analysis) else "") + lines[analysis.needs]


def is_warning(analysis: Analysis) -> bool:
    """Whether needs_of() tells of a possible error, or of a part of the accesses only."""
    return analysis.needs in ("unknown", "none") or _in_part(analysis)


def _in_part(analysis: Analysis) -> bool:
    totals = analysis.totals
    return bool(analysis.left_out or analysis.unplaced or totals.lost or totals.damaged)


def outside_phases_of(analysis: Analysis) -> list[str]:
    """Which accesses belong to no phase, one line per kind."""
    counted = (
        (analysis.outside_phases.empty, "moved no bytes"),
        (analysis.outside_phases.untimed, "have no time of their own"),
    )
    return [
        f"{count:,} accesses {what}, and belong to no phase" for count, what in counted if count
    ]


def phase_cells(number: int, phase: Phase) -> tuple[str, ...]:
    """A table row of one phase."""
    paths = dict.fromkeys(Path(one.path).name for one in phase.stretches)
    more = f" and {len(paths) - _MOST_NAMES:,} more" if len(paths) > _MOST_NAMES else ""
    return (
        f"{number:,}",
        f"{phase.start:.3f}",
        f"{phase.end:.3f}",
        f"{phase.accesses:,}",
        f"{phase.bytes / 2**20:,.1f}",
        phase.what,
        ", ".join(list(paths)[:_MOST_NAMES]) + more,
    )


@parts_of.register
def text_of(analysis: Analysis, signatures: int = 8, local: bool = False) -> Iterator[Part]:
    """The whole text. `signatures`: the most signature lines per file; `local`: also those of each
    process."""
    for line in losses_of(analysis):
        yield f"[yellow]{escape(line)}[/]"
    cut = analysis.traced and (analysis.totals.lost or analysis.totals.damaged)
    calls = "recorded calls" if cut and analysis.counters is not None else "calls"
    yield (
        f"[bold]{escape(analysis.path)}[/]: {analysis.processes:,} processes,"
        f" {known_accesses(analysis):,} {calls} in {analysis.seconds:.3f} s;"
        f" {time_in_calls(analysis)} {analysis.io_seconds:.3f} s a process"
        f" ({_share(analysis.io_seconds, analysis.seconds)})"
    )
    yield ZERO
    if analysis.steps:
        yield steps_of(analysis)
    yield _files(analysis)
    if analysis.counters is not None:
        yield _counted(analysis)
        for line in unknown_of(analysis.counters):
            yield f"Not known: {escape(line)}"
    needs = needs_of(analysis)
    yield f"[yellow]{needs}[/]" if is_warning(analysis) else needs
    if len(analysis.phases) > 1:
        yield from _phases(analysis)
    for file in analysis.files:
        if file.locals and signatures > 0:
            yield from _signatures(file, signatures, local)
    yield from _findings(analysis)


def _files(analysis: Analysis) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("writes", "MiB", "s", "reads", "MiB", "s", "other s"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("file", no_wrap=True)
    for file in analysis.files:
        table.add_row(
            *_cells(file.known_writes),
            *_cells(file.known_reads),
            other_seconds(file),
            escape(Path(file.path).name),
        )
    return table


def _counted(analysis: Analysis) -> Table:
    """The table of a Darshan log's counters."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in COUNTED_TITLES:
        table.add_column(name.replace(" ", "\n"), justify="right", no_wrap=True)
    table.add_column("file", no_wrap=True)
    for file in analysis.files:
        table.add_row(*counted_cells(file), escape(Path(file.path).name))
    return table


def _phases(analysis: Analysis) -> Iterator[Part]:
    phases = analysis.phases
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("phase", "from s", "to s", "accesses", "MiB"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("files", no_wrap=True)
    for number, phase in enumerate(phases[:_MOST_PHASES], 1):
        table.add_row(*(escape(cell) for cell in phase_cells(number, phase)))
    yield table
    if len(phases) > _MOST_PHASES:
        yield f"... and {len(phases) - _MOST_PHASES:,} more phases (--json has all)"
    yield from outside_phases_of(analysis)


def _signatures(file: FileAnalysis, most: int, local: bool) -> Iterator[str]:
    yield (
        f"\n[bold]{escape(file.path)}[/]: {file.signature.processes:,} processes, together"
        f" {file.spatial}; local patterns cover {file.coverage:.0%} of the accesses, global"
        f" patterns {_share(file.signature.covered, file.signature.accesses)}"
    )
    yield from _some(file.signature.patterns, most)
    threads = Counter(one.rank for one in file.locals)
    for one in file.locals if local else ():
        thread = f", thread {one.thread}" if threads[one.rank] > 1 else ""
        yield f"  rank {one.rank}{thread}: {escape(one.pattern)}"
        yield from _some(one.trace, most)


def _some(lines: tuple[str, ...], most: int) -> Iterator[str]:
    for line in lines[:most]:
        yield f"  {escape(line)}"
    if len(lines) > most:
        yield f"  ... and {len(lines) - most:,} more"


def _findings(analysis: Analysis) -> Iterator[str]:
    for finding in analysis.findings[:_MOST_FINDINGS]:
        yield f"\n[bold]{escape(finding.title)}[/]"
        yield f"  {escape(finding.evidence)}"
        yield f"  {escape(finding.advice)}"
    if len(analysis.findings) > _MOST_FINDINGS:
        more = len(analysis.findings) - _MOST_FINDINGS
        yield f"\n... and {more:,} more (--json has all)"


def _cells(calls: KnownCalls) -> tuple[str, str, str]:
    return f"{calls.calls:,}", f"{calls.bytes / 2**20:,.1f}", f"{calls.seconds:.3f}"


def _share(part: float, whole: float) -> str:
    return f"{part / whole:.0%}" if whole else "0%"
