"""`forebay simulate metadata`: simulates what a tree of files takes on a file system."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import click

from forebay.commands.comparisons import changes_of, simulate_by_ranks
from forebay.commands.terminal import output, stages
from forebay.job.joined import Ranks
from forebay.notebook import parts_of, write
from forebay.simulation import MetadataResults, Pvfs, machine, machine_names, simulate_metadata
from forebay.simulation.file_trees import (
    MADE_DIRECTORIES,
    MADE_FILES,
    MADE_MEAN_BYTES,
    MOST_ENTRIES,
)
from forebay.sizes import shown_size, size_option

_WAY = "file_system.metadata.driven_by"


@click.command(
    short_help="Time to extract, list and remove a tree of files.",
    epilog="Machines: " + ", ".join(machine_names()) + ", or the path of a profile.",
)
@click.option(
    "--machine", "on", metavar="NAME|FILE", default="palmetto-gige", show_default=True,
    help="The machine: one of the list below, or a profile.",
)  # fmt: skip
@click.option(
    "--tree",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The tree of this folder: its directories, and the sizes of its files.  [default: a made"
    " tree]",
)
@click.option(
    "--files",
    type=click.IntRange(0, MOST_ENTRIES),
    metavar="N",
    help=f"Files of the made tree.  [default: {MADE_FILES:,}]",
)
@click.option(
    "--directories",
    type=click.IntRange(1, MOST_ENTRIES),
    metavar="N",
    help=f"Directories of the made tree.  [default: {MADE_DIRECTORIES:,}]",
)
@click.option(
    "--mean-size",
    "mean_bytes",
    type=size_option,
    metavar="SIZE",
    help=f"Mean size of the made tree's files.  [default: {shown_size(MADE_MEAN_BYTES)}]",
)
@click.option(
    "-o",
    "options",
    multiple=True,
    metavar="NAME=VALUE",
    help="A value of the machine by its dotted name, such as machine.servers=8.",
)
@click.option(
    "--compare",
    "compared",
    multiple=True,
    metavar="NAME=VALUE,...",
    help="One simulation for each value; several of these: one for each combination."
    f"  [default: {_WAY}=client,servers where the machine has PVFS]",
)
@click.option(
    "--frames/--messages",
    "by_frames",
    default=True,
    help="Simulate each frame of the network, or messages only: faster, but without what hosts"
    " spend on a small message.  [default: frames]",
)
@click.option(
    "--jobs",
    type=click.IntRange(1, 1024),
    metavar="N",
    help="Simulations that run at the same time.  [default: one per core]",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def metadata(
    on: str,
    tree: Path | None,
    files: int | None,
    directories: int | None,
    mean_bytes: int | None,
    options: tuple[str, ...],
    compared: tuple[str, ...],
    by_frames: bool,
    jobs: int | None,
    as_json: bool,
) -> None:
    """Simulate one process that extracts a tree of files, lists it with all attributes, and removes
    it.

    On PVFS, either the client asks all servers of a file, or the servers ask each other along a
    binary tree. docs/cluster.md says what is simulated.

    `mpiexec -n N forebay simulate metadata ...` divides the simulations of a comparison among the
    ranks; rank 0 prints.
    """
    made = {"--files": files, "--directories": directories, "--mean-size": mean_bytes}
    ranks = Ranks("to simulate by several ranks")
    with ranks.told_once():
        for option, value in made.items():
            if tree is not None and value is not None:
                raise click.UsageError(f"--tree and {option} both make a tree: give one")
        try:
            used = machine(on)
        except ValueError as error:
            raise click.ClickException(str(error)) from error
        if not compared and isinstance(used.file_system, Pvfs):
            named = any(text.startswith(f"{_WAY}=") for text in options)
            compared = () if named else (f"{_WAY}=client,servers",)
        changes = changes_of(options, compared)

    def simulated(some: list[dict[str, str]], warn: Callable[[str], object]) -> MetadataResults:
        with stages() as progress:
            return simulate_metadata(
                used,
                some,
                tree=tree,
                files=MADE_FILES if files is None else files,
                directories=MADE_DIRECTORIES if directories is None else directories,
                mean_bytes=MADE_MEAN_BYTES if mean_bytes is None else mean_bytes,
                by_frames=by_frames,
                jobs=ranks.share_of_cores(jobs),
                progress=progress if ranks.rank == 0 else lambda _stage, _part: None,
                warn=warn,
            )

    try:
        found = simulate_by_ranks(ranks, changes, simulated, ValueError)
    except ValueError as error:
        raise click.ClickException(str(error)) from error
    except MemoryError as error:
        raise click.ClickException("there is not enough memory") from error
    if found is None:
        return
    results = MetadataResults(found[0])
    if as_json:
        json.dump({"results": results.to_json()}, sys.stdout, indent=1)
        click.echo()
        return
    write(parts_of(results), output())
