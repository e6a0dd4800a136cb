"""The collective tiles of Settlemyer's chapter 6 beside published values.

python bench/tile_times.py      prints the section of docs/validation.md
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from forebay.simulation import ClusterResult, simulate_cluster
from forebay.simulation.made_traces import READ_AT_ALL, WRITE_AT_ALL, Call, Use, View, write_trace

TITLE = "## Tiles, by collective calls"
MACHINES = ("palmetto-gige", "palmetto-myri10g")
PROCESSES, ROWS, ROW, ROUNDS = 8, 1000, 80, 100
SERVERS = {"machine.servers": "4"}
DATATYPES = {"file_system.extents_a_request": "1048576", "file_system.extent_bytes": "0"}
WAYS = {
    "none": {"scope": "none", "collective": "independent", **DATATYPES},
    "data sieving": {"scope": "none", "collective": "two-phase"},
    "view-aware": {"scope": "node"},
}
PUBLISHED = {
    "read": {"none": (2.89164, 1.23024), "data sieving": (2.92259, 1.13668)}
    | {"view-aware": (2.92322, 1.13785)},
    "write": {"none": (2.66067, 0.436352), "view-aware": (2.32597, 0.231396)},
}
"""Table 6.1: seconds on Gigabit Ethernet and on Myrinet."""
PUBLISHED_DISK = {
    "read": {"none": (0.96861, 0.97289), "data sieving": (0.82454, 0.82563)}
    | {"view-aware": (0.82552, 0.82738)},
    "write": {"none": (0.17585, 0.17720), "view-aware": (0.03222, 0.03220)},
}
"""Table 6.2: the most seconds of a server's disk."""
AIM = 0.25
PREAMBLE = f"""\
`python3 bench/tile_times.py` prints this section: his tables 6.1 and 6.2. {PROCESSES} processes on
a node read or write an array of which each has a tile of {ROWS:,} rows of {ROW} bytes, {ROUNDS}
times, further on in the file each time; there are 4 servers. Without aggregation each process sends
a datatype to each server (`{" ".join(f"-o {name}={value}" for name, value in DATATYPES.items())}`).
Data sieving reads the bytes of all processes by one contiguous request; here by two-phase I/O with
the node's one aggregator. View-aware aggregation is Forebay's cache (`scope=node`), in which the
pieces of a call become whole pages. {AIM:.0%} were aimed at.
"""


def tiles(folder: Path, routine: int) -> None:
    """A trace of one direction: his reads find the file in storage."""
    array = PROCESSES * ROWS * ROW
    calls = [Call(routine, number * ROWS * ROW, ROWS * ROW) for number in range(ROUNDS)]

    def use(rank: int) -> Use:
        view = View(rank * ROW, array, [(ROWS, PROCESSES * ROW)], ROW)
        return Use("tiles", [view], [calls])

    write_trace(folder, PROCESSES, lambda rank: [use(rank)])


def simulated() -> dict[str, dict[str, list[ClusterResult]]]:
    """By direction and way: on each machine."""
    results: dict[str, dict[str, list[ClusterResult]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for direction, routine in (("read", READ_AT_ALL), ("write", WRITE_AT_ALL)):
            trace = Path(folder) / direction
            tiles(trace, routine)
            on = [
                simulate_cluster(
                    trace,
                    name,
                    [way | SERVERS for way in WAYS.values()],
                    processes_per_node=PROCESSES,
                )
                for name in MACHINES
            ]
            results[direction] = {way: [results[n] for results in on] for n, way in enumerate(WAYS)}
    return results


def _rows(results: dict[str, dict[str, list[ClusterResult]]]) -> Iterator[str]:
    columns = ["published s", "simulated s", "deviation", "disk, published s", "disk, simulated s"]
    yield f"| direction | aggregation | machine | {' | '.join(columns)} |"
    yield f"| --- | --- | --- |{' ---: |' * len(columns)}"
    for direction, ways in PUBLISHED.items():
        for way, seconds in ways.items():
            for n, name in enumerate(MACHINES):
                result = results[direction][way][n]
                yield (
                    f"| {direction} | {way} | {name} | {seconds[n]:.3f} | {result.run_s:.3f} |"
                    f" {result.run_s / seconds[n] - 1:+.0%} |"
                    f" {PUBLISHED_DISK[direction][way][n]:.3f} |"
                    f" {result.disk_busy * result.run_s:.3f} |"
                )


def section() -> str:
    """For docs/validation.md."""
    results = simulated()
    sieving = results["read"]["data sieving"][1]
    megabytes = PROCESSES * ROWS * ROW * ROUNDS / 4 / 1e6
    conclusion = f"""\
What is known of the reasons:

- **Disks.** A server reads {megabytes:.0f} MB. Ours does so at the rate that the drive's maker
  states; his disk takes five times as long. Over Myrinet his reads wait for it, ours for the
  network.
- **Data sieving over Myrinet.** Four servers answer at the same time, faster than the node's link:
  the switch drops {sieving.dropped_frames} frames, and streams wait {sieving.timeouts} times for a
  time-out of 0.2 s. His disks keep the servers from that.
- **Writes.** Ours go to the servers at the close, as whole pages, and only into their memory. His
  disks write some of it.
"""
    return "\n".join([TITLE, "", PREAMBLE, *_rows(results), "", conclusion])


if __name__ == "__main__":
    print(section(), end="")
