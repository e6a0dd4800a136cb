"""Traces of well-known workloads, generated call by call as `forebay trace` would have recorded
them. This needs no MPI, no storage and no time.

Lu 4.2 to 4.4 measures these three workloads. Ranks begin a collective call one microsecond after
each other.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from forebay import _core

__all__ = ["ior", "mpi_io_test", "tile_io"]

_ROUTINES = (
    *("MPI_File_open", "MPI_File_set_view", "MPI_File_close"),
    *("MPI_File_write_all", "MPI_File_read_all"),
)
_OPEN, _SET_VIEW, _CLOSE, _WRITE, _READ = range(len(_ROUTINES))
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
    """A collective access: `size` data bytes from `position` on in the rank's view."""

    writes: bool
    position: int
    size: int


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

    calls = [_Call(True, 0, size), *[_Call(False, 0, size)] * repetitions]
    _write(Path(directory), "tile-io.dat", processes, view, lambda _: calls)


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

    writes = [_Call(True, segment * transfer, transfer) for segment in range(segments)]
    reads = [_Call(False, call.position, call.size) for call in writes]
    _write(Path(directory), "ior.dat", processes, view, lambda _: writes + reads * repetitions)


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
        return [_Call(writes, place, size) for writes in (True, False) for place in places]

    _write(Path(directory), "test.out", processes, lambda _: None, calls)


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


def _write(
    directory: Path,
    name: str,
    processes: int,
    view_of: Callable[[int], _View | None],
    calls_of: Callable[[int], list[_Call]],
) -> None:
    """Writes a folder with a trace file per process."""
    directory.mkdir(parents=True)
    for rank in range(processes):
        data = _process(rank, processes, name, view_of(rank), calls_of(rank))
        (directory / f"{rank}-{rank + 1}.trace").write_bytes(data)


def _process(rank: int, processes: int, name: str, view: _View | None, calls: list[_Call]) -> bytes:
    facts = {"rank": rank, "ranks": processes, "host": "made-up", "pid": rank + 1}
    described = {key: str(value) for key, value in facts.items()}
    writer = _core.TraceWriter({**described, "routines": " ".join(_ROUTINES)})
    writer.file(0, processes, 0, name)
    routines = [_OPEN]
    if view is not None:
        writer.view(1, view.origin, view.extent, view.count, view.stride, view.block)
        routines.append(_SET_VIEW)
    before = len(routines)
    routines += [_WRITE if call.writes else _READ for call in calls] + [_CLOSE]
    count = len(routines)
    positions, sizes = np.zeros(count, np.int64), np.zeros(count, np.int64)
    positions[before:-1] = [call.position for call in calls]
    sizes[before:-1] = [call.size for call in calls]
    start = np.arange(count, dtype=np.int64) * _CALL_NS + rank * _RANK_NS
    writer.accesses(
        np.array(routines, np.uint8),
        np.zeros(count, np.uint32),
        np.full(count, 0 if view is None else 1, np.uint32),
        positions,
        sizes,
        start,
        start + _CALL_NS // 2,
    )
    return writer.finish()
