"""Darshan logs as a source of `forebay.trace.Trace`.

DXT has rank, file, offset, length, start and end of every read and write of MPI-IO (of POSIX if a
log has no MPI-IO records), but not the routine, so it is unknown whether an access was collective.
The counters of the other modules give the numbers of each kind.
"""

from __future__ import annotations

import io
import json
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from forebay import _core
from forebay.text import one_line
from forebay.trace.columns import Columns, Operation, Routine, plain_columns
from forebay.trace.counters import Counters, Stripes
from forebay.trace.darshan_child import REFUSED
from forebay.trace.darshan_counters import Job, Records, counters_of, files_of
from forebay.trace.types import Open, Process, TraceError, View

_READ, _WRITE = 0, 1  # indices of the routines
_ALL_BYTES = _core.TraceReader([]).views
_PREFIXES = {"MPI-IO": "MPIIO", "POSIX": "POSIX", "H5F": "H5F", "H5D": "H5D"}
"""Prefixes of the names of a module's counters."""


class DarshanLog:
    """A Darshan log, read into memory."""

    kind = "darshan"
    reader = None

    def __init__(self, path: Path):
        self._name = one_line(str(path))
        with _run_child(path, self._name) as archive:
            facts = json.loads(str(archive["facts"]))
            records, segments = archive["records"], archive["segments"]
            tables = {
                name: Records(archive[name], names, _PREFIXES[name])
                for name, names in facts["counters"].items()
            }
        if np.any(records["writes"] < 0) or np.any(records["reads"] < 0):
            raise TraceError(f"{self._name}: its records make no sense")
        self.routines = [
            Routine("read", Operation.READ, None, None),
            Routine("write", Operation.WRITE, None, None),
        ]
        self.opens: list[Open] = []
        self.views = [View(0, 0, 1, 1, True)]
        self.view_layouts = _ALL_BYTES
        ids = np.unique(np.array([*records["id"].tolist(), *files_of(tables)], np.uint64))
        self.files = [facts["names"].get(str(number), f"file {number:#x}") for number in ids]
        ranks, of_record = np.unique(records["rank"], return_inverse=True)
        self._columns = _columns(records, segments, ids, of_record)
        self.access_count = len(segments)
        counts = np.bincount(self._columns["process"], minlength=len(ranks))
        hosts = dict(zip(records["rank"].tolist(), facts["hosts"], strict=True))
        self.processes = [
            Process(
                source=self._name,
                host=hosts[rank],
                rank=rank,
                ranks=facts["ranks"],
                pid=-1,
                clock_offset_ns=0,
                zero_realtime_ns=facts["start_ns"],
                accesses=count,
                folded=0,
                lost=0,
                damaged=0,
                ended=facts["complete"],
            )
            for rank, count in zip(ranks.tolist(), counts.tolist(), strict=True)
        ]
        counts = np.bincount(self._columns["file"], minlength=len(ids))
        self.counters = counters_of(
            _job(facts, tables),
            tables,
            dict(zip(ids.tolist(), self.files, strict=True)),
            dict(zip(ids.tolist(), counts.tolist(), strict=True)),
        )
        self.problems = [f"{self._name}: {problem}" for problem in _problems(facts, self.counters)]

    def batches(
        self, rows: int, processes: range | None, columns: Sequence[str]
    ) -> Iterator[Columns]:
        """Source.batches."""
        del columns  # all columns are in memory
        if rows == 0:
            yield self._columns
            return
        first, end = 0, self.access_count
        if processes is not None:
            bounds = np.searchsorted(self._columns["process"], (processes.start, processes.stop))
            first, end = bounds.tolist()
        for begin in range(first, end, rows):
            part = slice(begin, min(begin + rows, end))
            yield {name: column[part] for name, column in self._columns.items()}

    def bad_blocks(self) -> Mapping[tuple[int, int], tuple[int, str]]:
        """Source.bad_blocks."""
        return {}


def _job(facts: Mapping[str, Any], tables: Mapping[str, Records]) -> Job:
    tracer = facts["module"]
    counted = "MPI-IO" in tables and len(tables["MPI-IO"]) > 0
    incomplete = [*facts["partial"], *facts["damaged"]]
    if not facts["complete"]:
        incomplete.append(tracer)
    return Job(
        layer="MPI-IO" if tracer == "DXT_MPIIO" or (counted and not tracer) else "POSIX",
        traced=bool(tracer),
        processes=max(0, facts["ranks"]),
        seconds=max(0.0, float(facts["seconds"])),
        incomplete=tuple(
            name for name in (*tables, "LUSTRE", tracer) if name and name in incomplete
        ),
        names={int(number): name for number, name in facts["names"].items()},
        stripes={
            int(number): Stripes(size, count, tuple(targets))
            for number, size, count, targets in facts["stripes"]
            if size > 0 and count > 0
        },
    )


