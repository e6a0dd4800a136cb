"""Pages about traces and simulations.

import forebay
page = forebay.report(forebay.open_trace("run.trace"))
page.save("run.html")                       # a notebook shows the page itself
results = forebay.simulate_cluster("run.trace", "perlmutter", [{"scope": "none"}, {"scope": "job"}])
forebay.reports.run_times(results, "perlmutter").save("times.html")
"""

from __future__ import annotations

import errno
import html
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from forebay.analysis.conflicts import MOST_RUNS
from forebay.kinds import check_callable, check_kind, check_path
from forebay.new_file import new_file
from forebay.reports.job import render
from forebay.reports.run_times import render as render_run_times
from forebay.simulation import ClusterResults, Machine, machine
from forebay.trace import Trace

__all__ = ["Page", "report", "run_times"]

_NOTEBOOK_HEIGHT = 720
"""Height of the frame in a notebook, in pixels."""


class Page:
    """One HTML file that contains all figures and loads nothing."""

    def __init__(self, name: str, text: str):
        self._name = name
        self.html = text
        """The page as text."""

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> Path:
        """Writes the page, completely or not at all. Raises OSError; FileExistsError if the file
        exists and `force` is false."""
        check_path(path, "reports.Page.save", "path")
        where = Path(path)
        if where.exists() and not force:
            told = f"{os.strerror(errno.EEXIST)}; force=True replaces it"
            raise FileExistsError(errno.EEXIST, told, str(where))
        with new_file(where, force) as file:
            file.write(self.html.encode())
        return where

    def __repr__(self) -> str:
        return f"<page about {self._name}, {len(self.html.encode()):,} bytes>"

    def _repr_html_(self) -> str:
        style = f"width: 100%; height: {_NOTEBOOK_HEIGHT}px; border: 0"
        return f'<iframe style="{style}" srcdoc="{html.escape(self.html)}"></iframe>'


def report(
    trace: Trace,
    against: Trace | None = None,
    *,
    most_runs: int = MOST_RUNS,
    progress: Callable[[int], object] = lambda _: None,
) -> Page:
    """The page of `forebay report` about a trace from `forebay.open_trace`.

    `against`: another run to compare with. `most_runs`: as for `forebay.analyze`. `progress` is
    called repeatedly with the number of accesses read so far; the trace is read twice. Raises
    TraceError if nothing can be read, TypeError if an argument is no trace.
    """
    check_kind(trace, Trace, "report", "trace")
    check_callable(progress, "report", "progress")
    if against is not None:
        check_kind(against, Trace, "report", "against")
    return Page(trace.path.name, render(trace, against, most_runs, progress))


def run_times(
    results: ClusterResults, on: str | os.PathLike[str] | Machine, warnings: Sequence[str] = ()
) -> Page:
    """The page of `forebay simulate cluster --report` about the results of `simulate_cluster`.

    `on`: the machine, as for `simulate_cluster`. `warnings`: the lines that it has told. Raises
    ValueError without results, TypeError if they are of another kind, MachineError.
    """
    check_kind(results, ClusterResults, "reports.run_times", "results")
    base = on if isinstance(on, Machine) else machine(on)
    return Page(base.name, render_run_times(results, base, warnings))
