"""The figures of a report, as SVG."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, LogNorm
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, FuncFormatter, MaxNLocator

from forebay.bins import SIZES, Amounts, Bins
from forebay.counters import SIZE_LIMITS, FileCounters

READ, WRITE = "#2a6fb0", "#c8641b"
_COLOURS = (READ, WRITE)
_KINDS = ("read", "write")
STYLE: Any = {
    "font.family": "sans-serif",
    "font.size": 9,
    "svg.fonttype": "none",
    "svg.hashsalt": "forebay",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#888888",
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
}
_WIDTH = 9.2
"""Inches."""


def places_over_time(bins: Bins, file: int) -> str:
    """Where in a file the accesses begin, over time (Yin, figure of offsets)."""
    figure, axes = _axes(2.8)
    extent = (0.0, float(bins.edges_s[-1]), 0.0, float(max(1, bins.ends[file])))
    for counts, colour in zip(bins.places[file], _COLOURS, strict=True):
        _heat(axes, counts, extent, colour)
    axes.yaxis.set_major_formatter(FuncFormatter(bytes_label))
    axes.set_ylabel("offset")
    _time_axis(axes)
    _legend(axes)
    return _svg(figure)


def sizes_over_time(bins: Bins) -> str:
    """How long the requests are, over time (Yin, figure of request sizes)."""
    figure, axes = _axes(2.4)
    used = np.flatnonzero(bins.sizes.sum(axis=(0, 2)))
    low, high = (int(used[0]), int(used[-1]) + 1) if len(used) else (0, SIZES)
    extent = (0.0, float(bins.edges_s[-1]), float(low), float(high))
    for counts, colour in zip(bins.sizes[:, low:high], _COLOURS, strict=True):
        _heat(axes, counts, extent, colour)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda power, _: bytes_label(2.0**power / 2)))
    axes.yaxis.set_major_locator(MaxNLocator(8, integer=True))
    axes.set_ylabel("request size")
    _time_axis(axes)
    _legend(axes)
    return _svg(figure)


def bandwidth_over_time(bins: Bins) -> str:
    """Bytes a second of all processes, over time (Yin, figure of bandwidth)."""
    figure, axes = _axes(2.2)
    width = np.diff(bins.edges_s)
    for moved, colour, kind in zip(bins.bytes_moved, _COLOURS, _KINDS, strict=True):
        axes.stairs(moved / width, bins.edges_s, fill=True, alpha=0.55, color=colour, label=kind)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda rate, _: f"{bytes_label(rate)}/s"))
    axes.set_ylim(bottom=0)
    axes.set_ylabel("bandwidth")
    _time_axis(axes)
    _place_legend(axes)
    return _svg(figure)


def busy_processes(bins: Bins) -> str:
    """Which part of the time each process spends in MPI-IO."""
    figure, axes = _axes(2.6)
    whole = np.outer(bins.row_processes, np.diff(bins.edges_s))
    image = axes.imshow(
        np.clip(bins.busy_s / whole, 0, 1),
        aspect="auto",
        origin="lower",
        extent=(0, float(bins.edges_s[-1]), -0.5, sum(bins.row_processes) - 0.5),
        cmap=LinearSegmentedColormap.from_list("busy", ["#ffffff", "#3b7d4f"]),
        vmin=0,
        vmax=1,
        interpolation="nearest",
    )
    figure.colorbar(image, ax=axes, format=FuncFormatter(lambda part, _: f"{part:.0%}"), pad=0.01)
    axes.yaxis.set_major_locator(MaxNLocator(6, integer=True))
    axes.set_ylabel("process")
    _time_axis(axes)
    return _svg(figure)


def request_sizes(bins: Bins) -> str:
    """How many requests have which size."""
    counts = bins.sizes.sum(axis=2)
    used = np.flatnonzero(counts.sum(axis=0))
    low, high = (int(used[0]), int(used[-1]) + 1) if len(used) else (0, 1)
    many = high - low > 12
    figure, axes = _axes(2.4 if many else 2.2, below=0.65 if many else 0.45)
    powers = np.arange(low, high)
    for number, (kind, colour) in enumerate(zip(_KINDS, _COLOURS, strict=True)):
        axes.bar(powers + 0.4 * number, counts[number, low:high], 0.4, color=colour, label=kind)
    axes.set_xticks(powers + 0.2, [f"< {bytes_label(2.0**power)}" for power in powers])
    axes.tick_params(axis="x", rotation=45 if many else 0)
    axes.yaxis.set_major_formatter(EngFormatter())
    axes.set_ylabel("requests")
    _place_legend(axes)
    return _svg(figure)


def calls_and_requests(counters: FileCounters) -> str:
    """How many calls of MPI-IO, and how many requests to the operating system, have which size."""
    read, write = (_lighter(colour) for colour in _COLOURS)
    series: list[tuple[str, Any, Sequence[int]]] = []
    if counters.mpiio is not None:
        series.append(("calls that read", READ, counters.mpiio.read.sizes))
        series.append(("calls that write", WRITE, counters.mpiio.write.sizes))
    if counters.posix is not None:
        series.append(("requests to read", read, counters.posix.read.sizes))
        series.append(("requests to write", write, counters.posix.write.sizes))
    used = np.flatnonzero(np.sum([sizes for _, _, sizes in series], axis=0))
    low, high = (int(used[0]), int(used[-1]) + 1) if len(used) else (0, 1)
    figure, axes = _axes(2.4)
    places, width = np.arange(low, high), 0.8 / max(1, len(series))
    for number, (label, colour, sizes) in enumerate(series):
        axes.bar(places + width * number, sizes[low:high], width, color=colour, label=label)
    labels = [f"≤ {bytes_label(limit)}" for limit in SIZE_LIMITS[low:high]]
    if high == len(SIZE_LIMITS):
        labels[-1] = f"> {bytes_label(SIZE_LIMITS[-2])}"
    axes.set_xticks(places + width * (len(series) - 1) / 2, labels)
    axes.set_xlim(low - 0.5, max(high, low + 4))
    axes.yaxis.set_major_formatter(EngFormatter())
    axes.set_ylabel("calls, requests")
    axes.legend(frameon=False, loc="lower right", bbox_to_anchor=(1, 1), ncols=4, borderpad=0)
    return _svg(figure)


def sharing(bins: Bins, files: list[int], paths: list[str]) -> str:
    """Which processes move the bytes of which files; `paths` are their labels."""
    longest = max((len(path) for path in paths), default=0)
    figure, axes = _axes(0.9 + 0.28 * len(paths), min(0.3 + 0.075 * longest, _WIDTH / 2))
    moved = bins.shares.sum(axis=2)[files]
    extent = (-0.5, sum(bins.row_processes) - 0.5, len(paths) - 0.5, -0.5)
    _heat(axes, moved, extent, "#6a4c93", origin="upper")
    axes.set_yticks(range(len(paths)), paths)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("process")
    return _svg(figure)


def overlaps(shared: Amounts, row_processes: Sequence[int]) -> str:
    """How many bytes processes share with one another, as `forebay.bins.overlaps` counts them."""
    figure, axes = _axes(3.6)
    processes = sum(row_processes)
    extent = (-0.5, processes - 0.5, -0.5, processes - 0.5)
    _heat(axes, shared, extent, "#6a4c93")
    axes.set_box_aspect(1)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("process")
    axes.set_ylabel("process")
    return _svg(figure)


def _axes(height: float, left: float = 1.05, below: float = 0.45) -> tuple[Figure, Axes]:
    """With room for labels, so many inches on these sides. To find out how much they need takes as
    long as drawing."""
    above, right = 0.3, 0.1
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(_WIDTH, height))
        place = (left / _WIDTH, below / height)
        size = (1 - (left + right) / _WIDTH, 1 - (below + above) / height)
        return figure, figure.add_axes((*place, *size))


def _heat(
    axes: Axes,
    counts: np.ndarray[tuple[int, ...], np.dtype[np.generic]],
    extent: tuple[float, float, float, float],
    colour: str,
    origin: str = "lower",
) -> None:
    """Darker where there is more; clear where there is nothing."""
    most = float(counts.max(initial=0))
    axes.set_xlim(extent[0], extent[1])
    axes.set_ylim(extent[2], extent[3])
    if most == 0:
        return
    shades = LinearSegmentedColormap.from_list(
        "shades", [(*_rgb(colour), 0.35), (*_rgb(colour), 1)]
    )
    axes.imshow(
        np.ma.masked_equal(counts, 0),
        aspect="auto",
        origin="lower" if origin == "lower" else "upper",
        extent=extent,
        cmap=shades,
        norm=LogNorm(vmin=0.9, vmax=max(most, 1)),
        interpolation="nearest",
    )


def _rgb(colour: str) -> tuple[float, float, float]:
    red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return red, green, blue


def _lighter(colour: str) -> tuple[float, float, float]:
    red, green, blue = _rgb(colour)
    return (1 + red) / 2, (1 + green) / 2, (1 + blue) / 2


def _legend(axes: Axes) -> None:
    for kind, colour in zip(_KINDS, _COLOURS, strict=True):
        axes.plot([], [], "s", color=colour, label=kind)
    _place_legend(axes)


def _place_legend(axes: Axes) -> None:
    axes.legend(frameon=False, loc="lower right", bbox_to_anchor=(1, 1), ncols=2, borderpad=0)


def _time_axis(axes: Axes) -> None:
    axes.set_xlabel("seconds")


def bytes_label(amount: float, _: object = None) -> str:
    """As 16 MiB; made for the axes of figures."""
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if amount < 1024 or unit == "TiB":
            break
        amount /= 1024
    return f"{amount:.0f} {unit}" if amount >= 100 else f"{amount:.3g} {unit}"


def _svg(figure: Figure) -> str:
    """As an element for an HTML page: nothing in it refers to anything outside."""
    text = io.StringIO()
    with matplotlib.rc_context(STYLE):
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    svg = text.getvalue()
    svg = svg[svg.index("<svg") :]
    return re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
