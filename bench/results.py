#!/usr/bin/env python3
"""Measures every workload on this machine and writes docs/results.md.

Each run is a `forebay bench`: plain and Forebay in turn in the same directory. The results are kept
in docs/results.json, from which the page is made. A run replaces its earlier result there. So parts
can be measured at different times (--only), and also only the results of older code (--stale).
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from string import ascii_uppercase
from typing import Any

import click
from in_a_box import Nodes, nodes_in_a_box, why_not
from later_commits import (
    AGENTS,
    CHANGED_NOWHERE,
    CHANGED_ON_ONE_NODE,
    CHANGED_ON_SEVERAL_NODES,
    MEASURED,
    OTHER_VARIANTS,
    SEVERAL_NODES,
)

from forebay.bench.mpi import Mpi, find_mpi
from forebay.bench.runs import WORKLOADS, Bench, Figure
from forebay.bench.table import times_computation

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "docs" / "results.json"
PAGE = ROOT / "docs" / "results.md"
GLUSTER = ROOT / "bench" / "gluster.sh"
PREAMBLE = """\
`make bench` writes this page from `docs/results.json`; do not edit it by hand. Plain and Forebay
launches alternate in one run on the same directory, and which comes first changes from pair to pair
(since 2026-11-27). Each figure is the median over the launches. A launch counts with the mean of
its files, the first included, or with its first file alone. Each speed-up is the median (and its 95
% interval) of the ratios of neighbouring launches. A target is missed if the whole interval lies
below it. Writing includes opening and closing the file. The data is verified on both sides, and the
files of both sides are compared byte for byte. The cost of a call, once it is warm, is processor
time of the calling thread, on pages that the cache already holds (`again`) or does not yet hold
(`first`). Compare times within one machine only. The last column is the commit that was measured;
rows of older code must be measured again (`bench/results.py --stale`; the script names later
commits that leave the way that a row measures as it was). `consistency=mpi` has no case of its own,
because it changes nothing on one node.
"""

REMARKS = {
    "gluster": """\
In `small`, a handle reads back its own writes from Forebay's cache: this is faster than any
request could be. `stream` goes past that cache on both sides. Under Open MPI its reads are faster
with Forebay, but this comes from the volume and is no gain of Forebay's. If a file is opened while
the descriptor that created it is still open, reads come from the kernel's page cache (8 MiB in 1 ms
instead of 18, in a program without MPI and Forebay). OMPIO reads through the creating descriptor,
and Forebay reads through one of its own; MPICH closes the creating descriptor before it opens the
file again. A volume with shards may count a file too long that several processes extend
(gluster/glusterfs issue 2680): `tile-io` with 2 MiB of cache a rank has no row, because it met this
in 3 of 200 files; every byte that was written was right.""",
    "nodes": """\
Forebay takes the ranks for ranks of two nodes (option `node`), all on this machine: between the
nodes' agents there is the loopback, not a network, and both nodes share the two cores. Every byte
has an owner node; `domain` says which. Reads are of what was written; the file stays open. A part
of the gain of collective calls comes from the four ranks on two cores: MPICH's blocking collectives
keep the processor while they wait, and Forebay's ranks agree by nonblocking ones there.""",
    "owners": """\
The same ranks, nodes and volume, by the option `domain`; in brackets the speed-up against the MPI
library alone. ROMIO and OMPIO divide each collective call's region anew, and cache nothing: with
them nobody owns a byte for longer than a call (Coloma's baseline). Ranks 0 and 1 are on one node,
ranks 2 and 3 on the other. With `file` the owners divide the size that the file has when it is
opened: here it is new, and one node owns all of it. 7 pairs of launches.""",
    "box 2x2": """\
Nodes of a cluster in a box: network namespaces of this machine, joined by a bridge, each with its
own shared memory and its own client of the volume. All of them share the two cores with the
volume's servers, so MPICH's ranks yield where there are more ranks than cores. The clients keep
nothing: every write and read goes to the servers. An open takes longer than plain, the first of a
launch most, and the close writes what a plain program has written before (`tile-io`, 7 launches in
turn: open 59 ms and plain 32, second file 38 and 30; write 35 and 152; close 44 and 4).""",
    "box 2x2 keeping": """\
The same, where clients keep bytes, as NFS and GlusterFS do by default: a plain program's small
writes are gathered by the node's client, and what its node has written or read before comes from
the kernel. What ranks of several nodes write beside each other is not right there without Forebay,
unless each closes the file before others open it.""",
}

