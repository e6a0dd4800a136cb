"""Simulates caches of pages on a trace: hits, misses and evictions with the policies that run
inside MPI programs.

    import forebay
    for result in forebay.simulate_cache("run.trace", policies=["lru", "arc"],
                                         cache_sizes=[16 << 20, 64 << 20]):
        print(result.policy, result.awareness, result.cache_size, result.hit_rate)

docs/simulating.md says what the policies are shown, and which processes share a cache.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, replace
from operator import index
from pathlib import Path
from typing import Any, TypeVar

from forebay import _core
from forebay.kinds import (
    check_callable,
    check_names,
    check_number,
    check_path,
    check_real,
    check_size,
)
from forebay.memory import available_bytes
from forebay.results import Results
from forebay.simulation.block_traces import FORMATS, Input, read_input
from forebay.simulation.more_processes import with_processes
from forebay.simulation.sampling import Estimate, Sample, can_estimate
from forebay.sizes import shown_size
from forebay.text import one_line
from forebay.trace import TraceError

MIN = "min"
"""Belady's MIN, which no policy can surpass, because it knows the following accesses."""

INFORMED = "informed"
"""Evicts what is accessed again last, as far as the order of each process's accesses foretells."""

POLICIES = (*(policy.name for policy in _core.policies()), MIN)
"""All but `min` are policies of programs, too."""

DEFAULT_POLICIES = tuple(name for name in POLICIES if name != INFORMED)
"""`informed` takes many times as long as the others, and memory for each access."""

AWARENESS = ("original", "aggregated")
SCOPES = ("process", "node", "job")
"""Which processes share a cache."""

PAGE_BYTES = 64 << 10
COLLECTIVE_BUFFER_BYTES = 16 << 20
"""ROMIO's default (hint cb_buffer_size)."""
UNION_WINDOW_S = 0.1
BYPASS_BYTES = 1 << 20
"""The runtime's default (option bypass)."""

_AS_MARKED = -1
_NEVER_PAST = (1 << 63) - 1
_MOST_TOUCHES = (1 << 32) - 2
_MOST_PROCESSES = 1 << 20
_POLL_S = 0.1

_DEFAULT_SIZES = 9
_MOST_BYTES = 1 << 62
_MOST_FRAMES = 1 << 31
_BYTES_PER_TOUCH = _core.touch_bytes + 40
"""Memory per touch: of a stream, and of MIN while it works."""
_BYTES_PER_PIECE = _core.piece_bytes
"""Memory that `informed` takes besides per touch."""


@dataclass(frozen=True, slots=True)
class CacheResult:
    """The result of caches of one kind on one trace. The counts are sums over the caches."""

    trace: str
    policy: str
    awareness: str
    page_size: int
    """In bytes; in blocks for a trace of block ids."""
    cache_size: int
    """In the unit of `page_size`. Size of each cache; with scope `node`, per process of the
    node."""
    aggregators: int | None
    """The number of aggregators that share collective calls; None for `original`."""
    accesses: int
    """Touches of pages; each is a hit or a miss."""
    pages: int
    """Different pages that were touched, counted per cache."""
    hits: int
    misses: int
    evictions: int
    scope: str = "job"
    caches: int = 1
    """Caches that were accessed."""
    bypassed_accesses: int = 0
    """Accesses that went past the cache, wholly or in part; the part past it touches no page."""
    bypassed_bytes: int = 0
    sample: float | None = None
    """The fraction of pages simulated, from which the counts are estimated; None: all pages."""
    error: float = 0.0
    """In about 19 of 20 cases the exact hit rate differs from this one by at most so much; 0: it is
    exact."""

    @property
    def hit_rate(self) -> float:
        """The fraction of touches that were hits; 0 without touches."""
        return self.hits / self.accesses if self.accesses else 0.0

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {**asdict(self), "hit_rate": self.hit_rate}


class CacheResults(Results[CacheResult]):
    """The result of `simulate_cache`: a list; `to_pandas()` makes a table of it."""

    __slots__ = ()


Progress = Callable[[str, float], object]


