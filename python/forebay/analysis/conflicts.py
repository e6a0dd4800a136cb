"""Bytes that several processes access, and conflicting accesses: accesses of different processes to
the same bytes, at least one of them a write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from forebay import _core
from forebay.trace import Accesses, Trace

MOST_RUNS = 4_000_000
"""The runs of bytes per file that are compared: an access has one, or several through a view."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two accesses of different processes to the same bytes, at least one of them a write."""

    offset: int
    end: int
    """One past the last byte that both access."""
    first_rank: int
    first: str
    """`read` or `write`."""
    first_seconds: tuple[float, float]
    """Start and end, in seconds after the start of the first call."""
    second_rank: int
    second: str
    second_seconds: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Apart:
    """Conflicts of one kind: the number of pairs of accesses, the bytes that they share, and
    examples."""

    pairs: int = 0
    bytes: int = 0
    examples: tuple[Conflict, ...] = ()


@dataclass(frozen=True, slots=True)
class Conflicts:
    """Conflicting accesses of a file, by what separates them (MPI 4.1, 14.6).

    Collectives of the program such as MPI_Barrier order accesses, if the trace contains them
    (`Trace.tells_order`). The times of one run order nothing.
    """

    concurrent: Apart = Apart()
    """No known order; in this run the accesses overlapped in time."""
    unordered: Apart = Apart()
    """No known order; in this run the first access ended before the second began."""
    ordered: Apart = Apart()
    """Ordered by the program. Sufficient if writes are visible at once (POSIX)."""
    synced: Apart = Apart()
    """Ordered; after the first access its process synced or closed the file, and after that the
    second process synced or opened it, by the opens of these accesses. Sufficient for MPI's
    nonatomic mode."""
    reopened: Apart = Apart()
    """The same by close and open. Sufficient for close-to-open consistency."""
    left_out: int = 0
    """Accesses that were not compared, because there are too many."""


@dataclass(frozen=True, slots=True)
class SharedBytes:
    """Bytes that exactly these processes access."""

    processes: int
    ranks: str
    """The ranks of these processes, as ranges: `0-3, 7`."""
    bytes: int
    ranges: int
    """The number of pieces that the bytes form."""
    begin: int
    end: int
    """One past the last of the bytes. Other bytes lie between `begin` and `end` if there are
    several ranges."""
    numbers: tuple[int, ...] = field(repr=False)
    """Numbers of the processes in the trace."""


@dataclass(frozen=True, slots=True)
class Sharing:
    """Which processes read or write the same bytes of a file."""

    bytes: int = 0
    """Bytes that more than one process accesses."""
    left_out: int = 0
    """Those of sets of processes that are not listed, because there are more than 1,024 sets."""
    sets: tuple[SharedBytes, ...] = ()
    """The set with the most bytes first."""


class Finder:
    """Finds what processes share in each file of a trace. Compares the first `most_runs` runs of
    bytes of a file; those of the first processes come first."""

    COLUMNS = (
        *("file", "process", "thread", "open", "operation", "offset", "end", "contiguous"),
        *("view", "position", "transferred", "start_ns", "end_ns", "completed_ns"),
    )

    def __init__(self, most_runs: int = MOST_RUNS) -> None:
        self._found = _core.JobConflicts(most_runs)

    def add(self, trace: Trace, batch: Accesses) -> None:
        """Adds a batch of the trace."""
        self._found.add(trace.view_layouts, *batch.as_numbers(self.COLUMNS))

    def merge(self, other: Finder) -> None:
        """Takes over what was added to `other`, a Finder of later processes."""
        self._found.merge(other._found)

    def finish(self, trace: Trace, first_ns: int) -> dict[int, tuple[Conflicts, Sharing]]:
        """The result of each file, by number. `first_ns`: start of the first call."""
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
