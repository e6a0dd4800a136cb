"""`forebay simulate runtime`: replays a run of Forebay with other options."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from forebay.commands.terminal import output
from forebay.job.settings import parse_assignments
from forebay.notebook import parts_of, write
from forebay.simulation import simulate_runtime
from forebay.trace import TraceError


@click.command(short_help="Replay a traced run of Forebay with other options.")
@click.argument("trace", type=click.Path(path_type=Path))
@click.option("--policy", "policies", metavar="NAME,...", help="[default: the run's]")
@click.option("--cache-size", "cache_sizes", metavar="SIZE,...", help="[default: the run's]")
@click.option(
    "-o",
    "assignments",
    multiple=True,
    metavar="NAME=VALUE",
    help="Change another option of the cache (see `forebay hints`).",
)
@click.option("--json", "as_json", is_flag=True, help="JSON on standard output.")
def runtime(
    trace: Path,
    policies: str | None,
    cache_sizes: str | None,
    assignments: Sequence[str],
    as_json: bool,
) -> None:
    """Replay the steps of the runtime's caches in TRACE, with the run's options or others.

    TRACE comes from a run with `-o deterministic=true`. With the run's own options all counts are
    equal to those of `forebay run --stats`. docs/simulating.md has the details.
    """
    changes = [parse_assignments(assignments)]
    for option, values in (("policy", policies), ("cache_size", cache_sizes)):
        if values is None:
            continue
        words = [word.strip() for word in values.split(",") if word.strip()]
        parse_assignments(f"{option}={word}" for word in words)
        changes = [{**change, option: word} for change in changes for word in words]
    try:
        results = simulate_runtime(trace, changes)
    except (TraceError, ValueError) as error:
        raise click.ClickException(str(error)) from error
    except MemoryError as error:
        raise click.ClickException("there is not enough memory") from error
    if as_json:
        json.dump({"results": results.to_json()}, sys.stdout, indent=1)
        click.echo()
        return
    write(parts_of(results), output())
