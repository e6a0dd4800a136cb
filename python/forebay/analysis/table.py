"""An analysis as an Arrow table or a Parquet file with a row per file, so that the analyses of many
jobs can be combined and searched."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from types import NoneType, UnionType
from typing import IO, Any, get_args, get_origin, get_type_hints

import pyarrow as pa
import pyarrow.parquet as pq

from forebay.analysis import Analysis, Counts, GlobalSignature, LocalSignature
from forebay.analysis.conflicts import Conflicts, SharedBytes
from forebay.trace.counters import FileCounters

_PLAIN = {int: pa.int64(), float: pa.float64(), str: pa.string(), bool: pa.bool_()}


def table_of(analysis: Analysis) -> pa.Table:
    """The columns are `trace` (the path of the trace) and what to_json() has of each file, as
    structures and lists. The rest of to_json() is the metadata `forebay_analysis`."""
    job = analysis.to_json()
    rows = [{"trace": job["trace"], **file} for file in job.pop("files")]
    return pa.Table.from_pylist(
        rows, _schema().with_metadata({"forebay_analysis": json.dumps(job)})
    )


def write(analysis: Analysis, file: IO[bytes]) -> None:
    """Writes the table as Parquet."""
    pq.write_table(table_of(analysis), file, compression="zstd")


def _schema() -> pa.Schema:
    local, merged = _type_of(LocalSignature), _type_of(GlobalSignature)
    shared = _type_of(SharedBytes)
    return pa.schema(
        {
            "trace": pa.string(),
            "path": pa.string(),
            "processes": pa.int64(),
            "read": _type_of(Counts),
            "write": _type_of(Counts),
            "metadata_calls": pa.int64(),
            "metadata_seconds": pa.float64(),
            "syncs": pa.int64(),
            "sync_seconds": pa.float64(),
            "end": pa.int64(),
            "unplaced": pa.int64(),
            "spatial": pa.string(),
            "coverage": pa.float64(),
            "signature": merged,
            "counters": _type_of(FileCounters),
            "conflicts": _type_of(Conflicts),
            "sharing": pa.struct(
                {"bytes": pa.int64(), "left_out": pa.int64(), "sets": pa.list_(shared)}
            ),
            "local_signatures": pa.list_(local),
        }
    )


def _type_of(declared: Any) -> pa.DataType:
    """The Arrow type of a declared type; of a dataclass without the members that its text leaves
    out."""
    if declared in _PLAIN:
        return _PLAIN[declared]
    if get_origin(declared) is UnionType:
        return _type_of(next(one for one in get_args(declared) if one is not NoneType))
    if get_origin(declared) is tuple:
        return pa.list_(_type_of(get_args(declared)[0]))
    assert is_dataclass(declared), declared
    types = get_type_hints(declared)
    return pa.struct({one.name: _type_of(types[one.name]) for one in fields(declared) if one.repr})
