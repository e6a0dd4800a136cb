"""The C++ sources as a structure: which folder includes which."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MPIIO = ROOT / "src" / "mpiio"


def sources(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.suffix in (".h", ".cpp", ".S"))


def rooms() -> dict[str, set[str]]:
    """Which rooms of src/mpiio each may use, as docs/architecture.md says."""
    page = (ROOT / "docs" / "architecture.md").read_text()
    section = page.partition("## The rooms of `src/mpiio`")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \|.*\| ([^|]*) \|$", section, re.MULTILINE)
    return {room: set(re.findall(r"`(\w+)`", used)) for room, used in rows}


def test_rooms_of_mpiio_use_each_other_as_the_architecture_says() -> None:
    allowed = rooms()
    folders = {path.name for path in MPIIO.iterdir() if path.is_dir()}
    assert folders == allowed.keys()
    wrong = [
        f"{path.relative_to(MPIIO)} includes {name}"
        for room, others in allowed.items()
        for path in sources(MPIIO / room)
        for name in re.findall(r'#include "mpiio/([\w/.]+)"', path.read_text())
        if name.partition("/")[0] not in others | {room}
    ]
    assert wrong == []
