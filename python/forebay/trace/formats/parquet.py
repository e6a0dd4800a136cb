"""Parquet, with a row group per batch. Offsets and times are differences; everything is compressed
by Zstandard. Facts about the job are JSON in the file's metadata, under `forebay`;
forebay.trace.parquet reads them back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import IO

import pyarrow as pa
import pyarrow.parquet as pq

from forebay.trace.columns import COLUMNS
from forebay.trace.parquet import about
from forebay.trace.types import Accesses, Trace

_GROWING = ("offset", "end", "position", "start_ns", "end_ns", "completed_ns", "sequence")


def write(trace: Trace, batches: Iterator[Accesses], file: IO[bytes]) -> None:
    """Format.write."""
    writer = None
    try:
        for batch in batches:
            table = batch.to_arrow()
            if writer is None:
                writer = _writer(file, table)
            writer.write_table(table, row_group_size=len(batch))
        if writer is None:
            writer = _writer(file, trace.accesses.to_arrow())
        writer.add_key_value_metadata({"forebay": json.dumps(about(trace))})
    finally:
        if writer is not None:
            writer.close()


def _writer(file: IO[bytes], table: pa.Table) -> pq.ParquetWriter:
    return pq.ParquetWriter(
        file,
        table.schema,
        compression="zstd",
        use_dictionary=[name for name in COLUMNS if name not in _GROWING],
        column_encoding=dict.fromkeys(_GROWING, "DELTA_BINARY_PACKED"),
    )
