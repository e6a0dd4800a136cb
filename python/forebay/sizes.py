"""Sizes in bytes as people write and read them."""

from __future__ import annotations

import click

from forebay import _core


def parse_size(text: str) -> int:
    """The bytes of a text such as 4096, 64KiB or 1.5GiB, as in options of the cache. Raises
    ValueError."""
    size = _core.parse_bytes(text)
    if size is None or size < 1:
        raise ValueError(f"'{text}' is no size; write it as 4096, 64KiB or 1.5GiB")
    return size


def shown_size(size: int) -> str:
    """The size in a readable unit, rounded to four digits: 64 MiB, 1.5 KiB, 500."""
    for power, unit in ((40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")):
        if size >= 1 << power:
            return f"{size / (1 << power):.4g} {unit}"
    return f"{size:,}"


def size_option(text: str) -> int:
    """The type of a command's option that is a size."""
    try:
        return parse_size(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error
