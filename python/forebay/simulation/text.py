"""Hit rates of simulated caches as tables for a terminal, and conclusions from them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.markup import escape
from rich.table import Table

from forebay.notebook import Part, parts_of
from forebay.simulation.cache import MIN, CacheResult, CacheResults
from forebay.simulation.runtime import RuntimeResults
from forebay.sizes import shown_size
from forebay.text import one_line

_AS_GOOD = 0.98
"""If the first policy has this fraction of the best policy's hits, it counts as equally good."""
_NEARLY_ALL = 0.95
"""A fraction of the hits of the largest caches."""
_NOTHING = 0.05
"""A difference in hit rate."""
_WHOSE = {
    "process": "a process",
    "node": "a process, shared on each node,",
    "job": "for all processes",
}


@parts_of.register
def text_of(results: CacheResults, name: str | None = None) -> Iterator[Part]:
    """A table per trace and page size: a row per policy and awareness, a column per cache size.

    `name`: a title; None: the trace's path.
    """
    groups: dict[tuple[str, int], list[CacheResult]] = {}
    for result in results:
        groups.setdefault((result.trace, result.page_size), []).append(result)
    for (trace, page_size), group in groups.items():
        yield f"[bold]{escape(one_line(name or trace))}[/]"
        yield from _what_was_shown(group, page_size)
        yield _table(group)
        if said := conclusion(group):
            yield said


@parts_of.register
def _of_replays(results: RuntimeResults) -> Iterator[Part]:
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.title_justify = "left"
    # What all results have in common stands in the title, so that the table fits 80 columns.
    settings = {
        "pages": [f"{one.page_kind} {shown_size(one.page_size)}" for one in results],
        "scope": [f"{one.scope} ({one.caches})" for one in results],
    }
    common = {name: shown[0] for name, shown in settings.items() if len(set(shown)) == 1}
    if results:
        said = ", ".join(f"{name} {value}" for name, value in common.items())
        table.title = escape(one_line(results[0].trace) + (f"\n{said}" if said else ""))
    differing = [name for name in settings if name not in common]
    table.add_column("policy")
    for name in differing:
        table.add_column(name)
    for heading in ("cache", "hits", "misses", "evicted", "hit %", "back", "fetched", "past"):
        table.add_column(heading, justify="right", no_wrap=True)
    for number, one in enumerate(results):
        table.add_row(
            one.policy,
            *(settings[name][number] for name in differing),
            shown_size(one.cache_size),
            f"{one.hits:,}",
            f"{one.misses:,}",
            f"{one.evictions:,}",
            f"{100 * one.hit_rate:.1f}",
            shown_size(one.committed_bytes),
            shown_size(one.fetched_bytes),
            shown_size(one.bypass_bytes),
        )
    yield table


def conclusion(group: Sequence[CacheResult]) -> str:
    """The conclusion from one trace's results with one page size: the smallest cache with nearly
    all hits, and the policy to use, the default one unless another is clearly better."""
    shown = group[0].awareness
    real = [one for one in group if one.awareness == shown and one.policy != MIN]
    bound = {
        one.cache_size: one.hits for one in group if one.awareness == shown and one.policy == MIN
    }
    if not real:
        return ""
    chosen: dict[int, CacheResult] = {}
    for size in sorted({one.cache_size for one in real}):
        here = [one for one in real if one.cache_size == size]
        best = max(here, key=lambda one: one.hits)
        first = here[0]
        chosen[size] = first if first.hits >= _AS_GOOD * best.hits else best
    most = max(one.hits for one in chosen.values())
    if not any(one.accesses for one in chosen.values()):
        return "All accesses are so long that they go past caches of these sizes (--bypass)."
    if most == 0:
        return "No cache of these sizes has a hit."
    one = next(one for one in chosen.values() if one.hits >= _NEARLY_ALL * most)
    larger = [other.hit_rate for size, other in chosen.items() if size > one.cache_size]
    gain = 100 * (max(larger, default=one.hit_rate) - one.hit_rate)
    held = f"{one.cache_size:,} blocks" if one.page_size == 1 else shown_size(one.cache_size)
    said = f"{one.policy} with {held} {_WHOSE[one.scope]} has {one.hit_rate:.1%} hits"
    if one.sample is not None:
        said += f" (± {100 * one.error:.1f} points)"
    if bound.get(one.cache_size):
        said += f", {one.hits / bound[one.cache_size]:.0%} of MIN's"
    if not larger:
        return f"{said}; no larger cache was simulated."
    if gain < _NOTHING:
        return f"{said}; a larger cache brings nothing more."
    return f"{said}; a larger cache brings at most {gain:.1f} points more."


def _what_was_shown(group: Sequence[CacheResult], page_size: int) -> list[str]:
    lines = []
    for result in {result.awareness: result for result in group}.values():
        if page_size == 1:
            lines.append(f"{result.accesses:,} requests for {result.pages:,} blocks")
            continue
        among = ""
        if result.aggregators is not None:
            many = "" if result.aggregators == 1 else "s"
            among = f", collective calls by {result.aggregators:,} aggregator{many}"
        caches = ""
        if result.scope != "job":
            many = "" if result.caches == 1 else "s"
            caches = f", in {result.caches:,} cache{many}, one for each {result.scope}"
        lines.append(
            f"{result.awareness}: {result.accesses:,} touches of {result.pages:,} pages of"
            f" {shown_size(page_size)}, {shown_size(result.pages * page_size)}{among}{caches}"
        )
    sampled = {one.sample for one in group if one.sample is not None}
    lines += [f"{rate:.2%} of the pages were simulated where an error stands" for rate in sampled]
    return lines


def _table(group: Sequence[CacheResult]) -> Table:
    """Hit rates in percent. The best policy of each column and awareness is highlighted."""
    sizes = list(dict.fromkeys(result.cache_size for result in group))
    results = {(one.awareness, one.policy, one.cache_size): one for one in group}
    rates = {key: one.hit_rate for key, one in results.items()}
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("hit rate %")
    for size in sizes:
        table.add_column(shown_size(size), justify="right", no_wrap=True)
    policies = list(dict.fromkeys(one.policy for one in group))
    for awareness in dict.fromkeys(result.awareness for result in group):
        table.add_row(awareness)
        best = [
            max(
                (rates[awareness, p, size] for p in policies if p != MIN),
                default=1.0,
            )
            for size in sizes
        ]
        for policy in policies:
            cells = []
            for size, most in zip(sizes, best, strict=True):
                rate = rates[awareness, policy, size]
                text = f"{100 * rate:.1f}"
                if results[awareness, policy, size].sample is not None:
                    text += f" ± {100 * results[awareness, policy, size].error:.1f}"
                usable = policy != MIN
                cells.append(f"[bold]{text}[/]" if rate == most > 0 and usable else text)
            table.add_row(f"  {policy}", *cells, style=None if usable else "dim")
        past = [results[awareness, policies[0], size].bypassed_bytes for size in sizes]
        if any(past):
            table.add_row("  bypassed", *map(shown_size, past))
        table.add_section()
    return table
