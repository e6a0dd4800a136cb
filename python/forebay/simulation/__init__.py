"""Simulates caches on a trace: of blocks, the runtime's own by replay, or those of a job on a
cluster; and what a tree of files takes there."""

from __future__ import annotations

from forebay.simulation import cluster_text as _cluster_text  # noqa: F401  (notebooks show it)
from forebay.simulation import metadata_text as _metadata_text  # noqa: F401  (the same)
from forebay.simulation import text as _text  # noqa: F401  (the same)
from forebay.simulation.cache import (
    AWARENESS,
    BYPASS_BYTES,
    DEFAULT_POLICIES,
    INFORMED,
    MIN,
    POLICIES,
    SCOPES,
    UNION_WINDOW_S,
    CacheResult,
    CacheResults,
    simulate_cache,
)
from forebay.simulation.cluster import CLUSTER_SCOPES, simulate_cluster
from forebay.simulation.cluster_results import WAIT_REASONS, ClusterResult, ClusterResults, Wait
from forebay.simulation.machine_parts import Pvfs
from forebay.simulation.machines import Machine, MachineError, machine, machine_names
from forebay.simulation.measuring import Measurement, measure
from forebay.simulation.metadata import (
    METADATA_OPERATIONS,
    METADATA_TASKS,
    MetadataResult,
    MetadataResults,
    Operations,
    simulate_metadata,
)
from forebay.simulation.runtime import RuntimeResult, RuntimeResults, simulate_runtime

__all__ = [
    "AWARENESS",
    "BYPASS_BYTES",
    "CLUSTER_SCOPES",
    "DEFAULT_POLICIES",
    "INFORMED",
    "METADATA_OPERATIONS",
    "METADATA_TASKS",
    "MIN",
    "POLICIES",
    "SCOPES",
    "UNION_WINDOW_S",
    "WAIT_REASONS",
    "CacheResult",
    "CacheResults",
    "ClusterResult",
    "ClusterResults",
    "Machine",
    "MachineError",
    "Measurement",
    "MetadataResult",
    "MetadataResults",
    "Operations",
    "Pvfs",
    "RuntimeResult",
    "RuntimeResults",
    "Wait",
    "machine",
    "machine_names",
    "measure",
    "simulate_cache",
    "simulate_cluster",
    "simulate_metadata",
    "simulate_runtime",
]
