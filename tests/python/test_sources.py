"""The C++ sources as a structure: which folder includes which, and who prints."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

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


OPENED = re.compile(r"namespace ?([\w:]*) \{$")
DEFINED = re.compile(
    r"(?:class|struct|enum class) (?:alignas\(\w+\) )?(\w+)(?: final)?(?: : [^:].*)? ?\{"
)


def types_of(path: Path) -> Iterator[str]:
    """The types that the file defines outside unnamed namespaces, with their namespaces."""
    namespaces: list[str] = []
    for line in path.read_text().splitlines():
        if opened := OPENED.match(line):
            namespaces.append(opened[1])
        elif line.startswith("}  // namespace"):
            namespaces.pop()
        elif (defined := DEFINED.match(line)) and "" not in namespaces:
            yield "::".join([*namespaces, defined[1]])


def test_no_two_types_have_one_name() -> None:
    """Otherwise the linker takes one type's members for the other's."""
    places: dict[str, list[str]] = {}
    for path in sorted(sources(ROOT / "src")):
        for name in types_of(path):
            places.setdefault(name, []).append(str(path.relative_to(ROOT)))
    assert len(places) > 300
    assert {name: paths for name, paths in places.items() if len(paths) > 1} == {}


def allowed_uses(title: str) -> dict[str, set[str]]:
    """What each folder may use, as the tables below a title of docs/architecture.md say."""
    page = (ROOT / "docs" / "architecture.md").read_text()
    section = page.partition(f"## {title}\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `([\w/*.]+)` \|.*\| ([^|]*) \|$", section, re.MULTILINE)
    return {folder: set(re.findall(r"`(\w+)`", used)) for folder, used in rows}


@pytest.fixture(scope="module")
def layers() -> ModuleType:
    """docs/layers.py, which reads the sources and draws what uses what."""
    sys.path.append(str(ROOT / "docs"))
    return importlib.import_module("layers")


def test_folders_use_each_other_as_the_architecture_says(layers: ModuleType) -> None:
    """A use that is new belongs in the tables, and one that has gone does not."""
    allowed = allowed_uses("The folders")
    sources: dict[str, set[str]] = layers.source_uses()
    packages: dict[str, set[str]] = layers.package_uses()
    bindings = allowed.pop("python/*.cpp")
    of_sources = {name[4:]: used for name, used in allowed.items() if name.startswith("src/")}
    of_packages = {name: used for name, used in allowed.items() if "/" not in name}
    assert sources == {**of_sources, "_core": bindings}
    of_packages["commands"] |= packages.keys() - {"commands"}  # all below
    assert packages == {**of_packages, "_core": set()}
    assert {"engine", "trace"} <= sources["runtime"] and sources["engine"] >= {"page", "policy"}


def test_the_picture_of_the_folders_is_of_these_sources(layers: ModuleType) -> None:
    """If not, run: python3 docs/layers.py"""
    assert (ROOT / "docs" / "layers.svg").read_text() == layers.picture()


def test_the_picture_refuses_a_use_of_what_is_above(layers: ModuleType) -> None:
    uses: dict[str, set[str]] = layers.source_uses()
    layers.Panel("", layers.SOURCES, uses)
    for wrong in ({**uses, "engine": {"runtime"}}, {**uses, "new": set[str]()}):
        with pytest.raises(ValueError):
            layers.Panel("", layers.SOURCES, wrong)


@pytest.mark.parametrize("folder", ["mpiio", "runtime"])
def test_rooms_use_each_other_as_the_architecture_says(folder: str) -> None:
    root = ROOT / "src" / folder
    allowed = allowed_uses(f"The rooms of `src/{folder}`")
    assert {path.name for path in root.iterdir() if path.is_dir()} == allowed.keys()
    wrong = [
        f"{path.relative_to(root)} includes {name}"
        for room, others in allowed.items()
        for path in sources(root / room)
        for name in re.findall(rf'#include "{folder}/([\w/.]+)"', path.read_text())
        if name.partition("/")[0] not in others | {room}
    ]
    assert wrong == []


# Tested with an MPI library, a job or the dynamic linker: tests/mpi, tests/crash, tests/preload.
NOT_ALONE = {"mpiio", "committer", "earlier", "preload"}


def test_unit_tests_mirror_the_sources() -> None:
    """A test lies in the folder of the sources whose name it has, and every folder has tests."""

    def folders(root: Path, pattern: str) -> set[str]:
        return {str(path.parent.relative_to(root)) for path in root.rglob(pattern)}

    tested = folders(ROOT / "tests" / "unit", "*_test.cpp")
    with_sources = folders(ROOT / "src", "*.h")
    assert tested == {one for one in with_sources if one.partition("/")[0] not in NOT_ALONE}
