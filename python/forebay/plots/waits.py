"""The figure of who waits for whom in a simulated cluster: nodes for servers and each other."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

import matplotlib
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes

from forebay.plots.style import STYLE, Plot
from forebay.simulation import ClusterResult, Wait
from forebay.text import one_line

_REASONS = {
    "request": "for answers of servers",
    "lock": "for locks that other nodes return",
    "owner": "for owners of bytes",
    "collective": "for the last to come to collective calls",
}
_MOST_CELLS = 64
"""In each direction; of more hosts, neighbours share a cell."""
_WIDTH = 7.8
_TITLE_LETTERS = 100
_LABELS = 8


def draw(result: ClusterResult) -> Plot:
    """Draws a heat map for each reason to wait: who waits by rows, for whom by columns, seconds as
    colours. Raises ValueError unless the result was asked for waits, or if nobody waits."""
    if not result.waits:
        raise ValueError("the result does not say who waits for whom")
    shown = [reason for reason in _REASONS if any(one.reason == reason for one in result.waits)]
    maps = [_Map([one for one in result.waits if one.reason == reason]) for reason in shown]
    with matplotlib.rc_context(STYLE):
        heights = [0.9 + 0.16 * min(24, len(one.rows)) for one in maps]
        figure = Plot(figsize=(_WIDTH, 0.7 + sum(heights)), layout="constrained")
        places = figure.subplots(len(maps), 1, squeeze=False, height_ratios=heights)
        for reason, one, axes in zip(shown, maps, places[:, 0], strict=True):
            one.draw(figure, axes, _REASONS[reason])
        settings = [f"{name}={value}" for name, value in result.settings.items()]
        words = [f"{one_line(Path(result.trace).name)} on {result.machine}", *settings]
        figure.suptitle(textwrap.fill(", ".join(map(one_line, words)), _TITLE_LETTERS))
    return figure


class _Map:
    """The waits for one reason."""

    def __init__(self, waits: Sequence[Wait]) -> None:
        self.rows = _cells({one.who for one in waits})
        self.columns = _cells({one.for_whom for one in waits})
        self.seconds: npt.NDArray[np.float64] = np.zeros((len(self.rows), len(self.columns)))
        row_of = {name: number for number, names in enumerate(self.rows) for name in names}
        column_of = {name: number for number, names in enumerate(self.columns) for name in names}
        for one in waits:
            self.seconds[row_of[one.who], column_of[one.for_whom]] += one.seconds

    def draw(self, figure: Plot, axes: Axes, title: str) -> None:
        in_ms = self.seconds.max() < 1
        shown = self.seconds * (1e3 if in_ms else 1)
        drawn = axes.imshow(shown, cmap="Blues", vmin=0, aspect="auto", interpolation="none")
        figure.colorbar(drawn, ax=axes, label="ms" if in_ms else "s", pad=0.01)
        axes.set_title(f"waiting {title}", fontsize="medium")
        for axis, cells in ((axes.yaxis, self.rows), (axes.xaxis, self.columns)):
            places = list(_places(len(cells)))
            axis.set_ticks(places, [_label(cells[place]) for place in places])


def _cells(names: set[str]) -> list[list[str]]:
    """The hosts of each row or column, in the order of their kinds and numbers."""

    def key(name: str) -> tuple[str, int]:
        kind, _, number = name.partition(" ")
        return {"node": "a", "server": "b"}.get(kind, "c"), int(number or 0)

    ordered = sorted(names, key=key)
    each = -(-len(ordered) // _MOST_CELLS)
    return [ordered[first : first + each] for first in range(0, len(ordered), each)]


def _label(names: Sequence[str]) -> str:
    first, last = names[0], names[-1]
    if first == last:
        return first
    return f"{first}-{last.rpartition(' ')[2]}"


def _places(count: int) -> Iterator[int]:
    """Of labels: not too many, the first and the last among them."""
    few = min(count, _LABELS)
    yield from dict.fromkeys(round(place) for place in np.linspace(0, count - 1, few))
