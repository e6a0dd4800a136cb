"""All figures of a job, from its trace."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from forebay.analysis import Analysis, analyze
from forebay.kinds import check_kind
from forebay.plots import figures
from forebay.plots.bins import Bins, count_into_bins, overlaps
from forebay.plots.style import Plot
from forebay.text import one_line
from forebay.trace import Trace

_MOST_PLACES = 4
"""The number of files, those with the most bytes, whose places are counted."""
_MOST_SHARED = 24


def of(trace: Trace, progress: Callable[[int], object] = lambda _: None) -> JobPlots:
    """The figures of a trace. Reads the trace twice.

    `progress` is called repeatedly with the number of accesses read so far. Raises TraceError as
    Trace.batches does.
    """
    check_kind(trace, Trace, "plots.of", "trace")
    return JobPlots(trace, analyze(trace, progress=progress), progress)


class JobPlots:
    """Figures of one job. Times are seconds after the start of the first call."""

    def __init__(
        self, trace: Trace, analysis: Analysis, progress: Callable[[int], object] = lambda _: None
    ):
        moved = [file.read.transferred + file.write.transferred for file in analysis.files]
        order = sorted((n for n, count in enumerate(moved) if count), key=lambda n: -moved[n])
        self._analysis = analysis
        self._moving = order
        largest = order[:_MOST_PLACES]
        ends = [analysis.files[number].end for number in largest]
        self.bins: Bins = count_into_bins(
            trace, analysis.first_ns, analysis.last_ns, largest, ends, progress=progress
        )

    def __repr__(self) -> str:
        drawn = "bandwidth, places, sizes, sizes_over_time, busy, sharing, overlaps"
        return f"<figures of {one_line(Path(self._analysis.path).name)}: {drawn}>"

    @property
    def files(self) -> list[str]:
        """Paths of the files with moved bytes, the one with the most bytes first."""
        return [self._analysis.files[number].path for number in self._moving]

    @property
    def largest(self) -> list[str]:
        """Paths of the files that `places` can show."""
        return self.files[:_MOST_PLACES]

    def bandwidth(self) -> Plot:
        """Bytes per second of all processes; each access is spread evenly over its duration."""
        return figures.bandwidth_over_time(self.bins)

    def places(self, path: str | None = None) -> Plot:
        """The first bytes of accesses in a file, over time. `path`: one of `largest`, or its last
        component; None: the first. Raises ValueError for another file."""
        names = dict(zip(self.largest, self._moving, strict=False))
        names |= {Path(name).name: n for name, n in names.items() if Path(name).name not in names}
        if path is None and self._moving:
            return figures.places_over_time(self.bins, self._moving[0])
        if path not in names:
            told = ", ".join(map(one_line, self.largest)) or "none moved a byte"
            raise ValueError(f"places are counted of these files: {told}")
        return figures.places_over_time(self.bins, names[path])

    def sizes_over_time(self) -> Plot:
        """The bytes moved per access, over time."""
        return figures.sizes_over_time(self.bins)

    def sizes(self) -> Plot:
        """The number of accesses by the bytes they moved."""
        return figures.request_sizes(self.bins)

    def busy(self) -> Plot:
        """The fraction of time that each process spends in calls."""
        return figures.busy_processes(self.bins)

    def sharing(self) -> Plot:
        """Bytes of each file that each process moved."""
        shown = self._moving[:_MOST_SHARED]
        paths = [one_line(Path(self._analysis.files[n].path).name) for n in shown]
        return figures.sharing(self.bins, shown, paths)

    def overlaps(self) -> Plot:
        """Bytes that two processes both access, in all files."""
        shared = overlaps((file.sharing for file in self._analysis.files), self.bins.row_processes)
        return figures.overlaps(shared, self.bins.row_processes)
