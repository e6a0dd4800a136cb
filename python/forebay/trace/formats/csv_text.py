"""CSV in UTF-8 with a line of names. Unknown values are empty; true and false are 1 and 0."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from typing import IO, Any

from forebay.trace.columns import COLUMNS, UNKNOWN, Array, Operation
from forebay.trace.types import Accesses, Trace


def write(trace: Trace, batches: Iterator[Accesses], file: IO[bytes]) -> None:
    """Format.write."""
    names = {
        "file": trace.files,
        "routine": [routine.name for routine in trace.routines],
        "operation": [operation.name.lower() for operation in Operation],
    }
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for batch in batches:
        columns = [_column(name, batch[name], names.get(name)) for name in COLUMNS]
        writer.writerows(zip(*columns, strict=True))
    text.detach()


def _column(name: str, column: Array, names: Sequence[str] | None) -> Sequence[Any]:
    values: list[Any] = (column.view("u1") if column.dtype == bool else column).tolist()
    if names is not None:
        values = [names[value] if value >= 0 else "" for value in values]
    elif name in UNKNOWN:
        values = ["" if value == UNKNOWN[name] else value for value in values]
    return values