def _problems(facts: Mapping[str, Any], counters: Counters) -> Iterator[str]:
    """What the log lacks, one line each."""
    tracer = facts["module"]
    if not tracer:
        yield (
            "it has no DXT records: which bytes were accessed, and when, is unknown; its counters"
            " are shown (DXT_ENABLE_IO_TRACE=1 makes Darshan record both)"
        )
    full = [name for name in counters.incomplete if name in facts["partial"]]
    if tracer in full:
        missing = f"{counters.untraced:,}" if counters.untraced else "an unknown number of"
        yield (
            f"Darshan's memory was full: {missing} accesses are not in its {tracer} records; raise"
            " DARSHAN_MODMEM"
        )
    elif tracer and counters.untraced:
        yield (
            f"its counters know of {counters.untraced:,} accesses that its {tracer} records lack:"
            " DXT was told to leave some out, or began late"
        )
    for name in full:
        if name != tracer:
            yield (
                f"Darshan's memory was full: its {name} counters lack some files; nothing is"
                " concluded from them"
            )
    if not facts["complete"]:
        yield f"its {tracer} records are damaged after what could be read"
    for name in facts["damaged"]:
        yield f"its {name} counters are damaged after what could be read"
    if tracer == "DXT_POSIX":
        yield "its DXT records are those of POSIX calls: of MPI-IO's it has none"
    elif counters.layer == "POSIX":
        yield "it knows of no MPI-IO: its counters are those of POSIX calls"


def _columns(records: Any, segments: Any, ids: Any, process_of_record: Any) -> Columns:
    """The segments as columns, by process, then by start."""
    counts = records["writes"] + records["reads"]
    process = np.repeat(process_of_record, counts)
    # The writes of each record come first.
    parts = np.stack([records["writes"], records["reads"]], axis=1).ravel()
    writes = np.repeat(np.tile([True, False], len(records)), parts)
    start, end = (_nanoseconds(segments[name]) for name in ("start", "end"))
    order = np.lexsort((start, process))
    offset, length = segments["offset"][order], segments["length"][order]
    known = (offset >= 0) & (length >= 0) & (offset <= np.iinfo(np.int64).max - length)
    writes = writes[order]
    return plain_columns(
        rank=np.repeat(records["rank"], counts)[order],
        process=process[order],
        thread=np.zeros(len(segments)),
        file=np.repeat(np.searchsorted(ids, records["id"]), counts)[order],
        routine=np.where(writes, _WRITE, _READ),
        writes=writes,
        offset=np.where(known, offset, -1),
        length=length,
        start_ns=start[order],
        end_ns=end[order],
    )


def _nanoseconds(seconds: Any) -> Any:
    """Nanoseconds, rounded. Times that are not finite or exceed 64 bits become 0."""
    good = np.isfinite(seconds) & (np.abs(seconds) < 9e9)
    return np.rint(np.where(good, seconds, 0) * 1e9).astype(np.int64)


def _run_child(path: Path, name: str) -> Any:
    """The archive that forebay.trace.darshan_child makes of the log."""
    if find_spec("darshan") is None:
        raise TraceError(
            f"{name}: reading Darshan logs needs PyPI's darshan: pip install 'forebay[darshan]'"
        )
    # An absolute path cannot be taken for an option; -P: imports nothing from the working
    # directory.
    command = [sys.executable, "-P", "-m", "forebay.trace.darshan_child", str(path.absolute())]
    done = subprocess.run(command, capture_output=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        reason = one_line(said[-1].strip()) if said else "it says nothing"
        if done.returncode == REFUSED and len(said) > 1:
            reason += f" ({one_line(said[-2].strip())})"
        elif done.returncode < 0:
            reason = f"PyPI's darshan crashed on it ({signal.Signals(-done.returncode).name})"
        elif done.returncode != REFUSED:
            reason = f"PyPI's darshan cannot read it ({reason})"
        raise TraceError(f"{name}: {reason}")
    return np.load(io.BytesIO(done.stdout), allow_pickle=False)
