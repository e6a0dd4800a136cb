"""Opens a trace of any kind."""

from __future__ import annotations

import os
from pathlib import Path

from forebay.kinds import check_path
from forebay.text import one_line
from forebay.trace.recorder import RecorderLog, is_recorder
from forebay.trace.strace import StraceLog, is_strace
from forebay.trace.types import Trace, TraceError


def open_trace(path: str | os.PathLike[str]) -> Trace:
    """Opens a folder of trace files, one trace file, a Darshan log, what strace or recorder2text
    printed, or a Parquet file of `forebay convert`.

    Raises TraceError if nothing can be read. Other problems are in `Trace.problems`.
    """
    check_path(path, "open_trace", "path")
    where = Path(path)
    if is_darshan(where):
        from forebay.trace.darshan import DarshanLog

        return Trace(where, DarshanLog(where))
    if _is_parquet(where):
        try:
            from forebay.trace.parquet import ParquetTrace
        except ImportError as error:
            raise TraceError(
                f"{one_line(str(where))}: reading Parquet needs pyarrow: pip install"
                f" 'forebay[arrow]' ({error})"
            ) from error
        return Trace(where, ParquetTrace(where))
    if is_strace(where):
        return Trace(where, StraceLog(where))
    if is_recorder(where):
        return Trace(where, RecorderLog(where))
    from forebay.trace.files import TraceFiles

    return Trace(where, TraceFiles(where))


def is_darshan(path: Path) -> bool:
    """Recognises a Darshan log by its name, or by its beginning: a version (eight bytes) and a
    magic number."""
    if not path.is_file():
        return False
    return path.suffix == ".darshan" or _beginning(path, 16)[8:] == (6567223).to_bytes(8, "little")


def _is_parquet(path: Path) -> bool:
    """Recognises a Parquet file by its name, or by its beginning."""
    return path.is_file() and (path.suffix == ".parquet" or _beginning(path, 4) == b"PAR1")


def _beginning(path: Path, count: int) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(count)
    except OSError:
        return b""
