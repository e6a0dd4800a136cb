"""Accesses as Arrow tables (pyarrow)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from forebay import _core
from forebay.trace.columns import BOOLEANS, COLUMNS, UNKNOWN, Array, Columns, Operation, Routine


def arrow_table(columns: Columns, files: Sequence[str], routines: Sequence[Routine]) -> pa.Table:
    """The columns as a table. Names replace numbers where there are names; unknown values are
    null."""
    names = {
        "file": list(files),
        "routine": [routine.name for routine in routines],
        "operation": [operation.name.lower() for operation in Operation],
    }
    arrays = {}
    for name, column in columns.items():
        values = column.astype(bool) if name == "collective" else column
        array = pa.array(values, mask=_unknown(name, column))
        if name in names:
            array = pa.DictionaryArray.from_arrays(array, pa.array(names[name], pa.string()))
        arrays[name] = array
    return pa.table(arrays)


def column_types() -> dict[str, pa.DataType]:
    """The type of each column of such a table."""
    empty = _core.TraceTable().columns()
    named = {name: empty[name].view(bool) if name in BOOLEANS else empty[name] for name in COLUMNS}
    return {field.name: field.type for field in arrow_table(named, (), ()).schema}


def _unknown(name: str, column: Array) -> Any:
    """Which entries are unknown; None: no entry is, and nothing was copied."""
    if name not in UNKNOWN:
        return None
    mask = column == UNKNOWN[name]
    return mask if np.any(mask) else None
