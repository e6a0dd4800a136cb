"""`python -m forebay` is the command `forebay`."""

from forebay.commands.cli import main

main()
