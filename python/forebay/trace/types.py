"""A trace: its accesses, and what is known of the job beside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from forebay import _core
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
    """Nothing can be read there; the text is one line that names the file and the reason."""


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


class Accesses(Shown):
    """Accesses by columns: a mapping of names to NumPy arrays of one length, not to be written to.

    The accesses of a process stand together, and in them those of a thread in the order of its
    calls.
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
        from forebay.trace.arrow import arrow_table

        return arrow_table(self._columns, self.files, self.routines)

    def to_pandas(self) -> pandas.DataFrame:
        """The same as a data frame; names are categories. Raises ImportError without pandas and
        pyarrow."""
        return self.to_arrow().to_pandas()


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


class Trace(Shown):
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
