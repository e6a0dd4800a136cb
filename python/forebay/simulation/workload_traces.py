"""Traces of well-known workloads, generated call by call as `forebay trace` would have recorded
them. This needs no MPI, no storage and no time.

Lu 4.2 to 4.4 measures `tile_io`, `ior` and `mpi_io_test`, Settlemyer 4.2 and 5.3 `flash`. Ranks
begin a call one microsecond after each other.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from forebay import _core

__all__ = ["flash", "ior", "mpi_io_test", "tile_io"]

_ROUTINES = (
    *("MPI_File_open", "MPI_File_set_view", "MPI_File_close"),
    *("MPI_File_write_all", "MPI_File_read_all", "MPI_File_write_at"),
)
_OPEN, _SET_VIEW, _CLOSE, _WRITE_ALL, _READ_ALL, _WRITE_AT = range(len(_ROUTINES))
_MOST_BYTES = (1 << 63) - 1
"""The largest size of a file."""
_MOST_CALLS = 1 << 22
"""The largest number of calls per process."""
_CALL_NS = 1_000_000
_RANK_NS = 1_000


@dataclass(frozen=True, slots=True)
class _View:
    """`count` blocks of `block` bytes at distances of `stride`, in every `extent` bytes from
    `origin` on."""

    origin: int
    extent: int
    count: int
    stride: int
    block: int


@dataclass(frozen=True, slots=True)
class _Call:
    """An access: `size` data bytes from `position` on in the rank's view."""

    routine: int
    position: int
    size: int


@dataclass(frozen=True, slots=True)
class _Use:
    """What a process does with a file: it opens it, sets a view, accesses it and closes it."""

    name: str
    view: _View | None
    calls: list[_Call]


def tile_io(
    directory: str | os.PathLike[str],
    processes: int,
    *,
    grid: tuple[int, int] | None = None,
    tile: tuple[int, int] = (1024, 1024),
    element: int = 8,
    overlap: tuple[int, int] = (128, 128),
    repetitions: int = 1,
) -> None:
    """MPI-Tile-IO: each process writes its tile of a dense array in one call, then reads it.

    `grid`: number of tiles in x and y; None: as square as `processes` allows, with more tiles in x.
    `tile`: elements in x and y. `element`: its size in bytes. `overlap`: elements that neighbours
    share in x and y. `repetitions`: how often the tile is read. Raises ValueError if these make no
    array, and OSError.
    """
    width, height = tile
    _check(min(processes, width, height, element, repetitions) > 0, "sizes are positive")
    across, down = _squarest(processes) if grid is None else grid
    _check(
        min(across, down) > 0 and across * down == processes,
        f"a grid of {across}x{down} has no {processes} tiles",
    )
    _check(
        0 <= overlap[0] < width and 0 <= overlap[1] < height, "tiles overlap by less than a tile"
    )
    step_x, step_y = width - overlap[0], height - overlap[1]
    row = (step_x * across + overlap[0]) * element
    array = row * (step_y * down + overlap[1])
    size = width * height * element
    _check_extent(array, 1 + repetitions)

    def view(rank: int) -> _View:
        y, x = divmod(rank, across)
        origin = y * step_y * row + x * step_x * element
        return _View(origin, array, height, row, width * element)

    calls = [_Call(_WRITE_ALL, 0, size), *[_Call(_READ_ALL, 0, size)] * repetitions]
    _write(Path(directory), processes, lambda rank: [_Use("tile-io.dat", view(rank), calls)])


def ior(
    directory: str | os.PathLike[str],
    processes: int,
    *,
    transfer: int = 8 << 20,
    piece: int | None = None,
    segments: int = 4,
    repetitions: int = 1,
) -> None:
    """IOR, interleaved: in each segment of the file the transfers of the processes follow each
    other.

    Each process writes one transfer per segment, collectively, then reads them `repetitions` times.
    `transfer`: bytes per call. `piece`: contiguous bytes of a transfer, with pieces of the other
    processes between them (IOR's strided data types); None: a transfer is contiguous. `segments`:
    transfers per process. Raises ValueError and OSError.
    """
    piece = transfer if piece is None else piece
    _check(min(processes, transfer, piece, segments, repetitions) > 0, "sizes are positive")
    _check(transfer % piece == 0, f"{transfer} bytes are no pieces of {piece}")
    _check_extent(processes * segments * transfer, segments * (1 + repetitions))

    def view(rank: int) -> _View:
        return _View(rank * piece, processes * piece, 1, processes * piece, piece)

    writes = [_Call(_WRITE_ALL, segment * transfer, transfer) for segment in range(segments)]
    reads = [_Call(_READ_ALL, call.position, call.size) for call in writes]
    calls = writes + reads * repetitions
    _write(Path(directory), processes, lambda rank: [_Use("ior.dat", view(rank), calls)])


def mpi_io_test(
    directory: str | os.PathLike[str],
    processes: int,
    *,
    size: int = 16 << 20,
    iterations: int = 4,
) -> None:
    """mpi-io-test of PVFS: in each iteration each process writes `size` bytes; the blocks of the
    processes, and the iterations, follow each other in the file. Then everything is read in the
    same way. The defaults are those of the Darshan log mpi-io-test_32ranks. Raises ValueError and
    OSError.
    """
    _check(min(processes, size, iterations) > 0, "sizes are positive")
    _check_extent(processes * iterations * size, 2 * iterations)

    def calls(rank: int) -> list[_Call]:
        places = [(i * processes + rank) * size for i in range(iterations)]
        return [_Call(what, place, size) for what in (_WRITE_ALL, _READ_ALL) for place in places]

    _write(Path(directory), processes, lambda rank: [_Use("test.out", None, calls(rank))])


