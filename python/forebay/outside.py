"""`forebay run` outside a launcher: begins a job, waits for the command, and says so if in vain."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import click

from forebay.job import new_job
from forebay.launch import finish_like, run_command

# Files of the run directory: the interposer leaves the first when MPI-IO was used through it, the
# preload the second, with the reason, when it could not load the interposer.
_USED = "used"
_UNLOADABLE = "unloadable"


def run_job(command: Sequence[str], environment: dict[str, str]) -> NoReturn:
    """Runs the command as a job of its own, and ends as it ends. Changes `environment`."""
    environment["FOREBAY_JOB"] = new_job()
    _forward_to_remote_ranks(command, environment)
    finish_like(_run_in_directory(command, environment))


def _forward_to_remote_ranks(command: Sequence[str], environment: dict[str, str]) -> None:
    """Has Open MPI's mpiexec hand our variables to the ranks of other nodes.

    MPICH's hands on the whole environment; Open MPI's only what is named. Open MPI 4 refuses this
    way of naming beside -x, so it is left to a user who gives -x.
    """
    launchers = {"mpiexec", "mpirun", "mpiexec.openmpi", "mpirun.openmpi", "prterun", "orterun"}
    if Path(command[0]).name not in launchers or {"-x", "--x"} & set(command):
        return
    names = [name for name in environment if name.startswith("FOREBAY_")]
    present = environment.get("OMPI_MCA_mca_base_env_list")
    listed = [present] if present else []
    environment["OMPI_MCA_mca_base_env_list"] = ";".join([*listed, "LD_PRELOAD", *names])


def _run_in_directory(command: Sequence[str], environment: dict[str, str]) -> int:
    """Runs the command with a private directory in which its processes leave word."""
    directory = Path(tempfile.mkdtemp(prefix="forebay-"))
    try:
        environment["FOREBAY_RUN_DIR"] = str(directory)
        status = run_command(command, environment)
        _report_if_unused(directory)
        return status
    finally:
        shutil.rmtree(directory, ignore_errors=True)
        _remove_leftovers(environment)


def _remove_leftovers(environment: dict[str, str]) -> None:
    """Frees the shared memory that killed processes of this node left, and says so."""
    base = Path(environment.get("FOREBAY_ARENA_DIR") or "/dev/shm")
    job = environment["FOREBAY_JOB"]
    left = list((base / f"forebay-{os.geteuid()}").glob(f"{job}*"))
    for path in left:
        path.unlink(missing_ok=True)
    if left:
        click.echo(
            "forebay: processes of the job ended without MPI_Finalize; what they had written and "
            "not committed by MPI_File_sync or MPI_File_close is lost",
            err=True,
        )


def _report_if_unused(directory: Path) -> None:
    if (directory / _USED).exists():
        return
    unloadable = directory / _UNLOADABLE
    if unloadable.exists():
        reason = f"the interposer could not be loaded ({unloadable.read_text().strip()})"
    else:
        reason = (
            "perhaps MPI is linked statically, or the program writes by POSIX I/O or by PnetCDF's "
            "GIO driver (PNETCDF_HINTS=nc_driver=mpiio changes that)"
        )
    click.echo(f"forebay: no process on this node used MPI-IO through Forebay; {reason}", err=True)
