"""A trace: its accesses, and other facts about the job."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from forebay import _core
from forebay.kinds import check_names, check_number
from forebay.memory import available_bytes
from forebay.notebook import Shown
from forebay.text import one_line
from forebay.trace.columns import BOOLEANS, COLUMNS, Array, Columns, Routine
from forebay.trace.counters import Counters

if TYPE_CHECKING:
    import pandas
    import pyarrow

ROWS_PER_BATCH = 1 << 18


class TraceError(Exception):
    """Nothing can be read. The text is one line with the file and the reason."""


@dataclass(frozen=True, slots=True)
class Process:
    """A process of the job. Unknown numbers are -1."""

    source: str
    """The file that describes the process."""
    host: str
    rank: int
    ranks: int
    """The number of ranks of the job."""
    pid: int
    clock_offset_ns: int
    """The difference from the clock of its node to that of rank 0's node."""
    zero_realtime_ns: int
    """Its time 0 in nanoseconds since 1970; 0: unknown."""
    accesses: int
    folded: int
    lost: int
    damaged: int
    ended: bool
    """Whether its trace has an end. Otherwise the process was killed or still runs."""


@dataclass(frozen=True, slots=True)
class Open:
    """One open of a file by one process."""

    process: int
    """Index into `Trace.processes`."""
    file: int
    """Index into `Trace.files`."""
    number: int
    """The number of the open in its process, from 0."""
    ranks: int
    """The number of processes that opened the file together."""
    amode: int
    """The argument of MPI_File_open; its bits are those of the job's MPI library."""
    cached: bool
    """Whether the cache served the accesses."""


@dataclass(frozen=True, slots=True)
class View:
    """The part of a file that a process sees: `data_bytes` of every `extent_bytes` from `origin`
    on."""

    process: int
    origin: int
    extent_bytes: int
    data_bytes: int
    contiguous: bool


@dataclass(frozen=True, slots=True)
class Totals:
    """Numbers of readable and of missing accesses."""

    accesses: int
    """Accesses that can be read."""
    folded: int
    """Those whose times were folded into histograms: their times are those of their block."""
    lost: int
    """Accesses that were not recorded."""
    damaged: int
    """Accesses that were recorded but cannot be read, as far as their number is known."""


class Accesses(Shown):
    """Accesses by columns: a mapping of names to NumPy arrays of one length, which are read-only.

    The accesses of a process are contiguous, and within them those of a thread are in the order of
    its calls.
    """

    def __init__(self, columns: Columns, files: Sequence[str], routines: Sequence[Routine]):
        self._columns = {
            name: columns[name].view(np.bool_) if name in BOOLEANS else columns[name]
            for name in columns
        }
        self.files = files
        self.routines = routines

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return tuple(self._columns)

    def __len__(self) -> int:
        return len(next(iter(self._columns.values())))

    def __getitem__(self, name: str) -> Array:
        if name not in self._columns:
            raise KeyError(f"there is no column {name!r}: {', '.join(self._columns)}")
        return self._columns[name]

    def as_numbers(self, names: Sequence[str]) -> list[Array]:
        """Columns as arguments for forebay._core: true and false become 1 and 0."""
        columns = (self._columns[name] for name in names)
        return [column.view(np.uint8) if column.dtype == bool else column for column in columns]

    def __repr__(self) -> str:
        return f"<{len(self):,} accesses: {', '.join(self._columns)}>"

    def to_arrow(self) -> pyarrow.Table:
        """The accesses as an Arrow table; numbers are not copied.

        Names replace the numbers of `file`, `routine` and `operation`; unknown values (-1, NO_TIME)
        are null. Raises ImportError without pyarrow.
        """
        from forebay.trace.arrow import arrow_table

        return arrow_table(self._columns, self.files, self.routines)

    def to_pandas(self) -> pandas.DataFrame:
        """The accesses as a data frame; names are categories. Raises ImportError without pandas and
        pyarrow."""
        return self.to_arrow().to_pandas()


class Source(Protocol):
    """What a kind of trace must provide."""

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
        """The reader of trace files, if they are the source."""

    @property
    def view_layouts(self) -> _core.Views:
        """The exact layouts of `views`."""

    def batches(
        self, rows: int, processes: range | None, columns: Sequence[str]
    ) -> Iterator[Columns]:
        """The accesses, `rows` or a few more at a time; 0: all at once. Only those of `processes`
        (None: all), with at least these columns. Several iterators may be in use at the same
        time."""

    def bad_blocks(self) -> Mapping[tuple[int, int], tuple[int, str]]:
        """Blocks that batches() could not read, by process and number: the number of accesses, and
        what is wrong."""


