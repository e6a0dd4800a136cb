"""Trace events as JSON for ui.perfetto.dev and chrome://tracing: a process per rank, a track per
thread, a slice per call, and an asynchronous slice for a request that outlives its call.

Format: Google, "Trace Event Format", and the requirements of Perfetto's importer (no process or
thread 0, unique thread numbers, nested slices in a track).
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping
from typing import IO

from forebay.trace.columns import NO_TIME, Operation
from forebay.trace.counters import plain
from forebay.trace.types import Accesses, Trace

_MOST_LANES = 64  # tracks of one thread
_EVENTS_PER_WRITE = 4096


def write(trace: Trace, batches: Iterator[Accesses], file: IO[bytes]) -> None:
    """Format.write. Time 0 is the start of the first access."""
    zero_ns = min((int(b["start_ns"].min()) for b in _timed(trace.batches())), default=0)
    tracks = _Tracks(trace)
    file.write(b'{"displayTimeUnit":"ns","traceEvents":[\n')
    events: list[str] = list(tracks.named_processes())
    first = True
    for batch in batches:
        for event in _events(trace, batch, tracks, zero_ns):
            events.append(event)
            if len(events) >= _EVENTS_PER_WRITE:
                first = _flush(file, events, first)
    events += tracks.named_threads()
    _flush(file, events, first)
    about = {"problems": trace.problems, "zero_ns": zero_ns, "counters": plain(trace.counters)}
    file.write(b'\n],"otherData":' + json.dumps(about).encode() + b"}\n")


def _timed(batches: Iterator[Accesses]) -> Iterator[Accesses]:
    return (batch for batch in batches if len(batch) and not batch["folded"].all())


def _flush(file: IO[bytes], events: list[str], first: bool) -> bool:
    if events:
        file.write((b"" if first else b",\n") + ",\n".join(events).encode())
    events.clear()
    return False


class _Tracks:
    """Numbers of processes and threads. Overlapping calls of a thread take further tracks."""

    def __init__(self, trace: Trace):
        self._trace = trace
        self._ends: dict[tuple[int, int], list[int]] = {}  # end of the last call in each lane
        self._numbers: dict[tuple[int, int, int], int] = {}
        self._requests = itertools.count(1)

    def next_request(self) -> int:
        """A number for a new request."""
        return next(self._requests)

    def of(self, process: int, thread: int, start: int, end: int) -> int:
        """The number of the first track of the thread with room for the call. Calls come in time
        order."""
        ends = self._ends.setdefault((process, thread), [])
        lane = next((i for i, before in enumerate(ends) if before <= start), len(ends))
        if lane == len(ends) and lane < _MOST_LANES:
            ends.append(end)
        lane = min(lane, _MOST_LANES - 1)
        ends[lane] = end
        key = (process, thread, lane)
        if key not in self._numbers:
            main = thread == 0 and lane == 0
            others = len(self._trace.processes) + 1 + len(self._numbers)
            self._numbers[key] = process + 1 if main else others
        return self._numbers[key]

    def named_processes(self) -> Iterator[str]:
        """Events that name the processes."""
        for number, process in enumerate(self._trace.processes):
            name = f"rank {process.rank}" if process.rank >= 0 else process.source
            facts = {"name": f"{name} ({process.host})" if process.host else name}
            yield _metadata("process_name", number + 1, number + 1, facts)
            order = {"sort_index": process.rank}
            yield _metadata("process_sort_index", number + 1, number + 1, order)

    def named_threads(self) -> Iterator[str]:
        """Events that name the threads with calls."""
        for (process, thread, lane), number in self._numbers.items():
            name = f"thread {thread}" + (f", at the same time ({lane})" if lane else "")
            yield _metadata("thread_name", process + 1, number, {"name": name})


def _metadata(name: str, process: int, track: int, facts: Mapping[str, object]) -> str:
    event = {"ph": "M", "name": name, "pid": process, "tid": track, "args": facts}
    return json.dumps(event)


def _events(trace: Trace, batch: Accesses, tracks: _Tracks, zero_ns: int) -> Iterator[str]:
    """One event per access with times of its own, and two more for a request that outlives it."""
    names = [json.dumps(routine.name) for routine in trace.routines]
    files = [json.dumps(file) for file in trace.files]
    kinds = [operation.name.lower() for operation in Operation]
    columns = {name: batch[name].tolist() for name in batch.names}
    for i in range(len(batch)):
        if columns["folded"][i]:
            continue
        start, end = columns["start_ns"][i], columns["end_ns"][i]
        process = columns["process"][i]
        track = tracks.of(process, columns["thread"][i], start, end)
        name = names[columns["routine"][i]]
        place = f'"pid":{process + 1},"tid":{track}'
        facts = ",".join(
            f'"{fact}":{columns[fact][i]}'
            for fact in ("offset", "end", "requested", "transferred", "view", "position")
        )
        opened = columns["file"][i]
        facts = (f'"file":{files[opened]},' if opened >= 0 else "") + facts
        yield (
            f'{{"ph":"X","name":{name},"cat":"{kinds[columns["operation"][i]]}",{place},'
            f'"ts":{_micros(start - zero_ns)},"dur":{_micros(max(end - start, 0))},'
            f'"args":{{{facts}}}}}'
        )
        completed = columns["completed_ns"][i]
        if completed in (end, NO_TIME):
            continue
        request = f'"name":{name},"cat":"request",{place},"id":"{tracks.next_request()}"'
        yield f'{{"ph":"b",{request},"ts":{_micros(start - zero_ns)}}}'
        yield f'{{"ph":"e",{request},"ts":{_micros(completed - zero_ns)}}}'


def _micros(nanoseconds: int) -> str:
    """Exact microseconds: a double cannot hold the nanoseconds of long times."""
    sign = "-" if nanoseconds < 0 else ""
    return f"{sign}{abs(nanoseconds) // 1000}.{abs(nanoseconds) % 1000:03d}"
