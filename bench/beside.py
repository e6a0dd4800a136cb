#!/usr/bin/env python3
"""Measures a file system, predicts workloads on it, runs them, and prints both as a table.

    python bench/beside.py --dir /scratch/me [--mpi mpich] [--ranks 2]

The machine is what `forebay simulate cluster --measure` finds; no workload here is part of that.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from forebay.bench.mpi import find_mpi
from forebay.bench.runs import WORKLOADS, Bench
from forebay.simulation import Machine, measure, simulate_cluster, workload_traces

# What is generated for each workload of the bench, and with how much work of the bench.
CASES: dict[str, tuple[Callable[..., None], dict[str, int], int]] = {
    "small": (workload_traces.small, {"count": 20_000}, 20_000),
    "flash": (workload_traces.flash, {}, 0),
    "ior-hard": (workload_traces.ior_hard, {}, 0),
    "tile-io": (workload_traces.tile_io, {}, 0),
    "lattice": (workload_traces.lattice, {}, 0),
    "sliding-window": (workload_traces.sliding_window, {}, 0),
}
# The bench leaves out the time in which the picture is made, the simulation does not.
NOT_COMPARED = {("sliding-window", "write")}
FIGURES = {"write": ("opening_s", "writing_s", "closing_s"), "read": ("reading_s",)}
SCOPES = {"plain": "none", "forebay": "node"}


def predicted(name: str, on: Machine, ranks: int) -> dict[tuple[str, str], float]:
    """Seconds by side and figure."""
    make, arguments, _ = CASES[name]
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / name
        make(trace, ranks, **arguments)
        changes = [{"scope": scope} for scope in SCOPES.values()]
        results = simulate_cluster(trace, on, changes, processes_per_node=ranks)
    return {
        (side, figure): sum(getattr(result, part) for part in parts)
        for side, result in zip(SCOPES, results, strict=True)
        for figure, parts in FIGURES.items()
    }


def rows(directory: Path, mpi: str | None, ranks: int, pairs: int) -> Iterator[str]:
    found = measure(directory, processes=max(2, ranks))
    check = found.check
    if check is not None:
        print(f"{found.kind}: the check deviates by {check.deviation:+.0%}", file=sys.stderr)
    yield "| workload | figure | side | measured s | predicted s | deviation |"
    yield "| --- | --- | --- | ---: | ---: | ---: |"
    installed = find_mpi(mpi)
    for name in CASES:
        guesses = predicted(name, found.machine(), ranks)
        count = CASES[name][2]
        bench = Bench(WORKLOADS[name], installed, directory, ranks, pairs, rounds=1, count=count)
        report = bench.run()
        for figure in report.figures:
            if figure.first_file or figure.name not in FIGURES:
                continue
            for side in SCOPES:
                values = sorted(figure.of(side))
                measured, guess = values[len(values) // 2], guesses[side, figure.name]
                if (name, figure.name) in NOT_COMPARED or (figure.name == "read" and guess == 0):
                    continue
                yield (
                    f"| {name} | {figure.name} | {side} | {measured:.3g} | {guess:.3g} |"
                    f" {guess / measured - 1:+.0%} |"
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dir", type=Path, required=True)
    parser.add_argument("--mpi")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--pairs", type=int, default=5)
    arguments = parser.parse_args()
    for row in rows(arguments.dir, arguments.mpi, arguments.ranks, arguments.pairs):
        print(row, flush=True)


if __name__ == "__main__":
    main()
