"""The phases of a job: bursts of reading and writing, with idle time or a change of file or
operation between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from forebay import _core

COLUMNS = ("file", "operation", "folded", "transferred", "start_ns", "end_ns")
"""Of a trace, that phases are found in."""

_PAUSES = 64
"""A pause is as long as this part of the job's time."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Reads, or writes, of one file by any processes, without a pause."""

    path: str
    operation: str
    """`read` or `write`."""
    start: float
    """Seconds after the first call's start, as all times here."""
    end: float
    accesses: int
    bytes: int


@dataclass(frozen=True, slots=True)
class OutsidePhases:
    """Accesses that stand in no phase."""

    empty: int
    """They moved no bytes."""
    untimed: int
    """They did, at times that are unknown: folded into histograms, as a rule."""


@dataclass(frozen=True, slots=True)
class Phase:
    """Stretches that go on together: each but the first lies by at least half in the time of those
    that began before it."""

    start: float
    end: float
    stretches: tuple[Stretch, ...]

    @property
    def bytes(self) -> int:
        return sum(one.bytes for one in self.stretches)

    @property
    def accesses(self) -> int:
        return sum(one.accesses for one in self.stretches)

    @property
    def what(self) -> str:
        """Its operations: `read`, `write` or `read, write`."""
        return ", ".join(sorted({one.operation for one in self.stretches}))


def phases_of(
    activity: _core.Activity, files: Sequence[str], first_ns: int, last_ns: int
) -> tuple[Phase, ...]:
    """In the order of their starts. A stretch ends where its file is not read (or written) for 1/64
    of the job's time: from `first_ns`, the first call's start, to `last_ns`, the last one's end."""
    phases: list[list[Stretch]] = []
    end = 0.0  # of the latest phase
    for file, writes, start_ns, end_ns, accesses, size in activity.stretches(
        (last_ns - first_ns) // _PAUSES
    ):
        stretch = Stretch(
            path=files[file],
            operation="write" if writes else "read",
            start=(start_ns - first_ns) / 1e9,
            end=(end_ns - first_ns) / 1e9,
            accesses=accesses,
            bytes=size,
        )
        within = min(end, stretch.end) - stretch.start
        if phases and 0 <= within >= (stretch.end - stretch.start) / 2:
            phases[-1].append(stretch)
            end = max(end, stretch.end)
        else:
            phases.append([stretch])
            end = stretch.end
    return tuple(
        Phase(of_phase[0].start, max(one.end for one in of_phase), tuple(of_phase))
        for of_phase in phases
    )


def outside_phases(activity: _core.Activity) -> OutsidePhases:
    """What phases_of() leaves out."""
    return OutsidePhases(*activity.left_out)
