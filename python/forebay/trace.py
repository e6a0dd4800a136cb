"""Traces for analysis: who accessed which bytes of which file, when, by which routine.

    import forebay
    trace = forebay.open_trace("run.trace")       # or one file of it, a Darshan log, a Parquet file
    trace.accesses["offset"].max()                # NumPy arrays, without a copy
    trace.accesses.to_arrow()                     # pyarrow.Table
    for batch in trace.batches():                 # of a trace larger than memory

docs/tracing.md says what the columns mean.
"""

from __future__ import annotations

import enum
import html
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from forebay import _core
from forebay.counters import Counters

if TYPE_CHECKING:
    import pyarrow

__all__ = [
    "COLUMNS",
    "NO_TIME",
    "UNKNOWN",
    "Accesses",
    "Open",
    "Operation",
    "Process",
    "Routine",
    "Totals",
    "Trace",
    "TraceError",
    "View",
    "open_trace",
]

NO_TIME = _core.no_time
"""Stands in `completed_ns` where nobody saw a request complete."""

ROWS_PER_BATCH = 1 << 18

_FILES_SHOWN = 5

COLUMNS = (
    "rank",
    "process",
    "thread",
    "file",
    "open",
    "routine",
    "operation",
    "collective",
    "offset",
    "end",
    "contiguous",
    "requested",
    "transferred",
    "start_ns",
    "end_ns",
    "completed_ns",
    "folded",
    "sequence",
    "view",
    "position",
)
"""The columns of accesses, in their order; docs/tracing.md says what they mean."""

UNKNOWN = {"rank": -1, "file": -1, "open": -1, "view": -1, "offset": -1, "end": -1} | {
    "collective": -1,
    "completed_ns": NO_TIME,
}
"""What stands for an unknown value in the columns that may have one."""

Array = NDArray[Any]
Columns = Mapping[str, Array]

BOOLEANS = ("contiguous", "folded")
"""Columns of true and false. `collective` is none of them: it may be unknown."""


class TraceError(Exception):
    """Nothing can be read there; the text is one line that names the file and the reason."""


class Operation(enum.IntEnum):
    """What a routine does; the column `operation` holds these numbers."""

    OTHER = 0
    READ = 1
    WRITE = 2
    OPEN = 3
    CLOSE = 4
    SEEK = 5
    VIEW = 6
    SYNC = 7
    SIZE = 8
    STEP = 9
    """Of a cache, within the call before it; recorded with the option `deterministic`."""
    RELEASE = 10
    """Of a collective of the program that orders its ranks: others wait for this one."""
    ACQUIRE = 11
    """The same: this one waits for others."""
    EXCHANGE = 12
    """Both."""

    @property
    def is_call(self) -> bool:
        """Whether it is a call of MPI-IO."""
        return self < Operation.STEP

    @property
    def orders(self) -> bool:
        """Whether it is a collective that orders ranks."""
        return self >= Operation.RELEASE


@dataclass(frozen=True, slots=True)
class Process:
    """A process of the job. Numbers that the trace does not tell are -1."""

    source: str
    """The file that tells of it."""
    host: str
    rank: int
    ranks: int
    """How many the job had."""
    pid: int
    clock_offset_ns: int
    """From the clock of its node to that of rank 0's node."""
    zero_realtime_ns: int
    """When its time 0 was, in nanoseconds since 1970; 0: unknown."""
    accesses: int
    folded: int
    lost: int
    damaged: int
    ended: bool
    """Whether its trace has an end: it was neither killed nor still runs."""


@dataclass(frozen=True, slots=True)
class Open:
    """One open of a file by one process."""

    process: int
    """Index into `Trace.processes`."""
    file: int
    """Index into `Trace.files`."""
    number: int
    """In its process: opens count from 0."""
    ranks: int
    """How many opened it together."""
    amode: int
    """As given to MPI_File_open; its bits are those of the job's MPI library."""
    cached: bool
    """Whether accesses went through the cache."""


