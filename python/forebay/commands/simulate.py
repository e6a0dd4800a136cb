"""`forebay simulate`: simulates caches on a trace."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

_COMMANDS = ("cache", "cluster", "lu", "metadata", "runtime")


class _Group(click.Group):
    """A group whose subcommands are imported when they are called."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command: Any = getattr(import_module(f"forebay.commands.simulate_{cmd_name}"), cmd_name)
        assert isinstance(command, click.Command)
        return command


@click.group(cls=_Group, short_help="Simulate caches on a trace.")
def simulate() -> None:
    """Simulate caches on a trace, with the code that runs inside MPI programs; or what files take
    on another machine's file system."""
