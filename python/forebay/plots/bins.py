"""Counts a trace into bins for figures. The bins take the same memory however long the trace."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from forebay.analysis.conflicts import Sharing
from forebay.trace import NO_TIME, Accesses, Operation, Trace

__all__ = ["Bins", "Latencies", "count_into_bins", "overlaps"]

TIMES = 240
PLACES = 120
ROWS = 128
SIZES = 48
"""Size classes: powers of two."""

_STEPS = 8
_LATENCIES = 64 * _STEPS
"""Classes of durations: eighths of a power of two, in nanoseconds."""

_ROWS_AT_ONCE = 1 << 16
_COLUMNS = (
    *("process", "file", "routine", "operation", "offset", "transferred"),
    *("start_ns", "end_ns", "folded"),
)

Counts = NDArray[np.int64]
Amounts = NDArray[np.float64]
_DATA = (Operation.READ, Operation.WRITE)


@dataclass(frozen=True, slots=True)
class Latencies:
    """Durations of a routine's calls, in seconds, to within a twelfth."""

    routine: str
    calls: int
    total: float
    median: float
    p90: float
    p99: float
    longest: float


@dataclass(frozen=True)
class Bins:
    """The counts for all figures. In arrays of shape (2, ...), index 0 is reads and 1 is writes."""

    edges_s: Amounts
    """Edges of the TIMES bins, in seconds after the start of the first call."""
    bytes_moved: Amounts
    """(2, TIMES): bytes, as if each access moved them evenly over its duration."""
    busy_s: Amounts
    """(rows, TIMES): seconds that the processes of a row spent in MPI-IO."""
    row_processes: tuple[int, ...]
    """The number of processes per row of `busy_s`."""
    sizes: Counts
    """(2, SIZES, TIMES): accesses by size: of less than 1, 2, 4 ... bytes."""
    places: dict[int, Counts]
    """By file, (2, PLACES, TIMES): accesses by their first byte."""
    ends: dict[int, int]
    """By file: one past the last accessed byte, where the places end."""
    shares: Amounts
    """(files, rows, 2): bytes moved by the processes of a row."""
    latencies: tuple[Latencies, ...]


def count_into_bins(
    trace: Trace,
    first_ns: int,
    last_ns: int,
    files: Sequence[int],
    ends: Sequence[int],
    progress: Callable[[int], object] = lambda _: None,
) -> Bins:
    """Reads the whole trace once.

    `first_ns`, `last_ns`: start of the first call and end of the last. `files`: numbers of the
    files whose places are counted; `ends`: their lengths in bytes. `progress` is called with the
    number of accesses read so far.
    """
    counter = _Counter(trace, first_ns, last_ns, dict(zip(files, ends, strict=True)))
    for batch in trace.batches(_ROWS_AT_ONCE, columns=_COLUMNS):
        counter.add(batch)
        progress(len(batch))
    return counter.bins()


def overlaps(sharing: Iterable[Sharing], row_processes: Sequence[int]) -> Amounts:
    """(rows, rows): bytes that a process of one row shares with a process of the other, summed over
    files and pairs of processes. `row_processes`: how many processes each row has, in their
    order."""
    row_of = np.repeat(np.arange(len(row_processes)), row_processes)
    shared = np.zeros((len(row_processes), len(row_processes)))
    for of_file in sharing:
        for one in of_file.sets:
            members = np.bincount(row_of[list(one.numbers)], minlength=len(row_processes))
            # Without pairs of a process with itself.
            pairs = np.outer(members, members) - np.diag(members)
            shared += float(one.bytes) * pairs
    return shared


class _Ramp:
    """Amounts spread evenly over stretches of time, counted by row and bin."""

    def __init__(self, rows: int, edges: Amounts):
        self._edges = edges
        shape = rows * (len(edges) + 1)
        self._rate, self._begun, self._whole = np.zeros((3, shape))

    def add(self, rows: Counts, start: Amounts, end: Amounts, amount: Amounts) -> None:
        end = np.maximum(end, start + 1e-9)
        rate = amount / (end - start)
        width = len(self._edges) + 1
        for times, sign in ((start, 1.0), (end, -1.0)):
            cells = rows * width + np.searchsorted(self._edges, times)
            self._rate += np.bincount(cells, sign * rate, len(self._rate))
            self._begun += np.bincount(cells, sign * rate * start, len(self._rate))
        self._whole += np.bincount(cells, amount, len(self._rate))

    def amounts(self) -> Amounts:
        """The amounts as an array of shape (rows, bins)."""
        width = len(self._edges) + 1
        rate, begun, whole = (
            column.reshape(-1, width).cumsum(axis=1)[:, :-1]
            for column in (self._rate, self._begun, self._whole)
        )
        moved: Amounts = np.diff(self._edges * rate - begun + whole, axis=1)
        return moved.clip(min=0)


