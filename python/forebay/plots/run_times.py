"""The figure of a cluster simulation: where the time of each run went, or a heat map of run times
where two values are compared (Settlemyer, figures 4.1 to 5.9)."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.axes import Axes

from forebay.plots.style import READ, STYLE, WRITE, Plot
from forebay.simulation import ClusterResult
from forebay.text import one_line

_PARTS = (
    ("computing_s", "compute", "#777777"),
    ("opening_s", "open", "#8a7a1f"),
    ("reading_s", "read", READ),
    ("writing_s", "write", WRITE),
    ("closing_s", "close", "#6a4c93"),
    ("waiting_s", "wait for the slowest", "#cccccc"),
)
_WIDTH = 7.8
_TITLE_LETTERS = 100
_BAR_HEIGHT = 0.32
_CELL_HEIGHT = 0.42
"""In inches."""
_DARK = 0.55
"""The part of the colours from which on a cell's text is light."""


def draw(results: Sequence[ClusterResult]) -> Plot:
    """Draws the run times of simulations. If they differ in at most one name of their settings: a
    bar for each, divided into its parts. If in more: a heat map of the two names with the most
    values, for each combination of the others. Raises ValueError without results."""
    if not results:
        raise ValueError("there are no results to draw")
    values = {
        name: list(dict.fromkeys(one.settings.get(name, "-") for one in results))
        for name in dict.fromkeys(key for one in results for key in one.settings)
    }
    differing = [name for name in values if len(values[name]) > 1]
    with matplotlib.rc_context(STYLE):
        if len(differing) < 2:
            return _bars(results, differing)
        # Of equals the first are the rows, as in the table of the results.
        axes = sorted(differing, key=lambda name: -len(values[name]))[:2]
        row, column = (name for name in differing if name in axes)
        others = [name for name in differing if name not in axes]
        return _heat_maps(results, (row, values[row]), (column, values[column]), others)


def _heading(results: Sequence[ClusterResult]) -> str:
    """The trace, the machine, and the settings that all results share."""
    first = results[0]
    machines = dict.fromkeys(one.machine for one in results)
    shared = [
        f"{name}={value}"
        for name, value in first.settings.items()
        if all(one.settings.get(name) == value for one in results)
    ]
    words = [f"{one_line(Path(first.trace).name)} on {'/'.join(machines)}", *map(one_line, shared)]
    return textwrap.fill(", ".join(words), _TITLE_LETTERS)


def _bars(results: Sequence[ClusterResult], differing: Sequence[str]) -> Plot:
    figure = Plot(figsize=(_WIDTH, 1.1 + _BAR_HEIGHT * len(results)), layout="constrained")
    axes = figure.add_subplot()
    names = [
        ", ".join(f"{name}={one_line(one.settings.get(name, '-'))}" for name in differing)
        for one in results
    ]
    places = np.arange(len(results))
    ends = np.zeros(len(results))
    for part, label, colour in _PARTS:
        seconds = np.array([max(0.0, getattr(one, part)) for one in results])
        if seconds.any():
            axes.barh(places, seconds, left=ends, color=colour, label=label, height=0.7)
            ends += seconds
    for place, one in zip(places, results, strict=True):
        axes.annotate(
            f"{one.run_s:,.3f} s", (ends[place], place), (3, 0),
            textcoords="offset points", va="center",
        )  # fmt: skip
    axes.set_yticks(places, names)
    axes.invert_yaxis()
    axes.set_xlabel("seconds")
    axes.set_xlim(0, max(float(ends.max()), 1e-12) * 1.12)
    axes.set_title(_heading(results))
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def _heat_maps(
    results: Sequence[ClusterResult],
    rows: tuple[str, list[str]],
    columns: tuple[str, list[str]],
    others: Sequence[str],
) -> Plot:
    groups: dict[tuple[str, ...], list[ClusterResult]] = {}
    for one in results:
        groups.setdefault(tuple(one.settings.get(name, "-") for name in others), []).append(one)
    height = (1.1 + _CELL_HEIGHT * len(rows[1])) * len(groups)
    figure = Plot(figsize=(_WIDTH, height), layout="constrained")
    times = [one.run_s for one in results]
    for number, group in enumerate(groups.values()):
        axes = figure.add_subplot(len(groups), 1, number + 1)
        axes.set_title(_heading(group))
        _heat_map(axes, group, rows, columns, (min(times), max(times)))
    return figure


def _heat_map(
    axes: Axes,
    results: Sequence[ClusterResult],
    rows: tuple[str, list[str]],
    columns: tuple[str, list[str]],
    span: tuple[float, float],
) -> None:
    cells = np.full((len(rows[1]), len(columns[1])), np.nan)
    for one in results:
        y = rows[1].index(one.settings.get(rows[0], "-"))
        x = columns[1].index(one.settings.get(columns[0], "-"))
        cells[y, x] = one.run_s
    # Logarithmic: the slowest runs may take hundreds of times as long as the fastest. All colours
    # are twice the time at least, so that little differences look little.
    low, high = np.log(max(span[0], 1e-12)), np.log(max(span[1], 1e-12))
    parts = (np.log(np.maximum(cells, 1e-12)) - low) / max(high - low, np.log(2))
    axes.imshow(parts, cmap="YlOrRd", vmin=0, vmax=1, aspect="auto")
    for (y, x), seconds in np.ndenumerate(cells):
        if not np.isnan(seconds):
            ink = "#ffffff" if parts[y, x] > _DARK else "#1d2329"
            axes.text(x, y, f"{seconds:,.3g} s", ha="center", va="center", color=ink)
    axes.set_xticks(range(len(columns[1])), [one_line(value) for value in columns[1]])
    axes.set_yticks(range(len(rows[1])), [one_line(value) for value in rows[1]])
    axes.set_xlabel(columns[0])
    axes.set_ylabel(rows[0])
    axes.tick_params(length=0)
    for side in axes.spines.values():
        side.set_visible(False)
