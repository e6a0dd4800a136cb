#!/usr/bin/env python3
"""Simulates what was published of a cluster's caches, and writes docs/validation.md.

Settlemyer, "A Study of Client-based Caching for Parallel I/O" (2009), gives the run times of FLASH
I/O with 8 processes and 4 servers for the best sizes of each of his caches. Each is simulated here,
and stands beside the published value; so do his tiles and metadata workloads, Coloma's file domains
and Chen's prefetching. Where SimGrid is installed, times of the network stand beside SimGrid's.
This takes some minutes.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import click
import domain_times
import layouts
import metadata_times
import prefetch_times
import simgrid_network
import tile_times
from simgrid_network import SimgridMissing

from forebay.plots import run_times
from forebay.simulation import simulate_cluster, workload_traces
from forebay.sizes import parse_size

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "validation.md"
FIGURES = ROOT / "docs" / "figures"
SERVERS = {"machine.servers": "4"}
# His cache writes what is evicted or closed, at once, reads nothing ahead, and looks at a file anew
# with each open.
HIS_WAY = {
    "step_aside": "never",
    "read_ahead": "0",
    "write_behind": "false",
    "dirty_bound": "1",
    "keep": "never",
}
PREAMBLE = """\
`python3 bench/validation.py` writes this page; do not edit it by hand. Each row of a table is a run
of FLASH I/O with 8 processes and 4 servers: `forebay generate flash -n 8 --sets 25 --pieces 10`,
then `forebay simulate cluster` with the settings of the row. The published values are those of
Settlemyer (2009). His simulator and his trace are not available; ours has 6.9 MB a process, his
7.5. FLASH writes 24 variables of its blocks, and each process has its blocks of a variable in one
place of the file; so his 250 small writes a file are ten for each of 25 data sets here. A deviation
is that of the speed-up. The last sections, from tiles to SimGrid, have no FLASH.

The model was adjusted to the four baselines alone: a server's time for a request (`request_s`) to
both rows of Myrinet; that hosts process one frame at a time (`serial_hosts`) and acknowledge each
segment (`segments_an_acknowledgement`) to those of Gigabit Ethernet. No row with a cache was used.
"""
CONCLUSION = """\
What is known of the reasons:

- **Myrinet, pages.** His times hardly depend on the page size, ours do: a fixed page is read before
  a part of it changes, and the process waits for that; small pages are more such reads. With pages
  of 32 and 64 KiB the block-indexed caches agree within a fifth.
- **Fixed pages, one request each.** His cost as much as those in one request. Ours wait for each.
- **Hosts on Gigabit Ethernet.** His progressive caches move all bytes at the rate of the links, so
  his hosts process frames side by side there. His baselines need hosts that process frames one by
  one, each segment with an acknowledgement of its own: otherwise one node with 8 processes is as
  fast as eight nodes. No setting gives both. Ours is that of the baselines, and falls short of them
  still: what his hosts spend on a small request is not known.
- **Myrinet, progressive.** On 8 nodes the switch drops frames when all caches write at a close:
  with pages of 256 KiB 29 frames, and two connections wait for a time-out; with 128 KiB by chance
  none has to, and the run takes a fifth of the time. On one node a shared
  cache writes by 86 requests what the processes' own write by 579; his servers gain less by that.
- **The trace.** FLASH writes all blocks of a process for one variable side by side. With the 250
  writes as 250 data sets instead (`--sets 250 --pieces 1`), each process has a part of nearly every
  page, and reads nearly all pages: then 1 of 56 speed-ups is within 20 %.
"""


@dataclass(frozen=True)
class Table:
    """A table of the source: what it has in common, and its rows."""

    number: str
    cache: str
    """In the source's words: fixed pages, one request each; fixed, block-indexed; progressive."""
    network: str
    processes_per_node: int
    scope: str
    rows: tuple[tuple[str, str, float, float], ...]
    """Page size, size of a cache, run time in seconds, speed-up."""
    remark: str = ""

    def changes(self) -> Iterator[dict[str, str]]:
        """The settings of each row."""
        for page, size, _, _ in self.rows:
            # Here a cache's size is a process's share.
            share = parse_size(size) // (8 if self.scope == "node" else 1)
            yield cached(self.cache, self.scope, page, str(share))