@dataclass(frozen=True, slots=True)
class View:
    """What part of a file a process saw: `data_bytes` of each `extent_bytes` from `origin` on."""

    process: int
    origin: int
    extent_bytes: int
    data_bytes: int
    contiguous: bool


@dataclass(frozen=True, slots=True)
class Routine:
    """An MPI-IO routine, `read` and `write` where the trace tells no more, or a step of a cache."""

    name: str
    operation: Operation
    collective: bool | None
    """None where the trace does not tell, as the next."""
    nonblocking: bool | None


@dataclass(frozen=True, slots=True)
class Totals:
    """What a trace holds, and what it does not."""

    accesses: int
    """That can be read."""
    folded: int
    """Of these, whose times were folded into histograms: they begin and end with their block."""
    lost: int
    """That were not recorded."""
    damaged: int
    """That were recorded and cannot be read, as far as their number can be known."""


class Accesses:
    """Accesses by columns: a mapping of names to NumPy arrays of one length, not to be written to.

    The accesses of a process stand together, and in them those of a thread in the order of its
    calls.
    """

    def __init__(self, columns: Columns, files: Sequence[str], routines: Sequence[Routine]):
        self._columns = {
            name: columns[name].view(np.bool_) if name in BOOLEANS else columns[name]
            for name in columns
        }
        self._files = files
        self._routines = routines

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, in their order."""
        return tuple(self._columns)

    def __len__(self) -> int:
        return len(next(iter(self._columns.values())))

    def __getitem__(self, name: str) -> Array:
        return self._columns[name]

    def as_numbers(self, names: Sequence[str]) -> list[Array]:
        """Columns as functions of forebay._core take them: true and false as 1 and 0."""
        columns = (self._columns[name] for name in names)
        return [column.view(np.uint8) if column.dtype == bool else column for column in columns]

    def __repr__(self) -> str:
        return f"<{len(self):,} accesses: {', '.join(self._columns)}>"

    def to_arrow(self) -> pyarrow.Table:
        """The same as an Arrow table; numbers are not copied.

        Names stand for the numbers of `file`, `routine` and `operation`, null for what is unknown
        (-1, NO_TIME). Raises ImportError without pyarrow.
        """
        from forebay.trace_arrow import arrow_table

        return arrow_table(self._columns, self._files, self._routines)


class Source(Protocol):
    """What a kind of trace must offer to be a Trace."""

    @property
    def kind(self) -> str: ...
    @property
    def processes(self) -> Sequence[Process]: ...
    @property
    def files(self) -> Sequence[str]: ...
    @property
    def opens(self) -> Sequence[Open]: ...
    @property
    def views(self) -> Sequence[View]: ...
    @property
    def routines(self) -> Sequence[Routine]: ...
    @property
    def counters(self) -> Counters | None: ...
    @property
    def problems(self) -> Sequence[str]: ...
    @property
    def access_count(self) -> int: ...
    @property
    def reader(self) -> _core.TraceReader | None:
        """Of trace files, where they are the source."""

    @property
    def view_layouts(self) -> _core.Views:
        """What `views` tells of, exactly."""

    def batches(
        self, rows: int, processes: range | None, columns: Sequence[str]
    ) -> Iterator[Columns]:
        """The accesses, `rows` or some more at a time; all at once for 0. Of these processes (None:
        all), and at least these columns. Any number of them may go on at the same time."""

    def bad_blocks(self) -> Mapping[tuple[int, int], tuple[int, str]]:
        """By process and number: accesses in, and what is wrong with, blocks that batches() could
        not read."""


class Trace:
    """A trace of a job's accesses to files; `open_trace` makes it.

    Opening reads everything but the accesses and takes memory in proportion to the trace; so do
    `batches`, one at a time. `accesses` are all of them in memory.
    """

    def __init__(self, path: Path, source: Source):
        self.path = path
        self._source = source
        self._met_elsewhere: dict[tuple[int, int], tuple[int, str]] = {}

    @property
    def kind(self) -> str:
        """Where it is from, before it was converted: `forebay` or `darshan`."""
        return self._source.kind

    @property
    def processes(self) -> Sequence[Process]:
        """The processes that left a trace."""
        return self._source.processes

    def rank_of(self, process: int) -> int:
        """The rank of a process, by its index; its index where that is unknown."""
        rank = self.processes[process].rank
        return rank if 0 <= rank < 1 << 31 else process

    @property
    def files(self) -> Sequence[str]:
        """Paths, as the program gave them; bytes that are no UTF-8 as backslash and number."""
        return self._source.files

    @property
    def opens(self) -> Sequence[Open]:
        """Every open of a file by a process. None in Darshan logs."""
        return self._source.opens

    @property
    def views(self) -> Sequence[View]:
        """The file views; the first is all bytes from the beginning of the file."""
        return self._source.views

    @property
    def routines(self) -> Sequence[Routine]:
        """The routines."""
        return self._source.routines

    @property
    def counters(self) -> Counters | None:
        """What was counted beside the accesses: in Darshan logs; None elsewhere."""
        return self._source.counters

    @property
    def tells_order(self) -> bool:
        """Whether collectives by which the program orders its ranks were recorded."""
        return any(routine.operation.orders for routine in self.routines)

    @property
    def problems(self) -> list[str]:
        """What is wrong with the trace or missing from it, a line each that names the file.

        Blocks are looked into when their accesses are read: the list may grow then.
        """
        found = [problem for _, (_, problem) in sorted(self.bad_blocks().items())]
        return [*self._source.problems, *found]

    @property
    def totals(self) -> Totals:
        """What can be read and what not; as `problems`, final once all accesses have been read."""
        bad = sum(count for count, _ in self.bad_blocks().values())
        processes = self.processes
        untraced = self.counters.untraced if self.counters is not None else 0
        return Totals(
            accesses=self._source.access_count - bad,
            folded=sum(process.folded for process in processes),
            lost=sum(process.lost for process in processes) + untraced,
            damaged=sum(process.damaged for process in processes) + bad,
        )

    @property
    def lost(self) -> int:
        """Accesses that were made and not recorded."""
        return self.totals.lost

    @property
    def folded(self) -> int:
        """Accesses whose times were folded into histograms."""
        return self.totals.folded

    def __len__(self) -> int:
        return self.totals.accesses

    def __repr__(self) -> str:
        totals = self.totals
        return (
            f"<{self.kind} trace {one_line(str(self.path))}: {len(self.processes):,} processes,"
            f" {len(self.files):,} files, {totals.accesses:,} accesses,"
            f" {totals.lost:,} lost, {totals.damaged:,} damaged>"
        )

    def _repr_html_(self) -> str:
        """For notebooks: what is in it, and what is not."""
        totals = self.totals
        rows = (
            ("processes", f"{len(self.processes):,}"),
            ("accesses", f"{totals.accesses:,}"),
            *(
                (name, f"{getattr(totals, name):,}")
                for name in ("folded", "lost", "damaged")
                if getattr(totals, name)
            ),
            ("files", ", ".join(self.files[:_FILES_SHOWN])),
            *(("problem", problem) for problem in self.problems[:_FILES_SHOWN]),
        )
        cells = "".join(
            f"<tr><th>{name}</th><td>{html.escape(one_line(text))}</td></tr>" for name, text in rows
        )
        title = html.escape(one_line(str(self.path)))
        return f"<table><caption>{self.kind} trace {title}</caption>{cells}</table>"

    @cached_property
    def accesses(self) -> Accesses:
        """All accesses, in memory: about 100 bytes each.

        Raises TraceError when there is not so much memory; use `batches` then.
        """
        needed = self._source.access_count * _core.table_bytes_per_access
        if needed > available_bytes():
            raise TraceError(
                f"{one_line(str(self.path))}: {self._source.access_count:,} accesses take"
                f" {needed / 1e9:,.1f} GB of memory; read them in batches"
            )
        return self._accesses(next(self._source.batches(0, None, COLUMNS)))

    def batches(
        self,
        rows: int = ROWS_PER_BATCH,
        processes: range | None = None,
        columns: Sequence[str] = COLUMNS,
    ) -> Iterator[Accesses]:
        """The accesses in the same order, about `rows` at a time (at most 65,535 more).

        `processes`: only what these did, by their index. `columns`: only these, which costs less
        where the trace is a Parquet file. Raises TraceError where it turns out to be damaged.
        """
        if rows < 1:
            raise ValueError("a batch has at least one row")
        for read in self._source.batches(rows, processes, columns):
            yield self._accesses({name: read[name] for name in columns})

    def bad_blocks(self) -> Mapping[tuple[int, int], tuple[int, str]]:
        """By process and number: accesses in, and what is wrong with, blocks that `batches` or
        `accesses` could not read."""
        return {**self._source.bad_blocks(), **self._met_elsewhere}

    def add_bad_blocks(self, blocks: Mapping[tuple[int, int], tuple[int, str]]) -> None:
        """Takes in which blocks another process could not read of the same trace."""
        self._met_elsewhere |= blocks

    def extents(self, view: int, position: int, data_bytes: int) -> Iterator[tuple[int, int]]:
        """Where an access lies: offset and length in bytes of each run, in their order.

        The arguments are its columns `view`, `position` and `requested` (or `transferred`). Raises
        ValueError when the view has no such bytes.
        """
        return self._source.view_layouts.extents(view, position, data_bytes)

    @property
    def reader(self) -> _core.TraceReader | None:
        """For functions of forebay._core that read trace files; None where the trace is no such."""
        return self._source.reader

    @property
    def view_layouts(self) -> _core.Views:
        """For functions of forebay._core that need the views."""
        return self._source.view_layouts

    def _accesses(self, columns: Columns) -> Accesses:
        return Accesses(columns, self.files, self.routines)


def open_trace(path: str | os.PathLike[str]) -> Trace:
    """Opens a folder of trace files, one file of it, a Darshan log, or what `forebay convert`
    wrote as Parquet.

    Raises TraceError where nothing can be read. What is wrong with the rest is in
    `Trace.problems`.
    """
    where = Path(path)
    if is_darshan(where):
        from forebay.darshan_log import DarshanLog

        return Trace(where, DarshanLog(where))
    if _is_parquet(where):
        try:
            from forebay.parquet_trace import ParquetTrace
        except ImportError as error:
            raise TraceError(
                f"{one_line(str(where))}: reading Parquet needs pyarrow: pip install"
                f" 'forebay[arrow]' ({error})"
            ) from error
        return Trace(where, ParquetTrace(where))
    from forebay.trace_files import TraceFiles

    return Trace(where, TraceFiles(where))


def one_line(text: str) -> str:
    """The text with what a terminal or a line would not show as itself escaped."""
    if text.isprintable():
        return text
    escaped = (c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return "".join(escaped)


def is_darshan(path: Path) -> bool:
    """By its name, or by how such logs begin: their version, eight bytes, and a magic number."""
    if not path.is_file():
        return False
    return path.suffix == ".darshan" or _beginning(path, 16)[8:] == (6567223).to_bytes(8, "little")


def _is_parquet(path: Path) -> bool:
    """By its name, or by how such files begin."""
    return path.is_file() and (path.suffix == ".parquet" or _beginning(path, 4) == b"PAR1")


def _beginning(path: Path, count: int) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(count)
    except OSError:
        return b""


def available_bytes() -> int:
    """Memory that can be taken without hurting others."""
    for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
