"""A trace as text, for notebooks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.table import Table

from forebay.notebook import Part, parts_of
from forebay.text import one_line
from forebay.trace.columns import NO_TIME, Operation
from forebay.trace.types import Accesses, Trace

_FILES = 5
_PROBLEMS = 5
_ROWS = 10


@parts_of.register
def _of_trace(trace: Trace) -> Iterator[Part]:
    totals = trace.totals
    yield f"[bold]{escape(one_line(str(trace.path)))}[/]: {trace.kind} trace"
    table = Table(box=None, show_header=False)
    table.add_column("")
    table.add_column("")
    table.add_row("processes", f"{len(trace.processes):,}")
    table.add_row("accesses", f"{totals.accesses:,}")
    for name in ("folded", "lost", "damaged"):
        if count := getattr(totals, name):
            table.add_row(name, f"{count:,}")
    for number, path in enumerate(trace.files[:_FILES]):
        table.add_row("" if number else "files", escape(one_line(path)))
    if len(trace.files) > _FILES:
        table.add_row("", f"and {len(trace.files) - _FILES:,} more")
    yield table
    for problem in trace.problems[:_PROBLEMS]:
        yield f"[yellow]problem: {escape(one_line(problem))}[/]"
    if len(trace.problems) > _PROBLEMS:
        yield f"and {len(trace.problems) - _PROBLEMS:,} more problems"


@parts_of.register
def _of_accesses(accesses: Accesses) -> Iterator[Part]:
    rows = min(len(accesses), _ROWS)
    yield f"[bold]{len(accesses):,} accesses[/]" + (f", the first {_ROWS}:" if rows else "")
    table = Table(box=None, header_style="bold")
    named: dict[str, Callable[[Any], str]] = {
        "file": lambda number: one_line(Path(accesses.files[number]).name),
        "routine": lambda number: accesses.routines[number].name,
        "operation": lambda number: Operation(number).name.lower(),
        "completed_ns": lambda time: "" if time == NO_TIME else f"{time}",
    }
    for name in accesses.names:
        table.add_column(name, justify="left" if name in ("file", "routine") else "right")
    for row in range(rows):
        cells = []
        for name in accesses.names:
            value = accesses[name][row].item()
            known = name not in ("file", "routine") or value >= 0
            cells.append(escape(named[name](value) if name in named and known else str(value)))
        table.add_row(*cells)
    yield table
