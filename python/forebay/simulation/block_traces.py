"""Inputs of the simulators: traces of jobs, Darshan logs, and block traces of other tools.

Block traces are text or libCacheSim's oracleGeneral, both optionally compressed by Zstandard;
docs/simulating.md describes them. They are read once, and never held in memory as text.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from forebay import _core
from forebay.text import one_line
from forebay.trace import Trace, TraceError, open_trace
from forebay.trace.opening import is_darshan
from forebay.trace.recorder import is_recorder
from forebay.trace.strace import is_strace

FORMATS = ("auto", "trace", "text", "oracleGeneral")
"""The formats that an input may have. `trace`: anything that `forebay.open_trace` opens."""

_TEXT_ENDINGS = (".csv", ".txt")
_FOREBAY_MAGIC = b"FOREBAYT"
_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True)
class Input:
    """A trace that was read: accesses to bytes of files, or touches of blocks."""

    path: str
    log: _core.AccessLog | None
    """Accesses to bytes; None for a trace of block ids."""
    blocks: _core.Touches | None
    """Touches of blocks; None for a trace of bytes."""
    hosts: int
    """Number of the job's nodes, as far as the trace tells; at least 1."""
    nodes: tuple[int, ...] | None
    """The node of each process, by number; None: unknown."""
    problems: tuple[str, ...]
    """What is missing from the trace, one line each."""
    marked: bool
    """Whether the trace tells which calls were collective."""
    collective: str
    """The end of a sentence about collective calls that are counted but not marked, or ""."""
    owner: object
    """The object that holds the memory of `log`."""
    files: tuple[str, ...] = ()
    """The names of the files by the log's numbers, as far as known."""
    counted_collective: int = 0
    """Collective calls that are counted but not marked."""
    counted_calls: int = 0
    """All calls that these were counted among."""


def read_input(
    path: Path,
    file_format: str,
    most_bytes: int,
    progress: Callable[[float], object] = lambda _: None,
) -> Input:
    """Reads a whole trace. `progress` is called with the fraction read so far.

    Raises TraceError, one line with the file and the place, if the trace cannot be read or takes
    more memory than `most_bytes`.
    """
    if file_format == "auto":
        file_format = _format_of(path)
    if file_format == "trace":
        return _read_trace(open_trace(path), most_bytes, progress)
    return _read_blocks(path, file_format, most_bytes, progress)


def _format_of(path: Path) -> str:
    """Recognises the format by the beginning of the file, otherwise by its name."""
    name = one_line(str(path))
    try:
        if path.is_dir() or is_darshan(path) or is_strace(path) or is_recorder(path):
            return "trace"
        with path.open("rb") as file:
            if file.read(len(_FOREBAY_MAGIC)) == _FOREBAY_MAGIC:
                return "trace"
    except OSError as error:
        raise TraceError(f"{name}: {error.strerror}") from error
    plain = path.name.lower().removesuffix(".zst")
    if "oraclegeneral" in plain:
        return "oracleGeneral"
    if plain.endswith(_TEXT_ENDINGS):
        return "text"
    if plain.endswith((".trace", ".parquet")):
        return "trace"
    raise TraceError(
        f"{name}: neither its beginning nor its name says what it is; give --format"
        " text or oracleGeneral"
    )


def _read_trace(trace: Trace, most_bytes: int, progress: Callable[[float], object]) -> Input:
    name = one_line(str(trace.path))
    opens = [(one.process, one.file, one.ranks) for one in trace.opens]
    job = _core.JobLog(trace.view_layouts, opens, len(trace), most_bytes)
    read = 0
    for batch in trace.batches():
        columns = (
            *("process", "file", "open", "routine", "operation"),
            *("collective", "offset", "end", "contiguous", "view"),
            *("position", "requested", "start_ns", "end_ns"),
        )
        if not job.add(*(batch[column] for column in columns)):
            raise TraceError(f"{name}: there is no memory for its accesses; raise --memory")
        read += len(batch)
        progress(read / max(1, len(trace)))
    job.finish()
    collective, made = _counted_collective(trace)
    hosts: dict[str, int] = {}
    nodes = tuple(hosts.setdefault(process.host, len(hosts)) for process in trace.processes)
    return Input(
        path=str(trace.path),
        log=job.log,
        blocks=None,
        hosts=max(1, len(hosts)),
        nodes=nodes if hosts and all(hosts) else None,
        problems=(*trace.problems, *_left_out(name, job, trace)),
        marked=all(routine.collective is not None for routine in trace.routines),
        collective=f" (its counters: {collective:,} of {made:,} were collective)" if made else "",
        owner=job,
        files=tuple(trace.files),
        counted_collective=collective,
        counted_calls=made,
    )


def _counted_collective(trace: Trace) -> tuple[int, int]:
    """The numbers of collective calls and of all in the counters of a Darshan log, which do not
    tell which they were."""
    counted = [file.mpiio for file in trace.counters.files] if trace.counters is not None else []
    calls = [of for file in counted if file is not None for of in (file.read, file.write)]
    return sum(of.in_collective for of in calls), sum(of.calls for of in calls)


def _left_out(name: str, job: _core.JobLog, trace: Trace) -> list[str]:
    counted = (
        (job.unplaced, "have no known place in their file and are left out"),
        (job.log.backward, "go backwards in their view and are left out"),
        (trace.folded, "have folded times: their order among the processes is a guess"),
    )
    return [f"{name}: {count:,} accesses {what}" for count, what in counted if count]


def _read_blocks(
    path: Path, file_format: str, most_bytes: int, progress: Callable[[float], object]
) -> Input:
    name = one_line(str(path))
    blocks = _core.BlockReader(file_format, most_bytes)
    try:
        with path.open("rb") as file:
            size = max(1, path.stat().st_size)
            while chunk := file.read(_CHUNK_BYTES):
                blocks.feed(chunk)
                progress(min(1.0, file.tell() / size))
        blocks.finish()
    except OSError as error:
        raise TraceError(f"{name}: {error.strerror}") from error
    except ValueError as error:
        raise TraceError(f"{name}: {error}") from error
    ids = blocks.ids > 0
    return Input(
        path=str(path),
        log=None if ids else blocks.log,
        blocks=blocks.touches() if ids else None,
        hosts=1,
        nodes=None,
        problems=(),
        marked=False,
        collective="",
        owner=blocks,
        files=tuple(name.decode(errors="backslashreplace") for name in blocks.files),
    )
