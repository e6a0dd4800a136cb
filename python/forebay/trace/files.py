"""Forebay's own traces (docs/trace-format.md) as a source of `forebay.trace.Trace`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from forebay import _core
from forebay.text import one_line
from forebay.trace.columns import Columns, Operation, Routine
from forebay.trace.types import Open, Process, TraceError, View


class TraceFiles:
    """A folder of trace files, or one trace file."""

    kind = "forebay"
    counters = None

    def __init__(self, path: Path):
        paths = _trace_files(path)
        self._names = [one_line(str(file)) for file in paths]
        self.reader = _core.TraceReader([os.fsencode(file) for file in paths])
        self.problems = [
            f"{self._names[problem.file]}: {problem.text}" for problem in self.reader.problems
        ]
        self.processes = [_process(process) for process in self.reader.processes]
        if not self.processes:
            raise TraceError(self.problems[0])
        self.problems += _losses(self.processes)
        if path.is_dir():
            self.problems += _absent_ranks(path, self.processes)
        self.files = [_text(file) for file in self.reader.files]
        self.opens = [
            Open(one.process, one.file, one.number, one.ranks, one.amode, one.cached)
            for one in self.reader.opens
        ]
        self.view_layouts = self.reader.views
        facts = zip(self.reader.view_processes, self.view_layouts.facts(), strict=True)
        self.views = [View(process, *of_view) for process, of_view in facts]
        self.routines = [
            Routine(_text(one.name), Operation(one.operation), one.collective, one.nonblocking)
            for one in self.reader.routines
        ]
        self.access_count = self.reader.access_count
        self._bad: dict[tuple[int, int], tuple[int, str]] = {}

    def batches(
        self, rows: int, processes: range | None, columns: Sequence[str]
    ) -> Iterator[Columns]:
        """Source.batches."""
        del columns  # a block has all columns
        wanted = range(len(self.processes)) if processes is None else processes
        stream = _core.AccessStream(self.reader, wanted.start, wanted.stop)
        while True:
            table, bad = stream.next(rows)
            for block in bad:
                text = f"{self.processes[block.process].source}: {block.problem}"
                self._bad[block.process, block.block] = (block.accesses, text)
            if len(table) > 0 or rows == 0:
                yield table.columns()
            if len(table) == 0 or rows == 0:
                return

    def bad_blocks(self) -> Mapping[tuple[int, int], tuple[int, str]]:
        """Source.bad_blocks."""
        return self._bad


def _trace_files(path: Path) -> list[Path]:
    """The files of a trace, by rank."""
    try:
        if not path.is_dir():
            path.stat()
            return [path]
        files = [file for file in path.iterdir() if file.suffix == ".trace"]
    except OSError as error:
        raise TraceError(f"{one_line(str(path))}: {error.strerror}") from error
    if not files:
        raise TraceError(f"{one_line(str(path))}: no trace is in this folder")

    def rank_first(file: Path) -> tuple[int, str]:
        rank = file.name.split("-")[0]
        return (int(rank) if rank.isascii() and rank.isdigit() else -1, file.name)

    return sorted(files, key=rank_first)


def _process(process: _core.TraceProcess) -> Process:
    return Process(
        source=one_line(os.fsdecode(process.source)),
        host=_text(process.host),
        rank=process.rank,
        ranks=process.ranks,
        pid=process.pid,
        clock_offset_ns=process.clock_offset_ns,
        zero_realtime_ns=process.zero_realtime_ns,
        accesses=process.accesses,
        folded=process.folded,
        lost=process.lost,
        damaged=process.damaged,
        ended=process.ended,
    )


def _losses(processes: list[Process]) -> list[str]:
    """A line per process that could not record all accesses."""
    return [
        f"{process.source}: {process.lost:,} accesses were not recorded"
        for process in processes
        if process.lost
    ]


def _absent_ranks(folder: Path, processes: list[Process]) -> list[str]:
    """A line if some ranks of the job have no trace."""
    ranks = max(process.ranks for process in processes)
    absent = ranks - len({process.rank for process in processes})
    if absent <= 0:
        return []
    return [f"{one_line(str(folder))}: {absent:,} of {ranks:,} ranks left no trace"]


def _text(name: bytes) -> str:
    return name.decode("utf-8", "backslashreplace")
