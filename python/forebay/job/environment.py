"""The environment by which the processes of a job come to use Forebay, and find each other."""

from __future__ import annotations

import os
from collections.abc import Mapping

import click

from forebay.paths import preload_library

MPI_ABIS = ("mpich", "mpiabi", "openmpi")

# Set by a launcher, all of a line, in the processes that it starts. Slurm sets SLURM_PROCID in
# batch scripts too, but a step only in what srun started.
_RANK_VARIABLES = (
    ("PMI_RANK",),
    ("PMIX_RANK",),
    ("OMPI_COMM_WORLD_RANK",),
    ("SLURM_PROCID", "SLURM_STEP_ID"),
)


def inside_launcher(environment: Mapping[str, str]) -> bool:
    """Whether this process was started by mpiexec, srun or their like, as a rank."""
    return any(all(name in environment for name in names) for names in _RANK_VARIABLES)


def new_job() -> str:
    """A name for a job that nobody else can guess."""
    return os.urandom(16).hex()


def preload_value(environment: Mapping[str, str]) -> str:
    """LD_PRELOAD with our library in front of what is there.

    Raises click.ClickException when the library is missing or LD_PRELOAD cannot express its path.
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
