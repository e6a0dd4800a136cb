"""`forebay simulate runtime`: what the runtime's own caches count, from a trace of the run."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from forebay import _core
from forebay.settings import parse_assignments
from forebay.sizes import parse_size, shown_size
from forebay.trace import TraceError, available_bytes, one_line, open_trace

_BYTES_PER_FRAME = 256
"""Of a simulated cache, and some for the page's regions."""
_BYTES_PER_STEP = 16
"""Of the order in which they are replayed."""
_NOT_A_TERMINAL = 120  # columns
_SHOWN = ("policy", "page_kind", "page_size", "cache_size", "scope")
"""Options that a result names."""


@dataclass(frozen=True, slots=True)
class RuntimeResult:
    """What the caches of a job counted, all of them together."""

    trace: str
    policy: str
    page_kind: str
    page_size: int
    """Bytes."""
    cache_size: int
    """Bytes a process; a node's cache is that times its ranks."""
    scope: str
    caches: int
    hits: int
    """Pages, as the policy counts them; so are misses and evictions."""
    misses: int
    evictions: int
    committed_bytes: int
    """Written back from pages."""
    bypass_bytes: int
    """Written and read past the cache."""

    @property
    def hit_rate(self) -> float:
        """Part of the counted accesses to pages that were hits; 0 where there were none."""
        counted = self.hits + self.misses
        return self.hits / counted if counted else 0.0

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {**asdict(self), "hit_rate": self.hit_rate}


def simulate_runtime(
    trace: str | os.PathLike[str], changes: Iterable[dict[str, str]] = ({},)
) -> list[RuntimeResult]:
    """What the runtime's caches would have counted, had the run's options been changed.

    `trace`: of a run with the option `deterministic`. `changes`: for each result, options as for
    `forebay run -o`, by name; the others are those of the run. With none the counts are the run's
    own (`forebay run --stats`).

    Raises TraceError, one line that names the file, for what cannot be replayed; ValueError for
    options that make no sense.
    """
    opened = open_trace(trace)
    name = one_line(str(trace))
    if opened.reader is None:
        raise TraceError(f"{name}: only traces that Forebay recorded can be replayed")
    if opened.problems:
        raise TraceError(f"{opened.problems[0]}; a trace with gaps cannot be replayed")
    needed = len(opened) * (_core.table_bytes_per_access + _BYTES_PER_STEP)
    if needed > available_bytes():
        raise TraceError(
            f"{name}: to replay {len(opened):,} accesses takes {needed / 1e9:,.1f} GB of memory"
        )
    replay = _core.Replay(opened.reader)
    recorded = replay.options()
    wanted = [{**recorded, **change} for change in changes]
    workers = max(1, min(len(wanted), len(os.sched_getaffinity(0))))
    ranks = Counter(process.host for process in opened.processes)
    for options in wanted:
        for option in _SHOWN:
            if option not in options:
                raise TraceError(
                    f"{name}: it does not say with which {option} it was made; only traces of"
                    " runs can be replayed"
                )
        sharing = max(ranks.values(), default=1) if options["scope"] == "node" else 1
        _check_memory(options, workers * sharing)

    def result(options: dict[str, str]) -> RuntimeResult:
        try:
            caches = replay.run(options)
        except ValueError as error:
            raise TraceError(f"{name}: {error}") from error
        return RuntimeResult(
            trace=str(trace),
            policy=options["policy"],
            page_kind=options["page_kind"],
            page_size=parse_size(options["page_size"]),
            cache_size=parse_size(options["cache_size"]),
            scope=options["scope"],
            caches=len(caches),
            hits=sum(cache.hits for cache in caches),
            misses=sum(cache.misses for cache in caches),
            evictions=sum(cache.evictions for cache in caches),
            committed_bytes=sum(cache.committed_bytes for cache in caches),
            bypass_bytes=sum(cache.bypass_bytes for cache in caches),
        )

    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(result, wanted))


def _check_memory(options: dict[str, str], shares: int) -> None:
    """`shares`: processes' shares of a cache that are simulated at a time."""
    page, cache = parse_size(options["page_size"]), parse_size(options["cache_size"])
    if page % 64:
        raise ValueError(f"a page of {page} bytes: pages are multiples of 64 bytes")
    pages = cache // page * shares
    if pages * _BYTES_PER_FRAME > available_bytes() // 2:
        raise ValueError(
            f"simulating {pages:,} pages takes more memory than there is; use larger pages"
        )


@click.command(short_help="What the runtime's own caches count, replayed.")
@click.argument("trace", type=click.Path(path_type=Path))
@click.option("--policy", "policies", metavar="NAME,...", help="[default: the run's]")
@click.option("--cache-size", "cache_sizes", metavar="SIZE,...", help="[default: the run's]")
@click.option(
    "-o",
    "assignments",
    multiple=True,
    metavar="NAME=VALUE",
    help="Another option of the cache than the run had (see `forebay hints`).",
)
@click.option("--json", "as_json", is_flag=True, help="JSON on standard output.")
def runtime(
    trace: Path,
    policies: str | None,
    cache_sizes: str | None,
    assignments: Sequence[str],
    as_json: bool,
) -> None:
    """Replay what TRACE says was done to the runtime's caches, with the run's options or others.

    TRACE is of a run with `-o deterministic=true`. With the run's own options the counts are those
    of `forebay run --stats`, to the last one; docs/simulating.md says what else to know.
    """
    changes = [parse_assignments(assignments)]
    for option, values in (("policy", policies), ("cache_size", cache_sizes)):
        if values is None:
            continue
        words = [word.strip() for word in values.split(",") if word.strip()]
        parse_assignments(f"{option}={word}" for word in words)
        changes = [{**change, option: word} for change in changes for word in words]
    try:
        results = simulate_runtime(trace, changes)
    except (TraceError, ValueError) as error:
        raise click.ClickException(str(error)) from error
    except MemoryError as error:
        raise click.ClickException("there is not enough memory") from error
    if as_json:
        json.dump({"results": [result.to_json() for result in results]}, sys.stdout, indent=1)
        click.echo()
        return
    width = None if sys.stdout.isatty() else _NOT_A_TERMINAL
    Console(highlight=False, width=width).print(_table(results))


def _table(results: Sequence[RuntimeResult]) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.title = escape(one_line(results[0].trace)) if results else None
    table.title_justify = "left"
    for heading in ("policy", "pages", "scope"):
        table.add_column(heading)
    for heading in ("cache", "hits", "misses", "evicted", "hit rate %", "back", "past"):
        table.add_column(heading, justify="right", no_wrap=True)
    for one in results:
        table.add_row(
            one.policy,
            f"{one.page_kind} {shown_size(one.page_size)}",
            f"{one.scope} ({one.caches})",
            shown_size(one.cache_size),
            f"{one.hits:,}",
            f"{one.misses:,}",
            f"{one.evictions:,}",
            f"{100 * one.hit_rate:.1f}",
            shown_size(one.committed_bytes),
            shown_size(one.bypass_bytes),
        )
    return table
