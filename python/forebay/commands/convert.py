"""`forebay convert`: a trace as a file for other programs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from forebay.new_file import check_output, new_file
from forebay.text import one_line
from forebay.trace import Accesses, Trace, TraceError, open_trace
from forebay.trace.formats import FORMATS, Format

_NAMES = [format_.name for format_ in FORMATS]
_ENDINGS = ", ".join(ending for format_ in FORMATS for ending in format_.endings)


@click.command(short_help="Write a trace as Parquet, CSV or a timeline.")
@click.argument("trace", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The file to write.",
)
@click.option("--to", "name", type=click.Choice(_NAMES), help="Format.  [default: by FILE's name]")
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
def convert(trace: Path, output: Path, name: str | None, force: bool) -> None:
    """Write a trace as Parquet, as CSV or as a timeline for ui.perfetto.dev.

    TRACE is a folder of trace files, one trace file, a Darshan log with DXT, or what strace
    or recorder2text printed. Missing or damaged accesses are reported on standard error. The exit
    code is 1 if nothing could be read.
    """
    format_ = _format(output, name)
    check_output(output, trace, force)
    try:
        opened = open_trace(trace)
        with new_file(output, force) as file:
            format_.write(opened, _shown(opened), file)
    except TraceError as error:
        raise click.ClickException(str(error)) from error
    except ImportError as error:
        message = f"{format_.name} needs pyarrow: pip install 'forebay[arrow]' ({error})"
        raise click.ClickException(message) from error
    except MemoryError as error:
        message = f"{one_line(str(trace))}: there is not enough memory"
        raise click.ClickException(message) from error
    except OSError as error:
        message = f"{one_line(str(output))}: {error.strerror or error}"
        raise click.ClickException(message) from error
    _report(opened, format_)


def _format(output: Path, name: str | None) -> Format:
    for format_ in FORMATS:
        if format_.name == name or (name is None and output.name.endswith(format_.endings)):
            return format_
    raise click.UsageError(
        f"-o {one_line(str(output))}: end it in one of {_ENDINGS}, or give the format by --to"
    )


def _shown(trace: Trace) -> Iterator[Accesses]:
    """Iterates over the trace's batches, with a progress bar on a terminal."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("Converting", total=len(trace))
        for batch in trace.batches():
            yield batch
            progress.advance(task, len(batch))


def _report(trace: Trace, format_: Format) -> None:
    """Says on standard error what the file lacks."""
    for problem in trace.problems:
        click.echo(f"forebay: {problem}", err=True)
    totals = trace.totals
    parts = [f"{totals.accesses:,} accesses"]
    if format_.needs_times and totals.folded:
        parts.append(f"{totals.folded:,} of them without times, left out")
    if totals.lost:
        parts.append(f"{totals.lost:,} were not recorded")
    if totals.damaged:
        parts.append(f"{totals.damaged:,} cannot be read")
    click.echo(f"forebay: {'; '.join(parts)}", err=True)
