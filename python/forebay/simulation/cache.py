"""What a cache of pages would have done with a trace: hits, misses and evictions, by the policies
that run inside MPI programs.

    import forebay
    for result in forebay.simulate_cache("run.trace", policies=["lru", "arc"],
                                         cache_sizes=[16 << 20, 64 << 20]):
        print(result.policy, result.awareness, result.cache_size, result.hit_rate)

docs/simulating.md says what the policies are shown. One cache serves all processes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from operator import index
from pathlib import Path
from typing import Any

from forebay import _core
from forebay.kinds import check_names, check_path, check_size
from forebay.memory import available_bytes
from forebay.results import Results
from forebay.simulation.block_traces import FORMATS, Input, read_input
from forebay.text import one_line
from forebay.trace import TraceError

MIN = "min"
"""Belady's MIN, which no policy can surpass: it knows what comes."""

POLICIES = (*(policy.name for policy in _core.policies()), MIN)
AWARENESS = ("original", "aggregated")

PAGE_BYTES = 64 << 10
COLLECTIVE_BUFFER_BYTES = 16 << 20
"""That of ROMIO (hint cb_buffer_size)."""
UNION_WINDOW_S = 0.1
_AS_MARKED = -1

_DEFAULT_SIZES = 9
_MOST_BYTES = 1 << 62
_MOST_FRAMES = 1 << 31
_BYTES_PER_TOUCH = _core.touch_bytes + 40
"""Of a stream, and of MIN while it works."""


@dataclass(frozen=True, slots=True)
class CacheResult:
    """One cache on one trace."""

    trace: str
    policy: str
    awareness: str
    page_size: int
    """Bytes; blocks for a trace of block ids."""
    cache_size: int
    """As `page_size`."""
    aggregators: int | None
    """That collective calls were divided among; None for `original`."""
    accesses: int
    """Touches of pages, each a hit or a miss."""
    pages: int
    """How many different pages were touched."""
    hits: int
    misses: int
    evictions: int

    @property
    def hit_rate(self) -> float:
        """Part of the touches that were hits; 0 where there were none."""
        return self.hits / self.accesses if self.accesses else 0.0

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {**asdict(self), "hit_rate": self.hit_rate}


class CacheResults(Results[CacheResult]):
    """What `simulate_cache` returns: a list, which `to_pandas()` makes a table of."""

    __slots__ = ()


Progress = Callable[[str, float], object]


@dataclass(frozen=True)
class Settings:
    """What `simulate_cache` was asked for, checked."""

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

    def __post_init__(self) -> None:
        for name in self.policies:
            if name not in POLICIES:
                raise ValueError(f"there is no policy '{name}': {', '.join(POLICIES)}")
        for name in self.awareness:
            if name not in AWARENESS:
                raise ValueError(f"awareness is {' or '.join(AWARENESS)}, not '{name}'")
        if self.file_format not in FORMATS:
            raise ValueError(f"there is no format '{self.file_format}': {', '.join(FORMATS)}")
        sizes = (*self.cache_sizes, *self.page_sizes, self.collective_buffer, self.memory)
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


