"""`forebay analyze`: the analysis of a trace, as text or as JSON."""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from pathlib import Path

import click

from forebay.analysis import PAGE_BYTES, Analysis, analysis_of
from forebay.analysis.ranks import fold_by_ranks
from forebay.analysis.text import text_of
from forebay.commands.options import most_runs_option
from forebay.commands.terminal import output, reading
from forebay.job.joined import Ranks
from forebay.new_file import check_outputs, new_file
from forebay.notebook import write
from forebay.text import one_line
from forebay.trace import Trace, TraceError, open_trace


@click.command(short_help="Say how a traced job reads and writes.")
@click.argument("trace", type=click.Path(exists=True, path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="JSON instead of tables.")
@click.option(
    "--signatures",
    type=click.IntRange(0),
    default=8,
    show_default=True,
    metavar="N",
    help="Lines of signatures per file.",
)
@click.option("--local", is_flag=True, help="Also print the signatures of each process.")
@click.option(
    "--proto",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the signatures to FILE: protocol buffers, or JSON if it ends in .json.",
)
@click.option(
    "--parquet",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the results of each file to FILE, as a Parquet table.",
)
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
@click.option(
    "--jobs",
    type=click.IntRange(1),
    metavar="N",
    help="Threads that read the trace.  [default: number of available cores]",
)
@most_runs_option
@click.option(
    "--page-size",
    type=click.IntRange(1),
    default=PAGE_BYTES,
    show_default=True,
    metavar="BYTES",
    help="Request sizes are small below this size, and large above it.",
)
def analyze(
    trace: Path,
    as_json: bool,
    signatures: int,
    local: bool,
    proto: Path | None,
    parquet: Path | None,
    force: bool,
    jobs: int | None,
    most_runs: int,
    page_size: int,
) -> None:
    """Analyze TRACE: a folder of `forebay trace`, a Darshan log, what strace or recorder2text
    printed, or a Parquet file of `forebay convert`.

    Prints the reads, writes and their time, the I/O signatures of each file and the share of
    accesses that they cover, and what to change. docs/signatures.md explains the notation.

    `mpiexec -n N forebay analyze TRACE` divides the reading among the ranks; rank 0 prints.
    """
    outputs = [path for path in (proto, parquet) if path is not None]

    def opened() -> Trace:
        check_outputs(outputs, [trace], force)
        return open_trace(trace)

    ranks = Ranks("to analyze by several ranks")
    try:
        with ExitStack() as shown:
            folded = fold_by_ranks(
                ranks,
                opened,
                jobs,
                lambda trace: shown.enter_context(reading(trace, 1 / ranks.size)),
                most_runs,
            )
        if folded is None:
            return
        analysis = analysis_of(*folded, page_size)
    except TraceError as error:
        raise click.ClickException(str(error)) from error
    if proto is not None:
        _write_signatures(analysis, proto, force)
    if parquet is not None:
        _write_table(analysis, parquet, force)
    if as_json:
        json.dump(analysis.to_json(), sys.stdout, indent=1)
        click.echo()
        return
    write(text_of(analysis, signatures, local), output())


def _write_signatures(analysis: Analysis, path: Path, force: bool) -> None:
    from forebay.signatures import write as write_signatures

    try:
        with new_file(path, force) as file:
            write_signatures(analysis, file, as_json=path.suffix == ".json")
    except ImportError as error:
        raise click.ClickException(f"{error.name} is missing: pip install protobuf") from error
    except OSError as error:
        raise click.ClickException(f"{one_line(str(path))}: {error.strerror}") from error


def _write_table(analysis: Analysis, path: Path, force: bool) -> None:
    try:
        from forebay.analysis.table import write as write_table
    except ImportError as error:
        message = f"--parquet needs pyarrow: pip install 'forebay[arrow]' ({error})"
        raise click.ClickException(message) from error
    try:
        with new_file(path, force) as file:
            write_table(analysis, file)
    except OSError as error:
        raise click.ClickException(f"{one_line(str(path))}: {error.strerror}") from error
