#!/usr/bin/env python3
"""How long accesses to bytes of another node take, beside bare messages, as docs/user-guide.md has
it in "Several nodes": remote_access.c on 4 ranks of two nodes, with idle and with busy cores.

    python bench/remote_access.py [--dir DIR] [--mpi MPI]...    (Forebay installed with `mpich`)

Prints a table of microseconds: medians of 2,000 calls, and of the launches.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import click

from forebay.bench.mpi import Mpi, find_mpi, temporary_folders
from forebay.bench.runs import run_command

SOURCE = Path(__file__).with_suffix(".c")
RANKS, NODES, CALLS = 4, 2, 2000


def launched(mpi: Mpi, program: Path, file: Path, busy: bool) -> dict[str, float]:
    """The medians of one launch, in microseconds, by name."""
    words = [str(program), str(file), str(CALLS), str(int(busy))]
    run = [sys.executable, "-m", "forebay", "run", "-o", "step_aside=never", "--"]
    command = [*run, *mpi.command(RANKS, words, nodes=NODES)]
    rows = (line.split() for line in run_command(command, mpi.environment(RANKS), 300).splitlines())
    file.unlink()
    return {name: float(microseconds) for name, microseconds in rows}


@click.command(help=__doc__.split("\n", maxsplit=1)[0])
@click.option("--dir", "folder", type=Path, default=Path("/var/tmp"), show_default=True)
@click.option("--mpi", "names", multiple=True, help="As for forebay bench; may be repeated.")
@click.option("--repeat", type=click.IntRange(1), default=5, show_default=True)
def main(folder: Path, names: tuple[str, ...], repeat: int) -> None:
    columns: dict[str, dict[str, list[float]]] = {}
    for name in names or ("mpich",):
        mpi = find_mpi(name)
        with temporary_folders(folder) as (build, files):
            program = build / "remote_access"
            subprocess.run([mpi.mpicc, "-O2", "-o", program, SOURCE], check=True)
            for _ in range(repeat):
                for busy in (False, True):
                    title = f"{mpi.family}, {'busy' if busy else 'idle'}"
                    column = columns.setdefault(title, defaultdict(list))
                    for row, taken in launched(mpi, program, files / "file", busy).items():
                        column[row].append(taken)
    print(f"{'':18}" + "".join(f"{title:>16}" for title in columns))
    for row in next(iter(columns.values())):
        medians = (statistics.median(column[row]) for column in columns.values())
        print(f"{row:18}" + "".join(f"{median:16.1f}" for median in medians))


if __name__ == "__main__":
    main()
