"""The environment variables that make the processes of a job use Forebay and find each other."""

from __future__ import annotations

import os
from collections.abc import Mapping

import click

from forebay.paths import preload_library

MPI_ABIS = ("mpich", "mpiabi", "openmpi")

# Variables that a launcher sets in the processes it starts, all those of a line, and the variable
# with the number of these processes. Slurm sets SLURM_PROCID in batch scripts, too, but a step only
# in processes that srun started. A launcher may itself be started by the next one.
_LAUNCHERS = (
    (("PMI_RANK",), "PMI_SIZE"),
    (("OMPI_COMM_WORLD_RANK",), "OMPI_COMM_WORLD_SIZE"),
    (("PMIX_RANK",), ""),
    (("SLURM_PROCID", "SLURM_STEP_ID"), "SLURM_STEP_NUM_TASKS"),
)


def inside_launcher(environment: Mapping[str, str]) -> bool:
    """Whether mpiexec, srun or the like started this process as a rank."""
    return any(all(name in environment for name in names) for names, _ in _LAUNCHERS)


def launched_processes(environment: Mapping[str, str]) -> int | None:
    """The number of processes that were started together; None: their launcher does not say."""
    for names, size in _LAUNCHERS:
        if all(name in environment for name in names):
            return int(environment[size]) if environment.get(size, "").isdecimal() else None
    return 1


def new_job() -> str:
    """A name for a job that others cannot guess."""
    return os.urandom(16).hex()


def preload_value(environment: Mapping[str, str]) -> str:
    """The value of LD_PRELOAD with Forebay's library before those already there.

    Raises click.ClickException if the library is missing or LD_PRELOAD cannot contain its path.
    """
    library = preload_library()
    if not library.exists():
        raise click.ClickException(f"{library} is missing; install Forebay again")
    if any(character in str(library) for character in ": \t\n"):
        raise click.ClickException(
            f"{library}: LD_PRELOAD cannot name a path with a space or a colon; "
            "install Forebay elsewhere"
        )
    present = environment.get("LD_PRELOAD", "")
    if str(library) in present.replace(":", " ").split():
        return present
    return f"{library}:{present}" if present else str(library)
