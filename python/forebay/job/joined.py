"""The processes of an MPI job of `forebay` itself, such as `mpiexec -n 4 forebay analyze`."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import click

from forebay.job.environment import launched_processes

_Value = TypeVar("_Value")


def joined_processes(purpose: str) -> Any:
    """The communicator (mpi4py's) of the processes that the launcher started; None: this process
    is alone, and no MPI is loaded.

    Raises click.ClickException, which names the `purpose`, if they cannot be joined.
    """
    started = launched_processes(os.environ)
    if started == 1:
        return None
    try:
        with warnings.catch_warnings(action="ignore"):  # of another MPI's launcher: see below
            from mpi4py import MPI
            from mpi4py.util import pkl5
    except ImportError as error:
        raise click.ClickException(
            f"{purpose} needs mpi4py: pip install 'forebay[mpi]' ({error})"
        ) from error
    world = pkl5.Intracomm(MPI.COMM_WORLD)
    if started is not None and world.size != started:
        raise click.ClickException(
            f"the launcher started {started:,} processes, but mpi4py's MPI library joins"
            f" {world.size:,}: use the mpiexec of that library, or install mpi4py for this one"
        )
    return world if world.size > 1 else None


class Ranks:
    """The ranks that work together, of which rank 0 gets the results. Without a launcher this is
    one process, and no MPI is loaded."""

    def __init__(self, purpose: str) -> None:
        """Raises click.ClickException, which names the `purpose`, if they cannot be joined."""
        self._comm = joined_processes(purpose)
        self.rank, self.size, self.on_node = 0, 1, 1
        if self._comm is None:
            return
        from mpi4py import MPI

        self.rank, self.size = self._comm.rank, self._comm.size
        self.on_node = self._comm.Split_type(MPI.COMM_TYPE_SHARED).size

    def share_of_cores(self, jobs: int | None) -> int | None:
        """How many threads a rank uses: `jobs`, if that is given; else its share of the node's
        cores, if there are several ranks."""
        if jobs is not None or self.size == 1:
            return jobs
        return max(1, len(os.sched_getaffinity(0)) // self.on_node)

    @contextmanager
    def told_once(self) -> Iterator[None]:
        """Within it all ranks meet the same mistakes of the user, which rank 0 tells."""
        try:
            yield
        except click.ClickException as error:
            if self.rank > 0:
                raise SystemExit(error.exit_code) from None
            raise

    def gathered(self, work: Callable[[], _Value], *errors: type[Exception]) -> list[_Value] | None:
        """On rank 0 what `work` returned on each rank; None on the others.

        If `work` raises one of `errors` on a rank, raises it on rank 0, SystemExit on the others.
        """
        outcome: Any
        try:
            outcome = work()
        except errors as error:
            outcome = error
        outcomes = [outcome] if self._comm is None else self._comm.gather(outcome)
        failed = [one for one in outcomes or () if isinstance(one, Exception)]
        if self._comm is not None and self._comm.bcast(bool(failed)) and self.rank > 0:
            raise SystemExit(1)
        if failed:
            raise failed[0]
        return outcomes if self.rank == 0 else None