def cached(cache: str, scope: str, page: str, size: str) -> dict[str, str]:
    """The settings of one of his caches."""
    lists = {"file_system.extents_a_request": "1"} if cache == "fixed" else {}
    kind = "tree" if cache == "progressive" else "delta"
    sizes = {"page_size": page, "cache_size": size}
    return {**SERVERS, **HIS_WAY, **lists, "scope": scope, "page_kind": kind, **sizes}


def _rows(text: str) -> tuple[tuple[str, str, float, float], ...]:
    """Rows of "page size, cache size, seconds, speed-up"; sizes in KiB and MiB."""
    rows = []
    for line in text.split(";"):
        page, size, seconds, speed_up = line.split()
        cache = size if size.endswith("KiB") else f"{size}MiB"
        rows.append((f"{page}KiB", cache, float(seconds), float(speed_up)))
    return tuple(rows)


_GIGE, _MYRINET = "palmetto-gige", "palmetto-myri10g"
BASELINES = ((_GIGE, 1, 2.14), (_GIGE, 8, 4.25), (_MYRINET, 1, 1.43), (_MYRINET, 8, 1.535))
TABLES = (
    Table("4.1", "fixed", _GIGE, 1, "process",
          _rows("64 16 0.8174 2.62; 32 16 0.8186 2.62; 16 16 0.8216 2.61; 8 16 0.8296 2.59")),
    Table("4.2", "fixed", _MYRINET, 1, "process",
          _rows("32 64KiB 0.2546 5.62; 32 128 0.2551 5.61; 64 8 0.2718 5.27; 128 16 0.2733 5.24"),
          "The first row contradicts the source's text: two pages would do what 4,096 do."),
    Table("4.3", "block-indexed", _GIGE, 1, "process",
          _rows("32 16 0.8081 2.66; 64 16 0.8086 2.65; 16 16 0.8108 2.65; 8 16 0.8170 2.63")),
    Table("4.4", "block-indexed", _MYRINET, 1, "process",
          _rows("64 16 0.2367 6.04; 16 16 0.2411 5.94; 32 16 0.2452 5.84; 8 16 0.2462 5.81")),
    Table("4.5", "block-indexed", _GIGE, 8, "process",
          _rows("32 16 2.7081 1.57; 64 16 2.7089 1.57; 16 16 2.7107 1.57; 8 16 2.7107 1.57")),
    Table("4.6", "block-indexed", _MYRINET, 8, "process",
          _rows("64 16 0.3170 4.84; 32 16 0.3200 4.80; 16 16 0.3209 4.78; 4 8 0.3219 4.78")),
    Table("4.7", "block-indexed", _GIGE, 8, "node",
          _rows("16 64 2.6649 1.60; 32 128 2.6673 1.60; 64 128 2.6688 1.60; 8 64 2.6765 1.59")),
    Table("4.8", "block-indexed", _MYRINET, 8, "node",
          _rows("8 64 0.2928 5.25; 16 64 0.2931 5.24; 64 128 0.2933 5.24; 32 128 0.2940 5.23")),
    Table("5.3", "progressive", _GIGE, 1, "process",
          _rows("256 8 0.2770 7.75; 256 16 0.2772 7.74; 256 2 0.2808 7.65; 256 4 0.2831 7.58"),
          "The speed-ups are above the maximum that the source states for this network, 7.21."),
    Table("5.4", "progressive", _MYRINET, 1, "process",
          _rows("256 16 0.1667 8.58; 128 16 0.1801 7.94; 64 16 0.1872 7.64; 32 16 0.1892 7.56")),
    Table("5.5", "progressive", _GIGE, 8, "process",
          _rows("256 16 0.5903 7.21; 256 8 0.5998 7.10; 256 4 0.6008 7.08; 256 1 0.6020 7.07")),
    Table("5.6", "progressive", _MYRINET, 8, "process",
          _rows("256 16 0.1851 8.30; 256 8 0.1947 7.89; 256 4 0.2044 7.51; 256 2 0.2096 7.33")),
    Table("5.7", "progressive", _GIGE, 8, "node",
          _rows("256 64 0.5799 7.34; 256 32 0.5919 7.20; 256 16 0.5960 7.15; 256 8 0.5973 7.13")),
    Table("5.8", "progressive", _MYRINET, 8, "node",
          _rows("256 64 0.1786 8.61; 256 32 0.1865 8.24; 256 16 0.2011 7.64; 256 4 0.2012 7.64")),
)  # fmt: skip


