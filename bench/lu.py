"""Lu's comparison (CCGrid 2014) at run time: policies that see each rank's own accesses beside LRU
that sees one aggregated request, at nine cache sizes, in hits and in time.

    python bench/lu.py --dir DIR [--mpi MPIEXEC] [--ranks 4] [--repeat 3]    measures
    python bench/lu.py --page                                  draws the figure, prints the table

All variants of a workload and size run in turn, `--repeat` times; the medians count. The results
are in docs/lu.json, the figure is docs/figures/lu-run.svg (docs/simulating.md).
"""

from __future__ import annotations

import argparse
import json
import statistics
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, NullLocator

from forebay.bench.mpi import find_mpi, temporary_folders
from forebay.bench.runs import WORKLOADS, Bench
from forebay.plots.style import STYLE, Plot, bytes_label, svg_of

DOCS = Path(__file__).resolve().parent.parent / "docs"
RESULTS = DOCS / "lu.json"
FIGURE = DOCS / "figures" / "lu-run.svg"

TITLES = {"tile-io": "MPI-Tile-IO", "ior-hard": "IOR", "mpi-io-test": "mpi-io-test"}
"""Of IOR the interleaved pieces of 47,008 bytes: in its contiguous blocks no two ranks share a
page."""
SIZES = [(256 << 10) << power for power in range(9)]
"""Bytes of cache per rank."""
BASELINE = ("lru", "aggregated")
VARIANTS = [BASELINE, *((policy, "original") for policy in ("lru", "fifo", "lfu", "arc"))]
ALONE = {"step_aside": "never", "read_ahead": "0", "bypass": "1GiB", "keep": "never"}
"""Only accesses touch pages, and all of them do."""


def measure(directory: Path, mpi_name: str | None, ranks: int, repeat: int) -> dict[str, Any]:
    mpi = find_mpi(mpi_name, None)
    found: list[dict[str, Any]] = []
    with temporary_folders(directory) as (build, files):
        for workload in TITLES:
            program = mpi.compile(workload, build)
            command = [str(program), "--dir", str(files), "--repeat", "1", "--no-file-check"]
            if workload != "tile-io":
                command += ["--variant", "collective"]
            for size in SIZES:
                found += _at_size(
                    Bench(WORKLOADS[workload], mpi, files, ranks),
                    command,
                    size,
                    repeat,
                    build / "stats.json",
                )
    return {"mpi": f"{mpi.family} {mpi.version}", "ranks": ranks, "repeat": repeat, "runs": found}


def _at_size(
    bench: Bench, command: list[str], size: int, repeat: int, stats: Path
) -> list[dict[str, Any]]:
    seconds: dict[tuple[str, str], list[float]] = {variant: [] for variant in VARIANTS}
    totals: dict[tuple[str, str], dict[str, int]] = {}
    for number in range(repeat):
        for variant in VARIANTS[number % len(VARIANTS) :] + VARIANTS[: number % len(VARIANTS)]:
            policy, awareness = variant
            bench.options = ALONE | {
                "policy": policy,
                "awareness": awareness,
                "cache_size": str(size),
            }
            (row,) = bench.launch("forebay", command, stats=stats)
            seconds[variant].append(sum(row["seconds"].values()))
            totals[variant] = json.loads(stats.read_text())["total"]
    return [
        {
            "workload": bench.workload.name,
            "cache_size": size,
            "policy": policy,
            "awareness": awareness,
            "seconds": seconds[policy, awareness],
            **{
                name: totals[policy, awareness][name]
                for name in ("hits", "misses", "read_requests", "write_requests", "fetched_bytes")
            },
        }
        for policy, awareness in VARIANTS
    ]


def hit_rate(run: dict[str, Any]) -> float:
    touches = run["hits"] + run["misses"]
    return float(run["hits"] / touches) if touches else 0.0


def elapsed(run: dict[str, Any]) -> float:
    return statistics.median(run["seconds"])


def of_workload(runs: list[dict[str, Any]], workload: str, variant: tuple[str, str]) -> list[Any]:
    """The runs of one line, by cache size."""
    return sorted(
        (
            run
            for run in runs
            if (run["workload"], run["policy"], run["awareness"]) == (workload, *variant)
        ),
        key=lambda run: run["cache_size"],
    )


def table(runs: list[dict[str, Any]]) -> list[str]:
    """Markdown: means over the sizes, and the gain on the baseline at each size in time."""
    lines = [
        "| workload | policy, awareness | hit rate | misses | time | time beside the baseline |",
        "| --- | --- | ---: | ---: | ---: | ---: |",
    ]
    for workload, title in TITLES.items():
        base = of_workload(runs, workload, BASELINE)
        for variant in VARIANTS:
            own = of_workload(runs, workload, variant)
            ratios = [elapsed(b) / elapsed(o) for b, o in zip(base, own, strict=True)]
            beside = f"{statistics.median(ratios):.2f}x ({min(ratios):.2f}-{max(ratios):.2f})"
            lines.append(
                f"| {title if variant == BASELINE else ''} | {variant[0]}, {variant[1]} | "
                f"{statistics.mean(map(hit_rate, own)):.1%} | "
                f"{statistics.mean(run['misses'] for run in own):,.0f} | "
                f"{1e3 * statistics.mean(map(elapsed, own)):,.0f} ms | "
                f"{'' if variant == BASELINE else beside} |"
            )
    return lines


def draw(runs: list[dict[str, Any]], ranks: int) -> Plot:
    colours = ("#777777", "#2a6fb0", "#c8641b", "#3b7d4f", "#6a4c93")
    with matplotlib.rc_context(STYLE):
        figure = Plot(figsize=(9.6, 3.0 * len(TITLES)), layout="constrained")
        for row, (workload, title) in enumerate(TITLES.items()):
            panels = [figure.add_subplot(len(TITLES), 2, 2 * row + 1 + side) for side in (0, 1)]
            for variant, colour in zip(VARIANTS, colours, strict=True):
                own = of_workload(runs, workload, variant)
                sizes = [ranks * run["cache_size"] for run in own]
                look: dict[str, Any] = {
                    "color": colour,
                    "linestyle": "--" if variant == BASELINE else "-",
                    "marker": "o",
                    "markersize": 3.5,
                    "linewidth": 1.4,
                    "label": ", ".join(variant),
                }
                panels[0].plot(sizes, [hit_rate(run) for run in own], **look)
                panels[1].plot(sizes, [1e3 * elapsed(run) for run in own], **look)
            panels[0].yaxis.set_major_formatter(FuncFormatter(lambda rate, _: f"{rate:.0%}"))
            for axes, what in zip(panels, ("hit rate", "milliseconds"), strict=True):
                _label(axes, f"{title}: {what}", [ranks * size for size in SIZES])
            panels[1].legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def _label(axes: Axes, title: str, sizes: list[int]) -> None:
    axes.set_title(title)
    axes.set_xscale("log", base=2)
    axes.set_xticks(sizes[::2])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda size, _: bytes_label(size)))
    axes.set_ylim(bottom=0)
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.set_xlabel("cache of the node")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--dir", type=Path)
    parser.add_argument("--mpi")
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--page", action="store_true")
    arguments = parser.parse_args()
    if arguments.dir is not None:
        found = measure(arguments.dir, arguments.mpi, arguments.ranks, arguments.repeat)
        RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    elif not arguments.page:
        parser.error("give --dir or --page")
    known = json.loads(RESULTS.read_text())
    FIGURE.write_text(svg_of(draw(known["runs"], known["ranks"])), encoding="utf-8")
    print("\n".join(table(known["runs"])))


if __name__ == "__main__":
    main()
