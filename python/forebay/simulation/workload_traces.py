"""Traces of well-known workloads, generated call by call as `forebay trace` would have recorded
them. This needs no MPI, no storage and no time.

Lu 4.2 to 4.4 measures `tile_io`, `ior` and `mpi_io_test`, Settlemyer 4.2 and 5.3 `flash`, Coloma
`sliding_window` and `btio`, Chen `pio`. `flash` and those from `small` to `sliding_window` are the
workloads of `forebay bench`, call by call, with its `count` of work.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from forebay.simulation.made_traces import (
    READ_ALL,
    READ_AT,
    READ_AT_ALL,
    SYNC,
    WRITE_ALL,
    WRITE_AT,
    WRITE_AT_ALL,
    Call,
    Use,
    View,
    write_trace,
)

__all__ = [
    "btio",
    "checkpoint",
    "flash",
    "ior",
    "ior_easy",
    "ior_hard",
    "lattice",
    "mpi_io_test",
    "pio",
    "points",
    "sliding_window",
    "small",
    "small_parts",
    "tile_io",
    "tile_io_small",
]

_MOST_BYTES = (1 << 63) - 1
"""The largest size of a file."""
_MOST_CALLS = 1 << 22
"""The largest number of calls per process."""


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

    def view(rank: int) -> View:
        y, x = divmod(rank, across)
        origin = y * step_y * row + x * step_x * element
        return View(origin, array, [(height, row)], width * element)

    calls = [Call(WRITE_ALL, 0, size), *[Call(READ_ALL, 0, size)] * repetitions]
    write_trace(
        Path(directory), processes, lambda rank: [Use("tile-io.dat", [view(rank)], [calls])]
    )


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

    def view(rank: int) -> View:
        return View(rank * piece, processes * piece, [], piece)

    writes = [Call(WRITE_ALL, segment * transfer, transfer) for segment in range(segments)]
    reads = [Call(READ_ALL, call.position, call.size) for call in writes]
    calls = writes + reads * repetitions
    write_trace(Path(directory), processes, lambda rank: [Use("ior.dat", [view(rank)], [calls])])


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

    def calls(rank: int) -> list[Call]:
        places = [(i * processes + rank) * size for i in range(iterations)]
        return [Call(what, place, size) for what in (WRITE_ALL, READ_ALL) for place in places]

    write_trace(Path(directory), processes, lambda rank: [Use("test.out", [None], [calls(rank)])])


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

    def use(rank: int, name: str, headers: _Integers, places: _Integers, sizes: _Integers) -> Use:
        calls = [
            [Call(WRITE_AT, *one) for one in zip(*part, strict=True)]
            for part in zip(places[:, rank].tolist(), sizes[:, rank].tolist(), strict=True)
        ]
        if rank == 0:
            for number, header in enumerate(headers.tolist()):
                calls[number].insert(0, Call(WRITE_AT, int(places[number, 0, 0]) - header, header))
            superblock = Call(WRITE_AT, 0, _SUPERBLOCK_BYTES)
            calls = [[superblock], *calls, [superblock]]
        return Use(name, [None] * len(calls), calls)

    write_trace(Path(directory), processes, lambda rank: [use(rank, *one) for one in files])


def small(directory: str | os.PathLike[str], processes: int, *, count: int = 100_000) -> None:
    """`count` records of 300 bytes of all processes together, in turns, written by independent
    calls and read through the same handle. Raises ValueError and OSError."""
    _interleaved("small", directory, processes, count, 300)


def ior_hard(directory: str | os.PathLike[str], processes: int, *, count: int = 1600) -> None:
    """As `small`, with `count` records of 47,008 bytes."""
    _interleaved("ior-hard", directory, processes, count, 47_008)


def small_parts(directory: str | os.PathLike[str], processes: int, *, count: int = 25_000) -> None:
    """`count` records of 300 bytes of each process, one behind the other in a part of its own,
    written by independent calls and read through the same handle. Raises ValueError and OSError."""
    _in_parts("small-parts", directory, processes, count, 300)


def ior_easy(directory: str | os.PathLike[str], processes: int, *, count: int = 32) -> None:
    """As `small_parts`, with `count` transfers of 1 MiB."""
    _in_parts("ior-easy", directory, processes, count, 1 << 20)


def _interleaved(
    name: str, directory: str | os.PathLike[str], processes: int, count: int, size: int
) -> None:
    _check(min(processes, count) > 0, "sizes are positive")
    _check_extent(count * size, 2 * -(-count // processes))
    _records(name, directory, processes, lambda rank: range(rank, count, processes), size)


def _in_parts(
    name: str, directory: str | os.PathLike[str], processes: int, count: int, size: int
) -> None:
    _check(min(processes, count) > 0, "sizes are positive")
    _check_extent(processes * count * size, 2 * count)
    part = [range(rank * count, (rank + 1) * count) for rank in range(processes)]
    _records(name, directory, processes, part.__getitem__, size)


def _records(
    name: str,
    directory: str | os.PathLike[str],
    processes: int,
    numbers_of: Callable[[int], range],
    size: int,
) -> None:
    def use(rank: int) -> Use:
        calls = [
            Call(routine, number * size, size)
            for routine in (WRITE_AT, READ_AT)
            for number in numbers_of(rank)
        ]
        return Use(name, [None], [calls])

    write_trace(Path(directory), processes, lambda rank: [use(rank)])


_RECORDS_A_VARIABLE = 64
_VARIABLES_START = 1212


def checkpoint(directory: str | os.PathLike[str], processes: int, *, count: int = 24) -> None:
    """A checkpoint through PnetCDF without collective calls: `count` variables, of each 64 records
    of some 25 KB a process, unaligned, beside those of the others; then they are read through a new
    handle, as at a restart. Raises ValueError and OSError."""
    _check(min(processes, count) > 0, "sizes are positive")
    sizes = [22_001 + variable * 331 % 6007 for variable in range(count)]
    _check_extent(
        _VARIABLES_START + processes * _RECORDS_A_VARIABLE * sum(sizes), count * _RECORDS_A_VARIABLE
    )
    starts = [_VARIABLES_START]
    for size in sizes:
        starts.append(starts[-1] + size * _RECORDS_A_VARIABLE * processes)

    def calls(rank: int, routine: int) -> list[Call]:
        return [
            Call(routine, start + (record * processes + rank) * size, size)
            for start, size in zip(starts[:-1], sizes, strict=True)
            for record in range(_RECORDS_A_VARIABLE)
        ]

    def uses(rank: int) -> list[Use]:
        header = [Call(WRITE_AT, 0, _VARIABLES_START)] if rank == 0 else []
        written = Use("checkpoint", [None], [header + calls(rank, WRITE_AT)])
        return [written, Use("checkpoint", [None], [calls(rank, READ_AT)])]

    write_trace(Path(directory), processes, uses)


def tile_io_small(directory: str | os.PathLike[str], processes: int, *, count: int = 20) -> None:
    """`count` pictures of a tile of 80 x 1000 bytes for each process, written and then read by
    collective calls, a picture a call. Raises ValueError and OSError."""
    _grid_of_blocks("tile-io-small", directory, processes, (1000, 80), count)


def lattice(directory: str | os.PathLike[str], processes: int, *, count: int = 1) -> None:
    """`count` fields on a lattice of four dimensions: a block of 16^4 sites of 192 bytes for each
    process, written and then read by collective calls, a field a call. Raises ValueError and
    OSError."""
    _grid_of_blocks("lattice", directory, processes, (16, 16, 16, 16 * 192), count)


_BTIO_POINTS = 64
_BTIO_POINT_BYTES = 40


def btio(directory: str | os.PathLike[str], processes: int, *, count: int = 3) -> None:
    """BT-IO of the NAS Parallel Benchmarks, with reads: `count` cubes of 64^3 points of 40 bytes,
    which q^2 processes divide into q^3 cells. Each has q cells on a diagonal. It writes and then
    reads them by collective calls, a cube a call. Raises ValueError, also unless q divides 64, and
    OSError."""
    q = math.isqrt(max(processes, 0))
    _check(
        q > 0 and q * q == processes and _BTIO_POINTS % q == 0,
        f"btio needs 1, 4, 16, 64, ... up to 4,096 processes, not {processes:,}",
    )
    edge = _BTIO_POINTS // q
    sizes = (_BTIO_POINTS, _BTIO_POINTS, _BTIO_POINTS * _BTIO_POINT_BYTES)
    parts = (edge, edge, edge * _BTIO_POINT_BYTES)

    def cells(rank: int) -> list[_Block]:
        j, i = divmod(rank, q)
        places = [(c, (j + q - c) % q, (i + c) % q) for c in range(q)]
        return [
            _Block(sizes, parts, tuple(n * part for n, part in zip(place, parts, strict=True)))
            for place in places
        ]

    _arrays("btio", directory, processes, cells, count)


_POINT_BYTES = 4


def points(directory: str | os.PathLike[str], processes: int, *, count: int = 100_000) -> None:
    """`count` scattered records of 4 bytes for each process, in no order that a stride describes,
    written and then read in one collective call. Raises ValueError and OSError."""
    _check(min(processes, count) > 0, "sizes are positive")
    size = count * _POINT_BYTES
    _check_extent(processes * size, 2)
    _check(count <= _MOST_CALLS, f"{count:,} points of a process are too many")
    numbers = np.arange(count, dtype=np.int64)
    turns = (_mixed(numbers.astype(np.uint64)) % np.uint64(processes)).astype(np.int64)

    def use(rank: int) -> Use:
        places = (numbers * processes + (rank + turns) % processes) * _POINT_BYTES
        view = View(0, int(places[-1]) + _POINT_BYTES, [], _POINT_BYTES, places.tolist())
        return Use("points", [view], [[Call(WRITE_AT_ALL, 0, size), Call(READ_AT_ALL, 0, size)]])

    write_trace(Path(directory), processes, lambda rank: [use(rank)])


_TILES_ACROSS = 8
_TILE = (768, 4096)


def sliding_window(directory: str | os.PathLike[str], processes: int, *, count: int = 16) -> None:
    """A picture of 8 x 8 tiles of 4096 x 768 bytes, made by independent writes of rows. Then each
    process reads its tile and writes it, by collective calls, and moves one tile on: `count` times.
    Raises ValueError and OSError."""
    _check(min(processes, count) > 0, "sizes are positive")
    _check_extent(0, 2 * count)
    height, width = _TILE
    sizes = (_TILES_ACROSS * height, _TILES_ACROSS * width)

    def use(rank: int) -> Use:
        rows = range(rank, sizes[0], processes)
        parts = [[Call(WRITE_AT, row * sizes[1], sizes[1]) for row in rows] + [Call(SYNC, 0, 0)]]
        views: list[View | None] = [None]
        for move in range(count):
            down, across = divmod((rank + move) % _TILES_ACROSS**2, _TILES_ACROSS)
            views.append(_view_of([_Block(sizes, _TILE, (down * height, across * width))]))
            parts.append(
                [Call(READ_AT_ALL, 0, height * width), Call(WRITE_AT_ALL, 0, height * width)]
            )
        return Use("sliding-window", views, parts)

    write_trace(Path(directory), processes, lambda rank: [use(rank)])


def pio(
    directory: str | os.PathLike[str],
    processes: int,
    *,
    size: int = 1 << 20,
    nested: bool = False,
    independent: bool = False,
    count: int = 64,
    compute: float = 0.01,
) -> None:
    """pio-bench with computation between reads (Chen 2010): each process makes `count` reads of
    `size` bytes of a file that is there before.

    The processes' blocks of one read follow each other, and the next read's follow these. With
    `nested`, every second time room for two further reads is left (a pair of strides, 1 and 3).
    `independent`: the calls are not collective. `compute`: seconds of computation between two
    reads, which `--think 1` simulates. Raises ValueError and OSError.
    """
    _check(min(processes, size, count) > 0, "sizes are positive")
    _check(0 <= compute <= _MOST_COMPUTE_S, f"compute is from 0 to {_MOST_COMPUTE_S:,} seconds")
    _check_extent(2 * count * processes * size, count)
    rounds = [2 * i - i % 2 if nested else i for i in range(count)]
    routine = READ_AT if independent else READ_AT_ALL

    def use(rank: int) -> Use:
        calls = [Call(routine, (n * processes + rank) * size, size) for n in rounds]
        return Use("pio", [None], [calls])

    lasting = round(compute * 1e9) + 500_000
    write_trace(Path(directory), processes, lambda rank: [use(rank)], call_ns=lasting)


_MOST_COMPUTE_S = 3600


@dataclass(frozen=True, slots=True)
class _Block:
    """The block of an array that a process has, by dimensions; the last one counts bytes."""

    sizes: tuple[int, ...]
    """Of the array."""
    parts: tuple[int, ...]
    """Of the block."""
    starts: tuple[int, ...]

    @property
    def steps(self) -> list[tuple[int, int]]:
        """From row to row, the innermost first."""
        strides = [math.prod(self.sizes[d + 1 :]) for d in range(len(self.sizes) - 1)]
        return list(zip(self.parts[:-1], strides, strict=True))[::-1]

    @property
    def place(self) -> int:
        """Of its first byte."""
        return sum(start * math.prod(self.sizes[d + 1 :]) for d, start in enumerate(self.starts))


def _block_of(rank: int, grid: Sequence[int], parts: tuple[int, ...]) -> _Block:
    """The rank's block, of an array that the grid divides."""
    places = []
    for across in reversed(grid):
        rank, place = divmod(rank, across)
        places.append(place)
    places.reverse()
    sizes = tuple(number * part for number, part in zip(grid, parts, strict=True))
    return _Block(sizes, parts, tuple(n * part for n, part in zip(places, parts, strict=True)))