# Nodes in a box, by place: as many nodes, each with so many ranks.
BOXES = {
    "box 2x2": "GlusterFS, 2 nodes with 2 ranks each, a client each",
    "box 2x1": "GlusterFS, 2 nodes with a rank each, a client each",
    "box 4x1": "GlusterFS, 4 nodes with a rank each, a client each",
    "box 2x2 keeping": "GlusterFS, 2 nodes with 2 ranks each, clients that keep bytes",
}


@dataclass(frozen=True)
class Case:
    """One line of the plan: a workload in a place, and its targets.

    Places are "local", "gluster", "nodes" (GlusterFS; ranks of two nodes), "owners" (the same; by
    the assignment of bytes to them), "safety" (local; the cost of recovery), and those of BOXES.

    `targets` maps a figure to its least speed-up. "first file": the least speed-up of any figure in
    the first file. "times computation": the longest time of reading, as a multiple of the
    computation alone. "requests": the least ratio of the sides' write requests. "ns/call": the most
    processor time of a call. "us/open": the most microseconds by which an open and its close may
    take longer than plain.
    """

    place: str
    workload: str
    ranks: int
    targets: dict[str, float]
    options: dict[str, str]
    baseline: dict[str, str] = field(default_factory=dict)  # instead of the plain library
    count: int = 0  # amount of work, if not the workload's
    by_hand: bool = False  # instead of the plain library: the program without MPI-IO

    @property
    def in_a_box(self) -> bool:
        return self.place in BOXES

    @property
    def nodes(self) -> int:
        if self.in_a_box:
            return int(self.place.split()[1].partition("x")[0])
        return 2 if self.place in ("nodes", "owners") else 1

    @property
    def code(self) -> list[str]:
        """What git must compare to see whether a result is older than the code."""
        return [*MEASURED, *OTHER_VARIANTS, *(AGENTS if self.nodes > 1 else SEVERAL_NODES)]

    @property
    def rounds(self) -> int:
        """Files per launch.

        On a disk the times of single files vary widely, except where computation or many opens
        take most of the time.
        """
        if self.place in ("nodes", "owners"):
            return 1
        if self.workload in ("sliding-window", "mpi-io-test", "pio", "pio-nested"):
            return 2
        if self.place == "gluster" or self.in_a_box:
            return 1 if self.workload in ("small", "flash") else 2
        if self.workload == "open" and self.ranks > 2:
            return 1
        return 3 if self.workload in ("strided-read", "record-read", "open") else 4

    @property
    def key(self) -> str:
        options = "".join(f" {name}={value}" for name, value in self.options.items())
        options += "".join(f" over {name}={value}" for name, value in self.baseline.items())
        options += " over by-hand" if self.by_hand else ""
        options += f" count={self.count}" if self.count else ""
        return f"{self.place} {self.workload} {self.ranks}{options}"

    @property
    def label(self) -> str:
        """The workload with its options and amount of work, for the page."""
        options = "".join(f" `{name}={value}`" for name, value in self.options.items())
        count = f", {self.count:,} records" if self.count else ""
        by_hand = ", plain by hand" if self.by_hand else ""
        return self.workload + options + count + by_hand


