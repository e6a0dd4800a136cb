"""`forebay simulate cluster`: simulates a job on a cluster."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from forebay.commands.comparisons import changes_of, simulate_by_ranks
from forebay.commands.figures import (
    check_plot,
    force_option,
    plot_option,
    write_output,
    write_plot,
)
from forebay.commands.options import processes_option
from forebay.commands.terminal import output, stages
from forebay.job.joined import Ranks
from forebay.memory import available_bytes
from forebay.new_file import check_outputs
from forebay.notebook import parts_of, write
from forebay.simulation import (
    CLUSTER_SCOPES,
    ClusterResult,
    ClusterResults,
    Machine,
    machine,
    machine_names,
    measure,
    simulate_cluster,
)
from forebay.sizes import size_option
from forebay.trace import TraceError

if TYPE_CHECKING:
    from forebay.plots.style import Plot

_DEFAULT_MACHINE = "palmetto-gige"


@click.command(
    short_help="Run time of a job on another machine, or with a cache.",
    epilog="Machines: " + ", ".join(machine_names()) + ", or the path of a profile.",
)
@click.argument("trace", type=click.Path(path_type=Path), required=False)
@click.option(
    "--machine", "on", metavar="NAME|FILE",
    help="The machine: one of the list below, or a profile.  [default: palmetto-gige]",
)  # fmt: skip
@click.option(
    "--measure",
    "measured",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Measure the file system of a folder, half a minute or so, and simulate a machine that has"
    " it. Without TRACE only print this machine.",
)
@click.option(
    "--save-machine",
    "machine_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the measured machine as a profile, for --machine.",
)
@click.option(
    "-o",
    "options",
    multiple=True,
    metavar="NAME=VALUE",
    help=f"scope ({', '.join(CLUSTER_SCOPES)}), an option of the cache (see `forebay hints`), a"
    " value of the machine by its dotted name, such as machine.servers=8, collective,"
    " union_window, strips (of files on PVFS, PATTERN:SIZE), or with scope=none cb_nodes or"
    " cb_buffer_size.",
)
@click.option(
    "--compare",
    "compared",
    multiple=True,
    metavar="NAME=VALUE,...",
    help="One simulation for each value; several of these: one for each combination."
    f"  [default: scope={','.join(CLUSTER_SCOPES)}]",
)
@processes_option
@click.option(
    "--processes-per-node",
    type=click.IntRange(1, 1 << 16),
    metavar="N",
    help="[default: the trace's own nodes, if it names several, else the machine's]",
)
@click.option(
    "--think",
    type=click.FloatRange(0, 1000),
    default=0.0,
    show_default=True,
    metavar="PART",
    help="The part of the time between a process's accesses that it computes for.",
)
@click.option(
    "--frames/--messages",
    "by_frames",
    default=None,
    help="Simulate each frame of the network, or messages only (faster; none is lost)."
    "  [default: frames for up to 64 processes]",
)
@click.option(
    "--memory",
    type=size_option,
    metavar="SIZE",
    help="Memory for the accesses, roughly.  [default: half of the free memory]",
)
@click.option(
    "--jobs",
    type=click.IntRange(1, 1024),
    metavar="N",
    help="Simulations that run at the same time.  [default: one per core]",
)
@click.option("--show-machine", is_flag=True, help="Print the machine's values as JSON, and end.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@plot_option
@click.option(
    "--timeline",
    "timeline_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write what each process does when, as JSON for ui.perfetto.dev; of one simulation.",
)
@click.option(
    "--series",
    "series_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write how busy servers, disks and links are over time, as a Parquet table.",
)
@click.option(
    "--waits",
    "waits_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Draw who waits for whom, nodes for servers and for each other: .svg, .png or .pdf; of one"
    " simulation.",
)
@click.option(
    "--report",
    "report_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write a page with tables, a figure and the machine's values, for example times.html.",
)
@force_option
def cluster(
    trace: Path | None,
    on: str | None,
    measured: Path | None,
    machine_file: Path | None,
    options: tuple[str, ...],
    compared: tuple[str, ...],
    processes: int | None,
    processes_per_node: int | None,
    think: float,
    by_frames: bool | None,
    memory: int | None,
    jobs: int | None,
    show_machine: bool,
    as_json: bool,
    plot_file: Path | None,
    timeline_file: Path | None,
    series_file: Path | None,
    waits_file: Path | None,
    report_file: Path | None,
    force: bool,
) -> None:
    """Simulate the job of TRACE on a machine, without Forebay and with its caches.

    TRACE is a trace of `forebay trace`, a Darshan log with DXT, or what strace or recorder2text
    printed. docs/cluster.md says what is simulated.

    `mpiexec -n N forebay simulate cluster ...` divides the simulations of a comparison among the
    ranks; rank 0 prints.
    """
    outputs = [
        file for file in (plot_file, timeline_file, series_file, waits_file, report_file) if file
    ]
    ranks = Ranks("to simulate by several ranks")
    with ranks.told_once():
        if ranks.size > 1 and (show_machine or measured or series_file or timeline_file):
            raise click.UsageError(
                "--measure, --show-machine, --series and --timeline are for one process, without"
                " mpiexec"
            )
        if measured is None and machine_file is not None:
            raise click.UsageError("--save-machine needs --measure")
        if measured is not None and on is not None:
            raise click.UsageError("--machine and --measure both name a machine: give one")
        if trace is None and (outputs or as_json or not (show_machine or measured)):
            raise click.UsageError("give a TRACE" + ("" if measured else ", or --measure DIR"))
        scopes = any(text.startswith("scope=") for text in (*options, *compared))
        if not scopes and _takes_turns(options):
            raise click.UsageError(
                "with deterministic=true give scope=job, node or process, as the run had"
            )
        if not compared and not scopes:
            compared = ("scope=" + ",".join(CLUSTER_SCOPES),)
        changes = changes_of(options, compared)
        check_plot(plot_file)
        check_plot(waits_file, "--waits")
        if waits_file is not None and len(changes) != 1:
            raise click.UsageError(f"--waits is of one simulation; these are {len(changes):,}")
        files = [*outputs, *([machine_file] if machine_file else [])]
        check_outputs(files, [trace] if trace else [], force)
    used: str | Machine = on or _DEFAULT_MACHINE
    if measured is not None:
        used = _measured_machine(measured, machine_file, force, not (trace or show_machine))
    told: list[str] = []
    results = ClusterResults()
    if ranks.size > 1:
        memory = memory or available_bytes() // 2 // ranks.on_node
    try:
        if show_machine:
            dotted = {name: value for name, value in changes[0].items() if "." in name}
            chosen = used if isinstance(used, Machine) else machine(used)
            json.dump(chosen.with_changes(dotted).to_json(), sys.stdout, indent=1)
            click.echo()
        if trace is None or show_machine:
            return
        job: Path = trace

        def run(timeline: IO[bytes] | None = None, series: IO[bytes] | None = None) -> None:
            def simulated(
                some: list[dict[str, str]], warn: Callable[[str], object]
            ) -> ClusterResults:
                with stages() as progress:
                    return simulate_cluster(
                        job,
                        used,
                        some,
                        processes=processes,
                        processes_per_node=processes_per_node,
                        think=think,
                        by_frames=by_frames,
                        memory=memory,
                        jobs=ranks.share_of_cores(jobs),
                        timeline=timeline,
                        series=series,
                        waits=waits_file is not None,
                        progress=progress if ranks.rank == 0 else lambda _stage, _part: None,
                        warn=warn,
                    )

            found = simulate_by_ranks(ranks, changes, simulated, TraceError, ValueError)
            if found is None:
                raise SystemExit(0)
            results.extend(found[0])
            told.extend(found[1])

        def run_in_time(timeline: IO[bytes] | None = None) -> None:
            if series_file is None:
                run(timeline)
            else:
                write_output(series_file, force, lambda series: run(timeline, series))

        if timeline_file is None:
            run_in_time()
        else:
            write_output(timeline_file, force, run_in_time)
    except (TraceError, ValueError) as error:
        raise click.ClickException(str(error)) from error
    except MemoryError as error:
        raise click.ClickException("there is not enough memory") from error
    if plot_file is not None:
        write_plot(plot_file, force, lambda: _drawn(results))
    if waits_file is not None:
        write_plot(waits_file, force, lambda: _drawn_waits(results[0]))
    if report_file is not None:
        page = _page(results, used, told)
        write_output(report_file, force, lambda file: file.write(page.encode()))
    if as_json:
        json.dump({"results": results.to_json()}, sys.stdout, indent=1)
        click.echo()
        return
    write(parts_of(results), output())


def _takes_turns(options: Sequence[str]) -> bool:
    """Whether the caches do what those of a recorded run did."""
    named = (text.partition("=") for text in options)
    given = [value.strip().lower() for name, _, value in named if name.strip() == "deterministic"]
    return bool(given) and given[-1] not in ("false", "0", "no", "off")


def _drawn(results: ClusterResults) -> Plot:
    from forebay.plots.run_times import draw

    return draw(results)


def _drawn_waits(result: ClusterResult) -> Plot:
    from forebay.plots.waits import draw

    return draw(result)


def _page(results: ClusterResults, on: str | Machine, warnings: Sequence[str]) -> str:
    from forebay.reports.run_times import render

    return render(results, on if isinstance(on, Machine) else machine(on), warnings)


def _measured_machine(
    directory: Path, machine_file: Path | None, force: bool, printed: bool
) -> Machine:
    """A machine with the file system of the folder. Its profile goes to `machine_file` or, if
    there is none, to standard output if it is to be `printed`."""
    try:
        with stages() as progress:
            found = measure(directory, progress=progress)
    except ValueError as error:
        raise click.ClickException(f"--measure {error}") from error
    if found.check is not None:
        click.echo(
            f"forebay: a workload that the values were not fitted to takes"
            f" {found.check.measured_s:.3g} s, and {found.check.simulated_s:.3g} s simulated"
            f" ({found.check.deviation:+.0%})",
            err=True,
        )
    profile = found.profile()
    if machine_file is not None:
        write_output(machine_file, force, lambda file: file.write(profile.encode()))
    elif printed:
        click.echo(profile, nl=False)
    return found.machine()
