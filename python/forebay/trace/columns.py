"""The columns of accesses; docs/tracing.md says what they mean."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from forebay import _core

NO_TIME = _core.no_time
"""The value in `completed_ns` if the completion of the request was not seen."""

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
"""The columns of accesses, in order; docs/tracing.md says what they mean."""

UNKNOWN = {"rank": -1, "file": -1, "open": -1, "view": -1, "offset": -1, "end": -1} | {
    "collective": -1,
    "completed_ns": NO_TIME,
}
"""The value for unknown, by column that may have unknown values."""

Array = NDArray[Any]
Columns = Mapping[str, Array]

BOOLEANS = ("contiguous", "folded")
"""Columns of true and false. `collective` is not one of them, because it may be unknown."""


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
    """A step of a cache within the call before it; recorded with the option `deterministic`."""
    RELEASE = 10
    """A collective of the program that orders ranks: other ranks wait for this one."""
    ACQUIRE = 11
    """The same: this rank waits for others."""
    EXCHANGE = 12
    """The same, in both directions."""

    @property
    def is_call(self) -> bool:
        """Whether it is a call of MPI-IO."""
        return self < Operation.STEP

    @property
    def orders(self) -> bool:
        """Whether it is a collective that orders ranks."""
        return self >= Operation.RELEASE


@dataclass(frozen=True, slots=True)
class Routine:
    """An MPI-IO routine, or a step of a cache. Named `read` or `write` if the trace tells no
    more."""

    name: str
    operation: Operation
    collective: bool | None
    """None: unknown, also in the next member."""
    nonblocking: bool | None
