"""Coloma's persistent file domains in the cluster simulator beside what was published.

python bench/domain_times.py      prints the section of docs/validation.md
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from paragraphs import bullet, paragraph

from forebay.simulation import ClusterResult, simulate_cluster, workload_traces

TITLE = "## Persistent file domains"
MACHINE, SERVERS = "palmetto-myri10g", 12
WAYS = {
    "none": {"scope": "none", "cb_buffer_size": "4MiB"},
    "64 KiB": {"scope": "job", "domain": "cyclic", "domain_size": "64KiB"},
    "4 MiB": {"scope": "job", "domain": "cyclic", "domain_size": "4MiB"},
    "file": {"scope": "job", "domain": "file"},
    "region": {"scope": "job", "domain": "region"},
    "dynamic": {"scope": "job", "domain": "dynamic"},
}
WORKLOADS: tuple[tuple[str, tuple[int, ...], Callable[[Path, int], object]], ...] = (
    (
        "sliding window",
        (8, 16, 32, 64),
        lambda path, n: workload_traces.sliding_window(path, n, count=64),
    ),
    ("BTIO", (4, 16, 64), lambda path, n: workload_traces.btio(path, n, count=10)),
)
PREAMBLE = f"""\
`python3 bench/domain_times.py` prints this section. Coloma (2004) measured on Cplant: Alphas with
Myrinet, and 12 servers that pass an NFS on. Here it is {MACHINE} with {SERVERS} servers and a
process on each node. *None* is two-phase I/O with buffers of 4 MiB, which divides each call anew;
the other columns are `scope=job` with `domain=cyclic` and that `domain_size`, and with the
assignments of those names: his domains of the file's size and of the first call's region. A row of
the sliding window reads and writes all 8 x 8 tiles of 3 MiB in turn; BTIO writes ten cubes of 64^3
points and reads them. In his FLASH all writes are collective; they are independent in the trace
here, so FLASH is left out.
"""


@dataclass(frozen=True)
class Row:
    """A workload on so many nodes: results by way."""

    workload: str
    nodes: int
    results: dict[str, ClusterResult]

    def seconds(self, way: str) -> float:
        """The run time."""
        return self.results[way].run_s


def simulated() -> list[Row]:
    """All rows."""
    rows = []
    for workload, counts, make in WORKLOADS:
        for nodes in counts:
            with tempfile.TemporaryDirectory() as folder:
                trace = Path(folder) / "trace"
                make(trace, nodes)
                results = simulate_cluster(
                    trace,
                    MACHINE,
                    [way | {"machine.servers": str(SERVERS)} for way in WAYS.values()],
                    processes_per_node=1,
                    by_frames=False,
                )
            rows.append(Row(workload, nodes, dict(zip(WAYS, results, strict=True))))
    return rows


def _table(rows: list[Row]) -> Iterator[str]:
    yield f"| workload | nodes | {' s | '.join(WAYS)} s |"
    yield f"| --- | ---: |{' ---: |' * len(WAYS)}"
    for row in rows:
        seconds = " | ".join(f"{row.seconds(way):.2f}" for way in WAYS)
        yield f"| {row.workload} | {row.nodes} | {seconds} |"


def _orders(rows: list[Row]) -> Iterator[str]:
    window = [row for row in rows if row.workload == "sliding window"]
    btio = [row for row in rows if row.workload == "BTIO"]
    kept = ("4 MiB", "file", "region")
    faster = sum(row.seconds(way) < row.seconds("none") for row in window for way in kept)
    most = max(row.seconds("none") / min(row.seconds(way) for way in kept) for row in window)
    yield bullet(
        "Sliding window: domains of 4 MiB, of the file's size and of the region's beat none: in"
        f" {faster} of {len(window) * len(kept)} cases here, by up to {most:.1f} times."
    )
    small = sum(row.seconds("64 KiB") == min(map(row.seconds, WAYS)) for row in window)
    yield bullet(
        f"Domains of 64 KiB are his slowest; here they are the fastest in {small} of"
        f" {len(window)} rows. His calls take a phase of communication for each domain of an"
        " aggregator. Ours ask all owners of a window at once, and small domains spread it over all"
        " of them."
    )
    few = [row for row in btio if row.nodes < max(row.nodes for row in btio)]
    slowest = sum(row.seconds("file") == max(map(row.seconds, WAYS)) for row in few)
    ratios = ", ".join(f"{row.seconds('file') / row.seconds('none'):.1f}" for row in btio)
    yield bullet(
        "BTIO: domains of the file's size are the slowest on few nodes, since a call lies in one or"
        " two of them, and come near the others on many: they are the slowest in"
        f" {slowest} of {len(few)} rows here, and take {ratios} times as long as none on"
        f" {', '.join(str(row.nodes) for row in btio)} nodes."
    )


def section() -> str:
    """For docs/validation.md."""
    rows = simulated()
    return "\n".join(
        [
            TITLE,
            "",
            *paragraph(PREAMBLE),
            *_table(rows),
            "",
            "The published order:",
            "",
            *_orders(rows),
            "",
        ]
    )


if __name__ == "__main__":
    print(section(), end="")
