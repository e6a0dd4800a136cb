"""The figures of a report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, LogNorm
from matplotlib.ticker import EngFormatter, Formatter, FuncFormatter, MaxNLocator
from numpy.typing import NDArray

from forebay.plots.bins import SIZES, Amounts, Bins
from forebay.plots.style import READ, STYLE, WRITE, BinaryLocator, Plot, Values, bytes_label
from forebay.trace.counters import SIZE_LIMITS, FileCounters

_COLOURS = (READ, WRITE)
_KINDS = ("read", "write")
_SHARED_COLOUR, _BUSY_COLOUR = "#7d5ba6", "#3b8d54"
_WIDTH = 9.2
"""Inches, like all lengths below."""
_LEFT, _RIGHT, _ABOVE, _BELOW = 1.05, 1.0, 0.3, 0.45
"""Margins for labels, and on the right for a scale of colours: equal in all figures over time."""
_POINTS = 72
"""Points per inch."""
_MOST_CELLS = 32_000
"""The most cells of a figure whose values a page contains."""
_FEW_CELLS, _MANY_CELLS = 500, 1000
_LEAST_SHADE = 0.5
_POINT_AREA = 10
"""Square points."""
_FEWEST_SIZES = 8
"""Classes of a histogram; with fewer, bars would look like blocks."""


def places_over_time(bins: Bins, file: int) -> Plot:
    """The first bytes of accesses in a file, over time (Yin, figure of offsets)."""
    figure, axes = _axes(2.8)
    extent = (0.0, float(bins.edges_s[-1]), 0.0, float(max(1, bins.ends[file])))
    _heats(axes, bins.places[file], extent, _COLOURS, "accesses", EngFormatter())
    axes.yaxis.set_major_formatter(FuncFormatter(bytes_label))
    axes.yaxis.set_major_locator(BinaryLocator(7))
    axes.set_ylabel("offset")
    _time_axis(axes)
    _legend(axes)
    figure.values = _values(axes, "s", "B", bins.places[file], _KINDS, "accesses")
    return figure


def sizes_over_time(bins: Bins) -> Plot:
    """The sizes of requests over time (Yin, figure of request sizes)."""
    figure, axes = _axes(2.4)
    used = np.flatnonzero(bins.sizes.sum(axis=(0, 2)))
    low, high = _sizes_shown(used)
    extent = (0.0, float(bins.edges_s[-1]), float(low), float(high))
    _heats(axes, bins.sizes[:, low:high], extent, _COLOURS, "accesses", EngFormatter())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda power, _: bytes_label(2.0**power / 2)))
    axes.yaxis.set_major_locator(MaxNLocator(8, integer=True))
    axes.set_ylabel("request size")
    _time_axis(axes)
    _legend(axes)
    classes = tuple(map(_size_class, range(low, high)))
    counts = bins.sizes[:, low:high]
    figure.values = _values(axes, "s", "B", counts, _KINDS, "accesses", row_labels=classes)
    return figure


def bandwidth_over_time(bins: Bins) -> Plot:
    """Bytes per second of all processes over time (Yin, figure of bandwidth)."""
    figure, axes = _axes(2.2)
    width = np.diff(bins.edges_s)
    for moved, colour, kind in zip(bins.bytes_moved, _COLOURS, _KINDS, strict=True):
        axes.stairs(moved / width, bins.edges_s, fill=True, alpha=0.55, color=colour, label=kind)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda rate, _: f"{bytes_label(rate)}/s"))
    axes.yaxis.set_major_locator(BinaryLocator(6))
    axes.set_xlim(0, float(bins.edges_s[-1]))
    axes.set_ylim(bottom=0)
    axes.set_ylabel("bandwidth")
    _time_axis(axes)
    _place_legend(axes)
    figure.values = _values(axes, "s", "", bins.bytes_moved / width, _KINDS, "B/s")
    return figure


def busy_processes(bins: Bins) -> Plot:
    """The fraction of time that each process spends in MPI-IO, over time."""
    figure, axes = _axes(2.6)
    whole = np.outer(bins.row_processes, np.diff(bins.edges_s))
    busy = np.clip(bins.busy_s / whole, 0, 1)
    image = axes.imshow(
        busy,
        aspect="auto",
        origin="lower",
        extent=(0, float(bins.edges_s[-1]), -0.5, sum(bins.row_processes) - 0.5),
        cmap=_shades(_BUSY_COLOUR, 0),
        vmin=0,
        vmax=1,
        interpolation="nearest",
    )
    scale = _scale_axes(axes)
    figure.colorbar(image, cax=scale, format=FuncFormatter(lambda part, _: f"{part:.0%}"))
    axes.yaxis.set_major_locator(MaxNLocator(6, integer=True))
    axes.set_ylabel("process")
    _time_axis(axes)
    rows = _named_rows(bins.row_processes)
    figure.values = _values(axes, "s", "", 100 * busy[None], ("",), "%", row_labels=rows)
    return figure


def request_sizes(bins: Bins) -> Plot:
    """The number of requests by size."""
    counts = bins.sizes.sum(axis=2)
    used = np.flatnonzero(counts.sum(axis=0))
    low, high = _sizes_shown(used)
    many = high - low > 12
    figure, axes = _axes(2.4 if many else 2.2, below=0.65 if many else _BELOW)
    powers = np.arange(low, high)
    for number, (kind, colour) in enumerate(zip(_KINDS, _COLOURS, strict=True)):
        axes.bar(powers + 0.4 * number, counts[number, low:high], 0.4, color=colour, label=kind)
    axes.set_xticks(powers + 0.2, [f"< {bytes_label(2.0**power)}" for power in powers])
    axes.tick_params(axis="x", rotation=45 if many else 0)
    axes.set_xlim(low - 0.3, high - 0.3)
    axes.yaxis.set_major_formatter(EngFormatter())
    axes.set_ylabel("requests")
    _place_legend(axes)
    classes = tuple(map(_size_class, range(low, high)))
    shown = counts[:, low:high]
    figure.values = _values(axes, "", "", shown, _KINDS, "accesses", column_labels=classes)
    return figure


def calls_and_requests(counters: FileCounters) -> Plot:
    """The number of calls of MPI-IO, and of requests to the operating system, by size."""
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
    high_shown = max(high, low + 4)
    axes.set_xlim(low - 0.1, high_shown - 0.1)
    axes.yaxis.set_major_formatter(EngFormatter())
    axes.set_ylabel("calls, requests")
    counts = np.zeros((len(series), high_shown - low))
    for number, (_, _, sizes) in enumerate(series):
        counts[number, : high - low] = sizes[low:high]
    named = tuple(label for label, _, _ in series)
    labels += [""] * (high_shown - high)
    figure.values = _values(axes, "", "", counts, named, "", column_labels=tuple(labels))
    axes.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=4, borderpad=0)
    return figure


def sharing(bins: Bins, files: list[int], paths: list[str]) -> Plot:
    """Bytes of each file that each process moved. `paths`: labels of the files."""
    longest = max((len(path) for path in paths), default=0)
    figure, axes = _axes(0.9 + 0.28 * len(paths), min(0.3 + 0.075 * longest, _WIDTH / 2))
    moved = bins.shares.sum(axis=2)[files]
    extent = (-0.5, sum(bins.row_processes) - 0.5, len(paths) - 0.5, -0.5)
    formatter = FuncFormatter(bytes_label)
    _heats(axes, [moved], extent, [_SHARED_COLOUR], "bytes", formatter, 2, origin="upper")
    axes.set_yticks(range(len(paths)), paths)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("process")
    columns = _named_rows(bins.row_processes)
    figure.values = _values(axes, "", "", moved[None], ("",), "B", columns, tuple(paths))
    return figure


def overlaps(shared: Amounts, row_processes: Sequence[int]) -> Plot:
    """Bytes that processes share with each other, as bins.overlaps() counts them."""
    figure, axes = _axes(3.6)
    processes = sum(row_processes)
    extent = (-0.5, processes - 0.5, -0.5, processes - 0.5)
    _heats(axes, [shared], extent, [_SHARED_COLOUR], "bytes", FuncFormatter(bytes_label), 2)
    axes.set_box_aspect(1)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("process")
    axes.set_ylabel("process")
    named = _named_rows(row_processes)
    figure.values = _values(axes, "", "", shared[None], ("",), "B", named, named)
    return figure


def _size_class(power: int) -> str:
    """The label of accesses of less than 2**power bytes, and at least half of that."""
    return "0 B" if power == 0 else f"{bytes_label(2.0**power / 2)} to {bytes_label(2.0**power)}"


def _named_rows(row_processes: Sequence[int]) -> tuple[str, ...]:
    """Labels of rows that stand for so many processes each."""
    firsts = np.cumsum([0, *row_processes[:-1]]).tolist()
    return tuple(
        f"process {first}" if count == 1 else f"processes {first} to {first + count - 1}"
        for first, count in zip(firsts, row_processes, strict=True)
    )


def _values(
    axes: Axes,
    x_unit: str,
    y_unit: str,
    shown: NDArray[Any],
    kinds: Sequence[str],
    unit: str,
    column_labels: tuple[str, ...] = (),
    row_labels: tuple[str, ...] = (),
) -> Values:
    """The values of a figure. `shown`: (kinds, columns), or (kinds, rows, columns); rows begin at
    the smallest value of y."""
    by_row = shown if shown.ndim == 3 else shown[:, None]
    cells = []
    for of_kind in by_row.reshape(len(kinds), -1):
        rounded = np.rint(of_kind).astype(np.int64)
        used = np.flatnonzero(rounded)
        steps = np.diff(used, prepend=0)
        cells.append(tuple(np.column_stack((steps, rounded[used])).ravel().tolist()))
    if sum(map(len, cells)) > 2 * _MOST_CELLS:
        cells = []
    axes.apply_aspect()
    place = axes.get_position()
    figure = axes.get_figure(root=True)
    assert figure is not None
    width, height = (_POINTS * inches for inches in figure.get_size_inches())
    box = (place.x0 * width, (1 - place.y1) * height, place.x1 * width, (1 - place.y0) * height)
    x, y = axes.get_xlim(), axes.get_ylim()
    return Values(
        box=box,
        x=(float(x[0]), float(x[1]), x_unit),
        y=(float(y[0]), float(y[1]), y_unit),
        columns=by_row.shape[2],
        rows=by_row.shape[1],
        kinds=tuple(kinds),
        unit=unit,
        cells=tuple(cells),
        column_labels=column_labels,
        row_labels=row_labels,
    )


def _sizes_shown(used: NDArray[np.intp]) -> tuple[int, int]:
    """The powers of two from the smallest to the largest used size, and neighbours if these are
    few."""
    low, high = (int(used[0]), int(used[-1]) + 1) if len(used) else (0, 1)
    lacking = max(0, _FEWEST_SIZES - (high - low))
    low = max(0, low - lacking // 2)
    return low, min(SIZES, max(high, low + _FEWEST_SIZES))


def _axes(height: float, left: float = _LEFT, below: float = _BELOW) -> tuple[Plot, Axes]:
    """Axes with margins for labels, in inches. Computing the margins that labels need takes as long
    as drawing."""
    with matplotlib.rc_context(STYLE):
        figure = Plot(figsize=(_WIDTH, height))
        place = (left / _WIDTH, below / height)
        size = (1 - (left + _RIGHT) / _WIDTH, 1 - (below + _ABOVE) / height)
        return figure, figure.add_axes((*place, *size))


def _scale_axes(axes: Axes) -> Axes:
    """Axes for a scale of colours, right of the figure's own axes."""
    place = axes.get_position()
    with matplotlib.rc_context(STYLE):
        figure = axes.get_figure(root=True)
        assert figure is not None
        return figure.add_axes((place.x1 + 0.1 / _WIDTH, place.y0, 0.14 / _WIDTH, place.height))