def simulate_cache(
    traces: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    policies: Sequence[str] = POLICIES,
    cache_sizes: Sequence[int] = (),
    page_size: int | Sequence[int] = (),
    awareness: Sequence[str] = AWARENESS,
    aggregators: int | None = None,
    collective_buffer: int = COLLECTIVE_BUFFER_BYTES,
    union_window: float | None = None,
    file_format: str = "auto",
    memory: int | None = None,
    jobs: int | None = None,
    progress: Progress = lambda _stage, _part: None,
    warn: Callable[[str], object] = lambda _: None,
) -> CacheResults:
    """Simulates every policy with every cache size, page size and awareness on every trace.

    `traces`: what `forebay.open_trace` opens, or block traces. `policies`: of POLICIES.
    `cache_sizes`: bytes (blocks for traces of ids); none for nine powers of two, up to where the
    trace fits. A cache smaller than a page holds none: every touch misses, with every policy, and
    `warn` is told. `page_size`: bytes, one or several; none for 64 KiB, and for one block in traces
    of ids. `aggregators`: none for one a node. `collective_buffer`: bytes. `union_window`: seconds
    within which accesses are united where none are marked as collective; none for 0.1 in traces
    that do not tell which are, and for no union in those that do. `file_format`: of
    block_traces.FORMATS. `memory`: bytes at most, roughly; none for half of what is available.
    `jobs`: simulations at a time; none for one a core. `progress` is told what is being done, and
    which part of it is; `warn` a line for each thing that is missing from a trace, and for a cache
    that holds no page.

    The results come trace by trace, of each the page sizes, awareness, policies and cache sizes in
    the order given. Traces of ids know no processes: there are no results of `aggregated` for them.

    Raises TraceError, one line that names the file, for what cannot be read or takes more memory;
    ValueError for settings that make no sense.
    """
    paths = _paths(traces)
    for name, words in (("policies", policies), ("awareness", awareness)):
        check_names(words, "simulate_cache", name)
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
        results += _Simulation(source, settings, progress, warn).run()
    return results


def _paths(traces: Any) -> list[Any]:
    """One or several."""
    several = traces if isinstance(traces, list | tuple) else [traces]
    for one in several:
        check_path(one, "simulate_cache", "traces")
    return list(several)


def _plain(number: Any) -> Any:
    """As a whole number of Python where it is NumPy's."""
    return index(number) if hasattr(number, "__index__") else number


def _listed(numbers: Any) -> list[Any]:
    """One or several."""
    one = isinstance(numbers, str) or not isinstance(numbers, Iterable)
    several = [numbers] if one else list(numbers)
    for number in several:
        check_size(number, "simulate_cache")
    return [_plain(number) for number in several]


@dataclass(frozen=True)
class _Stream:
    """What a cache is shown."""

    touches: _core.Touches
    awareness: str
    page_size: int
    aggregators: int | None


