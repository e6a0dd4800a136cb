#!/usr/bin/env python3
"""Experiments with the cluster simulator that the papers left to others: docs/experiments.md.

Settlemyer, "A Study of Client-based Caching for Parallel I/O" (2009), names them as future work:
computed owners beside a directory (4.1.2.1), buffers for evicted pages (7.4.3), and the size of
strips (7.4). The first experiment is on scopes and owners of up to 8,192 processes. This takes some
ten minutes and 8 GB of memory.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import click
import matplotlib
from paragraphs import paragraph

from forebay.plots.style import STYLE, Plot, svg_of
from forebay.simulation import ClusterResult, simulate_cluster, workload_traces
from forebay.simulation.made_traces import READ_AT, WRITE_AT, Call, Use, write_trace

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "experiments.md"
FIGURES = ROOT / "docs" / "figures"
MYRINET, LUSTRE, GIGE = "palmetto-myri10g", "perlmutter", "palmetto-gige"
EACH = 8
"""Processes on a node."""
PREAMBLE = """\
`python3 bench/experiments.py` writes this page; do not edit it by hand. Each number is a run of
`forebay simulate cluster`, with `--messages` in the first three sections and `--frames` in
the others: the cache that runs inside programs, on a simulated machine. Nodes have 8 processes. The
machines are [profiles](cluster.md). No parameter was fitted to anything on this page.
"""


@dataclass(frozen=True)
class Way:
    """How a job's bytes are cached."""

    name: str
    settings: dict[str, str]


WAYS = (
    Way("no cache", {"scope": "none"}),
    Way("`scope=node`", {"scope": "node"}),
    Way("`region`", {"scope": "job"}),
    Way("`cyclic`", {"scope": "job", "domain": "cyclic"}),
    Way("`first-touch`", {"scope": "job", "domain": "first-touch"}),
)


def table(head: Sequence[str], rows: Sequence[Sequence[str]], names: int = 1) -> Iterator[str]:
    """A table whose first columns are names, and the others numbers."""
    yield f"| {' | '.join(head)} |"
    yield f"| {' | '.join('---' if n < names else '---:' for n in range(len(head)))} |"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def seconds(value: float) -> str:
    return f"{value:.3g}"


def figure(
    name: str,
    curves: dict[str, list[tuple[str, list[tuple[float, float]]]]],
    across: str,
    scale: str = "log",
) -> list[str]:
    """Draws a panel of curves of run times for each title. Returns the lines that show it."""
    with matplotlib.rc_context(STYLE):
        drawn = Plot(figsize=(7.8, 3.0), layout="constrained")
        panels = drawn.subplots(1, len(curves), squeeze=False)[0]
        for axes, (title, of) in zip(panels, curves.items(), strict=True):
            for label, points in of:
                axes.plot(*zip(*points, strict=True), marker="o", markersize=3, label=label)
            axes.set(xscale="log", yscale=scale, title=title, xlabel=across)
            if scale == "linear":
                axes.set_ylim(bottom=0)
            places = sorted({x for _, points in of for x, _ in points})
            axes.set_xticks(places, [f"{x:,.0f}" for x in places], fontsize=7)
            axes.xaxis.minorticks_off()
        panels[0].set_ylabel("seconds")
        panels[-1].legend(fontsize=7)
        (FIGURES / name).write_text(svg_of(drawn), encoding="utf-8")
    return [f"![Seconds by {across}](figures/{name})", ""]


# Scopes and owners ------------------------------------------------------------------------------

PROCESSES = (64, 512, 4096, 8192)
STRIPES = "32"
"""Of a file on Lustre; the profile has 1, as the file system does unless it is told otherwise."""


def flash(folder: Path, processes: int) -> None:
    workload_traces.flash(folder, processes, sets=5, pieces=10)


def records(folder: Path, processes: int) -> None:
    workload_traces.ior(folder, processes, transfer=47_008, piece=47_008, segments=10)


WORKLOADS: dict[str, tuple[Callable[[Path, int], None], str]] = {
    "FLASH": (flash, "small independent writes, 150 a process (`--sets 5 --pieces 10`)"),
    "records": (
        records,
        "records of 47,008 bytes in turn, 10 a process, by collective writes and then reads"
        " (`forebay generate ior --transfer 47008 --piece 47008 --segments 10`)",
    ),
}


