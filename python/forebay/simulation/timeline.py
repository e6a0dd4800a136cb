"""The timeline of a simulated job as a file for ui.perfetto.dev and other viewers of Chrome's trace
events: a track for each process, grouped by node."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import IO, Any

from forebay import _core
from forebay.text import one_line

_DOING = ("compute", "open", "read", "write", "close")
_NS_PER_US = 1000


def write_timeline(
    file: IO[bytes],
    result: _core.ClusterResult,
    node_of_process: Sequence[int],
    files: Sequence[str],
) -> None:
    """Writes the timeline as JSON, an event a line. `files`: the names, as far as known."""
    file.write(b'{"displayTimeUnit":"ms","traceEvents":[')
    for number, event in enumerate(_events(result, node_of_process, files)):
        file.write(b",\n" if number else b"\n")
        file.write(json.dumps(event, separators=(",", ":")).encode())
    file.write(b"\n]}\n")


def _events(
    result: _core.ClusterResult, node_of_process: Sequence[int], files: Sequence[str]
) -> Iterator[dict[str, Any]]:
    for node in sorted(set(node_of_process)):
        named = {"name": f"node {node}"}
        yield {"ph": "M", "name": "process_name", "pid": node, "args": named}
    for process, node in enumerate(node_of_process):
        named = {"name": f"process {process}"}
        yield {"ph": "M", "name": "thread_name", "pid": node, "tid": process, "args": named}
    columns = result.timeline()
    rows = zip(
        *(
            columns[name].tolist()
            for name in ("process", "doing", "file", "bytes", "start_ns", "end_ns")
        ),
        strict=True,
    )
    for process, doing, number, moved, start, end in rows:
        said: dict[str, Any] = {}
        if number >= 0:
            said["file"] = one_line(files[number]) if number < len(files) else number
        if moved:
            said["bytes"] = moved
        yield {
            "ph": "X",
            "name": _DOING[doing],
            "pid": node_of_process[process],
            "tid": process,
            "ts": start / _NS_PER_US,
            "dur": (end - start) / _NS_PER_US,
            "args": said,
        }
