"""Lines of pages that are written by programs."""

from __future__ import annotations

from textwrap import fill

_WIDTH = 100


def bullet(text: str) -> str:
    """A point of a list, in lines."""
    return fill(
        text,
        _WIDTH,
        initial_indent="- ",
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )
