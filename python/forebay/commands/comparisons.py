"""The options -o and --compare: what simulations differ in, and which rank of an MPI job
(`mpiexec -n 4 forebay simulate cluster TRACE`) simulates which."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import TypeVar

import click

from forebay.job.joined import Ranks

_MOST_RUNS = 4096
_Result = TypeVar("_Result")


def _named(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name or not value:
        raise click.BadParameter(f"'{text}' is not NAME=VALUE")
    return name, value


def changes_of(options: Sequence[str], compared: Sequence[str]) -> list[dict[str, str]]:
    """A change for each combination of the compared values."""
    changes: list[dict[str, str]] = [dict(_named(option) for option in options)]
    for text in compared:
        name, values = _named(text)
        words = [word.strip() for word in values.split(",") if word.strip()]
        if not words:
            raise click.BadParameter(f"'{text}' compares nothing")
        changes = [{**change, name: word} for change in changes for word in words]
        if len(changes) > _MOST_RUNS:
            raise click.BadParameter(f"these are more than {_MOST_RUNS:,} simulations")
    return changes


def simulate_by_ranks(
    ranks: Ranks,
    changes: Sequence[dict[str, str]],
    simulate: Callable[[list[dict[str, str]], Callable[[str], object]], Sequence[_Result]],
    *errors: type[Exception],
) -> tuple[list[_Result], list[str]] | None:
    """On rank 0 the results of all changes, in their order, and what `simulate` warned of, which
    rank 0 also prints; None on the others.

    `simulate` is called with some of the changes, and a function for its warnings. If it raises one
    of `errors` on a rank, rank 0 raises it, and the others SystemExit.
    """
    # Neighbours take similar times: each rank gets some of every kind.
    numbers = list(range(len(changes)))
    if ranks.size > 1:
        random.Random(0).shuffle(numbers)
    shares = [numbers[rank :: ranks.size] for rank in range(ranks.size)]
    told: list[str] = []

    def warn(line: str) -> None:
        if line in told:
            return
        told.append(line)
        if ranks.rank == 0:
            click.echo(f"forebay: {line}", err=True)

    def simulated() -> tuple[list[_Result], list[str]]:
        mine = [changes[number] for number in shares[ranks.rank]]
        return list(simulate(mine, warn)) if mine else [], told

    parts = ranks.gathered(simulated, *errors)
    if parts is None:
        return None
    found: dict[int, _Result] = {}
    for share, (results, lines) in zip(shares, parts, strict=True):
        found.update(zip(share, results, strict=True))
        for line in lines:
            warn(line)
    return [found[number] for number in range(len(changes))], told
