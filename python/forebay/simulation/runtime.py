"""The counts of the runtime's own caches, replayed from the trace of a run."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any

from forebay import _core
from forebay.kinds import check_path
from forebay.memory import available_bytes
from forebay.results import Results
from forebay.sizes import parse_size
from forebay.text import one_line
from forebay.trace import Trace, TraceError, open_trace

_BYTES_PER_FRAME = 256
"""Memory per frame of a simulated cache, with some for the page's regions."""
_BYTES_PER_STEP = 64
"""Memory per step, for the order of the replay."""
_SHOWN = ("policy", "page_kind", "page_size", "cache_size", "scope")
"""The options that a result contains."""


@dataclass(frozen=True, slots=True)
class RuntimeResult:
    """The counts of a job's caches, summed over the caches."""

    trace: str
    policy: str
    page_kind: str
    page_size: int
    """In bytes."""
    cache_size: int
    """In bytes per process; the cache of a node has this times its ranks."""
    scope: str
    caches: int
    hits: int
    """Of pages, as the policy counts them; likewise misses and evictions."""
    misses: int
    evictions: int
    committed_bytes: int
    """Bytes written back from pages."""
    fetched_bytes: int
    """Bytes read into pages, ahead or because the program read them."""
    bypass_bytes: int
    """Bytes written and read past the cache."""

    @property
    def hit_rate(self) -> float:
        """The fraction of counted accesses to pages that were hits; 0 without such accesses."""
        counted = self.hits + self.misses
        return self.hits / counted if counted else 0.0

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {**asdict(self), "hit_rate": self.hit_rate}


class RuntimeResults(Results[RuntimeResult]):
    """The result of `simulate_runtime`: a list; `to_pandas()` makes a table of it."""

    __slots__ = ()


def simulate_runtime(
    trace: str | os.PathLike[str], changes: Iterable[dict[str, str]] = ({},)
) -> RuntimeResults:
    """The counts that the runtime's caches would have had with other options.

    `trace`: a trace of a run with the option `deterministic`. `changes`: for each result, the
    changed options by name, as for `forebay run -o`; the others are those of the run. Without
    changes the counts are the run's own (`forebay run --stats`).

    Raises TraceError, one line with the file, if the trace cannot be replayed; ValueError for
    options that make no sense.
    """
    check_path(trace, "simulate_runtime", "trace")
    if isinstance(changes, Mapping | str):
        raise TypeError(
            "forebay.simulate_runtime: changes is a list of options for each result, as"
            " [{'policy': 'lru'}]"
        )
    name = one_line(str(trace))
    opened, run = recorded_run(trace)
    recorded = run.options()
    wanted = []
    for change in changes:
        for mistake in _core.mistakes(dict(change)):
            raise ValueError(mistake)
        wanted.append({**recorded, **change})
        if misfit := _core.misfit(wanted[-1]):
            raise ValueError(misfit)
    workers = max(1, min(len(wanted), len(os.sched_getaffinity(0))))
    ranks = Counter(process.host for process in opened.processes)
    for options in wanted:
        for option in _SHOWN:
            if option not in options:
                raise TraceError(
                    f"{name}: it does not say with which {option} it was made; only traces of"
                    " runs can be replayed"
                )
        sharing = max(ranks.values(), default=1) if options["scope"] != "process" else 1
        _check_memory(options, workers * sharing)

    def result(options: dict[str, str]) -> RuntimeResult:
        try:
            caches = run.replay(options)
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
            fetched_bytes=sum(cache.fetched_bytes for cache in caches),
            bypass_bytes=sum(cache.bypass_bytes for cache in caches),
        )

    with ThreadPoolExecutor(workers) as pool:
        return RuntimeResults(pool.map(result, wanted))


def recorded_run(trace: str | os.PathLike[str]) -> tuple[Trace, _core.RecordedRun]:
    """The steps of a run's caches, read from its trace.

    Raises TraceError, one line with the file, if the trace has none, or they take too much memory.
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
    return opened, _core.RecordedRun(opened.reader)


def _check_memory(options: dict[str, str], shares: int) -> None:
    """Raises an error if the simulated caches need too much memory. `shares`: processes whose part
    of a cache is simulated at a time."""
    page, cache = parse_size(options["page_size"]), parse_size(options["cache_size"])
    pages = cache // page * shares
    if pages * _BYTES_PER_FRAME > available_bytes() // 2:
        raise ValueError(
            f"simulating {pages:,} pages takes more memory than there is; use larger pages"
        )