def scopes(folder: Path) -> Iterator[str]:
    yield "## Scopes and owners, up to 8,192 processes"
    yield ""
    yield from paragraph(
        "Seconds until the last process has closed its files. The last three columns are"
        f" `scope=job` with that `domain`. On `{LUSTRE}` files have {STRIPES} stripes."
    )
    largest: dict[tuple[str, str], dict[str, ClusterResult]] = {}
    for workload, (write, words) in WORKLOADS.items():
        yield from paragraph(f"**{workload}**: {words}.")
        rows = []
        curves: dict[str, list[tuple[str, list[tuple[float, float]]]]] = {}
        for machine in (MYRINET, LUSTRE):
            points: dict[str, list[tuple[float, float]]] = {way.name: [] for way in WAYS}
            for processes in PROCESSES:
                trace = folder / f"{workload}-{processes}"
                if not trace.exists():
                    write(trace, processes)
                click.echo(f"{workload} {machine} {processes}", err=True)
                more = {"machine.nodes": str(max(PROCESSES) // EACH)}
                if machine == LUSTRE:
                    more["file_system.stripe_count"] = STRIPES
                results = {
                    way.name: simulated(trace, machine, [way.settings | more])[0] for way in WAYS
                }
                times = {name: one.run_s for name, one in results.items()}
                rows.append([machine, f"{processes:,}", *map(seconds, times.values())])
                for name, time in times.items():
                    points[name].append((processes, time))
                largest[workload, machine] = results
            curves[machine] = [(name.replace("`", ""), of) for name, of in points.items()]
        yield from table(["machine", "processes", *(way.name for way in WAYS)], rows)
        yield ""
        yield from figure(f"experiments-{workload.lower()}.svg", curves, "processes")
    flash_on_pvfs = largest["FLASH", MYRINET]
    none, job = flash_on_pvfs["no cache"], flash_on_pvfs["`region`"]
    yield from paragraph(
        f"On `{MYRINET}` one server answers all opens, about a millisecond each, and FLASH opens"
        f" three files in each process: of the {none.run_s:.0f} s without a cache, and the"
        f" {job.run_s:.0f} s with owners, a process waits {none.opening_s:.0f} and"
        f" {job.opening_s:.0f} s on average for its opens. No cache helps that."
    )
    gains = {
        workload: largest[workload, LUSTRE]["no cache"].run_s
        / largest[workload, LUSTRE]["`region`"].run_s
        for workload in WORKLOADS
    }
    locks = {name: one.locks_called_back for name, one in largest["records", LUSTRE].items()}
    yield from paragraph(
        f"On `{LUSTRE}` owners make a job of {max(PROCESSES):,} processes"
        f" {gains['FLASH']:.1f} times as fast (FLASH) and {gains['records']:.1f} times (records)."
        f" Nodes that write records into the same stripes call back each other's locks:"
        f" {locks['no cache']:,} times without a cache, {locks['`scope=node`']:,} times with a"
        f" cache of each node, {locks['`region`']:,} times with owners. A cache of each node shows"
        " others what it holds only at a close, so it is no choice for programs that rely on more;"
        " where it is the faster one, the difference is what coherence costs."
    )


def simulated(
    trace: Path, machine: str, changes: list[dict[str, str]], by_frames: bool = False
) -> list[ClusterResult]:
    return list(
        simulate_cluster(
            trace, machine, changes, processes_per_node=EACH, by_frames=by_frames, jobs=1
        )
    )


# A directory beside computed owners -------------------------------------------------------------

PART, RECORD = 4 << 20, 16_000


def own_parts(folder: Path, processes: int, shift: int) -> None:
    """Each process writes a part of its own in small records, and reads the part of the process
    `shift` further on."""
    count = PART // RECORD

    def use(rank: int) -> Use:
        other = (rank + shift) % processes
        calls = [Call(WRITE_AT, rank * PART + n * RECORD, RECORD) for n in range(count)]
        calls += [Call(READ_AT, other * PART + n * RECORD, RECORD) for n in range(count)]
        return Use("parts", [None], [calls])

    write_trace(folder, processes, lambda rank: [use(rank)])


def directory(folder: Path) -> Iterator[str]:
    yield "## A directory beside computed owners"
    yield ""
    yield from paragraph(
        f"Each process writes {PART >> 20} MiB of its own in records of {RECORD:,} bytes, and reads"
        " them back, or those of a process of the next node. With `first-touch` a chunk"
        " (`domain_size=1MiB`) belongs to the node that first writes to it, and the directory of"
        " such chunks lies on all nodes; with the others the owner is computed. Settlemyer weighs"
        " both in section 4.1.2.1."
    )
    ways = WAYS[2:]
    gains = []
    rows = []
    for machine in (MYRINET, LUSTRE):
        for name, shift in (("its own", 0), ("the next node's", EACH)):
            for processes in PROCESSES[:2]:
                trace = folder / f"parts-{shift}-{processes}"
                if not trace.exists():
                    own_parts(trace, processes, shift)
                click.echo(f"parts {machine} {name} {processes}", err=True)
                changes = [
                    way.settings | {"domain_size": "1MiB", "read_ahead": "0"} for way in ways
                ]
                results = simulated(trace, machine, changes)
                moved = results[0].written_bytes + results[0].read_bytes
                if shift == 0:
                    gains.append(results[0].run_s / results[-1].run_s)
                rows.append(
                    [
                        *(machine, name, f"{processes:,}"),
                        *(
                            f"{seconds(one.run_s)} ({one.agent_bytes / moved:.0%})"
                            for one in results
                        ),
                    ]
                )
    yield "Seconds, and the part of the bytes that crossed between nodes:"
    yield ""
    yield from table(
        ["machine", "a process reads", "processes", *(way.name for way in ways)], rows, 2
    )
    yield ""
    yield from paragraph(
        f"A job whose processes keep to their own parts is {min(gains):.1f} to {max(gains):.1f}"
        " times as fast with the directory as with parts of a region: a process asks for each chunk"
        " once, and its bytes stay on its node. FLASH (above) gains nothing, since processes of"
        " many nodes write to each chunk, and asks more. So computed owners are the default, and"
        " `first-touch` is for programs that are known to keep to their parts."
    )


# Write-back buffers -----------------------------------------------------------------------------

BUFFERS = ("0", "0.125", "0.25", "0.5")


def buffers(folder: Path) -> Iterator[str]:
    yield "## Buffers for evicted pages"
    yield ""
    yield from paragraph(
        "FLASH with 8 processes on one node and 4 servers (`--sets 25 --pieces 10`), as in the"
        " tables of [validation](validation.md), through caches that are too small for it. Without"
        " a buffer a process that needs a frame waits until the evicted page is written"
        " (`write_behind=false`). `write_back_buffer` is the part of the cache that holds evicted"
        " pages until the node has written them in the background (Settlemyer, section 7.4.3)."
    )
    gains: dict[str, list[float]] = {GIGE: [], MYRINET: []}
    trace = folder / "flash-8"
    workload_traces.flash(trace, EACH, sets=25, pieces=10)
    rows = []
    for machine in (GIGE, MYRINET):
        for cache in ("256KiB", "1MiB", "4MiB"):
            click.echo(f"buffers {machine} {cache}", err=True)
            changes = [
                {
                    **{"scope": "node", "machine.servers": "4", "cache_size": cache},
                    **{"step_aside": "never", "read_ahead": "0", "dirty_bound": "1"},
                    "write_back_buffer": part,
                    "write_behind": str(part != "0").lower(),
                }
                for part in BUFFERS
            ]
            results = simulated(trace, machine, changes, by_frames=True)
            rows.append([machine, cache, *(seconds(one.run_s) for one in results)])
            gains[machine].append(1 - min(one.run_s for one in results[1:]) / results[0].run_s)
    yield "Seconds, by the cache of a process and the buffer's part of it:"
    yield ""
    yield from table(["machine", "cache", *("no buffer", *BUFFERS[1:])], rows, 2)
    yield ""
    yield from paragraph(
        f"Over Myrinet the best buffer saves up to {max(gains[MYRINET]):.0%} of the time, on"
        f" Gigabit Ethernet up to {max(gains[GIGE]):.0%}: there the network is busy all the time,"
        " whether anybody waits for it or not. With 1 MiB an eighth of the cache gives all of it."
    )


# Strips -----------------------------------------------------------------------------------------

STRIPS = ("16KiB", "64KiB", "256KiB", "1MiB", "4MiB")


def strips(folder: Path) -> Iterator[str]:
    yield "## The size of strips"
    yield ""
    yield from paragraph(
        "PVFS puts strips of 64 KiB on its servers in turn unless it is told otherwise"
        f" (Settlemyer, section 7.4). 64 processes on 8 nodes of `{MYRINET}`:"
    )
    slowest: dict[tuple[str, str], float] = {}
    rows = []
    curves: dict[str, list[tuple[str, list[tuple[float, float]]]]] = {}
    for name, write in (
        ("FLASH", flash),
        ("tile-io", lambda to, n: workload_traces.tile_io(to, n)),
    ):
        trace = folder / f"strips-{name}"
        write(trace, 64)
        points: dict[str, list[tuple[float, float]]] = {way.name: [] for way in WAYS[:3]}
        for way in WAYS[:3]:
            click.echo(f"strips {name} {way.name}", err=True)
            changes = [way.settings | {"file_system.strip_bytes": one} for one in STRIPS]
            results = simulated(trace, MYRINET, changes, by_frames=True)
            times = [one.run_s for one in results]
            rows.append([name, way.name, *map(seconds, times)])
            slowest[name, way.name] = max(times) / min(times)
            points[way.name] = [(4.0**n * 16, one.run_s) for n, one in enumerate(results)]
        curves[name] = [(label.replace("`", ""), of) for label, of in points.items()]
    yield "Seconds, by the size of strips:"
    yield ""
    yield from table(["workload", "cache", *STRIPS], rows, 2)
    yield ""
    yield from figure("experiments-strips.svg", curves, "strip (KiB)", "linear")
    yield from paragraph(
        "With caches the size matters less: between the best and the worst lies a factor of"
        f" {slowest['FLASH', 'no cache']:.1f} for FLASH without a cache,"
        f" {slowest['FLASH', '`scope=node`']:.1f} with a cache of each node, and"
        f" {slowest['FLASH', '`region`']:.1f} with owners. Tiles without a cache are"
        " another matter: whole rows of them go to many servers at once, and what the switch drops"
        " (`--frames`) decides. No size is best for both."
    )


CALLS: dict[str, Callable[[Path, int], None]] = {
    "ior-hard": workload_traces.ior_hard,
    "tile-io": workload_traces.tile_io,
    "lattice": workload_traces.lattice,
    "points": lambda folder, n: workload_traces.points(folder, n, count=2000),
}
NODES = (2, 4, 8, 32, 128, 256)


def messages(folder: Path) -> Iterator[str]:
    yield "## Questions of a collective call, up to 256 nodes"
    yield ""
    yield from paragraph(
        "What a process asks owners in a collective call (`scope=job`, `domain=region`, a process"
        f" on each node of `{MYRINET}`): questions for each call, and the"
        " part of its bytes that other nodes own. A question is one message, and its answer"
        " another. On 2 to 8 nodes programs ask exactly as often as is simulated"
        " (`tests/trace/test_owners.py`)."
    )
    rows = []
    for workload, write in CALLS.items():
        row = [workload]
        for nodes in NODES:
            trace = folder / f"{workload}-{nodes}-calls"
            write(trace, nodes)
            more = {"scope": "job", "machine.nodes": str(max(NODES))}
            of = simulate_cluster(trace, MYRINET, [more], processes_per_node=1, by_frames=False)[0]
            moved = of.agent_bytes / (of.read_bytes + of.written_bytes)
            row.append(f"{of.agent_questions / of.accesses:.1f} ({moved:.0%})")
        rows.append(row)
    yield from table(["workload", *(f"{nodes} nodes" for nodes in NODES)], rows)
    yield ""
    yield from paragraph(
        "The number of nodes alone asks nothing of anybody. Blocks of an array meet the owners that"
        " their rows cross, and these become no more once the parts have the least size, an eighth"
        " of `domain_size`. Records and points of one call lie within some MiB here, which one or"
        " two nodes own."
    )


SECTIONS = {
    "scopes": scopes,
    "directory": directory,
    "messages": messages,
    "buffers": buffers,
    "strips": strips,
}


@click.command(help=__doc__)
@click.option("--only", type=click.Choice(list(SECTIONS)), help="Print one section.")
def main(only: str | None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        if only is not None:
            click.echo("\n".join(SECTIONS[only](Path(folder))))
            return
        lines = ["# Experiments with the cluster simulator", "", PREAMBLE]
        for section in SECTIONS.values():
            lines += section(Path(folder))
    PAGE.write_text("\n".join(lines).rstrip("\n") + "\n")


if __name__ == "__main__":
    main()
