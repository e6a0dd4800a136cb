"""`forebay analyze`: what a trace tells, for a person at a terminal or as JSON."""

from __future__ import annotations

import io
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from forebay.analysis import PAGE_BYTES, Analysis, FileAnalysis, analysis_of, unknown_of
from forebay.conflicts import MOST_RUNS
from forebay.known_calls import KnownCalls
from forebay.new_file import check_output, new_file
from forebay.phases import Phase
from forebay.ranks import Ranks
from forebay.trace import Trace, TraceError, one_line, open_trace

_MOST_FINDINGS = 5
_MOST_PHASES = 8
_MOST_NAMES = 3  # of files in a phase
_NEEDS = {
    "any": "No process touches bytes that another writes: every consistency and scope is safe.",
    "mpi": "Bytes that processes share are handed over by sync or close, in an order that the"
    " program makes sure of: consistency=mpi is safe.",
    "posix": "The program orders accesses to the bytes that processes share, without a sync in"
    " between: consistency=posix is needed.",
    "unknown": "In this run processes accessed the bytes that they share one after"
    " another; nothing recorded orders them.",
    "none": "In this run processes accessed the same bytes at the same time, one of them"
    " writing; nothing recorded orders them.",
}
_NEEDS_WITHOUT_ORDER = {
    "any": _NEEDS["any"],
    "unknown": "In this run processes accessed the bytes that they share one after"
    " another; this trace does not tell whether the program makes sure of that.",
    "none": "In this run processes accessed the same bytes at the same time, one of them writing.",
}
_NEEDS_UNTRACED = "Whether processes share bytes, and which consistency they need, is unknown."
_AMONG_THOSE_LOOKED_AT = "Among the accesses that were looked at: "
ZERO = "Times are seconds after the first call's start."
_NOT_A_TERMINAL = 120  # columns

most_runs_option = click.option(
    "--most-runs",
    type=click.IntRange(1),
    default=MOST_RUNS,
    show_default=True,
    metavar="N",
    help="Runs of bytes of a file in which conflicts and shared bytes are looked for, with 100"
    " bytes of memory for each.",
)


