"""What `forebay convert` writes. A format is a module here with a function `write`, and a line in
FORMATS."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import IO, Any

from forebay.trace.types import Accesses, Trace


@dataclass(frozen=True, slots=True)
class Format:
    """A file format: `write(trace, batches, file)` of its module writes `batches` of a trace."""

    name: str
    module: str
    endings: tuple[str, ...]
    meaning: str
    needs_times: bool = False
    """Accesses whose times were folded are left out."""

    def write(self, trace: Trace, batches: Iterator[Accesses], file: IO[bytes]) -> None:
        """Writes all of the batches; memory for one of them. Raises ImportError, OSError."""
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