def _heats(
    axes: Axes,
    kinds: Sequence[NDArray[Any]] | NDArray[Any],
    extent: tuple[float, float, float, float],
    colours: Sequence[str],
    unit: str,
    formatter: Formatter,
    base: int = 10,
    origin: str = "lower",
) -> None:
    """Draws counts as shades: darker for larger counts, transparent for zero. All kinds share one
    scale, with labels at powers of `base`."""
    axes.set_xlim(extent[0], extent[1])
    axes.set_ylim(extent[2], extent[3])
    most = max(float(counts.max(initial=0)) for counts in kinds)
    if most == 0:
        return
    norm = LogNorm(vmin=0.9, vmax=max(most, 1))
    small_cells = min(counts.size for counts in kinds) > _MANY_CELLS
    sparse = small_cells and sum(np.count_nonzero(counts) for counts in kinds) < _FEW_CELLS
    for counts, colour in zip(kinds, colours, strict=True):
        if sparse:
            _mark_cells(axes, counts, extent, _shades(colour, _LEAST_SHADE), norm)
            continue
        axes.imshow(
            np.ma.masked_equal(counts, 0),
            aspect="auto",
            origin="lower" if origin == "lower" else "upper",
            extent=extent,
            cmap=_shades(colour, _LEAST_SHADE),
            norm=norm,
            interpolation="nearest",
        )
    if most <= 1:
        return
    scale = _scale_axes(axes)
    drawn = [c for counts, c in zip(kinds, colours, strict=True) if counts.any()]
    for number, colour in enumerate(drawn):
        scale.imshow(
            np.geomspace(1, most, 64)[:, None],
            aspect="auto",
            origin="lower",
            extent=(number, number + 1, 0, 1),
            cmap=_shades(colour, _LEAST_SHADE),
            norm=norm,
        )
    figure = axes.get_figure(root=True)
    assert figure is not None
    inches = axes.get_position().height * figure.get_size_inches()[1]
    powers = int(np.log(most) / np.log(base)) + 1
    step = int(np.ceil(powers / max(2, min(6, 3 * inches))))
    shown = [float(base) ** power for power in range(0, powers, step)]
    scale.set_xlim(0, len(drawn))
    scale.set_xticks([])
    scale.yaxis.tick_right()
    scale.set_yticks(list(np.log(shown) / np.log(most)), [formatter(value) for value in shown])
    scale.set_title(unit, fontsize=8, loc="left")


def _mark_cells(
    axes: Axes,
    counts: NDArray[Any],
    extent: tuple[float, float, float, float],
    shades: LinearSegmentedColormap,
    norm: LogNorm,
) -> None:
    """Draws few counts as points that are large enough to be seen."""
    rows, columns = np.nonzero(counts)
    left, right, bottom, top = extent
    axes.scatter(
        left + (columns + 0.5) * (right - left) / counts.shape[1],
        bottom + (rows + 0.5) * (top - bottom) / counts.shape[0],
        s=_POINT_AREA,
        c=counts[rows, columns],
        cmap=shades,
        norm=norm,
        marker="s",
        linewidths=0,
    )


def _shades(colour: str, least: float) -> LinearSegmentedColormap:
    """Shades from `least` of the colour's strength to all of it."""
    red, green, blue = _rgb(colour)
    return LinearSegmentedColormap.from_list(
        "shades", [(red, green, blue, least), (red, green, blue, 1)]
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
    axes.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=2, borderpad=0)


def _time_axis(axes: Axes) -> None:
    axes.set_xlabel("seconds after the first call")
