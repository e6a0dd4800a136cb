"""Draws docs/figures/informed.svg and prints the table of docs/simulating.md, "Informed
replacement": the hits of policies over nine cache sizes, as a share of Belady's.

    python bench/informed.py [LOG.darshan ...]    (Forebay installed with `darshan`)

Besides the logs: processes that read their records in rounds, and MPI-Tile-IO.
"""

from __future__ import annotations

import itertools
import sys
import tempfile
from collections import Counter
from pathlib import Path

from forebay import plots
from forebay.plots.style import svg_of
from forebay.simulation import INFORMED, MIN, CacheResults, simulate_cache, workload_traces

FIGURE = Path(__file__).resolve().parent.parent / "docs" / "figures" / "informed.svg"
POLICIES = ("lru", "arc", "s3fifo", INFORMED, MIN)


def in_rounds(path: Path) -> Path:
    """4 processes read 300 records of 47,008 bytes each in turn, 50 times."""
    lines = [
        f"{time},{process},read,{(4 * record + process) * 47008},47008"
        for time, (_, record, process) in enumerate(
            itertools.product(range(50), range(300), range(4))
        )
    ]
    path.write_text("\n".join(["time,process,operation,offset,length", *lines]))
    return path


def simulated(trace: Path) -> CacheResults:
    return simulate_cache(trace, policies=POLICIES, awareness=["original"], bypass=None)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rounds = simulated(in_rounds(folder / "rounds.csv"))
        workload_traces.tile_io(folder / "tile-io", 16)
        each = {"rounds": rounds, "tile-io": simulated(folder / "tile-io")}
    for log in map(Path, sys.argv[1:]):
        each[log.stem] = simulated(log)
    FIGURE.write_text(svg_of(plots.hit_rates(rounds)), encoding="utf-8")
    for trace, results in each.items():
        hits: Counter[str] = Counter()
        for one in results:
            hits[one.policy] += one.hits
        shares = (f"{hits[policy] / hits[MIN]:.1%}" for policy in POLICIES if policy != MIN)
        print(f"| {trace} | {' | '.join(shares)} |")


if __name__ == "__main__":
    main()
