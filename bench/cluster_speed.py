#!/usr/bin/env python3
"""The speed of the cluster simulator: seconds, memory, and events a second of processor time.

    python bench/cluster_speed.py [--large] [--log FILE]...

Prints two tables, with targets: jobs, each in a process of its own, on one core; and transfers
beside the same ones in SimGrid, in turn in one process, if it is installed. This takes two minutes
or so.
"""

from __future__ import annotations

import multiprocessing
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import TypeVar

import click
import simgrid_network
from simgrid_network import KIB, MIB, SimgridMissing

from forebay.simulation import ClusterResult, machine, simulate_cluster, workload_traces
from forebay.trace import TraceError

Value = TypeVar("Value")

ROOT = Path(__file__).resolve().parent.parent
PAGES = tuple(f"{kib}KiB" for kib in (4, 16, 64, 256, 1024))
CACHES = ("1MiB", "4MiB", "16MiB", "64MiB")
TRANSFERS = (
    simgrid_network.one_message(64 * KIB, rounds=2000),
    simgrid_network.to_one(32, MIB, rounds=20),
    simgrid_network.all_to_all(32, MIB, rounds=2),
)
REPETITIONS = 5


@dataclass(frozen=True)
class Job:
    """A simulation, and what it should take at most."""

    name: str
    trace: Path
    target: str = ""
    by_frames: bool = False
    changes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Speed:
    """What a simulation took."""

    result: ClusterResult
    seconds: float
    """With reading the trace."""
    processor_s: float
    """Of the simulation alone."""
    memory: int
    """The most bytes of the process, Python included."""


def simulated(job: Job) -> Speed:
    """Simulates a job on Palmetto."""
    begins: list[float] = []

    def progress(stage: str, _part: float) -> None:
        if stage.startswith("simulating"):
            begins.append(time.process_time())

    began = time.perf_counter()
    (result,) = simulate_cluster(
        job.trace,
        "palmetto-gige",
        [job.changes],
        by_frames=job.by_frames,
        jobs=1,
        progress=progress,
    )
    seconds = time.perf_counter() - began
    status = Path("/proc/self/status").read_text()
    memory = int(status.partition("VmHWM:")[2].split()[0]) * KIB
    return Speed(result, seconds, time.process_time() - begins[0], memory)


def cell_seconds(trace: Path) -> list[float]:
    """Of a heat map of page and cache sizes, cell by cell."""
    sizes = [{"page_size": page, "cache_size": cache} for page in PAGES for cache in CACHES]
    jobs = [
        Job("", trace, by_frames=True, changes={"machine.servers": "4", "scope": "process", **one})
        for one in sizes
    ]
    return [simulated(job).seconds for job in jobs]


def alone(work: Callable[..., Value], argument: object) -> Value:
    """In a process of its own."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(work, argument).result()


def job_row(job: Job) -> str:
    speed: Speed = alone(simulated, job)
    events = speed.result.events
    return (
        f"| {job.name} | {'frames' if job.by_frames else 'messages'} |"
        f" {speed.result.accesses:,} | {speed.seconds:.3g} | {job.target} |"
        f" {speed.memory / 1e9:.2f} GB | {events / 1e6:.3g} |"
        f" {events / speed.processor_s / 1e6:.2f} |"
    )


def darshan_log(path: Path, ranks: int, accesses: int) -> None:
    """Records of 47,008 bytes, which the ranks write in turns, as a Darshan log."""
    sys.path.append(str(ROOT / "tests" / "python"))
    from darshan_logs import Log

    size = 47_008
    log = Log(ranks=ranks, seconds=accesses)
    for rank in range(ranks):
        writes = [((i * ranks + rank) * size, size, i, i + 0.5) for i in range(accesses)]
        log.trace("/scratch/records", rank, writes)
    log.write(path)


def job_rows(large: bool, logs: tuple[Path, ...]) -> Iterator[str]:
    yield "| job | network | accesses | seconds | target | memory | million events | a second |"
    yield "| --- | --- | ---: | ---: | --- | ---: | ---: | ---: |"
    servers = {"machine.servers": "90"}
    for log in logs:
        yield job_row(Job(f"`{log.name}`", log, changes=servers))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        small = folder / "small-flash"
        workload_traces.flash(small, 8, sets=25, pieces=10)
        few = {"machine.servers": "4"}
        yield job_row(Job("FLASH, 8 processes, 4 servers", small, "", True, few))
        cells: list[float] = alone(cell_seconds, small)
        yield (
            f"| the same, a cell of {len(cells)} page and cache sizes | frames | |"
            f" {median(cells):.2g}, at most {max(cells):.2g} | 1 s | | | |"
        )
        flash = folder / "flash"
        workload_traces.flash(flash, 1024)
        for by_frames, target in ((False, "20 s, 2 GB"), (True, "60 s, 2 GB")):
            yield job_row(Job("FLASH, 1,024 processes", flash, target, by_frames, servers))
        node = {**servers, "scope": "node"}
        yield job_row(Job("FLASH, 1,024 processes, `scope=node`", flash, changes=node))
        made = folder / "records.darshan"
        darshan_log(made, 1024, 147)
        yield job_row(Job("Darshan log, 1,024 ranks", made, "10 s", changes=servers))
        if large:
            large_flash = folder / "large-flash"
            workload_traces.flash(large_flash, 8192)
            more = {**servers, "machine.nodes": "1024"}
            yield job_row(Job("FLASH, 8,192 processes", large_flash, "300 s, 8 GB", changes=more))


def transfer_rows() -> Iterator[str]:
    yield "| machine | transfers | SimGrid | by messages | by frames |"
    yield "| --- | --- | ---: | ---: | ---: |"
    with tempfile.TemporaryDirectory() as folder:
        program = simgrid_network.build(Path(folder))
        for name in ("perlmutter", "palmetto-gige"):
            on = machine(name).with_changes(simgrid_network.SIDE_BY_SIDE | simgrid_network.AMPLE)
            for one in simgrid_network.compared(program, on, TRANSFERS, REPETITIONS):
                times = (one.simgrid_us, one.messages_us, one.frames_us)
                shown = " | ".join(f"{us:.3g}" for us in times)
                yield f"| {name} | {one.case.name} | {shown} |"


@click.command()
@click.option("--large", is_flag=True, help="Also a job of 8,192 processes: minutes.")
@click.option(
    "--log",
    "logs",
    type=click.Path(exists=True, path_type=Path),
    multiple=True,
    metavar="FILE",
    help="Also the job of this trace or Darshan log.",
)
def main(large: bool, logs: tuple[Path, ...]) -> None:
    """Measure the speed of the cluster simulator."""
    try:
        for line in job_rows(large, logs):
            print(line, flush=True)
    except TraceError as error:
        sys.exit(f"cluster_speed: {error}")
    print("\nMicroseconds of processor time for a transfer:\n")
    try:
        for line in transfer_rows():
            print(line, flush=True)
    except SimgridMissing as missing:
        sys.exit(str(missing))


if __name__ == "__main__":
    main()