def plan() -> list[Case]:
    """All cases, in the order of the page."""
    cached = {"step_aside": "never"}  # the cost of a call is that of cached calls only
    cases = [
        Case("local", "small", 2, {"write": 2.5, "read": 2.0, "first file": 0.95}, {}),
        Case("local", "small", 4, {"write": 2.0, "first file": 0.95}, {}),
    ]
    both = {"write": 0.95, "read": 0.95, "first file": 0.95}
    reading = {"read": 0.95, "first file": 0.95}
    opening = 1 / 1.2  # an open and its close may take 1.2 times as long
    for ranks in (2, 4):
        cases += [
            Case("local", "flash", ranks, {"write": 0.95, "first file": 0.95}, {}),
            Case("local", "ior-hard", ranks, both, {}),
            Case("local", "checkpoint", ranks, both, {}),
            Case("local", "tile", ranks, both, {}),
            Case("local", "strided-read", ranks, reading, {}),
            Case("local", "record-read", ranks, reading, {}),
            Case("local", "pio", ranks, reading, {}),
            Case("local", "stream", ranks, both, {}),
            Case("local", "open", ranks, {"write": opening, "read": opening}, {}),
            Case("local", "small-parts", ranks, both, {}),
            Case("local", "ior-easy", ranks, both, {}),
            Case("local", "mpi-io-test", ranks, both, {}),
            Case("local", "tile-io", ranks, both, {}),
            Case("local", "tile-io-small", ranks, both, {}),
            Case("local", "lattice", ranks, both, {}),
            Case("local", "points", ranks, both, {}),
            Case("local", "sliding-window", ranks, both, {}),
        ]
    cases.append(Case("local", "btio", 4, both, {}))  # the ranks are a square number
    cases.append(Case("local", "open", 1, {"us/open": 30}, {}))
    for scope, limit in (("process", 150), ("node", 250)):
        cases += [
            Case("local", "call", ranks, {"ns/call": limit}, {"scope": scope} | cached)
            for ranks in (1, 2)
        ]
    volatile = {"recoverable": "false"}
    for workload, figures in (("small", ("write", "read")), ("flash", ("write",))):
        targets = dict.fromkeys(figures, 0.9)
        cases.append(Case("safety", workload, 2, targets, {}, volatile))
    for ranks in (2, 4):
        cases += [
            # Plain writes of the whole workload take a minute per file there.
            Case("gluster", "small", ranks, {"write": 100, "read": 10}, {}, count=20_000),
            Case("gluster", "flash", ranks, {"write": 2, "requests": 50}, {}),
            Case("gluster", "strided-read", ranks, {"times computation": 1.3}, {}),
            Case("gluster", "record-read", ranks, {}, {}),
            Case("gluster", "pio", ranks, {"times computation": 1.3}, {}),
            Case("gluster", "pio-nested", ranks, {"times computation": 1.3}, {}),
            Case("gluster", "stream", ranks, {"write": 0.98, "read": 0.98}, {}),
        ]
    of_nodes = cases_of_several_nodes() + cases_of_owners() + cases_in_a_box()
    return cases + collective_cases() + of_nodes


def collective_cases() -> list[Case]:
    """Collective accesses on GlusterFS, also of more than the cache holds."""
    little = {"cache_size": "2MiB"}  # the ranks write four times as much
    least = {"cache_size": "512KiB"}
    return [
        # With a little cache, too, the volume counts the file too long now and then (REMARKS).
        Case("gluster", "tile-io", 4, {"write": 1.5}, {}),
        Case("gluster", "lattice", 4, {"write": 1.5}, {}),
        Case("gluster", "lattice", 4, {"write": 1.5}, little),
        Case("gluster", "lattice", 4, {"write": 0.9}, little, by_hand=True),
        Case("gluster", "points", 4, {"write": 1.5}, least),
        Case("gluster", "sliding-window", 4, {"write": 5}, {}),
    ]


