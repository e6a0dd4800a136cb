"""`forebay run`: runs a command with Forebay preloaded into it and into all that it starts."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

import click
from click.shell_completion import CompletionItem

from forebay.job.environment import MPI_ABIS, inside_launcher, preload_value


class StarterCommand(click.Command):
    """A command that starts another command. Its own options come before that command's first word.

    For an unknown option it suggests the nearest option of this command or of the cache.
    """

    allow_interspersed_args = False

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            raise click.UsageError(self._no_option(ctx, error.option_name), ctx) from error

    def _no_option(self, ctx: click.Context, given: str) -> str:
        from forebay import _core

        meant = {name.lstrip("-"): name for p in self.get_params(ctx) for name in p.opts}
        for option in _core.options():
            meant.setdefault(option.name.replace("_", "-"), f"-o {option.name}=...")
        nearest = _core.nearest(given.lstrip("-").replace("_", "-"), list(meant))
        if nearest:
            return f"there is no option {given}; did you mean {meant[nearest]}?"
        return f"there is no option {given}; see `forebay {ctx.info_name} --help`"


def _complete_word(
    _ctx: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Completes the command to start: by the shell's own completion of files."""
    return [CompletionItem(incomplete, type="file")]


def complete_option(
    _ctx: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Completes -o: names, and the values of options with choices."""
    from forebay import _core

    given = [f"{o.name}={value}" for o in _core.options() for value in o.choices or ("",)]
    return [CompletionItem(word) for word in given if word.startswith(incomplete)]


command_argument = click.argument(
    "command",
    nargs=-1,
    required=True,
    type=click.UNPROCESSED,
    shell_complete=_complete_word,
)
mpi_option = click.option(
    "--mpi",
    type=click.Choice(MPI_ABIS),
    help="ABI of the program's MPI.  [default: detected in each process]",
)


@click.command(cls=StarterCommand, short_help="Run a program, or its launcher, with Forebay.")
@mpi_option
@click.option("--stats", is_flag=True, help="Print statistics at the end.")
@click.option(
    "--stats-json",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write statistics to FILE as JSON.",
)
@click.option(
    "--trace",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Record every MPI-IO call into a trace in DIR.",
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
    shell_complete=complete_option,
    help="An option of the cache (see `forebay hints`); overrides --config.",
)
@command_argument
def run(
    mpi: str | None,
    stats: bool,
    stats_json: Path | None,
    trace: Path | None,
    config: Path | None,
    assignments: tuple[str, ...],
    command: tuple[str, ...],
) -> None:
    """Run COMMAND with Forebay: `forebay run -- mpiexec -n 8 ./app`.

    Works outside and inside the launcher (`srun forebay run -- ./app`). COMMAND keeps its standard
    streams, and `forebay run` returns its exit code.
    """
    environment = dict(os.environ)
    if stats:
        environment["FOREBAY_STATS"] = "true"
    if stats_json is not None:
        if not stats_json.absolute().parent.is_dir():
            raise click.ClickException(f"{stats_json}: there is no such folder")
        environment["FOREBAY_STATS_JSON"] = str(stats_json.absolute())
    if config is not None or assignments:
        environment |= _option_variables(config, assignments, environment)
    if trace is not None:
        environment["FOREBAY_TRACE"] = str(new_trace(trace, environment))
    start(command, environment, mpi)


def new_trace(directory: Path, environment: Mapping[str, str]) -> Path:
    """The absolute path of a directory for a job's trace.

    Raises click.ClickException if it cannot be made, or contains another job's trace.
    """
    # Within a launcher, other ranks of the same job may have made files there.
    if not inside_launcher(environment) and any(directory.glob("*.trace")):
        raise click.ClickException(f"{directory} holds a trace; name another directory")
    try:
        directory.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise click.ClickException(f"{directory}: {error.strerror}") from error
    return directory.absolute()


def start(command: Sequence[str], environment: dict[str, str], mpi: str | None) -> NoReturn:
    """Runs the command with Forebay and ends as it ends. Changes `environment`.

    `mpi`: one of MPI_ABIS, or None to detect the ABI in each process.
    """
    if mpi is not None:
        environment["FOREBAY_MPI"] = mpi
    environment["LD_PRELOAD"] = preload_value(environment)

    # Imported here, because each rank within a launcher runs this code.
    if inside_launcher(environment) or "FOREBAY_JOB" in environment:
        from forebay.job.launch import replace_process

        # A rank without a job name uses the name of its launch, or that of other ranks.
        replace_process(command, environment)
    from forebay.job.outside import run_job

    run_job(command, environment)


def _option_variables(
    config: Path | None, assignments: tuple[str, ...], environment: Mapping[str, str]
) -> dict[str, str]:
    # Imported here, because most runs name no option.
    from forebay.job.settings import (
        check_sizes,
        configuration_variable,
        environment_options,
        option_variables,
        parse_assignments,
        read_configuration,
    )

    assigned = parse_assignments(assignments)
    configured = {} if config is None else read_configuration(config)
    check_sizes(configured, environment_options(environment), assigned)
    variables = option_variables(assigned)
    if config is not None:
        variables["FOREBAY_CONFIG"] = configuration_variable(configured)
    return variables
