"""Reads and writes of files in POSIX calls, which another tool printed, as a source of
`forebay.trace.Trace`. All of them are in memory."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from forebay import _core
from forebay.trace.columns import Columns, Operation, Routine, plain_columns
from forebay.trace.types import Open, Process, View

MOST_BYTES = (1 << 63) - 1
"""The largest size of a file."""
_SYSTEM = (
    *("/proc/", "/sys/", "/dev/", "/etc/", "/usr/", "/bin/", "/sbin/"),
    *("/lib/", "/lib32/", "/lib64/"),
)
"""Files below these are the system's, but for shared memory."""
_PROGRAM_TEXT = re.compile(r"\.(so[.\d]*|pyc?)$")
"""Libraries and modules, which the loader and Python read."""
_SHARED_MEMORY = "/dev/shm/"
_ALL_BYTES = _core.TraceReader([]).views
_DAY_NS = 86_400_000_000_000

Row = tuple[int, int, int, int, int, int, int, int]
"""Process, thread, file, routine, offset, end, start and end (ns) of an access."""


class Files:
    """The files of the calls, numbered as they are met."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self._numbers: dict[str, int] = {}

    def number(self, path: bytes) -> int:
        """The file's number."""
        name = path.decode("utf-8", "backslashreplace")
        number = self._numbers.setdefault(name, len(self.names))
        if number == len(self.names):
            self.names.append(name)
        return number

    def is_system(self, number: int) -> bool:
        """Whether it is a file of the system, or program text."""
        path = self.names[number]
        system = path.startswith(_SYSTEM) and not path.startswith(_SHARED_MEMORY)
        return system or _PROGRAM_TEXT.search(path) is not None


@dataclass(frozen=True, slots=True)
class Identity:
    """What is known of a process: its rank (-1: nothing), and its process number (-1: nothing)."""

    rank: int
    pid: int


class CallLog:
    """The accesses of such calls.

    rows: the accesses. Their processes are keys of `identities`, their files numbers in `files`,
    and their routines places in `reads`, followed by `writes`. zero_ns: the time at which the trace
    begins, since 1970 or since some other instant. problems: what is missing, a line each.
    """

    reader = None
    counters = None

    def __init__(
        self,
        name: str,
        kind: str,
        rows: Sequence[Row],
        files: Files,
        *,
        reads: Sequence[str],
        writes: Sequence[str],
        identities: Mapping[int, Identity],
        zero_ns: int,
        problems: Sequence[str],
    ):
        self.kind = kind
        accessed, of_rows = np.unique(
            np.array([row[2] for row in rows], np.int64), return_inverse=True
        )
        self.files = [files.names[file] for file in accessed.tolist()]
        self.routines = [
            Routine(routine, operation, None, None)
            for operation, routines in ((Operation.READ, reads), (Operation.WRITE, writes))
            for routine in routines
        ]
        self.opens: list[Open] = []
        self.views = [View(0, 0, 1, 1, True)]
        self.view_layouts = _ALL_BYTES
        self.access_count = len(rows)
        numbers = sorted({row[0] for row in rows})
        renumbered = [
            (*row[:2], file, *row[3:]) for row, file in zip(rows, of_rows.tolist(), strict=True)
        ]
        self._columns = _columns(
            renumbered,
            numbers,
            [identities[number].rank for number in numbers],
            len(reads),
            zero_ns,
        )
        counts = np.bincount(self._columns["process"], minlength=len(numbers))
        self.processes = [
            Process(
                source=name,
                host="",
                rank=identities[number].rank,
                ranks=len(identities),
                pid=identities[number].pid,
                clock_offset_ns=0,
                zero_realtime_ns=zero_ns if zero_ns > _DAY_NS else 0,
                accesses=count,
                folded=0,
                lost=0,
                damaged=0,
                ended=True,
            )
            for number, count in zip(numbers, counts.tolist(), strict=True)
        ]
        self.problems = [f"{name}: {problem}" for problem in problems]

    def batches(
        self, rows: int, processes: range | None, columns: Sequence[str]
    ) -> Iterator[Columns]:
        """Source.batches."""
        del columns  # all columns are in memory
        first, end = 0, self.access_count
        if processes is not None:
            bounds = np.searchsorted(self._columns["process"], (processes.start, processes.stop))
            first, end = bounds.tolist()
        for begin in range(first, end, rows or max(1, end - first)):
            part = slice(begin, min(begin + rows, end) if rows else end)
            yield {name: column[part] for name, column in self._columns.items()}
        if rows == 0 and first == end:
            yield {name: column[:0] for name, column in self._columns.items()}

    def bad_blocks(self) -> Mapping[tuple[int, int], tuple[int, str]]:
        """Source.bad_blocks."""
        return {}


def _columns(
    rows: Sequence[Row], numbers: Sequence[int], ranks: Sequence[int], reads: int, zero_ns: int
) -> Columns:
    """The accesses as columns, by process, then by start. Threads are numbered in each process."""
    table = np.array(rows, np.int64).reshape(len(rows), 8)
    table = table[np.lexsort((table[:, 6], table[:, 0]))]
    process = np.searchsorted(np.array(numbers, np.int64), table[:, 0])
    offset, end = table[:, 4], table[:, 5]
    threads: dict[tuple[int, int], int] = {}
    met: dict[int, int] = {}
    for of, task in table[:, :2].tolist():
        if (of, task) not in threads:
            threads[of, task] = met.setdefault(of, 0)
            met[of] += 1
    thread = [threads[of, task] for of, task in table[:, :2].tolist()]
    return plain_columns(
        rank=np.array(ranks, np.int64)[process] if len(ranks) else np.full(len(table), -1),
        process=process,
        thread=np.array(thread, np.uint32),
        file=table[:, 2],
        routine=table[:, 3],
        writes=table[:, 3] >= reads,
        offset=offset,
        length=end - offset,
        start_ns=table[:, 6] - zero_ns,
        end_ns=table[:, 7] - zero_ns,
    )
