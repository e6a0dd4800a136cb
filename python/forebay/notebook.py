"""Shows results as the same sentences and tables in a terminal and in a notebook."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator
from functools import singledispatch
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

Part = str | Table
"""A sentence, in Rich's markup, or a table."""

_TERMINAL_STYLES = {"bold": "font-weight: 600", "dim": "opacity: 0.6", "yellow": "color: #b8860b"}
_CELL = "padding: 0.1em 0.7em 0.1em 0; border: 0; white-space: pre; background: none"


@singledispatch
def parts_of(result: Any) -> Iterator[Part]:
    """The parts shown of a result. The module `text` of a package registers this for its
    results."""
    raise TypeError(f"{type(result).__name__} is no result")


def write(parts: Iterable[Part], console: Console) -> None:
    """Prints the parts. The terminal breaks long sentences."""
    for part in parts:
        console.print(part, soft_wrap=isinstance(part, str))


class Shown:
    """A result that a notebook shows as the command line prints it."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return as_html(parts_of(self))


def as_html(parts: Iterable[Part]) -> str:
    """An HTML element that scrolls sideways if a table is wider than the page."""
    shown = (_table(part) if isinstance(part, Table) else _sentence(part) for part in parts)
    return f'<div style="overflow-x: auto; line-height: 1.4">{"".join(shown)}</div>'


def _sentence(markup: str) -> str:
    return f'<div style="margin: 0.15em 0; white-space: pre-wrap">{_text(markup)}</div>'


def _table(table: Table) -> str:
    title = f"<caption>{_text(str(table.title))}</caption>" if table.title else ""
    head = "".join(
        f'<th style="{_CELL}; text-align: {_side(column.justify)}">{_text(str(column.header))}</th>'
        for column in table.columns
    )
    cells = [list(column.cells) for column in table.columns]
    rows = "".join(
        f'<tr style="background: none; {_style(str(row.style or ""))}">'
        + "".join(
            f'<td style="{_CELL}; text-align: {_side(column.justify)}">'
            f"{_text(str(cells[place][number]))}</td>"
            for place, column in enumerate(table.columns)
        )
        + "</tr>"
        for number, row in enumerate(table.rows)
    )
    head = f"<thead><tr>{head}</tr></thead>" if table.show_header else ""
    style = "margin: 0.4em 0; font: inherit; border-collapse: collapse"
    return f'<table style="{style}">{title}{head}<tbody>{rows}</tbody></table>'


def _side(justify: str) -> str:
    return "right" if justify == "right" else "left"


def _text(markup: str) -> str:
    """Rich's markup as HTML."""
    text = Text.from_markup(markup)
    shown = []
    for piece in text.divide(sorted({at for span in text.spans for at in (span.start, span.end)})):
        styles = [_style(str(span.style)) for span in piece.spans]
        content = html.escape(piece.plain).replace("\n", "<br>")
        shown.append(f'<span style="{"; ".join(styles)}">{content}</span>' if styles else content)
    return "".join(shown)


def _style(words: str) -> str:
    return "; ".join(_TERMINAL_STYLES[word] for word in words.split() if word in _TERMINAL_STYLES)