@dataclass(frozen=True)
class Settings:
    """The checked arguments of `simulate_cache`."""

    policies: tuple[str, ...]
    cache_sizes: tuple[int, ...]
    page_sizes: tuple[int, ...]
    awareness: tuple[str, ...]
    aggregators: int | None
    collective_buffer: int
    union_window: float | None
    file_format: str
    memory: int
    jobs: int
    bypass: int | None
    scope: str
    sample: float | None
    processes: int | None

    def __post_init__(self) -> None:
        for name in self.policies:
            if name not in POLICIES:
                raise ValueError(f"there is no policy '{name}': {', '.join(POLICIES)}")
        for name in self.awareness:
            if name not in AWARENESS:
                raise ValueError(f"awareness is {' or '.join(AWARENESS)}, not '{name}'")
        if self.scope not in SCOPES:
            raise ValueError(f"there is no scope '{self.scope}': {', '.join(SCOPES)}")
        if self.scope != "job" and "aggregated" in self.awareness:
            raise ValueError(
                "aggregated accesses are no process's own: they have one cache, of scope job"
            )
        if self.sample is not None and not 0 < self.sample <= 1:
            raise ValueError("a sample is a part of the pages: above 0, at most 1")
        if self.is_sample and self.policies == (INFORMED,):
            raise ValueError(f"{INFORMED} follows the order of all accesses, and takes no sample")
        if self.file_format not in FORMATS:
            raise ValueError(f"there is no format '{self.file_format}': {', '.join(FORMATS)}")
        sizes = (*self.cache_sizes, *self.page_sizes, self.collective_buffer, self.memory)
        if self.bypass is not None:
            sizes = (*sizes, self.bypass)
        aggregators = 1 if self.aggregators is None else self.aggregators
        for number in (*sizes, aggregators, self.jobs):
            if not isinstance(number, int):
                raise ValueError(f"{number!r} is no whole number")
        if not all(1 <= size <= _MOST_BYTES for size in sizes):
            raise ValueError(f"sizes are between 1 and {_MOST_BYTES:,} bytes")
        if not 1 <= aggregators <= 1 << 20:
            raise ValueError("aggregators are between 1 and 1,048,576")
        if not 1 <= self.jobs <= 1024:
            raise ValueError("simulations at a time are between 1 and 1,024")
        if self.union_window is not None and not 0 <= self.union_window < 1e9:
            raise ValueError("the union window is a time in seconds")

    @property
    def is_sample(self) -> bool:
        """Whether only a part of the pages is simulated."""
        return self.sample is not None and self.sample < 1


