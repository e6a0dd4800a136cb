"""`forebay trace`: runs a command and records every MPI-IO call of it and of all that it starts."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

import click

from forebay.commands.run import StarterCommand, command_argument, mpi_option, new_trace, start
from forebay.job.environment import inside_launcher


@click.command(
    cls=StarterCommand,
    short_help="Record the MPI-IO calls of a program.",
)
@click.option(
    "-d",
    "--dir",
    "directory",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder for the trace.  [default: forebay-DATE-TIME.trace]",
)
@click.option(
    "--times",
    type=click.Choice(("exact", "histogram")),
    default="exact",
    show_default=True,
    help="Keep the times of every call, or only histograms of the times.",
)
@click.option("--cache", is_flag=True, help="Use the cache, as `forebay run --trace` does.")
@mpi_option
@command_argument
def trace(
    directory: Path | None, times: str, cache: bool, mpi: str | None, command: tuple[str, ...]
) -> None:
    """Run COMMAND and record its MPI-IO calls: `forebay trace -- mpiexec -n 8 ./app`.

    The program runs without the cache, unless --cache is given. The command works outside and
    inside the launcher. Inside, give --dir, so that all ranks use the same folder.
    """
    environment = dict(os.environ)
    if directory is None:
        if inside_launcher(environment):
            raise click.UsageError("inside a launcher, name the folder of the trace: --dir DIR")
        directory = Path(f"forebay-{datetime.now():%Y%m%d-%H%M%S}.trace")
    environment["FOREBAY_TRACE"] = str(new_trace(directory, environment))
    environment["FOREBAY_TRACE_TIMES"] = times
    if not cache:
        environment["FOREBAY_ENABLE"] = "false"
    start(command, environment, mpi)
