"""What a Darshan log counted of each file beside the accesses: calls of MPI-IO, requests that
storage saw, stripes, and what HDF5 did. Sums over the processes, however many records they left.

The counters' meaning is that of Darshan's modules MPI-IO, POSIX, LUSTRE, H5F and H5D
(darshan-util's documentation of log content); forebay.darshan_counters fills them in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

SIZE_LIMITS = (
    *(100, 1 << 10, 10 << 10, 100 << 10, 1 << 20, 4 << 20, 10 << 20, 100 << 20, 1 << 30),
    1 << 62,
)
"""Bytes: the classes of sizes that Darshan counts in, each up to its limit."""


@dataclass(frozen=True, slots=True)
class SizeCount:
    """How often a size of a call or request was met; only the most frequent are counted."""

    bytes: int
    count: int


@dataclass(frozen=True, slots=True)
class RankTime:
    """The time of a rank with a file: reading, writing and metadata."""

    rank: int
    seconds: float
    bytes: int


@dataclass(frozen=True, slots=True)
class Calls:
    """Calls of MPI-IO that read a file, or that write it."""

    independent: int
    collective: int
    split: int
    """Split collective ones."""
    nonblocking: int
    bytes: int
    seconds: float
    """Of writes also those of MPI_File_sync, which Darshan does not tell apart."""
    sizes: tuple[int, ...]
    """By SIZE_LIMITS."""

    @property
    def calls(self) -> int:
        return self.independent + self.collective + self.split + self.nonblocking

    @property
    def in_collective(self) -> int:
        """That all ranks of the file made together."""
        return self.collective + self.split

    @property
    def alone(self) -> int:
        """That each rank made on its own."""
        return self.independent + self.nonblocking


@dataclass(frozen=True, slots=True)
class Mpiio:
    """What the processes asked of MPI-IO."""

    processes: int
    """That opened the file."""
    independent_opens: int
    """By one process alone: with MPI_COMM_SELF or a communicator of one."""
    collective_opens: int
    read: Calls
    write: Calls
    syncs: int
    views: int
    """Calls of MPI_File_set_view."""
    hints: int
    """Opens and views with an MPI_Info."""
    mode: int
    """As given to MPI_File_open; its bits are those of the job's MPI library."""
    metadata_seconds: float
    """Opening, closing and setting views."""
    common_sizes: tuple[SizeCount, ...]
    slowest: RankTime | None
    fastest: RankTime | None


@dataclass(frozen=True, slots=True)
class Requests:
    """Requests that read a file, or that write it, as the operating system saw them."""

    requests: int
    bytes: int
    seconds: float
    sizes: tuple[int, ...]
    """By SIZE_LIMITS."""
    consecutive: int
    """That began where the process's last one ended."""
    sequential: int
    """That began there or later."""


@dataclass(frozen=True, slots=True)
class Posix:
    """What the processes, and the MPI library in them, asked of the operating system."""

    processes: int
    opens: int
    stats: int
    seeks: int
    syncs: int
    read: Requests
    write: Requests
    unaligned: int
    """Requests that began at no multiple of `alignment`."""
    alignment: int
    """The block size that the file system names; 0: unknown."""
    unaligned_in_memory: int
    memory_alignment: int
    mode: int
    """The file's permissions."""
    metadata_seconds: float
    """Opening, closing, seeking, asking for the file's state."""
    common_sizes: tuple[SizeCount, ...]
    slowest: RankTime | None
    fastest: RankTime | None

    @property
    def requests(self) -> int:
        return self.read.requests + self.write.requests


@dataclass(frozen=True, slots=True)
class Stripes:
    """How Lustre lays the file out: its last component, where there are several."""

    size: int
    count: int
    targets: tuple[int, ...]
    """Numbers of the object storage targets (OSTs)."""


@dataclass(frozen=True, slots=True)
class Hdf5:
    """What the processes asked of HDF5."""

    processes: int
    """That opened the file as HDF5."""
    opens: int
    flushes: int
    metadata_seconds: float
    """Opening, flushing and closing the file."""
    datasets: int
    dataset_processes: int
    """That used data sets."""
    dataset_reads: int
    dataset_writes: int
    bytes_read: int
    bytes_written: int
    dataset_seconds: float
    """Reading and writing data sets."""
    dataset_metadata_seconds: float
    """Creating, opening, flushing and closing them."""


@dataclass(frozen=True, slots=True)
class FileCounters:
    """Of one file; None where no module counted."""

    path: str
    mpiio: Mpiio | None
    posix: Posix | None
    hdf5: Hdf5 | None
    stripes: Stripes | None
    untraced: int
    """Reads and writes that were counted and are not among the trace's accesses."""


@dataclass(frozen=True, slots=True)
class Counters:
    """Of a job."""

    layer: str
    """Whose calls the accesses are: `MPI-IO`, or `POSIX` where the log has no others."""
    traced: bool
    """Whether accesses were recorded at all (DXT)."""
    processes: int
    """Of the job."""
    seconds: float
    """Between its MPI_Init and MPI_Finalize."""
    modules: tuple[str, ...]
    """Darshan's, whose counters were read."""
    incomplete: tuple[str, ...]
    """Of these and of the accesses' module, those that lack some: Darshan's memory was full, or
    the log is damaged."""
    files: tuple[FileCounters, ...]
    """Those that the layer used."""

    @property
    def untraced(self) -> int:
        return sum(file.untraced for file in self.files)

    def of(self, path: str) -> FileCounters | None:
        """Of one file."""
        return next((file for file in self.files if file.path == path), None)


def typical_size(sizes: Sequence[int]) -> int:
    """Half of the calls ask for no more bytes than this limit of their size class; 0 for none."""
    seen, calls = 0, sum(sizes)
    for limit, count in zip(SIZE_LIMITS, sizes, strict=False):
        seen += count
        if seen and 2 * seen >= calls:
            return limit
    return 0


def plain(counters: Counters | None) -> dict[str, Any] | None:
    """As plain values, for JSON."""
    return asdict(counters) if counters is not None else None
