"""`python -m forebay` is the command `forebay`."""

from forebay.cli import main

main()
