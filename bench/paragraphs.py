"""Lines of pages that are written by programs."""

from __future__ import annotations

import textwrap

_WIDTH = 100


def paragraph(text: str) -> list[str]:
    """A paragraph, in lines, and an empty one."""
    return [*textwrap.wrap(text, _WIDTH, break_on_hyphens=False), ""]


def bullet(text: str) -> str:
    """A point of a list, in lines."""
    return textwrap.fill(
        text,
        _WIDTH,
        initial_indent="- ",
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )
