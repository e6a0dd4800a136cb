"""`forebay run`: a command, and all that it starts, with Forebay preloaded."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import click

from forebay.job import inside_launcher, new_job, preload_value
from forebay.launch import finish_like, replace_process, run_command

MPI_ABIS = ("mpich", "mpiabi", "openmpi")

# Files of the run directory: the interposer leaves the first when MPI-IO was used through it, the
# preload the second, with the reason, when it could not load the interposer.
_USED = "used"
_UNLOADABLE = "unloadable"


@click.command(
    short_help="Run a program, or its launcher, with Forebay.",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.option(
    "--mpi",
    type=click.Choice(MPI_ABIS),
    help="The ABI of the program's MPI.  [default: found out in each process]",
)
@click.option("--stats", is_flag=True, help="Print statistics at the end.")
@click.option(
    "--stats-json",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write statistics to FILE as JSON.",
)
@click.option(
    "--config",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="TOML file with options.",
)
@click.option(
    "-o",
    "assignments",
    multiple=True,
    metavar="NAME=VALUE",
    help="An option of the cache (see `forebay hints`); stronger than --config.",
)
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def run(
    mpi: str | None,
    stats: bool,
    stats_json: Path | None,
    config: Path | None,
    assignments: tuple[str, ...],
    command: tuple[str, ...],
) -> None:
    """Run COMMAND with Forebay: `forebay run -- mpiexec -n 8 ./app`.

    Works outside and inside the launcher (`srun forebay run -- ./app`). COMMAND keeps its standard
    streams, and its exit code is handed on.
    """
    environment = dict(os.environ)
    if mpi is not None:
        environment["FOREBAY_MPI"] = mpi
    if stats:
        environment["FOREBAY_STATS"] = "true"
    if stats_json is not None:
        environment["FOREBAY_STATS_JSON"] = str(stats_json.absolute())
    if config is not None or assignments:
        environment |= _option_environment(config, assignments)
    environment["LD_PRELOAD"] = preload_value(environment)

    if inside_launcher(environment) or "FOREBAY_JOB" in environment:
        # Where there is no secret of the job yet, its ranks agree on one in MPI_Init.
        replace_process(command, environment)
    environment["FOREBAY_JOB"] = new_job()
    _forward_to_remote_ranks(command, environment)
    finish_like(_run_in_directory(command, environment))


def _option_environment(config: Path | None, assignments: tuple[str, ...]) -> dict[str, str]:
    # Imported here: most runs name no option.
    from forebay.settings import (
        configuration_variable,
        option_variables,
        parse_assignments,
        read_configuration,
    )

    variables = option_variables(parse_assignments(assignments))
    if config is not None:
        variables["FOREBAY_CONFIG"] = configuration_variable(read_configuration(config))
    return variables


def _forward_to_remote_ranks(command: tuple[str, ...], environment: dict[str, str]) -> None:
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


def _run_in_directory(command: tuple[str, ...], environment: dict[str, str]) -> int:
    """Runs the command with a private directory in which its processes leave word."""
    directory = Path(tempfile.mkdtemp(prefix="forebay-"))
    try:
        environment["FOREBAY_RUN_DIR"] = str(directory)
        status = run_command(command, environment)
        _report_if_unused(directory)
        return status
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _report_if_unused(directory: Path) -> None:
    if (directory / _USED).exists():
        return
    unloadable = directory / _UNLOADABLE
    if unloadable.exists():
        reason = f"the interposer could not be loaded ({unloadable.read_text().strip()})"
    else:
        reason = (
            "its MPI may be linked statically, or it writes by POSIX I/O or by PnetCDF's GIO "
            "driver (PNETCDF_HINTS=nc_driver=mpiio changes that)"
        )
    click.echo(f"forebay: no process on this node used MPI-IO through Forebay; {reason}", err=True)
