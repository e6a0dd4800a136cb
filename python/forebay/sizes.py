"""Sizes in bytes as a person writes and reads them."""

from __future__ import annotations

import click

from forebay import _core


def parse_size(text: str) -> int:
    """Of 4096, 64KiB or 1.5GiB, as options of the cache are written. Raises ValueError."""
    size = _core.parse_bytes(text)
    if size is None or size < 1:
        raise ValueError(f"'{text}' is no size; write it as 4096, 64KiB or 1.5GiB")
    return size


def shown_size(size: int) -> str:
    """As exactly as a person wants it: 64 MiB, 1.5 KiB, 500."""
    for power, unit in ((40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")):
        if size >= 1 << power:
            return f"{size / (1 << power):.4g} {unit}"
    return f"{size:,}"


def size_option(text: str) -> int:
    """The type of an option."""
    try:
        return parse_size(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error
