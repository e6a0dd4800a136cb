"""Sums over a trace's accesses, a batch at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forebay import _core
from forebay.trace import Accesses, Operation

COLUMNS = (
    *("file", "process", "operation", "collective", "folded", "offset", "end", "requested"),
    *("transferred", "start_ns", "end_ns"),
)
"""The columns of a trace from which sums are made."""

_SIZE_CLASSES = 64  # powers of two
_OPERATIONS = len(Operation)


@dataclass(frozen=True, slots=True)
class Counts:
    """Counts of the calls of one kind."""

    calls: int = 0
    collective: int | None = 0
    """Calls of collective routines; None: unknown for some calls."""
    requested: int = 0
    """Requested bytes."""
    transferred: int = 0
    """Transferred bytes."""
    seconds: float = 0.0
    """Seconds in the calls, summed over the processes, without calls with folded times."""
    size_classes: tuple[int, ...] = ()
    """Number of calls per size class: of fewer than 1, 2, 4, 8 ... bytes, and at least half of
    that."""
    size_seconds: tuple[float, ...] = ()
    """Seconds per size class; they add up to `seconds`."""

    @property
    def empty(self) -> int:
        """Calls of no bytes, by ranks that only take part in a collective call."""
        return self.size_classes[0] if self.size_classes else 0

    @property
    def median_size(self) -> int:
        """The smallest power of two such that at least half of the calls that request bytes request
        fewer. 0: no call requests bytes."""
        asking = sum(self.size_classes) - self.empty
        seen = 0
        for power, calls in enumerate(self.size_classes[1:], 1):
            seen += calls
            if 2 * seen >= asking:
                return 1 << power
        return 0


class Sums:
    """Counts by file and operation."""

    def __init__(self, files: int, processes: int):
        rows = files * _OPERATIONS
        self.calls, self.collective, self.undeclared, self.requested, self.transferred, self.ns = (
            np.zeros(rows, np.int64) for _ in range(6)
        )
        self.sizes, self.size_ns = np.zeros((2, rows, _SIZE_CLASSES), np.int64)
        self._ends, self.unplaced = np.zeros((2, files), np.int64)
        self.process_ns = np.zeros(processes, np.int64)
        self._users = np.zeros((files, processes), np.uint8)
        self._steps, self._orders = np.zeros((2, 2), np.int64)
        limits = np.iinfo(np.int64)
        self._first_last_ns = np.array([limits.max, limits.min])
        self._tables: list[NDArray[Any]] = [
            *(self.calls, self.collective, self.undeclared, self.requested, self.transferred),
            *(self.ns, self.sizes, self.size_ns),
            *(self._ends, self.unplaced, self.process_ns, self._users, self._first_last_ns),
            *(self._steps, self._orders),
        ]

    def add(self, batch: Accesses) -> None:
        """Adds a batch. Raises IndexError if the batch names something that the trace does not
        have."""
        _core.add_sums(*batch.as_numbers(COLUMNS), *self._tables)

    def merge(self, other: Sums) -> None:
        """Adds the sums of another part of the trace."""
        for mine, theirs in zip(self._tables, other._tables, strict=True):
            if mine is self._ends or mine is self._users:
                np.maximum(mine, theirs, out=mine)
            elif mine is not self._first_last_ns:
                mine += theirs
        self._first_last_ns[0] = min(self._first_last_ns[0], other._first_last_ns[0])
        self._first_last_ns[1] = max(self._first_last_ns[1], other._first_last_ns[1])

    @property
    def steps(self) -> int:
        """Steps of caches, which are no calls. No other sum counts them."""
        return int(self._steps[0])

    @property
    def orders(self) -> int:
        """Collectives that order ranks and move no file data. No other sum counts them."""
        return int(self._orders[0])

    @property
    def folded_asides(self) -> int:
        """Steps and orders with folded times."""
        return int(self._steps[1] + self._orders[1])

    @property
    def first_ns(self) -> int:
        """Start of the first call; 0 if no call's time is known."""
        first = int(self._first_last_ns[0])
        return 0 if first == np.iinfo(np.int64).max else first

    @property
    def last_ns(self) -> int:
        """End of the last call whose times are not folded; `first_ns` if there is none."""
        return max(self.first_ns, int(self._first_last_ns[1]))

    def end(self, file: int) -> int:
        """One past the last requested byte of the file."""
        return int(self._ends[file])

    def users(self, file: int) -> int:
        """How many processes accessed the file."""
        return int(self._users[file].sum())

    def of(self, file: int, operation: Operation) -> Counts:
        row = file * _OPERATIONS + operation
        sizes = np.trim_zeros(self.sizes[row], "b")
        return Counts(
            calls=int(self.calls[row]),
            collective=None if self.undeclared[row] else int(self.collective[row]),
            requested=int(self.requested[row]),
            transferred=int(self.transferred[row]),
            seconds=float(self.ns[row]) / 1e9,
            size_classes=tuple(sizes.tolist()),
            size_seconds=tuple((self.size_ns[row, : len(sizes)] / 1e9).tolist()),
        )