@dataclass(frozen=True)
class Map:
    """One of his figures: run times by page size and cache size."""

    number: str
    cache: str
    network: str
    processes_per_node: int
    scope: str = "process"

    @property
    def name(self) -> str:
        """Of the file."""
        return f"validation-{self.number.replace('.', '-')}.svg"


MAPS = (
    Map("4.2", "fixed", _MYRINET, 1),
    Map("4.5", "block-indexed", _MYRINET, 1),
    Map("5.5", "progressive", _MYRINET, 1),
    Map("5.6", "progressive", _GIGE, 8),
)
PAGES = tuple(f"{kib}KiB" for kib in (1, 4, 16, 64, 256))
CACHES = ("64KiB", "256KiB", "1MiB", "4MiB", "16MiB", "64MiB")


def drawn(trace: Path, of: Map) -> None:
    """Draws a figure; pages larger than the cache have no cell."""
    sizes = [
        (page, size) for page in PAGES for size in CACHES if parse_size(page) <= parse_size(size)
    ]
    results = simulate_cluster(
        trace,
        of.network,
        [cached(of.cache, of.scope, page, size) for page, size in sizes],
        processes_per_node=of.processes_per_node,
    )
    run_times(results).savefig(FIGURES / of.name, metadata={"Date": None})


@dataclass(frozen=True)
class Row:
    """A published value beside ours."""

    table: Table
    page_size: str
    cache_size: str
    published_s: float
    published: float
    simulated_s: float
    speed_up: float

    @property
    def deviation(self) -> float:
        """Of the speed-up."""
        return self.speed_up / self.published - 1


def simulated(trace: Path) -> tuple[dict[tuple[str, int], float], list[Row]]:
    """The baselines in seconds, by network and processes on a node; and the rows of all tables."""
    baselines = {}
    rows = []
    for network, each, _ in BASELINES:
        (one,) = simulate_cluster(
            trace, network, [{"scope": "none", **SERVERS}], processes_per_node=each
        )
        baselines[network, each] = one.run_s
    for table in TABLES:
        click.echo(f"table {table.number}", err=True)
        each = table.processes_per_node
        results = simulate_cluster(
            trace, table.network, list(table.changes()), processes_per_node=each
        )
        for (page, size, seconds, speed_up), result in zip(table.rows, results, strict=True):
            own = baselines[table.network, each] / result.run_s
            rows.append(Row(table, page, size, seconds, speed_up, result.run_s, own))
    return baselines, rows


