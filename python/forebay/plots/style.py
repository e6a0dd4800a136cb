"""What all figures look like, and how they become SVG."""

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
    # On a page's own ground, light or dark; the text's colour follows it (_svg).
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
    """What a figure shows where, so that a page can say it of the place under a pointer.

    The axes' area is `columns` wide and `rows` high, in equal steps. A row or a column is told by
    its label, or else by a value of its axis.
    """

    box: tuple[float, float, float, float]
    """Left, top, right and bottom of the axes' area, in points from the upper left corner."""
    x: tuple[float, float, str]
    """Values on the left and on the right, and their unit: `s`, `B` or none."""
    y: tuple[float, float, str]
    """Values at the bottom and at the top, likewise."""
    columns: int
    rows: int
    kinds: tuple[str, ...]
    unit: str
    """Of the values: `accesses`, `B`, `B/s`, `%` or `calls`."""
    cells: tuple[tuple[int, ...], ...]
    """Of each kind: how many cells after the one before, row by row, and its value; those of zero
    are left out. Empty where there would be too many."""
    column_labels: tuple[str, ...] = ()
    row_labels: tuple[str, ...] = ()


class Plot(Figure):
    """A figure of Matplotlib that notebooks show as it stands on a page."""

    values: Values | None = None

    def _repr_html_(self) -> str:
        return svg_of(self)

    def savefig(self, fname: Any, *, transparent: bool | None = None, **options: Any) -> None:
        """As Matplotlib's, on white unless it shall be transparent."""
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
        """From vmin to vmax; at most as many as wanted, and one more."""
        span = max(vmax - vmin, 1e-9)
        step = 2.0 ** np.ceil(np.log2(span / self._most))
        return [float(n * step) for n in range(int(np.ceil(vmin / step)), int(vmax // step) + 1)]


def bytes_label(amount: float, _: object = None) -> str:
    """As 16 MiB; made for the axes of figures."""
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if amount < 1024 or unit == "TiB":
            break
        amount /= 1024
    return f"{amount:.0f} {unit}" if amount >= 100 else f"{amount:.3g} {unit}"


def svg_of(figure: Plot) -> str:
    """As an element for an HTML page: nothing in it refers to anything outside."""
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