def _view_of(blocks: Sequence[_Block]) -> View:
    """Of blocks of one shape, whose bytes ascend from block to block."""
    first = blocks[0]
    places = [block.place for block in blocks]
    return View(0, math.prod(first.sizes), first.steps, first.parts[-1], places)


def _grid_of_blocks(
    name: str,
    directory: str | os.PathLike[str],
    processes: int,
    parts: tuple[int, ...],
    count: int,
) -> None:
    """`count` arrays, of which each process has a block with so many `parts`."""
    _check(processes > 0, "sizes are positive")
    grid = _dimensions(processes, len(parts))
    _arrays(name, directory, processes, lambda rank: [_block_of(rank, grid, parts)], count)


def _arrays(
    name: str,
    directory: str | os.PathLike[str],
    processes: int,
    blocks_of: Callable[[int], Sequence[_Block]],
    count: int,
) -> None:
    """`count` arrays, one after the other, of which each process has blocks of one shape."""
    _check(min(processes, count) > 0, "sizes are positive")
    blocks = blocks_of(0)
    mine = len(blocks) * math.prod(blocks[0].parts)
    _check_extent(count * math.prod(blocks[0].sizes), 2 * count)
    calls = [
        Call(routine, number * mine, mine)
        for routine in (WRITE_AT_ALL, READ_AT_ALL)
        for number in range(count)
    ]
    write_trace(
        Path(directory), processes, lambda rank: [Use(name, [_view_of(blocks_of(rank))], [calls])]
    )


def _dimensions(processes: int, count: int) -> list[int]:
    """A grid of the processes, as square as possible, the first dimension the largest."""

    divisors = [n for n in range(1, math.isqrt(processes) + 1) if processes % n == 0]
    divisors = sorted({*divisors, *(processes // n for n in divisors)}, reverse=True)

    def grids(rest: int, left: int, most: int) -> Iterator[list[int]]:
        if left == 1:
            if rest <= most:
                yield [rest]
            return
        for first in divisors:
            if first <= most and rest % first == 0:
                for others in grids(rest // first, left - 1, first):
                    yield [first, *others]

    return min(grids(processes, count, processes), key=lambda grid: (grid[0] - grid[-1], grid))


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
