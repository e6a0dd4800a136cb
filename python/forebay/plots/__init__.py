"""Figures of traces and of results.

    import forebay.plots
    of_job = forebay.plots.of(forebay.open_trace("run.trace"))    # reads the trace
    of_job.bandwidth()                                            # notebooks show it
    of_job.places("output.nc").savefig("places.pdf")
    forebay.plots.hit_rates(forebay.simulate_cache("run.trace"))
    forebay.plots.run_times(forebay.simulate_cluster("run.trace", "palmetto-gige", changes))
    forebay.plots.waits(forebay.simulate_cluster("run.trace", "perlmutter", waits=True)[0])

Each is a Matplotlib figure. Needs Matplotlib.
"""

from __future__ import annotations

from forebay.plots.hit_rates import draw as hit_rates
from forebay.plots.job import JobPlots, of
from forebay.plots.run_times import draw as run_times
from forebay.plots.style import Plot
from forebay.plots.waits import draw as waits

__all__ = ["JobPlots", "Plot", "hit_rates", "of", "run_times", "waits"]
