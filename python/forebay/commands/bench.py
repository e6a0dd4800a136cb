"""`forebay bench`: runs a workload plain and through Forebay, alternately."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path

import click
from rich.console import Console

from forebay.bench.mpi import find_mpi, mpi_option
from forebay.bench.runs import WORKLOADS, Bench
from forebay.bench.table import report_table
from forebay.bench.trace import TraceBench, trace_table
from forebay.job.settings import parse_assignments


def _parse_options(
    _: click.Context, __: click.Parameter, values: tuple[str, ...]
) -> dict[str, str]:
    return parse_assignments(values)


_TRACE = "trace"
_MEANINGS = {workload.name: workload.meaning for workload in WORKLOADS.values()}
_MEANINGS[_TRACE] = "cost of traces of three loops: bytes per call, time of MPI_Finalize"
_HELP = "Workloads:\n\n\b\n" + "\n".join(
    f"{name:<14} {meaning}" for name, meaning in _MEANINGS.items()
)


@click.command(
    epilog=_HELP, short_help="Compare a workload with and without Forebay on your own storage."
)
@click.argument("workload", type=click.Choice(list(_MEANINGS)))
@click.option(
    "--dir",
    "directory",
    type=click.Path(exists=True, file_okay=False, writable=True, path_type=Path),
    required=True,
    help="Directory of the files, for both sides.",
)
@click.option("--ranks", type=click.IntRange(1), default=2, show_default=True)
@click.option(
    "--nodes",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Nodes for which Forebay takes equal shares of the ranks, all on this machine.",
)
@mpi_option
@click.option("--mpicc", help="Compiler of the workload.  [default: the one beside mpiexec]")
@click.option(
    "--launch-with",
    default="",
    metavar="ARGUMENTS",
    help="Further arguments of mpiexec, as `-hosts node1,node2`: ranks run on several nodes, which "
    "all see --dir.",
)
@click.option(
    "--repeat",
    type=click.IntRange(1),
    default=5,
    show_default=True,
    help="Pairs of launches, plain and Forebay in turn; 15 give a reliable interval.",
)
@click.option(
    "--rounds",
    type=click.IntRange(1),
    default=2,
    show_default=True,
    help="Files per launch, one after the other; the first one creates the cache and counts, too.",
)
@click.option(
    "--count", type=click.IntRange(0), default=0, help="Amount of work.  [default: workload's]"
)
@click.option(
    "-o",
    "--option",
    "options",
    multiple=True,
    callback=_parse_options,
    metavar="NAME=VALUE",
    help="An option for the Forebay side (see `forebay hints`).",
)
@click.option(
    "--baseline",
    "baseline",
    multiple=True,
    callback=_parse_options,
    metavar="NAME=VALUE",
    help="Compare with Forebay under this option instead of with the plain MPI library.",
)
@click.option(
    "--by-hand",
    is_flag=True,
    help="Compare with the program as users write it without MPI-IO (lattice), instead of with it.",
)
@click.option("--json", "as_json", is_flag=True, help="JSON instead of a table.")
def bench(
    workload: str,
    directory: Path,
    ranks: int,
    nodes: int,
    mpi: str | None,
    mpicc: str | None,
    launch_with: str,
    repeat: int,
    rounds: int,
    count: int,
    options: dict[str, str],
    baseline: dict[str, str],
    by_hand: bool,
    as_json: bool,
) -> None:
    """Run WORKLOAD plain and through Forebay, interleaved, on the same directory.

    Shows medians, the ratio of each pair, and the requests of each side to the file system. The
    data is verified on both sides. The workload `trace` shows the cost of traces instead.
    """
    try:
        further = tuple(shlex.split(launch_with))
    except ValueError as error:
        raise click.UsageError(f"--launch-with {launch_with}: {error}") from error
    if workload == _TRACE:
        if options or baseline or by_hand or nodes > 1 or further:
            raise click.UsageError("`trace` takes no options of Forebay, and one node")
        traces = TraceBench(find_mpi(mpi, mpicc), directory, ranks, repeat, count)
        with Console(stderr=True).status("compiling") as status:
            found = traces.run(status.update)
        if as_json:
            click.echo(json.dumps(found.as_json(), indent=2))
        else:
            Console().print(trace_table(found))
        return
    if further and nodes > 1:
        raise click.UsageError("--launch-with and --nodes exclude each other")
    if nodes > ranks:
        raise click.UsageError(f"{nodes} nodes are more than {ranks} ranks")
    if by_hand and not WORKLOADS[workload].by_hand:
        raise click.UsageError(f"{workload} has no variant by hand")
    if by_hand and baseline:
        raise click.UsageError("--by-hand and --baseline exclude each other")
    if WORKLOADS[workload].powers_of_four and ranks not in (4**power for power in range(16)):
        raise click.UsageError(f"{workload} needs 1, 4, 16, 64, ... ranks")
    comparison = Bench(
        workload=WORKLOADS[workload],
        mpi=replace(find_mpi(mpi, mpicc), launch_with=further),
        directory=directory,
        ranks=ranks,
        nodes=nodes,
        repeat=repeat,
        rounds=rounds,
        count=count,
        options=options,
        baseline=baseline,
        by_hand=by_hand,
    )
    with Console(stderr=True).status("compiling") as status:
        report = comparison.run(status.update)
    if as_json:
        click.echo(json.dumps(report.as_json(), indent=2))
    else:
        Console().print(report_table(report))
