"""The counters of a Darshan log for each file, beside its accesses: calls of MPI-IO, requests to
storage, stripes, and operations of HDF5. They are sums over the processes.

The counters have the meaning of Darshan's modules MPI-IO, POSIX, LUSTRE, H5F and H5D
(darshan-util's documentation of log content); forebay.trace.darshan_counters fills them in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

SIZE_LIMITS = (
    *(100, 1 << 10, 10 << 10, 100 << 10, 1 << 20, 4 << 20, 10 << 20, 100 << 20, 1 << 30),
    1 << 62,
)
"""The upper limits of Darshan's size classes, in bytes."""


@dataclass(frozen=True, slots=True)
class SizeCount:
    """How often a size of a call or request occurred; only the most frequent sizes are counted."""

    bytes: int
    count: int


@dataclass(frozen=True, slots=True)
class RankTime:
    """The time that a rank spent on a file: reading, writing and metadata."""

    rank: int
    seconds: float
    bytes: int


@dataclass(frozen=True, slots=True)
class Calls:
    """Calls of MPI-IO that read a file, or those that write it."""

    independent: int
    collective: int
    split: int
    """Split collective calls."""
    nonblocking: int
    bytes: int
    seconds: float
    """Seconds in the calls. Those of writes include MPI_File_sync, which Darshan does not time
    apart."""
    sizes: tuple[int, ...]
    """Calls per class of SIZE_LIMITS."""

    @property
    def calls(self) -> int:
        return self.independent + self.collective + self.split + self.nonblocking

    @property
    def in_collective(self) -> int:
        """Calls that all ranks of the file make together."""
        return self.collective + self.split

    @property
    def alone(self) -> int:
        """Calls that a rank makes independently."""
        return self.independent + self.nonblocking


@dataclass(frozen=True, slots=True)
class Mpiio:
    """Calls of MPI-IO."""

    processes: int
    """Processes that opened the file."""
    independent_opens: int
    """Opens by a single process: with MPI_COMM_SELF or a communicator of one process."""
    collective_opens: int
    read: Calls
    write: Calls
    syncs: int
    views: int
    """Calls of MPI_File_set_view."""
    hints: int
    """Opens and views with an MPI_Info."""
    mode: int
    """The argument of MPI_File_open; its bits are those of the job's MPI library."""
    metadata_seconds: float
    """Seconds of opening, closing and setting views."""
    common_sizes: tuple[SizeCount, ...]
    slowest: RankTime | None
    fastest: RankTime | None


@dataclass(frozen=True, slots=True)
class Requests:
    """Requests to the operating system that read a file, or those that write it."""

    requests: int
    bytes: int
    seconds: float
    sizes: tuple[int, ...]
    """Requests per class of SIZE_LIMITS."""
    consecutive: int
    """Requests that begin where the process's last one ended."""
    sequential: int
    """Requests that begin there or later."""


@dataclass(frozen=True, slots=True)
class Posix:
    """Requests of the processes, and of the MPI library in them, to the operating system."""

    processes: int
    opens: int
    stats: int
    seeks: int
    syncs: int
    read: Requests
    write: Requests
    unaligned: int
    """Requests that do not begin at a multiple of `alignment`."""
    alignment: int
    """The block size of the file system; 0: unknown."""
    unaligned_in_memory: int
    memory_alignment: int
    mode: int
    """The file's permissions."""
    metadata_seconds: float
    """Seconds of opening, closing, seeking, and asking for the file's state."""
    common_sizes: tuple[SizeCount, ...]
    slowest: RankTime | None
    fastest: RankTime | None

    @property
    def requests(self) -> int:
        return self.read.requests + self.write.requests


@dataclass(frozen=True, slots=True)
class Stripes:
    """Lustre's layout of the file: the last component, if there are several."""

    size: int
    count: int
    targets: tuple[int, ...]
    """Numbers of the object storage targets (OSTs)."""


@dataclass(frozen=True, slots=True)
class Hdf5:
    """Operations of HDF5."""

    processes: int
    """Processes that opened the file as HDF5."""
    opens: int
    flushes: int
    metadata_seconds: float
    """Seconds of opening, flushing and closing the file."""
    datasets: int
    dataset_processes: int
    """Processes that used data sets."""
    dataset_reads: int
    dataset_writes: int
    bytes_read: int
    bytes_written: int
    dataset_seconds: float
    """Seconds of reading and writing data sets."""
    dataset_metadata_seconds: float
    """Seconds of creating, opening, flushing and closing data sets."""


@dataclass(frozen=True, slots=True)
class FileCounters:
    """The counters of one file; None: no module counted."""

    path: str
    mpiio: Mpiio | None
    posix: Posix | None
    hdf5: Hdf5 | None
    stripes: Stripes | None
    untraced: int
    """Counted reads and writes that are not among the trace's accesses."""


@dataclass(frozen=True, slots=True)
class Counters:
    """The counters of a job."""

    layer: str
    """The interface of the accesses: `MPI-IO`, or `POSIX` if the log has no others."""
    traced: bool
    """Whether accesses were recorded (DXT)."""
    processes: int
    """Processes of the job."""
    seconds: float
    """Seconds between MPI_Init and MPI_Finalize."""
    modules: tuple[str, ...]
    """Modules of Darshan whose counters were read."""
    incomplete: tuple[str, ...]
    """Modules, that of the accesses included, that lack records: Darshan's memory was full, or the
    log is damaged."""
    files: tuple[FileCounters, ...]
    """Files that were accessed through `layer`."""

    @property
    def untraced(self) -> int:
        return sum(file.untraced for file in self.files)

    def of(self, path: str) -> FileCounters | None:
        """The counters of one file."""
        return next((file for file in self.files if file.path == path), None)


def typical_size(sizes: Sequence[int]) -> int:
    """The median size of calls, as the upper limit of its size class; 0: there are no calls."""
    seen, calls = 0, sum(sizes)
    for limit, count in zip(SIZE_LIMITS, sizes, strict=False):
        seen += count
        if seen and 2 * seen >= calls:
            return limit
    return 0


def plain(counters: Counters | None) -> dict[str, Any] | None:
    """The counters as plain values, for JSON."""
    return asdict(counters) if counters is not None else None
