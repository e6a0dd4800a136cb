"""Texts of other tools, cut off and changed."""

from __future__ import annotations

import random
from pathlib import Path

from forebay.trace import TraceError, open_trace


def read_broken(content: bytes, characters: bytes, file: Path, opened: Path) -> None:
    """Writes many beginnings of a good text to `file`, and random changes of it, which put these
    characters anywhere; and opens `opened`, the file or its folder, each time. It must read the
    trace or refuse it, by one line that names it."""
    rng = random.Random(1)
    for cut in range(0, len(content), 7):
        file.write_bytes(content[:cut])
        _read_or_refused(opened)
    for _ in range(300):
        changed = bytearray(content)
        for _ in range(rng.randrange(1, 30)):
            changed[rng.randrange(len(changed))] = rng.choice(characters)
        file.write_bytes(changed)
        _read_or_refused(opened)


def _read_or_refused(opened: Path) -> None:
    try:
        accesses = open_trace(opened).accesses
    except TraceError as error:
        assert str(error).startswith(str(opened))
    else:
        assert (accesses["offset"] <= accesses["end"]).all()
