"""Files that commands write for their users."""

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
    """Raises click.UsageError for a file that is not to be written: it exists and `force` was not
    given, it is no regular file, or it belongs to the trace that it is made from."""
    try:
        status = output.stat()
    except OSError:
        return  # absent; or else writing says why not
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
    """A file that appears under its name once it is whole, and not at all otherwise."""
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
    """Renames without replacing a file that was made meanwhile, where links can be made."""
    try:
        os.link(unfinished, output)
    except FileExistsError:
        raise
    except OSError:
        if output.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from None
        unfinished.rename(output)
