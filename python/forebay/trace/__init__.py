"""Traces for analysis: which process accessed which bytes of which file, when, by which routine.

    import forebay
    trace = forebay.open_trace("run.trace")       # or one file of it, a Darshan log, a Parquet file
    trace.accesses["offset"].max()                # NumPy arrays, without a copy
    trace.accesses.to_arrow()                     # pyarrow.Table
    for batch in trace.batches():                 # of a trace larger than memory

docs/tracing.md says what the columns mean.
"""

from __future__ import annotations

from forebay.trace import text as _text  # noqa: F401  (what notebooks show)
from forebay.trace.columns import (
    COLUMNS,
    NO_TIME,
    UNKNOWN,
    Array,
    Columns,
    Operation,
    Routine,
)
from forebay.trace.opening import open_trace
from forebay.trace.types import (
    ROWS_PER_BATCH,
    Accesses,
    Open,
    Process,
    Totals,
    Trace,
    TraceError,
    View,
)

__all__ = [
    "COLUMNS",
    "NO_TIME",
    "ROWS_PER_BATCH",
    "UNKNOWN",
    "Accesses",
    "Array",
    "Columns",
    "Open",
    "Operation",
    "Process",
    "Routine",
    "Totals",
    "Trace",
    "TraceError",
    "View",
    "open_trace",
]
