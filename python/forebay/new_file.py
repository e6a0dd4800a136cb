"""Output files of commands."""

from __future__ import annotations

import errno
import itertools
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import click

from forebay.text import one_line

_numbers = itertools.count()  # of files of this process: several may be under way in one folder


def check_output(output: Path, trace: Path | None, force: bool) -> None:
    """Raises click.UsageError if `output` must not be written: it exists without `force`, it is no
    regular file, or it belongs to the trace it is made from."""
    try:
        status = output.stat()
    except OSError:
        return  # it does not exist; otherwise writing gives the reason
    name = one_line(str(output))
    if not stat.S_ISREG(status.st_mode):
        raise click.UsageError(f"-o {name}: it is no regular file")
    if not force:
        raise click.UsageError(f"-o {name}: it exists; --force replaces it")
    if trace is None:
        return
    within = output.suffix == ".trace" and output.resolve().parent == trace.resolve()
    if within or output.resolve() == trace.resolve():
        raise click.UsageError(f"-o {name}: it is part of the trace")


def check_outputs(outputs: Sequence[Path], traces: Sequence[Path], force: bool) -> None:
    """Raises click.UsageError if one of `outputs` must not be written, as `check_output` does, or
    if two of them are one file."""
    seen: set[Path] = set()
    for output in outputs:
        for trace in traces or (None,):
            check_output(output, trace, force)
        if output.resolve() in seen:
            raise click.UsageError(f"-o {one_line(str(output))}: two outputs would be this file")
        seen.add(output.resolve())


@contextmanager
def new_file(output: Path, force: bool) -> Iterator[IO[bytes]]:
    """A new file that gets its name once it is complete. After an error there is no file."""
    unfinished = output.with_name(f".forebay-{os.getpid()}-{next(_numbers)}.unfinished")
    with unfinished.open("xb") as file:
        try:
            yield file
            file.flush()
            if force:
                unfinished.replace(output)
            else:
                _rename_to_unused(unfinished, output)
        finally:
            unfinished.unlink(missing_ok=True)


def _rename_to_unused(unfinished: Path, output: Path) -> None:
    """Renames without replacing a file made meanwhile, if the file system has links."""
    try:
        os.link(unfinished, output)
    except FileExistsError:
        raise
    except OSError:
        if output.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from None
        unfinished.rename(output)
