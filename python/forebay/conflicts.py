"""Conflicting accesses: of different processes, to the same bytes, one of them a write."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from forebay import _core
from forebay.trace import Accesses, Trace

_MOST_ACCESSES = 4_000_000  # of a file


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
    """What keeps conflicting accesses of a file apart, in this run (MPI 4.1, 14.6)."""

    concurrent: Apart = Apart()
    """Nothing: they overlap in time."""
    ordered: Apart = Apart()
    """The first had ended. Enough where writes are visible at once (POSIX)."""
    synced: Apart = Apart()
    """A sync or close of the first's process, and after it a sync or open of the second's. Enough
    for MPI's nonatomic mode."""
    reopened: Apart = Apart()
    """The same by closing and opening. Enough for close-to-open consistency."""
    left_out: int = 0
    """Accesses that were not looked at, there being too many."""


class Finder:
    """Finds the conflicts in each file of a trace."""

    def __init__(self, trace: Trace):
        self._trace = trace
        self._found = _core.JobConflicts(_MOST_ACCESSES)

    def add(self, batch: Accesses) -> None:
        """Takes a batch in."""
        self._found.add(
            self._trace.reader,
            batch["file"],
            batch["process"],
            batch["operation"],
            batch["offset"],
            batch["end"],
            batch["contiguous"].view(np.uint8),
            batch["view"],
            batch["position"],
            batch["transferred"],
            batch["start_ns"],
            batch["end_ns"],
        )

    def finish(self, first_ns: int) -> dict[int, Conflicts]:
        """By file. `first_ns`: when the first call began."""
        return {
            file: _conflicts(self._trace, found, first_ns) for file, found in self._found.finish()
        }


def _conflicts(trace: Trace, found: _core.Conflicts, first_ns: int) -> Conflicts:
    def rank(one: _core.FileAccess) -> int:
        known = trace.processes[one.process].rank
        return known if known >= 0 else one.process

    def seconds(one: _core.FileAccess) -> tuple[float, float]:
        return (one.start_ns - first_ns) / 1e9, (one.end_ns - first_ns) / 1e9

    def apart(kind: int) -> Apart:
        examples = (
            Conflict(
                offset=one.offset,
                end=one.end,
                first_rank=rank(one.first),
                first="write" if one.first.writes else "read",
                first_seconds=seconds(one.first),
                second_rank=rank(one.second),
                second="write" if one.second.writes else "read",
                second_seconds=seconds(one.second),
            )
            for one in found.examples
            if one.separation == kind
        )
        return Apart(found.counts[kind], found.bytes[kind], tuple(examples))

    concurrent, ordered, synced, reopened = (apart(kind) for kind in range(4))
    return Conflicts(concurrent, ordered, synced, reopened, left_out=found.accesses_left_out)
