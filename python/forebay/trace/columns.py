"""The columns of accesses; docs/tracing.md says what they mean."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
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


def plain_columns(
    *,
    rank: Array,
    process: Array,
    thread: Array,
    file: Array,
    routine: Array,
    writes: Array,
    offset: Array,
    length: Array,
    start_ns: Array,
    end_ns: Array,
) -> Columns:
    """The columns of reads and writes of one run of bytes each, of which no more is known: neither
    opens and views, nor whether they were collective. An offset of -1 is unknown."""
    count = len(offset)
    columns: dict[str, Array] = {
        "rank": rank.astype(np.int32),
        "process": process.astype(np.uint32),
        "thread": thread.astype(np.uint32),
        "file": file.astype(np.int32),
        "open": np.full(count, -1, np.int32),
        "routine": routine.astype(np.uint16),
        "operation": np.where(writes, Operation.WRITE, Operation.READ).astype(np.uint8),
        "collective": np.full(count, -1, np.int8),
        "offset": offset,
        "end": np.where(offset >= 0, offset + length, -1),
        "contiguous": np.ones(count, np.uint8),
        "requested": length,
        "transferred": length,
        "start_ns": start_ns,
        "end_ns": end_ns,
        "completed_ns": end_ns,
        "folded": np.zeros(count, np.uint8),
        "sequence": np.zeros(count, np.uint64),
        "view": np.zeros(count, np.int32),
        "position": offset,
    }
    columns = {name: np.ascontiguousarray(column) for name, column in columns.items()}
    for column in columns.values():
        column.flags.writeable = False
    return columns
