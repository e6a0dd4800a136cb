"""One pass over a trace by several threads. Each thread reads its own processes. The results are
combined in the order of the processes, so they do not depend on the number of threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

from forebay import _core
from forebay.analysis import phases, sums
from forebay.analysis.conflicts import MOST_RUNS, Finder
from forebay.analysis.sums import Sums
from forebay.trace import ROWS_PER_BATCH, Trace

_SIGNATURE_COLUMNS = (
    *("process", "thread", "file", "routine", "operation"),
    *("offset", "requested", "start_ns", "end_ns", "folded"),
)
_COLUMNS = tuple(dict.fromkeys((*sums.COLUMNS, *_SIGNATURE_COLUMNS, *Finder.COLUMNS)))

_ROWS_OF_FILES = 1 << 17
"""Rows per batch of trace files, whose batches have all columns; bounds the memory of several
threads."""

Progress = Callable[[int], object]


class Fold:
    """The parts of an analysis, for some processes of a trace. `most_runs`: as for Finder."""

    def __init__(self, trace: Trace, most_runs: int):
        self.sums = Sums(len(trace.files), len(trace.processes))
        self.conflicts = Finder(most_runs)
        self.activity = _core.Activity()
        self.signatures: list[tuple[int, int, int, _core.Signature]] = []
        """Process, thread, file and signature of each stream, by process first."""

    def merge(self, other: Fold) -> None:
        """Takes over the parts of `other`, a Fold of later processes."""
        self.sums.merge(other.sums)
        self.conflicts.merge(other.conflicts)
        self.activity.merge(other.activity)
        self.signatures += other.signatures


def cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0))


def fold(
    trace: Trace, processes: range, jobs: int, progress: Progress, most_runs: int = MOST_RUNS
) -> Fold:
    """Reads the accesses of these processes once, with at most `jobs` threads.

    `progress` is called from any of the threads with the number of accesses read so far. Raises
    TraceError as Trace.batches does.
    """
    parts = parts_of(trace, processes, jobs)
    stopped = False

    def of_part(part: range) -> Fold:
        nonlocal stopped
        try:
            return _fold_part(trace, part, counted, most_runs)
        except BaseException:
            stopped = True
            raise

    def counted(count: int) -> None:
        if stopped:
            raise InterruptedError
        progress(count)

    if len(parts) < 2:
        return _fold_part(trace, processes, progress, most_runs)
    with ThreadPoolExecutor(len(parts)) as pool:
        futures = [pool.submit(of_part, part) for part in parts]
        try:
            for future in futures:
                future.exception()
        except BaseException:
            stopped = True
            raise
    for future in futures:
        if future.exception() and not isinstance(future.exception(), InterruptedError):
            future.result()
    first, *others = (future.result() for future in futures)
    for other in others:
        first.merge(other)
    return first


def parts_of(trace: Trace, processes: range, count: int, least: int | None = None) -> list[range]:
    """Divides the processes into at most `count` stretches with similar numbers of accesses. On
    average a stretch has at least `least` accesses (None: half a batch)."""
    least = ROWS_PER_BATCH // 2 if least is None else least
    accesses = [trace.processes[process].accesses for process in processes]
    count = min(count, sum(accesses) // max(1, least), len(processes))
    ends: list[int] = []
    seen = 0
    for process, of_process in zip(processes, accesses, strict=True):
        seen += of_process
        if seen * count >= sum(accesses) * (len(ends) + 1) and len(ends) + 1 < count:
            ends.append(process + 1)
    bounds = [processes.start, *ends, processes.stop]
    return [range(first, end) for first, end in pairwise(bounds) if first < end]


def _fold_part(trace: Trace, processes: range, progress: Progress, most_runs: int) -> Fold:
    folded = Fold(trace, most_runs)
    streams = _core.Streams()
    rows = ROWS_PER_BATCH if trace.reader is None else _ROWS_OF_FILES
    for batch in trace.batches(rows, processes, columns=_COLUMNS):
        folded.sums.add(batch)
        streams.add(*batch.as_numbers(_SIGNATURE_COLUMNS))
        folded.conflicts.add(trace, batch)
        folded.activity.add(*batch.as_numbers(phases.COLUMNS))
        progress(len(batch))
    folded.signatures = streams.finish()
    return folded
