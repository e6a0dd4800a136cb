"""The common style of all figures, and their conversion to SVG."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import Locator

READ, WRITE = "#2a6fb0", "#c8641b"
STYLE: Any = {
    "font.family": "sans-serif",
    "font.size": 9,
    "svg.fonttype": "none",
    "svg.hashsalt": "forebay",
    "axes.spines.top": False,
    "axes.spines.right": False,
    # Shown on the page's own background, light or dark; the text has the page's colour (_svg).
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
    "axes.facecolor": "none",
    "axes.edgecolor": "#888888",
    "xtick.color": "#888888",
    "ytick.color": "#888888",
    "xtick.labelcolor": "black",
    "ytick.labelcolor": "black",
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
}
_INK, _INK_ON_DARK = "#1d2329", "#dfe5ea"


@dataclass(frozen=True)
class Values:
    """The values in a figure, from which a page tells the value under the pointer.

    The area of the axes is divided into `columns` by `rows` equal cells. A row or column is named
    by its label, or else by its value on the axis.
    """

    box: tuple[float, float, float, float]
    """Left, top, right and bottom of the axes' area, in points from the upper left corner."""
    x: tuple[float, float, str]
    """Left and right value, and their unit: `s`, `B` or none."""
    y: tuple[float, float, str]
    """Bottom and top value, and their unit."""
    columns: int
    rows: int
    kinds: tuple[str, ...]
    unit: str
    """Unit of the cells' values: `accesses`, `B`, `B/s`, `%` or `calls`."""
    cells: tuple[tuple[int, ...], ...]
    """Per kind, for each cell that is not zero, row by row: its distance from the one before, and
    its value. Empty if there are too many cells."""
    column_labels: tuple[str, ...] = ()
    row_labels: tuple[str, ...] = ()


class Plot(Figure):
    """A Matplotlib figure that a notebook shows as a page does."""

    values: Values | None = None

    def _repr_html_(self) -> str:
        return svg_of(self)

    def savefig(self, fname: Any, *, transparent: bool | None = None, **options: Any) -> None:
        """Saves the figure as Matplotlib does, on white unless `transparent`."""
        with matplotlib.rc_context(STYLE):
            if not transparent:
                options.setdefault("facecolor", "white")
            super().savefig(fname, **options)


class BinaryLocator(Locator):
    """Ticks at multiples of a power of two."""

    def __init__(self, most: int):
        self._most = most

    def __call__(self) -> list[float]:
        assert self.axis is not None
        low, high = self.axis.get_view_interval()
        return self.tick_values(float(low), float(high))

    def tick_values(self, vmin: float, vmax: float) -> list[float]:
        """Ticks from vmin to vmax, at most one more than wanted."""
        span = max(vmax - vmin, 1e-9)
        step = 2.0 ** np.ceil(np.log2(span / self._most))
        return [float(n * step) for n in range(int(np.ceil(vmin / step)), int(vmax // step) + 1)]


def bytes_label(amount: float, _: object = None) -> str:
    """Formats a label of an axis, such as 16 MiB."""
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if amount < 1024 or unit == "TiB":
            break
        amount /= 1024
    return f"{amount:.0f} {unit}" if amount >= 100 else f"{amount:.3g} {unit}"


def svg_of(figure: Plot) -> str:
    """The figure as an SVG element for an HTML page, without references to anything outside."""
    text = io.StringIO()
    with matplotlib.rc_context(STYLE):
        unnamed = {"Date": None, "Creator": None}
        figure.savefig(text, transparent=True, format="svg", metadata=unnamed)
    svg = text.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    ink = (
        f"<style>text{{fill:{_INK}}}"
        f"@media(prefers-color-scheme:dark){{text{{fill:{_INK_ON_DARK}}}}}</style>"
    )
    return svg.replace("<defs>", f"<defs>{ink}", 1)
