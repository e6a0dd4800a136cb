"""Options shared by several commands."""

from __future__ import annotations

import click

from forebay.analysis.conflicts import MOST_RUNS

most_runs_option = click.option(
    "--most-runs",
    type=click.IntRange(1),
    default=MOST_RUNS,
    show_default=True,
    metavar="N",
    help="Most runs of bytes per file that are examined for conflicts and shared bytes; each takes"
    " 100 bytes of memory.",
)

processes_option = click.option(
    "--processes",
    type=click.IntRange(1, 1 << 16),
    metavar="N",
    help="Simulate more processes than the trace has: the others do what these do, at the places"
    " that follow.  [default: those of the trace]",
)
