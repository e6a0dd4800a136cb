"""`forebay generate`: traces of well-known workloads, without running them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from forebay.simulation import workload_traces
from forebay.sizes import size_option
from forebay.text import one_line


def _pair(text: str) -> tuple[int, int]:
    """Two numbers, as 1024x1024."""
    words = text.split("x")
    if len(words) != 2 or not all(word.isascii() and word.isdigit() for word in words):
        raise click.BadParameter(f"'{text}' is no pair of numbers; write it as 1024x1024")
    return int(words[0]), int(words[1])


_PROCESSES = click.option(
    "-n",
    "--processes",
    type=click.IntRange(1, 1 << 20),
    default=32,
    show_default=True,
    metavar="N",
)
_OUTPUT = click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    metavar="DIR",
    help="New folder for the trace.",
)
_COUNT = click.IntRange(1, 1 << 20)
_REPETITIONS = click.option(
    "--repetitions", type=_COUNT, default=1, show_default=True, help="Times to read the data."
)


@click.group(short_help="Make traces of well-known workloads.")
def generate() -> None:
    """Make traces of well-known workloads for `forebay simulate`, without running them."""


@generate.command("tile-io")
@_PROCESSES
@_OUTPUT
@click.option("--grid", type=_pair, metavar="XxY", help="Grid of tiles.  [default: nearly square]")
@click.option(
    "--tile",
    type=_pair,
    default="1024x1024",
    show_default=True,
    metavar="XxY",
    help="Elements of a tile.",
)
@click.option(
    "--element",
    type=size_option,
    default="8",
    show_default=True,
    metavar="SIZE",
    help="Bytes of an element.",
)
@click.option(
    "--overlap",
    type=_pair,
    default="128x128",
    show_default=True,
    metavar="XxY",
    help="Elements that neighbouring tiles share.",
)
@_REPETITIONS
def tile_io(processes: int, output: Path, **parameters: Any) -> None:
    """MPI-Tile-IO: write, then read overlapping tiles of an array collectively."""
    _make(workload_traces.tile_io, output, processes, parameters)


@generate.command("ior")
@_PROCESSES
@_OUTPUT
@click.option(
    "--transfer",
    type=size_option,
    default="8MiB",
    show_default=True,
    metavar="SIZE",
    help="Bytes of a call.",
)
@click.option(
    "--piece",
    type=size_option,
    metavar="SIZE",
    help="Contiguous bytes of a process.  [default: a transfer]",
)
@click.option("--segments", type=_COUNT, default=4, show_default=True, help="Calls per process.")
@_REPETITIONS
def ior(processes: int, output: Path, **parameters: Any) -> None:
    """IOR: write, then read interleaved transfers of the processes collectively."""
    _make(workload_traces.ior, output, processes, parameters)


@generate.command("mpi-io-test")
@_PROCESSES
@_OUTPUT
@click.option(
    "--size",
    type=size_option,
    default="16MiB",
    show_default=True,
    metavar="SIZE",
    help="Bytes of a call.",
)
@click.option("--iterations", type=_COUNT, default=4, show_default=True, help="Calls per process.")
def mpi_io_test(processes: int, output: Path, **parameters: Any) -> None:
    """mpi-io-test: write, then read consecutive blocks of the processes collectively."""
    _make(workload_traces.mpi_io_test, output, processes, parameters)


@generate.command("flash")
@_PROCESSES
@_OUTPUT
@click.option("--sets", type=_COUNT, default=250, show_default=True, help="Data sets of a file.")
@click.option(
    "--pieces",
    type=_COUNT,
    default=1,
    show_default=True,
    help="Writes of a process for its part of a data set.",
)
def flash(processes: int, output: Path, **parameters: Any) -> None:
    """FLASH I/O: write three files of data sets in small, unaligned, independent pieces."""
    _make(workload_traces.flash, output, processes, parameters)


@generate.command("pio")
@_PROCESSES
@_OUTPUT
@click.option(
    "--size",
    type=size_option,
    default="1MiB",
    show_default=True,
    metavar="SIZE",
    help="Bytes of a read.",
)
@click.option("--nested", is_flag=True, help="Two strides in turn: one read, and three.")
@click.option("--independent", is_flag=True, help="Reads are not collective.")
@click.option("--count", type=_COUNT, default=64, show_default=True, help="Reads per process.")
@click.option(
    "--compute",
    type=click.FloatRange(0, 3600),
    default=0.01,
    show_default=True,
    metavar="SECONDS",
    help="Computation between two reads; simulate it with --think 1.",
)
def pio(processes: int, output: Path, **parameters: Any) -> None:
    """pio-bench: read strided blocks of a file that is there, and compute between."""
    _make(workload_traces.pio, output, processes, parameters)


def _add_of_bench(make: Callable[..., None], count: int, work: str, does: str) -> None:
    """Adds a workload of `forebay bench`, which has a `--count` of work."""

    def run(processes: int, output: Path, **parameters: Any) -> None:
        _make(make, output, processes, parameters)

    run.__doc__ = does
    option = click.option("--count", type=_COUNT, default=count, show_default=True, help=work)
    name = make.__name__.replace("_", "-")
    generate.command(name)(_PROCESSES(_OUTPUT(option(run))))


for _workload in (
    (workload_traces.small, 100_000, "Records of all processes together.",
     "Write interleaved records of 300 bytes independently, then read them."),
    (workload_traces.ior_hard, 1600, "Records of all processes together.",
     "IOR's hard runs: write interleaved records of 47,008 bytes independently, then read them."),
    (workload_traces.small_parts, 25_000, "Records per process.",
     "Write records of 300 bytes in parts of the file independently, then read them."),
    (workload_traces.ior_easy, 32, "Transfers per process.",
     "IOR's easy runs: write 1 MiB at a time in parts of the file, then read them."),
    (workload_traces.checkpoint, 24, "Variables.",
     "Write records of some 25 KB of many variables independently, reopen and read them."),
    (workload_traces.tile_io_small, 20, "Pictures.",
     "Write, then read pictures in tiles of 80 x 1000 bytes collectively."),
    (workload_traces.lattice, 1, "Fields.",
     "Write, then read blocks of a field in four dimensions collectively."),
    (workload_traces.btio, 3, "Cubes.",
     "BT-IO: write, then read cells of cubes on a diagonal collectively (1, 4, 16 ... processes)."),
    (workload_traces.points, 100_000, "Records per process.",
     "Write, then read scattered records of 4 bytes in one collective call."),
    (workload_traces.sliding_window, 16, "Tiles per process.",
     "Read and write tiles of a picture collectively, from tile to tile."),
):  # fmt: skip
    _add_of_bench(*_workload)


def _make(
    make: Callable[..., None], output: Path, processes: int, parameters: dict[str, Any]
) -> None:
    try:
        make(output, processes, **parameters)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    except FileExistsError as error:
        raise click.UsageError(f"-o {one_line(str(output))}: it exists") from error
    except OSError as error:
        raise click.ClickException(f"{one_line(str(output))}: {error.strerror}") from error
