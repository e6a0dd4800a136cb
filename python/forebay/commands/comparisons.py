"""The options -o and --compare: what simulations differ in."""

from __future__ import annotations

from collections.abc import Sequence

import click

_MOST_RUNS = 4096


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
