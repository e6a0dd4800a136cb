"""What is known of the calls that read or write a file: from a trace's accesses, from counters, or
from both."""

from __future__ import annotations

from dataclasses import dataclass

from forebay.analysis.sums import Counts
from forebay.trace.counters import (
    SIZE_LIMITS,
    Calls,
    Counters,
    FileCounters,
    Requests,
    typical_size,
)

SMALL_BYTES = 1 << 16
"""An access of fewer bytes is small; a counted call of at most SMALL_COUNTED_BYTES."""
SMALL_COUNTED_BYTES = 100 << 10
_SMALL_CLASSES = SMALL_BYTES.bit_length()
_SMALL_COUNTED = SIZE_LIMITS.index(SMALL_COUNTED_BYTES) + 1


@dataclass(frozen=True, slots=True)
class KnownCalls:
    """Calls of MPI-IO; if nothing is known of these, requests of POSIX."""

    calls: int
    collective: int | None
    """Calls that were collective; None: unknown."""
    bytes: int
    seconds: float
    """Seconds in the calls, summed over the processes."""
    small: int
    """Calls of at most `small_bytes`; from accesses, only calls of at least one byte."""
    small_bytes: int
    small_seconds: float | None
    """Seconds in small calls; None: counters do not tell."""
    typical_bytes: int
    """Half of the calls request at most so many bytes."""
    counted: bool
    """Whether numbers and sizes come from counters, because the accesses lack some calls."""

    @property
    def alone(self) -> int | None:
        """Calls that were not collective."""
        return None if self.collective is None else self.calls - self.collective


def known_calls(
    traced: Counts, writes: bool, file: FileCounters | None, job: Counters | None
) -> KnownCalls:
    """The calls of one file and direction. `traced`: its accesses."""
    mpiio = _mpiio_calls(writes, file, job)
    if job is not None and file is not None:
        whole = job.traced and not file.untraced
        if mpiio is not None and not (whole and job.layer == "MPI-IO"):
            return _counted(mpiio, mpiio.calls, mpiio.in_collective)
        if job.layer == "POSIX" and file.posix is not None and not whole:
            requests = file.posix.write if writes else file.posix.read
            return _counted(requests, requests.requests, None)
    same = mpiio is not None and mpiio.calls == traced.calls
    return KnownCalls(
        calls=traced.calls,
        collective=mpiio.in_collective if mpiio is not None and same else traced.collective,
        bytes=traced.transferred,
        seconds=traced.seconds,
        small=sum(traced.size_classes[1:_SMALL_CLASSES]),
        small_bytes=SMALL_BYTES,
        small_seconds=sum(traced.size_seconds[1:_SMALL_CLASSES]),
        typical_bytes=traced.median_size,
        counted=False,
    )


def _mpiio_calls(writes: bool, file: FileCounters | None, job: Counters | None) -> Calls | None:
    """The counted calls; None: not all calls were counted."""
    if file is None or file.mpiio is None or job is None or "MPI-IO" in job.incomplete:
        return None
    return file.mpiio.write if writes else file.mpiio.read


def _counted(of: Calls | Requests, calls: int, collective: int | None) -> KnownCalls:
    return KnownCalls(
        calls=calls,
        collective=collective,
        bytes=of.bytes,
        seconds=of.seconds,
        small=sum(of.sizes[:_SMALL_COUNTED]),
        small_bytes=SMALL_COUNTED_BYTES,
        small_seconds=None,
        typical_bytes=typical_size(of.sizes),
        counted=True,
    )
