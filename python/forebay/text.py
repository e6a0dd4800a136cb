"""Text that is safe on a line of a terminal."""

from __future__ import annotations


def one_line(text: str) -> str:
    """The text, with characters escaped that a terminal or a line would not show."""
    if text.isprintable():
        return text
    escaped = (c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return "".join(escaped)
