"""Trace files made call by call as `forebay trace` would have recorded them. This needs no MPI, no
storage and no time. Ranks begin a call one microsecond after each other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from forebay import _core

_ROUTINES = (
    *("MPI_File_open", "MPI_File_set_view", "MPI_File_close", "MPI_File_sync"),
    *("MPI_File_write_all", "MPI_File_read_all"),
    *("MPI_File_write_at_all", "MPI_File_read_at_all"),
    *("MPI_File_write_at", "MPI_File_read_at"),
)
_OPEN, _SET_VIEW, _CLOSE, SYNC = range(4)
WRITE_ALL, READ_ALL, WRITE_AT_ALL, READ_AT_ALL, WRITE_AT, READ_AT = range(4, len(_ROUTINES))
"""Routines of calls, by number."""
_CALL_NS = 1_000_000
_RANK_NS = 1_000


@dataclass(frozen=True, slots=True)
class View:
    """`block` bytes at each of `places`, and at the distances that `steps` give: a number and a
    distance for each step, the innermost first. All this in every `extent` bytes from `origin` on.
    """

    origin: int
    extent: int
    steps: Sequence[tuple[int, int]]
    block: int
    places: Sequence[int] = (0,)


@dataclass(frozen=True, slots=True)
class Call:
    """An access: `size` data bytes from `position` on in the rank's view; or a sync."""

    routine: int
    position: int
    size: int


@dataclass(frozen=True, slots=True)
class Use:
    """What a process does with a file: it opens it, sets a view before some of its calls, and
    closes it. `views`: the view of each part of the calls, None: that of the file's bytes."""

    name: str
    views: Sequence[View | None]
    parts: Sequence[Sequence[Call]]


def write_trace(
    directory: Path,
    processes: int,
    uses_of: Callable[[int], list[Use]],
    *,
    call_ns: int = _CALL_NS,
) -> None:
    """Writes a folder with a trace file per process. A call begins every `call_ns`, and lasts half
    a millisecond."""
    directory.mkdir(parents=True)
    for rank in range(processes):
        data = _process(rank, processes, uses_of(rank), call_ns)
        (directory / f"{rank}-{rank + 1}.trace").write_bytes(data)


def _process(rank: int, processes: int, uses: list[Use], call_ns: int) -> bytes:
    facts = {"rank": rank, "ranks": processes, "host": "made-up", "pid": rank + 1}
    described = {key: str(value) for key, value in facts.items()}
    writer = _core.TraceWriter({**described, "routines": " ".join(_ROUTINES)})
    rows: list[tuple[int, int, int, int, int]] = []
    views = 0
    for number, use in enumerate(uses):
        writer.file(number, processes, 0, use.name)
        rows.append((_OPEN, number, 0, 0, 0))
        view = 0
        for shape, calls in zip(use.views, use.parts, strict=True):
            if shape is not None:
                views += 1
                view = views
                writer.view(
                    view, shape.origin, shape.extent, shape.places, shape.steps, shape.block
                )
                rows.append((_SET_VIEW, number, view, 0, 0))
            rows += [(call.routine, number, view, call.position, call.size) for call in calls]
        rows.append((_CLOSE, number, view, 0, 0))
    routines, files, of_view, positions, sizes = np.array(rows, np.int64).T
    start = np.arange(len(rows), dtype=np.int64) * call_ns + rank * _RANK_NS
    writer.accesses(
        routines.astype(np.uint8),
        files.astype(np.uint32),
        of_view.astype(np.uint32),
        np.ascontiguousarray(positions),
        np.ascontiguousarray(sizes),
        start,
        start + _CALL_NS // 2,
    )
    return writer.finish()