class _Simulation:
    """All caches on one trace."""

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
        self._most_touches = settings.memory // 2 // _BYTES_PER_TOUCH

    def run(self) -> list[CacheResult]:
        results: list[CacheResult] = []
        self._warn_of_empty_caches()
        default_sizes: dict[int, tuple[int, ...]] = {}
        for stream in self._streams():
            sizes = self._settings.cache_sizes or default_sizes.setdefault(
                stream.page_size, _sizes_around(stream.touches.pages, stream.page_size)
            )
            results += self._simulate(stream, sizes)
        return results

    def _warn_of_empty_caches(self) -> None:
        for page_size in self._page_sizes():
            empty = [size for size in self._settings.cache_sizes if size < page_size]
            if empty:
                named = " or ".join(f"{size:,}" for size in empty)
                self._warn(
                    f"{self._name}: a cache of {named} holds no page of {page_size:,}; there every"
                    " touch misses"
                )

    def _page_sizes(self) -> tuple[int, ...]:
        fallback = PAGE_BYTES if self._source.blocks is None else 1
        return self._settings.page_sizes or (fallback,)

    def _streams(self) -> Iterator[_Stream]:
        """One at a time: each takes memory."""
        if self._source.blocks is not None:
            if "original" not in self._settings.awareness:
                raise TraceError(f"{self._name}: block ids know no processes to aggregate")
            for page_size in self._page_sizes():
                yield _Stream(self._source.blocks, "original", page_size, None)
            return
        for page_size in self._page_sizes():
            for awareness in self._settings.awareness:
                self._progress(f"dividing {self._name} into pages", 0.0)
                if awareness == "original":
                    yield _Stream(self._original(page_size), awareness, page_size, None)
                else:
                    aggregators = self._settings.aggregators or self._source.hosts
                    touches = self._aggregated(page_size, aggregators)
                    yield _Stream(touches, awareness, page_size, aggregators)

    def _original(self, page_size: int) -> _core.Touches:
        assert self._source.log is not None
        return self._checked(
            _core.original_touches(self._source.log, page_size, self._most_touches), page_size
        )

    def _aggregated(self, page_size: int, aggregators: int) -> _core.Touches:
        assert self._source.log is not None
        window = self._settings.union_window
        if window is None and not self._source.marked:
            window = UNION_WINDOW_S
            self._warn(
                f"{self._name}: it marks no collective calls{self._source.collective}; accesses of"
                f" several processes within {window:g} s are taken for one (--union-window)"
            )
        return self._checked(
            _core.aggregated_touches(
                self._source.log,
                page_size,
                self._most_touches,
                aggregators,
                self._settings.collective_buffer,
                _AS_MARKED if window is None else round(window * 1e9),
            ),
            page_size,
        )

    def _checked(self, touches: _core.Touches | None, page_size: int) -> _core.Touches:
        if touches is None:
            raise TraceError(
                f"{self._name}: it touches more than {self._most_touches:,} pages of"
                f" {page_size:,} bytes; use larger pages or raise --memory"
            )
        if len(touches) == 0:
            raise TraceError(f"{self._name}: no process reads or writes in it")
        return touches

    def _simulate(self, stream: _Stream, sizes: tuple[int, ...]) -> list[CacheResult]:
        # A cache that holds every page does not change by being larger.
        frames = [
            min(size // stream.page_size, stream.touches.pages, _MOST_FRAMES) for size in sizes
        ]
        counts: dict[tuple[str, int], tuple[int, int, int]] = {}
        stage = f"{one_line(Path(self._source.path).name)}, {stream.awareness}"
        self._progress(stage, 0.0)
        with ThreadPoolExecutor(self._settings.jobs) as pool:
            futures: dict[Future[list[tuple[int, int, int]]], tuple[str, tuple[int, ...]]] = {}
            for policy in self._settings.policies:
                if policy == MIN:
                    futures[pool.submit(_min_counts, stream.touches, frames)] = (policy, sizes)
                    continue
                for size, count in zip(sizes, frames, strict=True):
                    future = pool.submit(_policy_counts, stream.touches, policy, count)
                    futures[future] = (policy, (size,))
            try:
                for done, future in enumerate(as_completed(futures), 1):
                    policy, of_sizes = futures[future]
                    counted = zip(of_sizes, future.result(), strict=True)
                    counts |= {(policy, size): count for size, count in counted}
                    self._progress(stage, done / len(futures))
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        return [
            CacheResult(
                trace=self._source.path,
                policy=policy,
                awareness=stream.awareness,
                page_size=stream.page_size,
                cache_size=size,
                aggregators=stream.aggregators,
                accesses=len(stream.touches),
                pages=stream.touches.pages,
                hits=counts[policy, size][0],
                misses=counts[policy, size][1],
                evictions=counts[policy, size][2],
            )
            for policy in self._settings.policies
            for size in sizes
        ]


def _policy_counts(touches: _core.Touches, policy: str, frames: int) -> list[tuple[int, int, int]]:
    return [touches.simulate(policy, frames)]


def _min_counts(touches: _core.Touches, frames: list[int]) -> list[tuple[int, int, int]]:
    """MIN takes in every page that it misses, so that all but the first misses evict one."""
    counts = []
    for hits, size in zip(touches.min_hits(frames), frames, strict=True):
        misses = len(touches) - hits
        counts.append((hits, misses, max(0, misses - size) if size else 0))
    return counts


def _sizes_around(pages: int, page_size: int) -> tuple[int, ...]:
    """Powers of two times the page size, up to the first that holds all pages."""
    most = max(0, pages - 1).bit_length()
    least = max(0, most - _DEFAULT_SIZES + 1)
    most = min(most, (_MOST_BYTES // page_size).bit_length() - 1)
    return tuple(page_size << power for power in range(min(least, most), most + 1))
