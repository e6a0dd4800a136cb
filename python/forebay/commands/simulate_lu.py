"""`forebay simulate lu`: the comparisons of Lu (4.2 to 4.4), with generated traces.

Lu compares policies that see each process's own accesses (CIO-LRU, CIO-LFU, CIO-ARC) with an LRU
cache that sees the accesses of collective I/O, at nine cache sizes with 32 processes.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import click
from rich import box
from rich.markup import escape
from rich.table import Table

from forebay.commands.simulate_cache import run, write_files
from forebay.commands.terminal import output
from forebay.new_file import check_output
from forebay.notebook import write
from forebay.simulation import MIN, CacheResult, CacheResults, workload_traces
from forebay.simulation.text import text_of
from forebay.sizes import shown_size, size_option

_POLICIES = ("lru", "lfu", "arc")
_BASELINE = "lru"
_PROCESSES_PER_NODE = 12
"""Processes per node of the cluster on which Lu measured."""


@dataclass(frozen=True)
class _Workload:
    name: str
    file: str
    make: Callable[[Path, int], None]
    his: tuple[str, str, str]
    """Lu's results for _POLICIES: gains of the hit rate in percent, or nothing."""


_WORKLOADS = (
    _Workload(
        "MPI-Tile-IO",
        "tile-io",
        workload_traces.tile_io,
        ("", "", "+66.7"),
    ),
    _Workload("IOR, 8 MiB in one piece", "ior", workload_traces.ior, ("+54.4", "+50.8", "+75.5")),
    _Workload(
        "IOR, 8 MiB in pieces of 4 KiB",
        "ior-pieces",
        lambda folder, processes: workload_traces.ior(folder, processes, piece=4 << 10),
        ("+54.4", "+50.8", "+75.5"),
    ),
    _Workload("mpi-io-test", "mpi-io-test", workload_traces.mpi_io_test, ("+58.2", "+59.5", "+83")),
)


@click.command(short_help="Repeat the comparisons of Lu's paper.")
@click.option(
    "-n",
    "--processes",
    type=click.IntRange(1, 4096),
    default=32,
    show_default=True,
    metavar="N",
    help="Processes of each workload.",
)
@click.option("--page-size", type=size_option, default="64KiB", show_default=True, metavar="SIZE")
@click.option("--json", "as_json", is_flag=True, help="JSON instead of tables.")
@click.option(
    "--plot", "plot_file", type=click.Path(path_type=Path), metavar="FILE", help="Draw a figure."
)
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
def lu(processes: int, page_size: int, as_json: bool, plot_file: Path | None, force: bool) -> None:
    """Compare policies that see each process's own accesses with LRU behind collective buffering.

    The workloads MPI-Tile-IO, IOR and mpi-io-test write and read collectively, at nine cache sizes
    each (Lu et al. 2014, figures 8, 10 and 12). docs/simulating.md discusses the results.
    """
    if plot_file is not None:
        check_output(plot_file, None, force)
    with tempfile.TemporaryDirectory(prefix="forebay-") as folder:
        traces = [Path(folder) / workload.file for workload in _WORKLOADS]
        for workload, trace in zip(_WORKLOADS, traces, strict=True):
            workload.make(trace, processes)
        results = run(
            traces,
            policies=(*_POLICIES, MIN),
            page_sizes=page_size,
            bypass=None,
            aggregators=-(-processes // _PROCESSES_PER_NODE),
        )
    of_trace = [CacheResults(r for r in results if r.trace == str(trace)) for trace in traces]
    write_files(results, None, None, plot_file, force)
    if as_json:
        rows = [
            {"workload": workload.name, "gains": _gains(own), "results": _plain(workload, own)}
            for workload, own in zip(_WORKLOADS, of_trace, strict=True)
        ]
        json.dump({"workloads": rows}, sys.stdout, indent=1)
        click.echo()
        return
    console = output()
    for workload, own in zip(_WORKLOADS, of_trace, strict=True):
        write(text_of(own, workload.name), console)
    console.print(_summary(of_trace, processes, page_size))


def _plain(workload: _Workload, results: Sequence[CacheResult]) -> list[dict[str, object]]:
    return [{**one.to_json(), "trace": workload.file} for one in results]


def _rates(results: Sequence[CacheResult], policy: str, awareness: str) -> list[float]:
    return [one.hit_rate for one in results if (one.policy, one.awareness) == (policy, awareness)]


def _misses(results: Sequence[CacheResult], policy: str, awareness: str) -> int:
    return sum(one.misses for one in results if (one.policy, one.awareness) == (policy, awareness))


def _gains(results: Sequence[CacheResult]) -> dict[str, dict[str, float | None]]:
    """For each policy: the mean hit rates of both sides over the sizes, the gain of the mean, and
    all misses divided by the baseline's."""
    baseline = statistics.mean(_rates(results, _BASELINE, "aggregated"))
    misses = _misses(results, _BASELINE, "aggregated")
    gains: dict[str, dict[str, float | None]] = {}
    for policy in _POLICIES:
        mean = statistics.mean(_rates(results, policy, "original"))
        gains[policy] = {
            "hit_rate": mean,
            "baseline_hit_rate": baseline,
            "gain": mean / baseline - 1 if baseline else None,
            "misses": _misses(results, policy, "original") / misses,
        }
    return gains


def _summary(of_trace: Sequence[Sequence[CacheResult]], processes: int, page_size: int) -> Table:
    table = Table(
        title=f"Mean hit rate over nine cache sizes, {processes} processes, pages of"
        f" {shown_size(page_size)}",
        box=box.SIMPLE_HEAD,
        title_justify="left",
        pad_edge=False,
    )
    table.add_column("")
    table.add_column("policy")
    for name in ("original", "LRU aggregated", "gain", "Lu's gain", "misses"):
        table.add_column(name, justify="right", no_wrap=True)
    for workload, own in zip(_WORKLOADS, of_trace, strict=True):
        for (policy, gain), his in zip(_gains(own).items(), workload.his, strict=True):
            rate, baseline, more = gain["hit_rate"], gain["baseline_hit_rate"], gain["gain"]
            table.add_row(
                escape(workload.name) if policy == _POLICIES[0] else "",
                policy,
                f"{100 * (rate or 0):.1f}%",
                f"{100 * (baseline or 0):.1f}%",
                "-" if more is None else f"{100 * more:+.1f}%",
                f"{his}%" if his else "-",
                f"{gain['misses'] or 0:.2f}x",
            )
        table.add_section()
    return table
