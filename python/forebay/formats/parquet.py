"""Parquet, compressed by Zstandard, a row group a batch. What is not about a single access stands
as JSON in the file's metadata, under `forebay`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import IO

import pyarrow.parquet as pq

from forebay.trace import Accesses, Trace


def write(trace: Trace, batches: Iterator[Accesses], file: IO[bytes]) -> None:
    """As forebay.formats.Format says."""
    writer = None
    try:
        for batch in batches:
            table = batch.to_arrow()
            if writer is None:
                writer = pq.ParquetWriter(file, table.schema, compression="zstd")
            writer.write_table(table, row_group_size=len(batch))
        if writer is None:
            writer = pq.ParquetWriter(file, trace.accesses.to_arrow().schema, compression="zstd")
        about = {
            "kind": trace.kind,
            "totals": asdict(trace.totals),
            "problems": trace.problems,
            "processes": [asdict(process) for process in trace.processes],
        }
        writer.add_key_value_metadata({"forebay": json.dumps(about)})
    finally:
        if writer is not None:
            writer.close()
