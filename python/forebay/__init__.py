"""Forebay: a client-side cache between MPI programs and their parallel file system."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from forebay._core import version as __version__

if TYPE_CHECKING:
    from forebay.analysis import analyze
    from forebay.simulating_runtime import RuntimeResult, simulate_runtime
    from forebay.simulation import CacheResult, simulate_cache
    from forebay.trace import open_trace

__all__ = [
    "CacheResult",
    "RuntimeResult",
    "__version__",
    "analyze",
    "open_trace",
    "simulate_cache",
    "simulate_runtime",
]


def __getattr__(name: str) -> Any:
    # NumPy takes longer to load than `forebay run` takes to start.
    if name == "analyze":
        from forebay.analysis import analyze

        return analyze
    if name == "open_trace":
        from forebay.trace import open_trace

        return open_trace
    if name in ("CacheResult", "simulate_cache"):
        from forebay import simulation

        return getattr(simulation, name)
    if name in ("RuntimeResult", "simulate_runtime"):
        from forebay import simulating_runtime

        return getattr(simulating_runtime, name)
    raise AttributeError(f"module 'forebay' has no attribute '{name}'")
