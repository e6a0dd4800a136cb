#!/usr/bin/env python3
"""Writes the manual pages and the shells' completion scripts from the command line's own help.

    python man/write.py FOLDER

makes FOLDER/man/forebay*.1 and FOLDER/completion/forebay.{bash,zsh,fish}. Those of this repository
are made by `python man/write.py .`; a test compares them with the help.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
from click_man.core import write_man_pages

from forebay import __version__
from forebay.commands.cli import commands

SHELLS = ("bash", "zsh", "fish")


def whole(command: click.Command) -> click.Command:
    """The command with its subcommands, which are found by name, in its table."""
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            subcommand = command.get_command(context, name)
            assert subcommand is not None
            command.commands[name] = whole(subcommand)
    return command


def write(folder: Path) -> None:
    """Writes both kinds below the folder."""
    manual, completion = folder / "man", folder / "completion"
    for place in (manual, completion):
        place.mkdir(parents=True, exist_ok=True)
    # A page is of the version, whenever it was written.
    write_man_pages(
        "forebay",
        whole(commands),
        version=f"Forebay {__version__}",
        target_dir=str(manual),
        date=__version__,
    )
    for shell in SHELLS:
        script = subprocess.run(
            [sys.executable, "-c", "from forebay.commands.cli import main; main()"],
            env={**os.environ, "_FOREBAY_COMPLETE": f"{shell}_source"},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        (completion / f"forebay.{shell}").write_text(script)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} FOLDER")
    write(Path(sys.argv[1]))