def simulate_cache(
    traces: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    policies: Sequence[str] = DEFAULT_POLICIES,
    cache_sizes: Sequence[int] = (),
    page_size: int | Sequence[int] = (),
    awareness: Sequence[str] | None = None,
    aggregators: int | None = None,
    collective_buffer: int = COLLECTIVE_BUFFER_BYTES,
    union_window: float | None = None,
    bypass: int | None = BYPASS_BYTES,
    scope: str = "job",
    sample: float | None = None,
    processes: int | None = None,
    file_format: str = "auto",
    memory: int | None = None,
    jobs: int | None = None,
    progress: Progress = lambda _stage, _part: None,
    warn: Callable[[str], object] = lambda _: None,
) -> CacheResults:
    """Simulates every policy with every cache size, page size and awareness on every trace.

    Args:
        traces: one or several paths: traces for `forebay.open_trace`, or block traces.
        policies: names from POLICIES. Default: all but `informed`.
        cache_sizes: in bytes (blocks for traces of ids). Default: nine powers of two, up to a cache
            that holds the whole trace. A cache smaller than a page holds none: every touch misses,
            and `warn` is told.
        page_size: in bytes, one or several. Default: 64 KiB; one block for traces of ids.
        awareness: names from AWARENESS. Default: both; with a scope other than job `original`.
        aggregators: number of aggregators. Default: one per node.
        collective_buffer: in bytes.
        union_window: seconds within which accesses are united if none is marked as collective.
            Default: 0.1 for traces that do not mark collective calls, no union for others.
        bypass: contiguous accesses of at least so many bytes, or longer than half of a cache, go
            past it, as in the runtime. None: no access does.
        scope: from SCOPES: one cache per process, per node (`cache_sizes` then counts per process
            of the node), or for the job.
        sample: fraction of the pages that is simulated, above 0; None: all. The caches are smaller
            by the same factor, and the results are estimates that state their error. `informed`
            takes no sample: it is left out, and `warn` is told.
        processes: simulate so many, if the trace has fewer: the others do what those of the trace
            do, at the places that follow (docs/cluster.md). Default: those of the trace.
        file_format: from block_traces.FORMATS.
        memory: rough limit in bytes. Default: half of the available memory.
        jobs: simulations at a time. Default: one per core.
        progress: called with the current stage and the fraction of it that is done.
        warn: called with a line for each thing that is missing from a trace, and for a cache that
            holds no page.

    The results are in the order of the traces; for each trace in the order of page sizes,
    awareness, policies and cache sizes as given. Traces of ids have no processes, and so no results
    for `aggregated`.

    Raises TraceError, one line with the file, if a trace cannot be read or needs more memory;
    ValueError for arguments that make no sense.
    """
    paths = _paths(traces)
    check_callable(progress, "simulate_cache", "progress")
    check_callable(warn, "simulate_cache", "warn")
    if awareness is None:
        awareness = AWARENESS if scope == "job" else ("original",)
    for name, words in (("policies", policies), ("awareness", awareness)):
        check_names(words, "simulate_cache", name)
    if bypass is not None:
        check_size(bypass, "simulate_cache")
    for name, real in (("sample", sample), ("union_window", union_window)):
        if real is not None:
            check_real(real, "simulate_cache", name)
    for name, number in (
        *(("aggregators", aggregators), ("processes", processes)),
        *(("memory", memory), ("jobs", jobs)),
    ):
        if number is not None:
            check_number(number, "simulate_cache", name)
    settings = Settings(
        policies=tuple(dict.fromkeys(policies)),
        cache_sizes=tuple(dict.fromkeys(_listed(cache_sizes))),
        page_sizes=tuple(dict.fromkeys(_listed(page_size))),
        awareness=tuple(dict.fromkeys(awareness)),
        aggregators=_plain(aggregators),
        collective_buffer=_plain(collective_buffer),
        union_window=union_window,
        file_format=file_format,
        memory=available_bytes() // 2 if memory is None else _plain(memory),
        jobs=len(os.sched_getaffinity(0)) if jobs is None else _plain(jobs),
        bypass=_plain(bypass),
        scope=scope,
        sample=sample,
        processes=_plain(processes),
    )
    if settings.is_sample and INFORMED in settings.policies:
        warn(f"{INFORMED} is left out: it follows the order of all accesses, and takes no sample")
        settings = replace(
            settings, policies=tuple(name for name in settings.policies if name != INFORMED)
        )
    results = CacheResults()
    for path in map(Path, paths):
        name = one_line(path.name)
        source = read_input(
            path,
            file_format,
            settings.memory // 2,
            lambda part, name=name: progress(f"reading {name}", part),  # type: ignore[misc]
        )
        for problem in source.problems:
            warn(problem)
        if processes is not None:
            if source.log is None:
                raise TraceError(f"{name}: block ids know no processes to add to")
            source = with_processes(
                source, source.log, settings.processes, settings.memory // 2, warn
            )
        results += _Simulation(source, settings, progress, warn).run()
    return results


def _paths(traces: Any) -> list[Any]:
    """The paths, of one or several."""
    several = traces if isinstance(traces, list | tuple) else [traces]
    for one in several:
        check_path(one, "simulate_cache", "traces")
    return list(several)


def _plain(number: Any) -> Any:
    """A whole number of Python, if it is one of NumPy."""
    return index(number) if hasattr(number, "__index__") else number


def _listed(numbers: Any) -> list[Any]:
    """The numbers, of one or several."""
    one = isinstance(numbers, str) or not isinstance(numbers, Iterable)
    several = [numbers] if one else list(numbers)
    for number in several:
        check_size(number, "simulate_cache")
    return [_plain(number) for number in several]


T = TypeVar("T")


@dataclass(frozen=True)
class _Caches:
    """Which process uses which cache."""

    of_process: list[int]
    """The cache of each process; empty: all share one."""
    shares: list[int]
    """The size of each cache, as a multiple of the cache size."""