def cases_of_several_nodes() -> list[Case]:
    """4 ranks on 2 nodes."""
    job = {"scope": "job"}
    parts = job | {"domain": "first-touch", "domain_size": "256KiB"}
    later = job | {"consistency": "mpi"}
    few = 10_000  # plain, 100,000 records take half a minute
    return [
        Case("nodes", "small", 4, {"write": 20, "read": 10}, job, count=few),
        Case("nodes", "small", 4, {"write": 100}, later, count=few),
        Case("nodes", "small-parts", 4, {"write": 20, "read": 10}, job, count=few // 4),
        Case("nodes", "small-parts", 4, {"write": 20, "read": 10}, parts, count=few // 4),
        Case("nodes", "flash", 4, {"write": 5}, job),
        Case("nodes", "ior-hard", 4, {"write": 1.5, "read": 10}, job),
        Case("nodes", "tile-io", 4, {"write": 1.5, "read": 10}, job),
        Case("nodes", "tile-io-small", 4, {}, job),
        Case("nodes", "lattice", 4, {"write": 2, "read": 10}, job),
        Case("nodes", "lattice", 4, {"write": 1}, job, by_hand=True),
        Case("nodes", "btio", 4, {}, job),
        Case("nodes", "sliding-window", 4, {"write": 10, "read": 10}, job),
        Case("nodes", "points", 4, {}, job),
        Case("nodes", "ior-easy", 4, {}, job),
        Case("nodes", "stream", 4, {"write": 0.95, "read": 0.95}, job),
    ]


def cases_in_a_box() -> list[Case]:
    """Real nodes, as far as one machine can have them, with the options as they are."""
    few = 10_000
    later = {"consistency": "mpi"}
    cases = [
        Case("box 2x2", "small", 4, {"write": 20, "read": 10}, {}),
        Case("box 2x2", "small", 4, {"write": 100}, later),
        Case("box 2x2", "flash", 4, {"write": 5}, {}),
        Case("box 2x2", "ior-hard", 4, {"write": 1.5, "read": 10}, {}),
        Case("box 2x2", "tile-io", 4, {"write": 1.5, "read": 10}, {}),
        Case("box 2x2", "lattice", 4, {"write": 2, "read": 10}, {}),
        Case("box 2x2", "lattice", 4, {"write": 1}, {}, by_hand=True),
        Case("box 2x2", "sliding-window", 4, {"write": 10, "read": 10}, {}),
        Case("box 2x2", "stream", 4, {"write": 0.95, "read": 0.95}, {}),
        Case("box 2x2", "checkpoint", 4, {}, {}, count=96),  # more than the caches hold
    ]
    for place, ranks in (("box 2x1", 2), ("box 4x1", 4), ("box 2x2 keeping", 4)):
        cases += [
            Case(place, workload, ranks, {}, {}, count=few if workload == "small" else 0)
            for workload in ("small", "tile-io", "lattice", "ior-easy", "stream")
        ]
    return [*cases, Case("box 2x2 keeping", "checkpoint", 4, {}, {}, count=96)]


OWNERS_ASSIGNED = ("region", "dynamic", "cyclic", "file", "first-touch")


def cases_of_owners() -> list[Case]:
    """4 ranks on 2 nodes, with each assignment of bytes to the nodes."""
    return [
        Case("owners", workload, 4, {}, {"scope": "job", "domain": domain}, count=count)
        for workload, count in (("tile-io", 0), ("lattice", 0), ("btio", 0), ("small", 10_000))
        for domain in OWNERS_ASSIGNED
    ]


def measure(case: Case, mpi: Mpi, directory: Path, repeat: int) -> dict[str, Any]:
    """Runs one case."""
    bench = Bench(
        WORKLOADS[case.workload],
        mpi,
        directory,
        case.ranks,
        repeat=repeat,
        rounds=case.rounds,
        options=case.options,
        baseline=case.baseline,
        by_hand=case.by_hand,
        count=case.count,
        nodes=case.nodes,
    )
    report = bench.run(lambda step: print(f"  {step}", file=sys.stderr))
    computation = {side: times_computation(report, side) for side in ("plain", "forebay")}
    return report.as_json() | conditions() | {"times_computation": computation}


def conditions() -> dict[str, str]:
    """When, what and where was measured."""
    date = datetime.date.today().isoformat()
    return {"date": date, "version": version(), "machine": machine()}


def measure_on(nodes: Nodes, case: Case, mpi: Mpi, repeat: int) -> dict[str, Any]:
    """Runs one case on nodes in a box."""
    report = nodes.compare(
        case.workload,
        mpi.family,
        case.ranks,
        repeat,
        case.options,
        rounds=case.rounds,
        count=case.count,
        by_hand=case.by_hand,
    )
    return report | conditions()


def git(*words: str) -> str:
    return subprocess.run(
        ["git", *words], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.strip()


def version() -> str:
    """The commit that is measured; + means that the code was changed after it."""
    return git("rev-parse", "--short=8", "HEAD") + ("+" if git("diff", "HEAD", "--", "src") else "")


def is_stale(case: Case, entry: dict[str, Any]) -> bool:
    """Whether the code on the path of an access has changed since the entry was measured, or the
    commit that was measured is not known here."""
    measured = entry.get("version", "")
    if not measured or measured.endswith("+"):
        return True
    try:
        later = git("log", "--no-merges", "--format=%H", f"{measured}..HEAD", "--", *case.code)
    except subprocess.CalledProcessError:  # the history lacks that commit
        return True
    changed = CHANGED_ON_SEVERAL_NODES if case.nodes > 1 else CHANGED_ON_ONE_NODE
    return any(
        case.workload in changed.get(commit, (case.workload,))
        for commit in later.split()
        if commit not in CHANGED_NOWHERE
    )


@contextmanager
def gluster_volume() -> Iterator[Path]:
    """A GlusterFS volume that exists while it is used."""
    with tempfile.TemporaryDirectory(prefix="forebay-gluster-", dir="/var/tmp") as folder:
        state = Path(folder) / "volume"
        subprocess.run([str(GLUSTER), "up", str(state)], check=True, stdout=sys.stderr)
        try:
            yield state / "mnt"
        finally:
            subprocess.run([str(GLUSTER), "down", str(state)], check=True, stdout=sys.stderr)


def machine() -> str:
    """The machine of the measurement, without names or paths."""
    cpu = next(
        (
            line.split(":", 1)[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        platform.machine(),
    )
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    kernel = ".".join(platform.release().split(".")[:2])
    return f"{os.cpu_count()} cores ({cpu}), {memory:.0f} GiB, Linux {kernel}"


def names_of_machines(entries: list[dict[str, Any]]) -> dict[str, str]:
    """A letter for each machine, A for the one of the most results."""
    counts = Counter(entry["machine"] for entry in entries)
    return dict(zip((text for text, _ in counts.most_common()), ascii_uppercase, strict=False))


def rows(case: Case, entry: dict[str, Any], machine_name: str) -> Iterator[list[str]]:
    """The table rows of one result: each figure, its target, and whether it was reached."""
    for figure in entry["figures"]:
        if figure["name"] == "compute":
            continue
        unit, name = figure["unit"], figure["name"]
        median = figure["median"]
        measured = Figure(name, unit, figure["plain"], figure["forebay"])
        low, high = measured.speed_up_interval
        target, reached = "", ""
        first = figure.get("first_file", False)
        least = case.targets.get("first file" if first else name)
        if least is not None:
            target = f"{least:.3g}x"
            reached = verdict(high >= least)
        if name == "read" and not first and "times computation" in case.targets:
            limit, taken = case.targets["times computation"], entry["times_computation"]
            target = f"{limit:g} times computation"
            reached = (
                f"{verdict(taken['forebay'] <= limit)} "
                f"({taken['forebay']:.2f}, plain {taken['plain']:.2f})"
            )
        if "us/open" in case.targets and not first:
            opens = entry["calls"][name]
            more = (median["forebay"] - median["plain"]) / opens * 1e6
            target = f"{case.targets['us/open']:g} us more"
            reached = f"{verdict(more <= case.targets['us/open'])} ({more:.0f} us)"
        if "ns/call" in case.targets and name == "again":
            target = f"{case.targets['ns/call']:g} ns"
            reached = verdict(figure["minimum"]["forebay"] <= case.targets["ns/call"])
        yield [
            case.label,
            str(case.ranks),
            entry["mpi"],
            f"{name}, first file" if first else name,
            value(median["plain"], unit),
            value(median["forebay"], unit),
            f"{measured.speed_up:.2f}x ({low:.2f}-{high:.2f})",
            target,
            reached,
            machine_name,
            entry.get("version", "older"),
        ]
    plain, forebay = (entry["requests"][side]["write"] for side in ("plain", "forebay"))
    if "requests" in case.targets:
        factor = plain / max(forebay, 1)
        yield [
            case.label,
            str(case.ranks),
            entry["mpi"],
            "write requests",
            f"{plain:,}",
            f"{forebay:,}",
            f"{factor:.0f}x fewer",
            f"{case.targets['requests']:g}x",
            verdict(factor >= case.targets["requests"]),
            machine_name,
            entry.get("version", "older"),
        ]


def value(number: float, unit: str) -> str:
    return f"{number:,.0f} ns" if unit == "ns/call" else f"{number * 1e3:,.1f} ms"


def verdict(reached: bool) -> str:
    return "yes" if reached else "**no**"


def write_page(results: dict[str, dict[str, dict[str, Any]]], note: str) -> None:
    """Makes the page from all results. `note` describes the conditions."""
    all_entries = [entry for entries in results.values() for entry in entries.values()]
    dates = [entry["date"] for entry in all_entries]
    names = names_of_machines(all_entries)
    lines = [
        "# Results",
        "",
        *PREAMBLE.splitlines(),
        "",
        *(f"Machine {name}: {text}.\n" for text, name in names.items()),
        f"Measured {min(dates)} to {max(dates)}. {note}".rstrip(),
    ]
    headings = {
        "local": "Local disk",
        "safety": "What recovery costs (plain: Forebay with `recoverable=false`)",
        "gluster": "GlusterFS, four bricks, no client caching (`bench/gluster.sh`)",
        "nodes": "GlusterFS, ranks of two nodes",
        **BOXES,
    }
    for place, heading in headings.items():
        table = [
            row
            for case in plan()
            if case.place == place
            for _, entry in sorted(results.get(case.key, {}).items())
            for row in rows(case, entry, names[entry["machine"]])
        ]
        if table:
            columns = ("workload", "ranks", "MPI", "figure", "plain", "Forebay", "speed-up")
            head = [*columns, "target", "reached", "machine", "version"]
            remarks = [*REMARKS[place].splitlines(), ""] if place in REMARKS else []
            lines += ["", f"## {heading}", "", *remarks, *markdown(head, table)]
    lines += table_of_owners(results)
    PAGE.write_text("\n".join(lines) + "\n")


def table_of_owners(results: dict[str, dict[str, dict[str, Any]]]) -> list[str]:
    """A row for each workload, MPI and figure, and a column for each assignment."""
    found: dict[tuple[str, str, str], dict[str, str]] = {}
    for case in cases_of_owners():
        for _, entry in sorted(results.get(case.key, {}).items()):
            for figure in entry["figures"]:
                row = found.setdefault((case.workload, entry["mpi"], figure["name"]), {})
                measured = Figure(
                    figure["name"], figure["unit"], figure["plain"], figure["forebay"]
                )
                median = value(figure["median"]["forebay"], figure["unit"])
                row[case.options["domain"]] = f"{median} ({measured.speed_up:.2f}x)"
    if not found:
        return []
    head = ["workload", "MPI", "figure", *(f"`{domain}`" for domain in OWNERS_ASSIGNED)]
    ruler = ["---"] * 3 + ["---:"] * len(OWNERS_ASSIGNED)
    table = [
        [*row, *(of.get(domain, "") for domain in OWNERS_ASSIGNED)] for row, of in found.items()
    ]
    rows = [f"| {' | '.join(row)} |" for row in (head, ruler, *table)]
    return ["", "## Who owns which bytes", "", *REMARKS["owners"].splitlines(), "", *rows]


def markdown(head: list[str], table: list[list[str]]) -> list[str]:
    ruler = ["---"] * 4 + ["---:"] * 3 + ["---"] * 4
    return [f"| {' | '.join(row)} |" for row in (head, ruler, *table)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dir", type=Path, default=Path.cwd(), help="local directory to use")
    parser.add_argument("--mpi", action="append", help="as for forebay bench; may be repeated")
    parser.add_argument("--repeat", type=int, default=15, help="pairs of launches")
    parser.add_argument("--only", default="", help='cases that begin so, e.g. "local small"')
    parser.add_argument(
        "--note", help="sentence for the page: under what conditions it was measured"
    )
    parser.add_argument("--page", action="store_true", help="only make the page again")
    parser.add_argument(
        "--stale",
        action="store_true",
        help="only what was measured with older code",
    )
    arguments = parser.parse_args()

    # When ended from outside, this must still stop what it started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    data: dict[str, Any] = {"note": "", "results": {}}
    if DATA.exists():
        data = json.loads(DATA.read_text())
    if arguments.note is not None:
        data["note"] = arguments.note
    if not arguments.page:
        mpis = [find_mpi(name) for name in arguments.mpi] if arguments.mpi else all_mpis()
        cases = [case for case in plan() if case.key.startswith(arguments.only)]
        if arguments.stale:
            known = data["results"]
            cases = [case for case in cases if any_stale(case, known.get(case.key, {}), mpis)]
        here = [case for case in cases if case.place in ("local", "safety")]
        measure_all(here, mpis, arguments, data)
        on_nodes = [case for case in cases if case.in_a_box]
        if on_nodes and why_not():
            print(f"no figures of nodes in a box: {why_not()}", file=sys.stderr)
        for place in () if why_not() else dict.fromkeys(case.place for case in on_nodes):
            there = [case for case in on_nodes if case.place == place]
            with nodes_in_a_box(there[0].nodes, "keeping" in place) as nodes:
                measure_all(there, mpis, arguments, data, nodes)
        on_gluster = [case for case in cases if case.place in ("gluster", "nodes", "owners")]
        if on_gluster and os.geteuid() == 0 and shutil.which("glusterd"):
            with gluster_volume() as mount:
                arguments.dir = mount
                measure_all(on_gluster, mpis, arguments, data)
        elif on_gluster:
            print("no GlusterFS figures: they need root and glusterfs-server", file=sys.stderr)
    planned = {case.key for case in plan()}
    data["results"] = {key: data["results"][key] for key in data["results"] if key in planned}
    DATA.write_text(json.dumps(data, indent=1) + "\n")
    write_page(data["results"], data["note"])


def measure_all(
    cases: list[Case],
    mpis: list[Mpi],
    arguments: argparse.Namespace,
    data: dict[str, Any],
    nodes: Nodes | None = None,
) -> None:
    """Measures cases, in the directory or on the nodes, and saves each result at once."""
    for case in cases:
        for mpi in mpis:
            print(f"{case.key}, {mpi.family} {mpi.version}", file=sys.stderr)
            if nodes is None:
                entry = measure(case, mpi, arguments.dir, arguments.repeat)
            else:
                entry = measure_on(nodes, case, mpi, arguments.repeat)
            data["results"].setdefault(case.key, {})[mpi.family] = entry
            DATA.write_text(json.dumps(data, indent=1) + "\n")
            print(f"  speed-up {summary(entry)}", file=sys.stderr)


def any_stale(case: Case, entries: dict[str, dict[str, Any]], mpis: list[Mpi]) -> bool:
    """Whether a case must be measured again, for any MPI."""
    return any(mpi.family not in entries or is_stale(case, entries[mpi.family]) for mpi in mpis)


def summary(entry: dict[str, Any]) -> str:
    return ", ".join(
        f"{f['name']}{' (first file)' if f['first_file'] else ''} {f['speed_up']:.2f}"
        for f in entry["figures"]
    )


def all_mpis() -> list[Mpi]:
    """One installed MPI of each family."""
    found = []
    for family in ("mpich", "openmpi"):
        try:
            found.append(find_mpi(family))
        except click.ClickException:
            print(f"no {family} here", file=sys.stderr)
    return found


if __name__ == "__main__":
    main()
