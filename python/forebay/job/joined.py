"""The processes of an MPI job of `forebay` itself, such as `mpiexec -n 4 forebay analyze`."""

from __future__ import annotations

import os
import warnings
from typing import Any

import click

from forebay.job.environment import launched_processes


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
