"""Output files of commands."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import click

from forebay.text import one_line


def check_output(output: Path, trace: Path, force: bool) -> None:
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
    within = output.suffix == ".trace" and output.resolve().parent == trace.resolve()
    if within or output.resolve() == trace.resolve():
        raise click.UsageError(f"-o {name}: it is part of the trace")


@contextmanager
def new_file(output: Path, force: bool) -> Iterator[IO[bytes]]:
    """A new file that gets its name once it is complete. After an error there is no file."""
    unfinished = output.with_name(f".forebay-{os.getpid()}.unfinished")
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
