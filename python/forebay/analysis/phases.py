"""The phases of a job: bursts of reading and writing. Idle time, or a change of the file or the
operation, separates them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from forebay import _core

COLUMNS = ("file", "operation", "folded", "transferred", "start_ns", "end_ns")
"""The columns of a trace from which phases are found."""

_PAUSES = 64
"""The job's time divided by the length of a pause."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Reads, or writes, of one file by any processes without a pause between them."""

    path: str
    operation: str
    """`read` or `write`."""
    start: float
    """Seconds after the start of the first call, like all times here."""
    end: float
    accesses: int
    bytes: int


@dataclass(frozen=True, slots=True)
class OutsidePhases:
    """Accesses that belong to no phase."""

    empty: int
    """Accesses that moved no bytes."""
    untimed: int
    """Accesses that moved bytes at unknown times, mostly because times are folded into
    histograms."""


@dataclass(frozen=True, slots=True)
class Phase:
    """Stretches that overlap in time. Each but the first lies for at least half of its time within
    the time of those that began before it."""

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
        """The operations: `read`, `write` or `read, write`."""
        return ", ".join(sorted({one.operation for one in self.stretches}))


def phases_of(
    activity: _core.Activity, files: Sequence[str], first_ns: int, last_ns: int
) -> tuple[Phase, ...]:
    """The phases in the order of their starts. A stretch ends where its file is not read (or
    written) for 1/64 of the job's time. `first_ns`: start of the first call; `last_ns`: end of the
    last."""
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
    """The accesses that phases_of() leaves out."""
    return OutsidePhases(*activity.left_out)
