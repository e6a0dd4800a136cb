"""The C++ sources as a structure: which folder includes which, and who prints."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MPIIO = ROOT / "src" / "mpiio"
# The drivers that have a user.
PRINTING = (MPIIO, ROOT / "src" / "committer")
PRINT = re.compile(
    r"\b(v?f?printf|f?puts|f?putc|putchar|perror|psignal)\s*\(|\bstd(out|err)\b"
    r"|\bSTD(OUT|ERR)_FILENO\b|\bstd::(cout|cerr|clog)\b|<iostream>"
)


def sources(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.suffix in (".h", ".cpp", ".S"))


def test_nothing_below_mpiio_prints() -> None:
    assert PRINT.search('std::fprintf(stderr, "")') and not PRINT.search("std::snprintf(text, 3)")
    paths = [
        path
        for path in (*sources(ROOT / "src"), *(ROOT / "python").glob("*.[ch]*"))
        if not any(path.is_relative_to(one) for one in PRINTING)
    ]
    assert len(paths) > 200
    assert [str(path) for path in paths if PRINT.search(path.read_text())] == []


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
