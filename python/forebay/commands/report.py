"""`forebay report`: a trace as one page that needs only a browser."""

from __future__ import annotations

from pathlib import Path

import click

from forebay.commands.options import most_runs_option
from forebay.commands.terminal import reading
from forebay.new_file import check_output, new_file
from forebay.reports.job import render
from forebay.text import one_line
from forebay.trace import TraceError, open_trace


@click.command(short_help="Write a report page about a traced job.")
@click.argument("trace", type=click.Path(exists=True, path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    required=True,
    metavar="FILE",
    help="File of the page, for example job.html.",
)
@click.option(
    "--against",
    type=click.Path(exists=True, path_type=Path),
    metavar="TRACE",
    help="Compare with another run.",
)
@most_runs_option
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
def report(trace: Path, output: Path, against: Path | None, most_runs: int, force: bool) -> None:
    """Write a page about TRACE.

    TRACE is a folder of `forebay trace`, a Darshan log, or what strace or recorder2text printed.
    The page is one HTML file that holds all figures and loads nothing else.
    """
    check_output(output, trace, force)
    try:
        opened = open_trace(trace)
        other = open_trace(against) if against else None
        with reading(opened, 2) as progress:
            page = render(opened, other, most_runs, progress)
        with new_file(output, force) as file:
            file.write(page.encode())
    except TraceError as error:
        raise click.ClickException(str(error)) from error
    except ImportError as error:
        raise click.ClickException(f"{error.name} is missing: install Forebay again") from error
    except OSError as error:
        raise click.ClickException(f"{one_line(str(output))}: {error.strerror}") from error
