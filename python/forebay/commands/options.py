"""Options that several commands have."""

from __future__ import annotations

import click

from forebay.analysis.conflicts import MOST_RUNS

most_runs_option = click.option(
    "--most-runs",
    type=click.IntRange(1),
    default=MOST_RUNS,
    show_default=True,
    metavar="N",
    help="Runs of bytes of a file in which conflicts and shared bytes are looked for, with 100"
    " bytes of memory for each.",
)
