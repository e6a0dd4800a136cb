"""Forebay: a client-side cache between MPI programs and their parallel file system.

    import forebay
    trace = forebay.open_trace("run.trace")     # or a Darshan log
    analysis = forebay.analyze(trace)           # sums, signatures, findings
    forebay.report(trace).save("run.html")      # all of it as a page
    forebay.simulate_cache("run.trace")         # what caches would have done with it
    forebay.simulate_cluster("run.trace", "palmetto-gige")  # what it would take on that machine
    forebay.simulate_metadata("palmetto-gige")  # what a tree of files takes there
    forebay.plots.of(trace).bandwidth()         # figures

docs/tracing.md and docs/simulating.md say more.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from forebay._core import version as __version__

if TYPE_CHECKING:
    from forebay.analysis import analyze
    from forebay.reports import report
    from forebay.simulation import (
        CacheResult,
        ClusterResult,
        MetadataResult,
        RuntimeResult,
        simulate_cache,
        simulate_cluster,
        simulate_metadata,
        simulate_runtime,
    )
    from forebay.trace import open_trace

__all__ = [
    "CacheResult",
    "ClusterResult",
    "MetadataResult",
    "RuntimeResult",
    "__version__",
    "analyze",
    "open_trace",
    "report",
    "simulate_cache",
    "simulate_cluster",
    "simulate_metadata",
    "simulate_runtime",
]

# Imported on first use: importing NumPy takes longer than `forebay run` takes to start.
_PACKAGE_OF = {
    "CacheResult": "simulation",
    "ClusterResult": "simulation",
    "MetadataResult": "simulation",
    "RuntimeResult": "simulation",
    "analyze": "analysis",
    "open_trace": "trace",
    "report": "reports",
    "simulate_cache": "simulation",
    "simulate_cluster": "simulation",
    "simulate_metadata": "simulation",
    "simulate_runtime": "simulation",
}
_PACKAGES = ("analysis", "plots", "reports", "signatures", "simulation", "trace")


def __getattr__(name: str) -> Any:
    if name in _PACKAGE_OF:
        return getattr(import_module(f"forebay.{_PACKAGE_OF[name]}"), name)
    if name in _PACKAGES:
        return import_module(f"forebay.{name}")
    raise AttributeError(f"module 'forebay' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_PACKAGES})
