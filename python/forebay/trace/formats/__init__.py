"""The formats of `forebay convert`. A format is a module here with a function `write`, and a line
in FORMATS."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import IO, Any

from forebay.trace.types import Accesses, Trace


@dataclass(frozen=True, slots=True)
class Format:
    """A file format. Its module's `write(trace, batches, file)` writes `batches` of a trace."""

    name: str
    module: str
    endings: tuple[str, ...]
    meaning: str
    needs_times: bool = False
    """Whether accesses with folded times are left out."""

    def write(self, trace: Trace, batches: Iterator[Accesses], file: IO[bytes]) -> None:
        """Writes all batches, with the memory of one. Raises ImportError, OSError."""
        function: Any = import_module(self.module).write
        function(trace, batches, file)


FORMATS = (
    Format("parquet", "forebay.trace.formats.parquet", (".parquet",), "Parquet, by pyarrow"),
    Format("csv", "forebay.trace.formats.csv_text", (".csv",), "a line of text an access"),
    Format(
        "perfetto",
        "forebay.trace.formats.perfetto",
        (".json", ".perfetto-trace"),
        "a timeline for ui.perfetto.dev",
        needs_times=True,
    ),
)