def flash(
    directory: str | os.PathLike[str], processes: int, *, sets: int = 250, pieces: int = 1
) -> None:
    """FLASH I/O: three files, one after the other, each of `sets` data sets, to which each process
    contributes a part of its own, in `pieces` unaligned independent writes.

    A write has 1 to 50 KB, mostly little; with 250 writes a file, the three have 7 MB a process.
    Before each data set process 0 writes a small header, and the superblock twice, as HDF5 does.
    With one piece the accesses are those of `forebay bench flash`. Raises ValueError and OSError.
    """
    _check(min(processes, sets, pieces) > 0, "sizes are positive")
    _check_extent(processes * sets * pieces * 50_000, (3 * pieces + 3) * sets)
    names = ("flash_checkpoint", "flash_plot_centered", "flash_plot_corner")
    files = [
        (name, *_flash_file(index, sets, processes, pieces)) for index, name in enumerate(names)
    ]

    def use(rank: int, name: str, headers: _Integers, places: _Integers, sizes: _Integers) -> _Use:
        calls = [
            [_Call(_WRITE_AT, *one) for one in zip(*part, strict=True)]
            for part in zip(places[:, rank].tolist(), sizes[:, rank].tolist(), strict=True)
        ]
        if rank == 0:
            for number, header in enumerate(headers.tolist()):
                calls[number].insert(
                    0, _Call(_WRITE_AT, int(places[number, 0, 0]) - header, header)
                )
            superblock = _Call(_WRITE_AT, 0, _SUPERBLOCK_BYTES)
            calls = [[superblock], *calls, [superblock]]
        return _Use(name, None, [call for part in calls for call in part])

    _write(Path(directory), processes, lambda rank: [use(rank, *one) for one in files])


_Integers = npt.NDArray[np.int64]
_SUPERBLOCK_BYTES = 96


def _flash_file(
    file: int, sets: int, ranks: int, pieces: int
) -> tuple[_Integers, _Integers, _Integers]:
    """The bytes of each data set's header; place and bytes of each piece, by data set, rank and
    piece."""
    set_numbers = np.arange(sets, dtype=np.uint64)
    writes = np.arange(sets * pieces, dtype=np.uint64)
    seeds = (np.uint64(file) << np.uint64(48)) + (writes << np.uint64(24))
    mixed = _mixed(np.add.outer(seeds, np.arange(ranks, dtype=np.uint64)))
    u = (mixed >> np.uint64(11)).astype(np.float64) * 2.0**-53
    sizes = 1 | (1000 + 49000 * (u * u * u * u) * np.where(u > 0.5, u, 0.5 * u)).astype(np.int64)
    of_file = _mixed((np.uint64(file) << np.uint64(32)) + set_numbers)
    headers = 96 + (of_file % np.uint64(449)).astype(np.int64)
    sizes = sizes.reshape(sets, pieces, ranks).transpose(0, 2, 1)
    in_order = sizes.reshape(sets, ranks * pieces)
    ends = _SUPERBLOCK_BYTES + np.cumsum(headers + in_order.sum(axis=1))
    places = ends[:, None] - np.cumsum(in_order[:, ::-1], axis=1)[:, ::-1]
    return headers, places.reshape(sizes.shape), sizes


def _mixed(x: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Random numbers from numbers that need not be (the finaliser of splitmix64)."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _check(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)


def _check_extent(file_bytes: int, calls: int) -> None:
    _check(file_bytes <= _MOST_BYTES, f"no file has {file_bytes:,} bytes")
    _check(
        calls <= _MOST_CALLS,
        f"{calls:,} calls of a process are too many; {_MOST_CALLS:,} is the most",
    )


def _squarest(processes: int) -> tuple[int, int]:
    down = max(n for n in range(1, int(processes**0.5) + 1) if processes % n == 0)
    return processes // down, down


def _write(directory: Path, processes: int, uses_of: Callable[[int], list[_Use]]) -> None:
    """Writes a folder with a trace file per process."""
    directory.mkdir(parents=True)
    for rank in range(processes):
        data = _process(rank, processes, uses_of(rank))
        (directory / f"{rank}-{rank + 1}.trace").write_bytes(data)


def _process(rank: int, processes: int, uses: list[_Use]) -> bytes:
    facts = {"rank": rank, "ranks": processes, "host": "made-up", "pid": rank + 1}
    described = {key: str(value) for key, value in facts.items()}
    writer = _core.TraceWriter({**described, "routines": " ".join(_ROUTINES)})
    rows: list[tuple[int, int, int, int, int]] = []
    for number, use in enumerate(uses):
        writer.file(number, processes, 0, use.name)
        rows.append((_OPEN, number, 0, 0, 0))
        view = 0
        if use.view is not None:
            view = number + 1
            shape = use.view
            writer.view(view, shape.origin, shape.extent, shape.count, shape.stride, shape.block)
            rows.append((_SET_VIEW, number, view, 0, 0))
        rows += [(call.routine, number, view, call.position, call.size) for call in use.calls]
        rows.append((_CLOSE, number, view, 0, 0))
    routines, files, views, positions, sizes = np.array(rows, np.int64).T
    start = np.arange(len(rows), dtype=np.int64) * _CALL_NS + rank * _RANK_NS
    writer.accesses(
        routines.astype(np.uint8),
        files.astype(np.uint32),
        views.astype(np.uint32),
        np.ascontiguousarray(positions),
        np.ascontiguousarray(sizes),
        start,
        start + _CALL_NS // 2,
    )
    return writer.finish()
