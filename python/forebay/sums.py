"""Sums over a trace's accesses, a batch at a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from forebay.trace import NO_TIME, Accesses, Operation

_SIZE_CLASSES = 64  # powers of two
_OPERATIONS = len(Operation)


@dataclass(frozen=True, slots=True)
class Counts:
    """Of the calls of one kind."""

    calls: int = 0
    collective: int = 0
    """Of these, how many were of collective routines."""
    requested: int = 0
    """Bytes."""
    transferred: int = 0
    """Bytes."""
    seconds: float = 0.0
    """Spent in them, summed over the processes; calls with folded times are left out."""
    size_classes: tuple[int, ...] = ()
    """Calls that asked for less than 1, 2, 4, 8 ... bytes and no less than half of it."""

    @property
    def median_size(self) -> int:
        """Half of the calls ask for less bytes than this power of two, and none of them for less
        than half of the others' least."""
        seen = 0
        for power, calls in enumerate(self.size_classes):
            seen += calls
            if 2 * seen >= self.calls and seen:
                return 1 << power
        return 0


class Sums:
    """Counts by file and operation."""

    def __init__(self, files: int, processes: int):
        self._rows = files * _OPERATIONS
        self.calls = np.zeros(self._rows, np.int64)
        self.collective = np.zeros(self._rows, np.int64)
        self.requested = np.zeros(self._rows, np.int64)
        self.transferred = np.zeros(self._rows, np.int64)
        self.ns = np.zeros(self._rows, np.int64)
        self.sizes = np.zeros((self._rows, _SIZE_CLASSES), np.int64)
        self.unplaced = np.zeros(files, np.int64)
        self.process_ns = np.zeros(processes, np.int64)
        self._users = np.zeros((files, processes), bool)
        self._ends = np.zeros(files, np.int64)
        self.timed = False
        self.first_ns, self.last_ns = int(np.iinfo(np.int64).max), int(np.iinfo(np.int64).min)

    def add(self, batch: Accesses) -> None:
        known = batch["file"] >= 0
        rows = batch["file"][known].astype(np.int64) * _OPERATIONS + batch["operation"][known]
        requested = batch["requested"][known]
        self._count(self.calls, rows)
        self._count(self.collective, rows[batch["collective"][known]])
        np.add.at(self.requested, rows, requested)
        np.add.at(self.transferred, rows, batch["transferred"][known])
        classes = np.frexp(np.maximum(requested, 0).astype(np.float64))[1]
        cells = rows * _SIZE_CLASSES + np.minimum(classes, _SIZE_CLASSES - 1)
        self.sizes += np.bincount(cells, minlength=self.sizes.size).reshape(self.sizes.shape)
        moves = np.isin(batch["operation"], (Operation.READ, Operation.WRITE))
        nowhere = known & moves & (batch["requested"] > 0) & (batch["offset"] < 0)
        np.add.at(self.unplaced, batch["file"][nowhere], 1)
        self._users[batch["file"][known & moves], batch["process"][known & moves]] = True
        timed = (batch["start_ns"] != NO_TIME) & (batch["end_ns"] != NO_TIME) & ~batch["folded"]
        took = batch["end_ns"][timed] - batch["start_ns"][timed]
        np.add.at(self.process_ns, batch["process"][timed], took)
        np.add.at(self.ns, rows[timed[known]], took[known[timed]])
        if timed.any():
            self.timed = True
            self.first_ns = min(self.first_ns, int(batch["start_ns"][timed].min()))
            self.last_ns = max(self.last_ns, int(batch["end_ns"][timed].max()))
        np.maximum.at(self._ends, batch["file"][known], batch["end"][known])

    def _count(self, counts: NDArray[np.int64], rows: NDArray[np.int64]) -> None:
        counts += np.bincount(rows, minlength=self._rows)

    def end(self, file: int) -> int:
        """One past the last byte that was asked for."""
        return int(self._ends[file])

    def users(self, file: int) -> int:
        """How many processes accessed the file."""
        return int(self._users[file].sum())

    def of(self, file: int, operation: Operation) -> Counts:
        row = file * _OPERATIONS + operation
        return Counts(
            calls=int(self.calls[row]),
            collective=int(self.collective[row]),
            requested=int(self.requested[row]),
            transferred=int(self.transferred[row]),
            seconds=float(self.ns[row]) / 1e9,
            size_classes=tuple(np.trim_zeros(self.sizes[row], "b").tolist()),
        )
