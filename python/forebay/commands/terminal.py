"""The output of commands: standard output, and progress bars if it is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)

from forebay.trace import Trace

_NOT_A_TERMINAL = 120  # columns


def output() -> Console:
    """Standard output, with lines of 120 characters if it is no terminal."""
    return Console(highlight=False, width=None if sys.stdout.isatty() else _NOT_A_TERMINAL)


@contextmanager
def reading(trace: Trace, times: float = 1) -> Iterator[Callable[[int], None]]:
    """A progress bar for reading the trace `times` times. The callable takes the number of accesses
    read so far."""
    columns = (TextColumn("reading"), BarColumn(), TimeRemainingColumn())
    errors = Console(stderr=True)
    with Progress(
        *columns, console=errors, transient=True, disable=not errors.is_terminal
    ) as progress:
        task = progress.add_task("", total=int(len(trace) * times) or None)
        yield lambda count: progress.advance(task, count)


@contextmanager
def stages() -> Iterator[Callable[[str, float], None]]:
    """A progress bar for the current stage."""
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
    errors = Console(stderr=True)
    with Progress(
        *columns, console=errors, transient=True, disable=not errors.is_terminal
    ) as progress:
        task = progress.add_task("", total=1.0)
        yield lambda stage, part: progress.update(task, description=escape(stage), completed=part)
