"""`forebay doctor`: checks whether Forebay can work here, and says what to set otherwise."""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click

from forebay.job.checks import Check, Place, State, examine
from forebay.job.environment import inside_launcher

_RANKS = ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID")
_RANKS_OF_NODE = ("MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID")
_NODE_SIZES = ("MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE", "SLURM_NTASKS_PER_NODE")


@click.command(short_help="Check whether Forebay can work on this machine, and what to set.")
@click.argument("program", required=False)
@click.option(
    "--dir",
    "directory",
    default=".",
    show_default=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Where the program's files are.",
)
@click.option(
    "--ranks",
    type=click.IntRange(1),
    help="Ranks of a job on one node.  [default: as launched, or the node's cores]",
)
@click.option("--json", "as_json", is_flag=True, help="JSON instead of text.")
def doctor(program: str | None, directory: Path, ranks: int | None, as_json: bool) -> None:
    """Check whether Forebay can work on this node, and say what is unfit.

    PROGRAM is the MPI program to run. Without it, the command checks the MPI library that belongs
    to the mpiexec in PATH. It changes nothing. The exit code is 1 if something is unfit.

    Within a job (`mpiexec -n 4 forebay doctor ./app`) the first rank reports about its node; the
    first ranks of other nodes add only notes and unfit results there.
    """
    if inside_launcher(os.environ) and _number(_RANKS_OF_NODE, 0) != 0:
        return
    ranks = ranks or _number(_NODE_SIZES, os.cpu_count() or 1)
    checks = examine(Place(program, directory, ranks))
    first = not inside_launcher(os.environ) or _number(_RANKS, 0) == 0
    if not first:
        checks = [check for check in checks if check.state is not State.FIT]
    if as_json:
        told = {"node": socket.gethostname(), "checks": [_as_dictionary(c) for c in checks]}
        if first or checks:
            click.echo(json.dumps(told, indent=2))
    elif first or checks:
        _print(checks, first)
    sys.exit(1 if any(check.state is State.UNFIT for check in checks) else 0)


def _number(names: Sequence[str], otherwise: int) -> int:
    """The value of the first of these variables that a launcher has set to a number, or
    `otherwise`."""
    for name in names:
        text = os.environ.get(name, "")
        if text.isdigit():
            return int(text)
    return otherwise


def _as_dictionary(check: Check) -> dict[str, object]:
    return asdict(check) | {"state": check.state.value}


def _print(checks: Sequence[Check], first: bool) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    styles = {State.FIT: "green", State.NOTE: "yellow", State.UNFIT: "bold red"}
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(max_width=100, overflow="fold")
    for check in checks:
        state = f"[{styles[check.state]}]{check.state.value}[/]"
        table.add_row(escape(check.subject), state, escape(check.found))
        if check.advice:
            table.add_row("", "", f"[bold]{escape(check.advice)}[/]")
    console = Console(highlight=False)
    if not first:
        console.print(f"On {socket.gethostname()}:")
    console.print(table)
    unfit = sum(check.state is State.UNFIT for check in checks)
    if first:
        console.print()
        console.print(
            f"{unfit} of {len(checks)} are unfit." if unfit else "Forebay can be used here."
        )
