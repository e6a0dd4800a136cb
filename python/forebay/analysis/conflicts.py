"""Bytes that several processes touch; and conflicting accesses: of different processes, to the same
bytes, one of them a write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from forebay import _core
from forebay.trace import Accesses, Trace

MOST_RUNS = 4_000_000
"""Of bytes of a file, that are looked at: an access has one, or several through a view."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two accesses of different processes to the same bytes, one of them a write."""

    offset: int
    end: int
    """Of the bytes that both touch."""
    first_rank: int
    first: str
    """`read` or `write`."""
    first_seconds: tuple[float, float]
    """From when to when, after the first call's start."""
    second_rank: int
    second: str
    second_seconds: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Apart:
    """Conflicts of one kind: pairs of accesses, the bytes that they have in common, and some."""

    pairs: int = 0
    bytes: int = 0
    examples: tuple[Conflict, ...] = ()


@dataclass(frozen=True, slots=True)
class Conflicts:
    """What keeps conflicting accesses of a file apart (MPI 4.1, 14.6).

    Order is what the program makes sure of by collectives such as MPI_Barrier, where the trace
    tells of them (`Trace.tells_order`); the times of a run order nothing.
    """

    concurrent: Apart = Apart()
    """Nothing that is known: in this run they overlapped in time."""
    unordered: Apart = Apart()
    """Nothing that is known: in this run the first had ended when the second began."""
    ordered: Apart = Apart()
    """The program's order. Enough where writes are visible at once (POSIX)."""
    synced: Apart = Apart()
    """Its order, with a sync or close of the first's open, and after it a sync or open of the
    second's. Enough for MPI's nonatomic mode."""
    reopened: Apart = Apart()
    """The same by closing and opening. Enough for close-to-open consistency."""
    left_out: int = 0
    """Accesses that were not looked at, there being too many."""


@dataclass(frozen=True, slots=True)
class SharedBytes:
    """Bytes that all of these processes touch, and no other."""

    processes: int
    ranks: str
    """Theirs, as ranges."""
    bytes: int
    ranges: int
    """In how many pieces."""
    begin: int
    end: int
    """Between these offsets, with other bytes among them where there are several ranges."""
    numbers: tuple[int, ...] = field(repr=False)
    """The processes, as the trace counts them."""


@dataclass(frozen=True, slots=True)
class Sharing:
    """Who touches the same bytes of a file, whether reading or writing."""

    bytes: int = 0
    """That more than one process touches."""
    left_out: int = 0
    """Of these, of sets of processes that are not listed, there being more than 1,024."""
    sets: tuple[SharedBytes, ...] = ()
    """Those with the most bytes first."""


class Finder:
    """Finds what processes share in each file of a trace, in its first `most_runs` runs of bytes,
    which are those of the first processes."""

    COLUMNS = (
        *("file", "process", "thread", "open", "operation", "offset", "end", "contiguous"),
        *("view", "position", "transferred", "start_ns", "end_ns", "completed_ns"),
    )

    def __init__(self, most_runs: int = MOST_RUNS) -> None:
        self._found = _core.JobConflicts(most_runs)

    def add(self, trace: Trace, batch: Accesses) -> None:
        """Takes a batch of the trace in."""
        self._found.add(trace.view_layouts, *batch.as_numbers(self.COLUMNS))

    def merge(self, other: Finder) -> None:
        """Takes in what later processes did."""
        self._found.merge(other._found)

    def finish(self, trace: Trace, first_ns: int) -> dict[int, tuple[Conflicts, Sharing]]:
        """By file. `first_ns`: when the first call began."""
        return {
            file: (_conflicts(trace, found, first_ns), _sharing(trace, found.sharing))
            for file, found in self._found.finish()
        }


def _conflicts(trace: Trace, found: _core.Conflicts, first_ns: int) -> Conflicts:
    def seconds(one: _core.FileAccess) -> tuple[float, float]:
        return (one.start_ns - first_ns) / 1e9, (one.end_ns - first_ns) / 1e9

    def apart(kind: int) -> Apart:
        examples = (
            Conflict(
                offset=one.offset,
                end=one.end,
                first_rank=trace.rank_of(one.first.process),
                first="write" if one.first.writes else "read",
                first_seconds=seconds(one.first),
                second_rank=trace.rank_of(one.second.process),
                second="write" if one.second.writes else "read",
                second_seconds=seconds(one.second),
            )
            for one in found.examples
            if one.separation == kind
        )
        return Apart(found.counts[kind], found.bytes[kind], tuple(examples))

    concurrent, unordered, ordered, synced, reopened = (apart(kind) for kind in range(5))
    left_out = found.accesses_left_out
    return Conflicts(concurrent, unordered, ordered, synced, reopened, left_out=left_out)


def _sharing(trace: Trace, found: _core.Sharing) -> Sharing:
    return Sharing(
        bytes=found.bytes,
        left_out=found.left_out,
        sets=tuple(
            SharedBytes(
                processes=len(one.processes),
                ranks=_ranges(sorted(trace.rank_of(process) for process in one.processes)),
                bytes=one.bytes,
                ranges=one.ranges,
                begin=one.begin,
                end=one.end,
                numbers=tuple(one.processes),
            )
            for one in found.sets
        ),
    )


def _ranges(ranks: Sequence[int]) -> str:
    """Ascending numbers as `0-3, 7`."""
    starts = [i for i in range(len(ranks)) if i == 0 or ranks[i] > ranks[i - 1] + 1]
    ends = [*(start - 1 for start in starts[1:]), len(ranks) - 1]
    pairs = ((ranks[start], ranks[end]) for start, end in zip(starts, ends, strict=True))
    return ", ".join(f"{a}" if a == b else f"{a}-{b}" for a, b in pairs)