class _Simulation:
    """Simulations of all caches on one trace."""

    def __init__(
        self,
        source: Input,
        settings: Settings,
        progress: Progress,
        warn: Callable[[str], object],
    ):
        self._source = source
        self._settings = settings
        self._progress = progress
        self._warn = warn
        self._name = one_line(source.path)
        self._short_name = one_line(Path(source.path).name)
        per_touch = _BYTES_PER_TOUCH + _BYTES_PER_PIECE * (INFORMED in settings.policies)
        self._most_touches = min(settings.memory // 2 // per_touch, _MOST_TOUCHES)
        self._caches = self._shared()
        self._warned_of_union = False
        self._divided: tuple[object, _core.Touches] | None = None
        """The latest touches, and the settings they were made with."""

    def run(self) -> list[CacheResult]:
        results: list[CacheResult] = []
        self._warn_of_empty_caches()
        if self._source.blocks is not None and "original" not in self._settings.awareness:
            raise TraceError(f"{self._name}: block ids know no processes to aggregate")
        for page_size in self._page_sizes():
            sizes = self._settings.cache_sizes
            for awareness in self._settings.awareness:
                if awareness == "aggregated" and self._source.blocks is not None:
                    continue
                sizes = sizes or self._default_sizes(page_size, awareness)
                results += self._results(page_size, awareness, sizes)
        return results

    def _warn_of_empty_caches(self) -> None:
        for page_size in self._page_sizes():
            empty = [size for size in self._settings.cache_sizes if size < page_size]
            if empty:
                shown = shown_size if self._source.blocks is None else str
                named = " or ".join(map(shown, empty))
                self._warn(
                    f"{self._name}: a cache of {named} holds no page of {shown(page_size)}; there"
                    " every touch misses"
                )

    def _page_sizes(self) -> tuple[int, ...]:
        fallback = PAGE_BYTES if self._source.blocks is None else 1
        return self._settings.page_sizes or (fallback,)

    def _shared(self) -> _Caches:
        scope = self._settings.scope
        if scope == "job":
            return _Caches([], [1])
        if self._source.log is None:
            raise TraceError(f"{self._name}: block ids know no processes; they have scope job")
        if scope == "node":
            nodes = self._source.nodes
            if nodes is None:
                raise TraceError(f"{self._name}: it names no nodes; use --scope process or job")
            ranks = Counter(nodes)
            return _Caches(list(nodes), [ranks[node] for node in range(max(nodes) + 1)])
        processes = self._source.log.processes
        if processes > _MOST_PROCESSES:
            raise TraceError(
                f"{self._name}: its processes have numbers up to {processes - 1:,}; caches of their"
                f" own are simulated for numbers below {_MOST_PROCESSES:,}"
            )
        return _Caches(list(range(max(1, processes))), [1] * max(1, processes))

    def _default_sizes(self, page_size: int, awareness: str) -> tuple[int, ...]:
        bypass = self._settings.bypass
        least = _NEVER_PAST if bypass is None else bypass
        touches = self._touches(page_size, awareness, (least,) * len(self._caches.shares))
        whole = max(
            -(-pages // share)
            for pages, share in zip(touches.pages, self._caches.shares, strict=True)
        )
        return _sizes_around(whole, page_size)

    def _results(
        self, page_size: int, awareness: str, sizes: tuple[int, ...]
    ) -> Iterable[CacheResult]:
        """Simulates sizes together if the same accesses go past their caches. Long accesses go past
        small caches."""
        same: dict[tuple[int, ...], list[int]] = {}
        for size in sizes:
            same.setdefault(self._least_past(page_size, size), []).append(size)
        results: dict[tuple[str, int], CacheResult] = {}
        for least_past, shown_alike in same.items():
            touches = self._touches(page_size, awareness, least_past)
            for (policy, size), estimate in self._simulate(
                touches, f"{self._short_name}, {awareness}", page_size, shown_alike
            ).items():
                results[policy, size] = self._result(
                    touches, policy, awareness, page_size, size, estimate
                )
        return [results[policy, size] for policy in self._settings.policies for size in sizes]

    def _result(
        self,
        touches: _core.Touches,
        policy: str,
        awareness: str,
        page_size: int,
        size: int,
        estimate: Estimate,
    ) -> CacheResult:
        return CacheResult(
            trace=self._source.path,
            policy=policy,
            awareness=awareness,
            page_size=page_size,
            cache_size=size,
            aggregators=self._aggregators() if awareness == "aggregated" else None,
            accesses=len(touches),
            pages=sum(touches.pages),
            hits=estimate.hits,
            misses=estimate.misses,
            evictions=estimate.evictions,
            scope=self._settings.scope,
            caches=sum(accesses > 0 for accesses in touches.accesses),
            bypassed_accesses=touches.past_accesses,
            bypassed_bytes=touches.past_bytes,
            sample=estimate.sample,
            error=estimate.error,
        )

    def _aggregators(self) -> int:
        return self._settings.aggregators or self._source.hosts

    def _frames(self, page_size: int, size: int) -> list[int]:
        """The number of frames of each cache."""
        return [min(size * share, _MOST_BYTES) // page_size for share in self._caches.shares]

    def _least_past(self, page_size: int, size: int) -> tuple[int, ...]:
        """For each cache: accesses of at least so many bytes go past it."""
        bypass = self._settings.bypass
        if bypass is None or self._source.log is None:
            return (_NEVER_PAST,) * len(self._caches.shares)
        return tuple(
            _core.least_past(bypass, frames * page_size) if frames else bypass
            for frames in self._frames(page_size, size)
        )

    def _touches(
        self, page_size: int, awareness: str, least_past: tuple[int, ...]
    ) -> _core.Touches:
        """The touches for these settings. Only the latest are kept, because they take memory."""
        if self._source.blocks is not None:
            return self._source.blocks
        made_from = (page_size, awareness, least_past)
        if self._divided is None or self._divided[0] != made_from:
            self._divided = None
            self._divided = (made_from, self._divide(page_size, awareness, least_past))
        return self._divided[1]

    def _divide(self, page_size: int, awareness: str, least_past: tuple[int, ...]) -> _core.Touches:
        log = self._source.log
        assert log is not None
        if len(log) == 0:
            raise TraceError(f"{self._name}: no process reads or writes in it")
        window = self._union_window() if awareness == "aggregated" else None
        pieces = INFORMED in self._settings.policies
        done = _core.Progress()

        def divided() -> _core.Touches | None:
            if awareness == "original":
                caches = self._caches.of_process
                return _core.original_touches(
                    log, page_size, self._most_touches, caches, list(least_past), done, pieces
                )
            return _core.aggregated_touches(
                log,
                page_size,
                self._most_touches,
                self._aggregators(),
                self._settings.collective_buffer,
                _AS_MARKED if window is None else round(window * 1e9),
                least_past[0],
                done,
                pieces,
            )

        stage = f"dividing {self._name} into pages"
        touches = self._watched(stage, {"": divided}, done, 2 * len(log))[""]
        if touches is None:
            many = f", or accesses more pieces than {INFORMED} can follow" if pieces else ""
            raise TraceError(
                f"{self._name}: it touches more than {self._most_touches:,} pages of"
                f" {page_size:,} bytes{many}; use larger pages or raise --memory"
            )
        return touches

    def _union_window(self) -> float | None:
        window = self._settings.union_window
        if window is not None or self._source.marked:
            return window
        if not self._warned_of_union:
            self._warned_of_union = True
            self._warn(
                f"{self._name}: it marks no collective calls{self._source.collective}; accesses of"
                f" several processes within {UNION_WINDOW_S:g} s are taken for one (--union-window)"
            )
        return UNION_WINDOW_S

    def _simulate(
        self, touches: _core.Touches, stage: str, page_size: int, sizes: Sequence[int]
    ) -> dict[tuple[str, int], Estimate]:
        done = _core.Progress()
        rate = self._settings.sample
        sample = None
        if rate is not None and rate < 1 and len(touches) > 0:
            sample = Sample(touches, rate)
        work: dict[tuple[str, int], Callable[[], Estimate]] = {}
        whole = 0
        for size in sizes:
            frames = [min(count, _MOST_FRAMES) for count in self._frames(page_size, size)]
            sampled = sample if sample is not None and can_estimate(frames, sample.rate) else None
            for policy in self._settings.policies:
                steps = len(touches) if sampled is None else sampled.touches
                whole += steps * (2 if policy == MIN else 1)
                work[policy, size] = _job(touches, sampled, policy, frames, done)
        return self._watched(stage, work, done, whole)

    def _watched(
        self,
        stage: str,
        work: dict[Any, Callable[[], T]],
        done: _core.Progress,
        whole: int,
    ) -> dict[Any, T]:
        """Runs all of `work`, and reports meanwhile which part of `whole` is done."""
        self._progress(stage, 0.0)
        with ThreadPoolExecutor(self._settings.jobs) as pool:
            futures: dict[Any, Future[T]] = {key: pool.submit(job) for key, job in work.items()}
            try:
                left = set(futures.values())
                while left:
                    finished, left = wait(left, _POLL_S, FIRST_EXCEPTION)
                    for future in finished:
                        future.result()
                    self._progress(stage, min(1.0, done.done / max(1, whole)))
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        self._progress(stage, 1.0)
        return {key: future.result() for key, future in futures.items()}


def _job(
    touches: _core.Touches,
    sample: Sample | None,
    policy: str,
    frames: list[int],
    done: _core.Progress,
) -> Callable[[], Estimate]:
    if sample is not None:
        return lambda: sample.estimate(policy, frames, done)
    return lambda: Estimate(*touches.simulate(policy, frames, done))


def _sizes_around(pages: int, page_size: int) -> tuple[int, ...]:
    """Powers of two times the page size, up to the first that holds all pages."""
    most = max(0, pages - 1).bit_length()
    least = max(0, most - _DEFAULT_SIZES + 1)
    most = min(most, (_MOST_BYTES // page_size).bit_length() - 1)
    return tuple(page_size << power for power in range(min(least, most), most + 1))
