"""What stands in the columns of accesses; docs/tracing.md says what they mean."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from forebay import _core

NO_TIME = _core.no_time
"""Stands in `completed_ns` where nobody saw a request complete."""

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
class Routine:
    """An MPI-IO routine, `read` and `write` where the trace tells no more, or a step of a cache."""

    name: str
    operation: Operation
    collective: bool | None
    """None where the trace does not tell, as the next."""
    nonblocking: bool | None