def page(baselines: dict[tuple[str, int], float], rows: list[Row]) -> str:
    """The text of docs/validation.md."""
    lines = ["# The cluster simulator beside published values", "", PREAMBLE]
    lines += ["## Without a cache", ""]
    lines += ["| machine | processes | published s | simulated s | deviation |"]
    lines += ["| --- | --- | ---: | ---: | ---: |"]
    for network, each, seconds in BASELINES:
        own = baselines[network, each]
        nodes = f"{8 // each} node{'s' if each == 1 else ''} x {each}"
        lines.append(
            f"| {network} | {nodes} | {seconds:g} | {own:.2f} | {own / seconds - 1:+.0%} |"
        )
    lines += ["", "## With his caches", "", _summary(rows), ""]
    lines += [
        "| table | cache | machine | nodes | page | cache size | published s | simulated s |"
        " published speed-up | simulated | deviation |"
    ]
    lines += ["| --- | --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"]
    for row in rows:
        table = row.table
        shared = ", shared" if table.scope == "node" else ""
        nodes = "8 x 1" if table.processes_per_node == 1 else "1 x 8"
        lines.append(
            f"| {table.number} | {table.cache}{shared} | {table.network} | {nodes} |"
            f" {row.page_size} | {row.cache_size} | {row.published_s:.4f} |"
            f" {row.simulated_s:.4f} | {row.published:.2f} | {row.speed_up:.2f} |"
            f" {row.deviation:+.0%} |"
        )
    remarks = [f"Table {table.number}: {table.remark}" for table in TABLES if table.remark]
    lines += ["", *remarks, "", CONCLUSION, "## The order of the caches", "", *_orders(rows)]
    lines += ["", "## By page size and cache size", ""]
    lines += ["Run times as in his figures of the same numbers; dark is slow.", ""]
    for one in MAPS:
        lines += [f"{one.number}: {one.cache} pages.", "", f"![Run times](figures/{one.name})", ""]
    click.echo("tiles", err=True)
    lines += [tile_times.section().rstrip("\n"), ""]
    click.echo("domains", err=True)
    lines += [domain_times.section().rstrip("\n"), ""]
    click.echo("prefetching", err=True)
    lines += [prefetch_times.section().rstrip("\n"), ""]
    click.echo("layouts", err=True)
    lines += [layouts.section().rstrip("\n"), ""]
    click.echo("metadata", err=True)
    lines += [metadata_times.section().rstrip("\n"), ""]
    return "\n".join([*lines, beside_simgrid(PAGE.read_text())]).rstrip("\n") + "\n"


def beside_simgrid(last: str) -> str:
    """The section on SimGrid, which is the page's last: as it was, if SimGrid is missing."""
    try:
        return simgrid_network.section()
    except SimgridMissing as missing:
        click.echo(f"{missing}; the section on it stays as it is", err=True)
        return "".join(last.partition(simgrid_network.TITLE)[1:])


def _summary(rows: list[Row]) -> str:
    near = sum(abs(row.deviation) <= 0.2 for row in rows)
    middle = median(abs(row.deviation) for row in rows)
    return (
        f"{near} of {len(rows)} speed-ups are within 20 % of the published ones; half of them"
        f" deviate by less than {middle:.0%}."
    )


def _orders(rows: list[Row]) -> Iterator[str]:
    """Published: progressive pages before fixed ones in one request, these before none."""
    yield "| machine | nodes | published best speed-ups | simulated | same order |"
    yield "| --- | --- | --- | --- | --- |"
    for network, each, _ in BASELINES:
        here = [
            row
            for row in rows
            if (row.table.network, row.table.processes_per_node) == (network, each)
        ]
        kinds: dict[str, list[Row]] = {}
        for row in here:
            shared = ", shared" if row.table.scope == "node" else ""
            kinds.setdefault(row.table.cache + shared, []).append(row)
        theirs = {kind: max(row.published for row in of) for kind, of in kinds.items()}
        ours = {kind: max(row.speed_up for row in of) for kind, of in kinds.items()}
        same = sorted(theirs, key=theirs.__getitem__) == sorted(ours, key=ours.__getitem__)
        nodes = "8 x 1" if each == 1 else "1 x 8"
        shown = [
            ", ".join(f"{kind} {best[kind]:.2f}" for kind in theirs) for best in (theirs, ours)
        ]
        yield f"| {network} | {nodes} | {shown[0]} | {shown[1]} | {'yes' if same else 'no'} |"


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the rows, and write nothing.")
def main(as_json: bool) -> None:
    """Simulate all rows, and write docs/validation.md."""
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "flash"
        workload_traces.flash(trace, 8, sets=25, pieces=10)
        baselines, rows = simulated(trace)
        for one in () if as_json else MAPS:
            click.echo(f"figure {one.number}", err=True)
            drawn(trace, one)
    if as_json:
        plain = [
            {"table": row.table.number, "published": row.published, "simulated": row.speed_up}
            for row in rows
        ]
        click.echo(json.dumps(plain, indent=1))
    else:
        PAGE.write_text(page(baselines, rows))


if __name__ == "__main__":
    main()
