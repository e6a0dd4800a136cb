"""Several nodes that work together: `mpiexec -n NODES forebay recover`. For each folder of shared
memory one process acts; process 0 is one of them, and speaks for all."""

from __future__ import annotations

import os
import socket
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar, cast

import click

from forebay.job.joined import joined_processes
from forebay.text import one_line

T = TypeVar("T")

_BOOT = Path("/proc/sys/kernel/random/boot_id")


class Nodes:
    """The nodes whose processes the launcher started; without a launcher this node alone."""

    def __init__(self, purpose: str, directory: Path, request: object) -> None:
        """Joins the processes. All must have the same `request`, and the folder `directory`. A
        process that has nothing to do, since another acts for its folder, ends here.

        Raises click.ClickException, if there are several processes on process 0 only.
        """
        self._comm: Any = None
        self.names = [os.environ.get("FOREBAY_NODE") or socket.gethostname()]
        self.number = 0
        world = joined_processes(purpose)
        if world is None:
            if not directory.is_dir():
                raise click.UsageError(f"{one_line(str(directory))}: no such directory")
            return
        places = world.allgather((_place(directory), self.names[0], repr(request)))
        mistake = _mistake(directory, places)
        if mistake:
            if world.rank > 0:
                sys.exit()
            raise click.UsageError(mistake)
        folders = [folder for folder, _, _ in places]
        acts = folders.index(folders[world.rank]) == world.rank
        comm = world.Split(int(acts), world.rank)
        if not acts:
            sys.exit()
        self._comm = type(world)(comm)
        self.names = self._comm.allgather(self.names[0])
        self.number = self._comm.rank

    @property
    def several(self) -> bool:
        return len(self.names) > 1

    @property
    def speaks(self) -> bool:
        """Whether this process speaks for all nodes."""
        return self.number == 0

    def exchange(self, mine: Sequence[T]) -> list[T]:
        """What all nodes give, when all have called this."""
        return list(chain.from_iterable(self._comm.allgather(mine)))

    def gather(self, mine: Sequence[T]) -> list[T]:
        """On process 0 what all nodes give, in the order of `names`; nothing elsewhere."""
        if self._comm is None:
            return list(mine)
        return list(chain.from_iterable(self._comm.gather(mine) or ()))

    def scatter(self, shares: Sequence[T]) -> T:
        """This node's share of what process 0 gives."""
        given = shares if self._comm is None else self._comm.bcast(shares)
        if given is None:
            sys.exit()
        return cast(T, given[self.number])

    def dismiss(self) -> None:
        """On process 0, in place of scatter(): the others end."""
        if self._comm is not None:
            self._comm.bcast(None)

    @contextmanager
    def ending_together(self) -> Iterator[None]:
        """Ends all processes if this one fails in an unforeseen way, as they would wait for it."""
        try:
            yield
        except (SystemExit, click.ClickException, click.Abort):
            raise
        except BaseException:
            if self._comm is None:
                raise
            traceback.print_exc()
            self._comm.Abort(1)


def _place(directory: Path) -> tuple[str, int, int] | None:
    """Identifies a folder, and the node if it is in the node's own memory; None: there is none."""
    if not directory.is_dir():
        return None
    info = directory.stat()
    return _BOOT.read_text(), info.st_dev, info.st_ino


def _mistake(directory: Path, places: Sequence[tuple[object, str, str]]) -> str:
    """Why the processes cannot work together; "": they can."""
    if len({request for _, _, request in places}) > 1:
        return "all processes need the same options"
    missing = dict.fromkeys(node for place, node, _ in places if place is None)
    if missing:
        shown = ", ".join(one_line(node) for node in missing)
        return f"{one_line(str(directory))}: no such directory on {shown}"
    return ""