class Trace(Shown):
    """A trace of a job's accesses to files; `open_trace` makes it.

    Opening reads everything but the accesses. The trace takes memory in proportion to its size; so
    does one of its `batches`. `accesses` has all accesses in memory.
    """

    def __init__(self, path: Path, source: Source):
        self.path = path
        self._source = source
        self._met_elsewhere: dict[tuple[int, int], tuple[int, str]] = {}

    @property
    def kind(self) -> str:
        """The origin of the trace, before any conversion: `forebay`, `darshan`, `strace` or
        `recorder`."""
        return self._source.kind

    @property
    def processes(self) -> Sequence[Process]:
        """The processes that have a trace."""
        return self._source.processes

    def rank_of(self, process: int) -> int:
        """The rank of a process, by its index; if the rank is unknown, that index."""
        rank = self.processes[process].rank
        return rank if 0 <= rank < 1 << 31 else process

    @property
    def files(self) -> Sequence[str]:
        """Paths as the program gave them. Bytes that are not UTF-8 are escaped: a backslash and a
        number."""
        return self._source.files

    @property
    def opens(self) -> Sequence[Open]:
        """Every open of a file by a process. Darshan logs have none."""
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
        """The counters of a Darshan log; None for other traces."""
        return self._source.counters

    @property
    def layer(self) -> str:
        """The interface that the accesses belong to: `MPI-IO` or `POSIX`."""
        if self.counters is not None:
            return self.counters.layer
        return "POSIX" if self.kind in ("strace", "recorder") else "MPI-IO"

    @property
    def tells_order(self) -> bool:
        """Whether the trace has the collectives by which the program orders its ranks."""
        return any(routine.operation.orders for routine in self.routines)

    @property
    def problems(self) -> list[str]:
        """What is wrong with the trace or missing from it: lines that name the file.

        Blocks are checked when their accesses are read, so the list may grow.
        """
        found = [problem for _, (_, problem) in sorted(self.bad_blocks().items())]
        return [*self._source.problems, *found]

    @property
    def totals(self) -> Totals:
        """Numbers of readable and of missing accesses. Like `problems` they are final after all
        accesses were read."""
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
        """Accesses that were made but not recorded."""
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

    @cached_property
    def accesses(self) -> Accesses:
        """All accesses in memory, about 100 bytes each.

        Raises TraceError if there is not so much memory; then use `batches`.
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

        `processes`: only the accesses of these, by index. `columns`: only these columns, which is
        faster if the trace is a Parquet file. Raises TraceError if the trace is found to be
        damaged.
        """
        check_number(rows, "Trace.batches", "rows")
        if not isinstance(processes, range | None):
            raise TypeError("forebay.Trace.batches: processes is a range of indices, or None")
        check_names(columns, "Trace.batches", "columns")
        for name in columns:
            if name not in COLUMNS:
                raise ValueError(f"there is no column {name!r}: {', '.join(COLUMNS)}")
        return (
            self._accesses({name: read[name] for name in columns})
            for read in self._source.batches(rows, processes, columns)
        )

    def bad_blocks(self) -> Mapping[tuple[int, int], tuple[int, str]]:
        """Blocks that `batches` or `accesses` could not read, by process and number: the number of
        accesses, and what is wrong."""
        return {**self._source.bad_blocks(), **self._met_elsewhere}

    def add_bad_blocks(self, blocks: Mapping[tuple[int, int], tuple[int, str]]) -> None:
        """Adds blocks of the same trace that another process could not read."""
        self._met_elsewhere |= blocks

    def extents(self, view: int, position: int, data_bytes: int) -> Iterator[tuple[int, int]]:
        """The place of an access: offset and length in bytes of each run, in order.

        The arguments are the access's columns `view`, `position` and `requested` (or
        `transferred`). Raises ValueError if the view has no such bytes, IndexError if there is no
        such view.
        """
        return self._source.view_layouts.extents(view, position, data_bytes)

    @property
    def reader(self) -> _core.TraceReader | None:
        """For functions of forebay._core that read trace files; None for other kinds of traces."""
        return self._source.reader

    @property
    def view_layouts(self) -> _core.Views:
        """For functions of forebay._core that need the views."""
        return self._source.view_layouts

    def _accesses(self, columns: Columns) -> Accesses:
        return Accesses(columns, self.files, self.routines)