@click.command(short_help="Say how a traced job reads and writes.")
@click.argument("trace", type=click.Path(exists=True, path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="JSON instead of tables.")
@click.option(
    "--signatures",
    type=click.IntRange(0),
    default=8,
    show_default=True,
    metavar="N",
    help="Lines of signatures a file.",
)
@click.option("--local", is_flag=True, help="The signatures of each process, too.")
@click.option(
    "--proto",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the signatures to FILE: protocol buffers, or JSON if it ends in .json.",
)
@click.option(
    "--parquet",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write what is said of each file to FILE, as a Parquet table.",
)
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
@click.option(
    "--jobs",
    type=click.IntRange(1),
    metavar="N",
    help="Threads that read.  [default: as many as there are cores to run on]",
)
@most_runs_option
@click.option(
    "--page-size",
    type=click.IntRange(1),
    default=PAGE_BYTES,
    show_default=True,
    metavar="BYTES",
    help="What request sizes are called small or large against.",
)
def analyze(
    trace: Path,
    as_json: bool,
    signatures: int,
    local: bool,
    proto: Path | None,
    parquet: Path | None,
    force: bool,
    jobs: int | None,
    most_runs: int,
    page_size: int,
) -> None:
    """Analyze TRACE: what `forebay trace` recorded, a Darshan log, or a Parquet file that `forebay
    convert` made of one.

    Prints what was read, written and waited for, the I/O signatures of each file with how much of
    it they cover, and what could be changed. docs/signatures.md explains the notation.

    `mpiexec -n N forebay analyze TRACE` shares the reading out among ranks; rank 0 prints.
    """
    outputs = [output for output in (proto, parquet) if output is not None]

    def opened() -> Trace:
        for output in outputs:
            check_output(output, trace, force)
        return open_trace(trace)

    ranks = Ranks()
    try:
        with ExitStack() as shown:
            folded = ranks.fold(
                opened,
                jobs,
                lambda trace: shown.enter_context(reading(trace, 1 / ranks.size)),
                most_runs,
            )
        if folded is None:
            return
        analysis = analysis_of(*folded, page_size)
    except TraceError as error:
        raise click.ClickException(str(error)) from error
    if proto is not None:
        _write_signatures(analysis, proto, force)
    if parquet is not None:
        _write_table(analysis, parquet, force)
    if as_json:
        json.dump(analysis.to_json(), sys.stdout, indent=1)
        click.echo()
        return
    width = None if sys.stdout.isatty() else _NOT_A_TERMINAL
    Report(Console(highlight=False, width=width), analysis).print(signatures, local)


def _write_signatures(analysis: Analysis, path: Path, force: bool) -> None:
    from forebay.signatures import write

    try:
        with new_file(path, force) as file:
            write(analysis, file, as_json=path.suffix == ".json")
    except ImportError as error:
        raise click.ClickException(f"{error.name} is missing: pip install protobuf") from error
    except OSError as error:
        raise click.ClickException(f"{one_line(str(path))}: {error.strerror}") from error


def _write_table(analysis: Analysis, path: Path, force: bool) -> None:
    try:
        from forebay.analysis_table import write
    except ImportError as error:
        message = f"--parquet needs pyarrow: pip install 'forebay[arrow]' ({error})"
        raise click.ClickException(message) from error
    try:
        with new_file(path, force) as file:
            write(analysis, file)
    except OSError as error:
        raise click.ClickException(f"{one_line(str(path))}: {error.strerror}") from error


def as_html(analysis: Analysis) -> str:
    """The report as an HTML element."""
    console = Console(record=True, file=io.StringIO(), width=_NOT_A_TERMINAL, highlight=False)
    Report(console, analysis).print(signatures=8, local=False)
    return console.export_html(inline_styles=True, code_format="<pre>{code}</pre>")


@contextmanager
def reading(trace: Trace, times: float = 1) -> Iterator[Callable[[int], None]]:
    """A progress bar for who reads the trace so many times; is told how many accesses were read."""
    columns = (TextColumn("reading"), BarColumn(), TimeRemainingColumn())
    errors = Console(stderr=True)
    with Progress(
        *columns, console=errors, transient=True, disable=not errors.is_terminal
    ) as progress:
        task = progress.add_task("", total=int(len(trace) * times) or None)
        yield lambda count: progress.advance(task, count)


def losses_of(analysis: Analysis) -> list[str]:
    """What is missing from the trace, a line each."""
    totals = analysis.totals
    counted = (
        (totals.lost, "were made and not recorded"),
        (totals.damaged, "were recorded and cannot be read"),
        (totals.folded, "have their times folded into histograms"),
        (analysis.unplaced, "have no known place in their file"),
    )
    lines = [f"{count:,} calls {what}" for count, what in counted if count]
    lines += [
        f"{one_line(file.path)}: {file.left_out:,} of {file.accesses:,} accesses were not looked at"
        " for conflicts and shared bytes (--most-runs looks at more)"
        for file in analysis.files
        if file.left_out
    ]
    return [*lines, *analysis.problems]


def counted_cells(file: FileAnalysis) -> tuple[str, ...]:
    """A row of a table of what a Darshan log counted; `?`: it does not tell."""
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
"""Of the cells of counted_cells()."""


def _percent(calls: KnownCalls) -> str:
    if not calls.calls:
        return "-"
    return "?" if calls.collective is None else _share(calls.collective, calls.calls)


def _number(count: int | None) -> str:
    return "?" if count is None else f"{count:,}"


def other_seconds(file: FileAnalysis) -> str:
    """Of opening, closing, views and syncs; of a Darshan log without syncs, whose time it counts
    as that of writes."""
    if file.metadata_seconds is None:
        return "?"
    return f"{file.metadata_seconds + (file.sync_seconds or 0):,.3f}"


def time_in_calls(analysis: Analysis) -> str:
    """Whose calls they are."""
    return "in MPI-IO" if analysis.layer == "MPI-IO" else "in POSIX calls"


def known_accesses(analysis: Analysis) -> int:
    """Those of the trace; where it has counters only, the reads and writes that they count."""
    if analysis.traced:
        return analysis.totals.accesses
    return sum(file.known_reads.calls + file.known_writes.calls for file in analysis.files)


def steps_of(analysis: Analysis) -> str:
    """A line on the steps of caches that the trace holds."""
    return f"{analysis.steps:,} steps of the cache recorded (deterministic)"


def needs_of(analysis: Analysis) -> str:
    """A line on the consistency that the job needs."""
    if not analysis.traced:
        return _NEEDS_UNTRACED
    lines = _NEEDS if analysis.tells_order else _NEEDS_WITHOUT_ORDER
    return (_AMONG_THOSE_LOOKED_AT if _in_part(analysis) else "") + lines[analysis.needs]


def is_warning(analysis: Analysis) -> bool:
    """Whether needs_of() tells of something that may be wrong, or not of all."""
    return analysis.needs in ("unknown", "none") or _in_part(analysis)


def _in_part(analysis: Analysis) -> bool:
    totals = analysis.totals
    return bool(analysis.left_out or analysis.unplaced or totals.lost or totals.damaged)


def outside_phases_of(analysis: Analysis) -> list[str]:
    """Which accesses stand in no phase, a line each kind."""
    counted = (
        (analysis.outside_phases.empty, "moved no bytes"),
        (analysis.outside_phases.untimed, "have no time of their own"),
    )
    return [f"{count:,} accesses {what}, and stand in no phase" for count, what in counted if count]


def phase_cells(number: int, phase: Phase) -> tuple[str, ...]:
    """A row of a table of phases."""
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


class Report:
    """The analysis as text."""

    def __init__(self, console: Console, analysis: Analysis):
        self._console = console
        self._analysis = analysis

    def print(self, signatures: int, local: bool) -> None:
        """`signatures`: the most lines a file; `local`: those of each process, too."""
        self._print_losses()
        one = self._analysis
        cut = one.traced and (one.totals.lost or one.totals.damaged)
        calls = "recorded calls" if cut and one.counters is not None else "calls"
        self._line(
            f"[bold]{escape(one.path)}[/]: {one.processes:,} processes,"
            f" {known_accesses(one):,} {calls} in {one.seconds:.3f} s;"
            f" {time_in_calls(one)} {one.io_seconds:.3f} s a process"
            f" ({_share(one.io_seconds, one.seconds)})"
        )
        self._line(ZERO)
        if one.steps:
            self._line(steps_of(one))
        self._console.print(self._table())
        self._print_counted()
        self._line(f"[yellow]{needs_of(one)}[/]" if is_warning(one) else needs_of(one))
        self._print_phases()
        for file in one.files:
            self._print_signatures(file, signatures, local)
        self._print_findings()

    def _line(self, text: str) -> None:
        self._console.print(text, soft_wrap=True)

    def _print_losses(self) -> None:
        for line in losses_of(self._analysis):
            self._line(f"[yellow]{escape(line)}[/]")

    def _table(self) -> Table:
        table = Table(box=None, header_style="bold", pad_edge=False)
        for name in ("writes", "MiB", "s", "reads", "MiB", "s", "other s"):
            table.add_column(name, justify="right", no_wrap=True)
        table.add_column("file", no_wrap=True)
        for file in self._analysis.files:
            table.add_row(
                *_cells(file.known_writes),
                *_cells(file.known_reads),
                other_seconds(file),
                escape(Path(file.path).name),
            )
        return table

    def _print_counted(self) -> None:
        """What a Darshan log's counters tell, and what it does not."""
        one = self._analysis
        if one.counters is None:
            return
        table = Table(box=None, header_style="bold", pad_edge=False)
        for name in COUNTED_TITLES:
            table.add_column(name.replace(" ", "\n"), justify="right", no_wrap=True)
        table.add_column("file", no_wrap=True)
        for file in one.files:
            table.add_row(*counted_cells(file), escape(Path(file.path).name))
        self._console.print(table)
        for line in unknown_of(one.counters):
            self._line(f"Not known: {escape(line)}")

    def _print_phases(self) -> None:
        """Where there are several."""
        phases = self._analysis.phases
        if len(phases) < 2:
            return
        table = Table(box=None, header_style="bold", pad_edge=False)
        for name in ("phase", "from s", "to s", "accesses", "MiB"):
            table.add_column(name, justify="right", no_wrap=True)
        table.add_column("", no_wrap=True)
        table.add_column("files", no_wrap=True)
        for number, phase in enumerate(phases[:_MOST_PHASES], 1):
            table.add_row(*(escape(cell) for cell in phase_cells(number, phase)))
        self._console.print(table)
        if len(phases) > _MOST_PHASES:
            self._line(f"... and {len(phases) - _MOST_PHASES:,} more phases (--json has all)")
        for line in outside_phases_of(self._analysis):
            self._line(line)

    def _print_signatures(self, file: FileAnalysis, most: int, local: bool) -> None:
        if not file.locals or most == 0:
            return
        self._line(
            f"\n[bold]{escape(file.path)}[/]: {file.signature.processes:,} processes, together"
            f" {file.spatial}; patterns cover {file.coverage:.0%} of the accesses of each, and"
            f" {_share(file.signature.covered, file.signature.accesses)} of all"
        )
        self._print_some(file.signature.patterns, most)
        threads = Counter(one.rank for one in file.locals)
        for one in file.locals if local else ():
            thread = f", thread {one.thread}" if threads[one.rank] > 1 else ""
            self._line(f"  rank {one.rank}{thread}: {escape(one.pattern)}")
            self._print_some(one.trace, most)

    def _print_some(self, lines: tuple[str, ...], most: int) -> None:
        for line in lines[:most]:
            self._line(f"  {escape(line)}")
        if len(lines) > most:
            self._line(f"  ... and {len(lines) - most:,} more")

    def _print_findings(self) -> None:
        for finding in self._analysis.findings[:_MOST_FINDINGS]:
            self._line(f"\n[bold]{escape(finding.title)}[/]")
            self._line(f"  {escape(finding.evidence)}")
            self._line(f"  {escape(finding.advice)}")
        if len(self._analysis.findings) > _MOST_FINDINGS:
            more = len(self._analysis.findings) - _MOST_FINDINGS
            self._line(f"\n... and {more:,} more (--json has all)")


def _cells(calls: KnownCalls) -> tuple[str, str, str]:
    return f"{calls.calls:,}", f"{calls.bytes / 2**20:,.1f}", f"{calls.seconds:.3f}"


def _share(part: float, whole: float) -> str:
    return f"{part / whole:.0%}" if whole else "0%"