def _count_cells(counts: Counts, *indices: Counts) -> None:
    cells = np.ravel_multi_index(indices, counts.shape)
    counts += np.bincount(cells, minlength=counts.size).reshape(counts.shape)


class _Counter:
    def __init__(self, trace: Trace, first_ns: int, last_ns: int, ends: dict[int, int]):
        self._trace = trace
        self._first_ns = first_ns
        self._edges = np.linspace(0, max(last_ns - first_ns, 1) / 1e9, TIMES + 1)
        processes = max(1, len(trace.processes))
        rows = min(processes, ROWS)
        self._row_of = np.arange(processes) * rows // processes
        self._moved = _Ramp(2, self._edges)
        self._busy = _Ramp(rows, self._edges)
        self._sizes = np.zeros((2, SIZES, TIMES), np.int64)
        self._places = {file: np.zeros((2, PLACES, TIMES), np.int64) for file in ends}
        self._ends = ends
        self._shares = np.zeros((len(trace.files), rows, 2))
        self._latencies = np.zeros((len(trace.routines), _LATENCIES), np.int64)
        self._longest = np.zeros(len(trace.routines))
        self._totals = np.zeros(len(trace.routines))

    def add(self, batch: Accesses) -> None:
        timed = (batch["start_ns"] != NO_TIME) & (batch["end_ns"] != NO_TIME) & ~batch["folded"]
        timed &= batch["operation"] < Operation.STEP
        start = (batch["start_ns"] - self._first_ns) / 1e9
        end = (batch["end_ns"] - self._first_ns) / 1e9
        rows = self._row_of[batch["process"]]
        self._busy.add(rows[timed], start[timed], end[timed], (end - start)[timed])
        self._count_latencies(batch["routine"][timed], (end - start)[timed])
        data = timed & np.isin(batch["operation"], _DATA) & (batch["transferred"] > 0)
        kind = (batch["operation"][data] == Operation.WRITE).astype(np.int64)
        moved = batch["transferred"][data].astype(np.float64)
        self._moved.add(kind, start[data], end[data], moved)
        when = np.clip(np.searchsorted(self._edges, start[data], "right") - 1, 0, TIMES - 1)
        size = np.minimum(np.frexp(moved)[1], SIZES - 1)
        _count_cells(self._sizes, kind, size, when)
        file = batch["file"][data]
        known = file >= 0
        np.add.at(self._shares, (file[known], rows[data][known], kind[known]), moved[known])
        for number, places in self._places.items():
            here = (file == number) & (batch["offset"][data] >= 0)
            offset = batch["offset"][data][here].astype(np.float64)
            place = np.minimum(offset * PLACES / max(1, self._ends[number]), PLACES - 1)
            _count_cells(places, kind[here], place.astype(np.int64), when[here])

    def _count_latencies(self, routine: Counts, seconds: Amounts) -> None:
        steps = np.log2(np.maximum(seconds * 1e9, 1)) * _STEPS
        np.add.at(self._latencies, (routine, steps.astype(np.int64)), 1)
        np.maximum.at(self._longest, routine, seconds)
        np.add.at(self._totals, routine, seconds)

    def bins(self) -> Bins:
        return Bins(
            edges_s=self._edges,
            bytes_moved=self._moved.amounts(),
            busy_s=self._busy.amounts(),
            row_processes=tuple(np.bincount(self._row_of).tolist()),
            sizes=self._sizes,
            places=self._places,
            ends=self._ends,
            shares=self._shares,
            latencies=tuple(self._latencies_of(number) for number in self._called()),
        )

    def _called(self) -> list[int]:
        """Numbers of the routines that were called, the one with the most time first."""
        called = np.flatnonzero(self._latencies.sum(axis=1))
        return sorted(called.tolist(), key=lambda number: -float(self._totals[number]))

    def _latencies_of(self, routine: int) -> Latencies:
        counts = self._latencies[routine]
        calls, below = int(counts.sum()), counts.cumsum()

        def quantile(part: float) -> float:
            step = int(np.searchsorted(below, part * calls))
            middle = float(2 ** ((step + 0.5) / _STEPS)) / 1e9
            return min(middle, float(self._longest[routine]))

        return Latencies(
            routine=self._trace.routines[routine].name,
            calls=calls,
            total=float(self._totals[routine]),
            median=quantile(0.5),
            p90=quantile(0.9),
            p99=quantile(0.99),
            longest=float(self._longest[routine]),
        )
