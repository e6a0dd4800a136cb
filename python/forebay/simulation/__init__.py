"""Simulates caches on a trace: caches of blocks, or the runtime's own by replay."""

from __future__ import annotations

from forebay.simulation import text as _text  # noqa: F401  (what notebooks show)
from forebay.simulation.cache import (
    AWARENESS,
    BYPASS_BYTES,
    MIN,
    POLICIES,
    SCOPES,
    UNION_WINDOW_S,
    CacheResult,
    CacheResults,
    simulate_cache,
)
from forebay.simulation.runtime import RuntimeResult, RuntimeResults, simulate_runtime

__all__ = [
    "AWARENESS",
    "BYPASS_BYTES",
    "MIN",
    "POLICIES",
    "SCOPES",
    "UNION_WINDOW_S",
    "CacheResult",
    "CacheResults",
    "RuntimeResult",
    "RuntimeResults",
    "simulate_cache",
    "simulate_runtime",
]
