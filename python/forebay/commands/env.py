"""`forebay env`: the environment that `forebay run` sets, for a shell to evaluate."""

from __future__ import annotations

import os
import shlex

import click

from forebay.job.environment import new_job, preload_value


@click.command(short_help="Print the environment for use without `forebay run`.")
def env() -> None:
    """Print export lines that switch Forebay on in a shell: eval "$(forebay env)".

    Programs started from this shell belong to one job. Evaluate again to start another job.
    """
    variables = {"LD_PRELOAD": preload_value(os.environ), "FOREBAY_JOB": new_job()}
    for name, value in variables.items():
        click.echo(f"export {name}={shlex.quote(value)}")
