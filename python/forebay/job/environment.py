"""The environment variables that make the processes of a job use Forebay and find each other."""

from __future__ import annotations

import os
from collections.abc import Mapping

import click

from forebay.paths import preload_library

MPI_ABIS = ("mpich", "mpiabi", "openmpi")

# Variables that a launcher sets in the processes it starts, all those of a line. Slurm sets
# SLURM_PROCID in batch scripts, too, but a step only in processes that srun started.
_RANK_VARIABLES = (
    ("PMI_RANK",),
    ("PMIX_RANK",),
    ("OMPI_COMM_WORLD_RANK",),
    ("SLURM_PROCID", "SLURM_STEP_ID"),
)


def inside_launcher(environment: Mapping[str, str]) -> bool:
    """Whether mpiexec, srun or the like started this process as a rank."""
    return any(all(name in environment for name in names) for names in _RANK_VARIABLES)


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
