"""The command `forebay`. Each subcommand is a module, imported only when it is called, so that
`forebay run` starts fast."""

from __future__ import annotations

import signal
import sys
from importlib import import_module
from typing import Any, NoReturn

import click

# In the order of the help. Each name is a module here, and a command in it.
_COMMANDS = (
    *("run", "trace", "analyze", "report", "simulate", "generate"),
    *("doctor", "env", "hints", "recover", "convert", "bench", "demo"),
)


class _LazyGroup(click.Group):
    def list_commands(self, _ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command: Any = getattr(import_module(f"forebay.commands.{cmd_name}"), cmd_name)
        assert isinstance(command, click.Command)
        return command


def _print_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        from forebay import __version__

        click.echo(f"forebay {__version__}")
        ctx.exit()


@click.group(
    cls=_LazyGroup,
    short_help="A cache between MPI and its file system.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_print_version,
    help="Show the version and exit.",
)
def commands() -> None:
    """A cache between MPI programs and their parallel file system.

    Programs need no change: put `forebay run --` in front of the command.
    """


def main() -> NoReturn:
    """The entry point. A user's mistake ends in one line of text and exit code 2."""
    try:
        code = commands.main(sys.argv[1:] or ["--help"], "forebay", standalone_mode=False)
    except click.ClickException as error:
        click.echo(f"forebay: {error.format_message()}", err=True)
        sys.exit(error.exit_code)
    except click.Abort:
        sys.exit(128 + signal.SIGINT)
    sys.exit(code if isinstance(code, int) else 0)
