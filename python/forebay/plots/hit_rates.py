"""The figure of a cache simulation: hit rate over cache size (Lu, figures 8, 10 and 12)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, NullLocator

from forebay.plots.style import STYLE, Plot, bytes_label
from forebay.simulation import MIN, CacheResult
from forebay.text import one_line

_COLOURS = ("#2a6fb0", "#c8641b", "#3b7d4f", "#6a4c93", "#b3365b", "#8a7a1f", "#3f9aa8", "#777777")
_MARKERS = "osD^vPX*"
_LINES = {"original": "-", "aggregated": "--"}
_PANEL = (6.4, 3.6)
"""Width and height in inches."""


def draw(results: Sequence[CacheResult]) -> Plot:
    """Draws a panel per trace and page size."""
    panels = _grouped(results, lambda one: (one.trace, one.page_size))
    with matplotlib.rc_context(STYLE):
        figure = Plot(figsize=(_PANEL[0] + 1.4, _PANEL[1] * len(panels)), layout="constrained")
        for number, panel in enumerate(panels):
            _draw_panel(figure.add_subplot(len(panels), 1, number + 1), panel)
    return figure


def _grouped(
    results: Sequence[CacheResult], key: Callable[[CacheResult], object]
) -> list[list[CacheResult]]:
    groups: dict[object, list[CacheResult]] = {}
    for result in results:
        groups.setdefault(key(result), []).append(result)
    return list(groups.values())


def _draw_panel(axes: Axes, results: list[CacheResult]) -> None:
    policies = [name for name in dict.fromkeys(one.policy for one in results) if name != MIN]
    for line in _grouped(results, lambda one: (one.policy, one.awareness)):
        ordered = sorted(line, key=lambda one: one.cache_size)
        first = ordered[0]
        if first.policy == MIN:
            look: dict[str, Any] = {
                "color": "#222222",
                "linewidth": 0.9,
                "marker": "",
                "zorder": 1.5,
            }
        else:
            number = policies.index(first.policy)
            look = {
                "color": _COLOURS[number % len(_COLOURS)],
                "linewidth": 1.4,
                "marker": _MARKERS[number % len(_MARKERS)],
                "markersize": 4,
            }
        axes.plot(
            [one.cache_size for one in ordered],
            [one.hit_rate for one in ordered],
            linestyle=_LINES[first.awareness],
            label=f"{first.policy}, {first.awareness}",
            **look,
        )
    _label(axes, results)


def _label(axes: Axes, results: list[CacheResult]) -> None:
    first = results[0]
    sizes = sorted({one.cache_size for one in results})
    blocks = first.page_size == 1
    axes.set_xscale("log", base=2)
    axes.set_xticks(sizes[:: max(1, len(sizes) // 9)])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(
        FuncFormatter(lambda size, _: f"{size:,.0f}" if blocks else bytes_label(size))
    )
    axes.yaxis.set_major_formatter(FuncFormatter(lambda rate, _: f"{rate:.0%}"))
    axes.set_ylim(0, max(0.05, *(one.hit_rate for one in results)) * 1.06)
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.set_ylabel("hit rate")
    axes.set_xlabel("cache size in blocks" if blocks else "cache size")
    pages = "" if blocks else f", pages of {bytes_label(first.page_size)}"
    axes.set_title(f"{one_line(Path(first.trace).name)}{pages}")
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5), handlelength=3)
