"""The structure of the Python package: which module imports which."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Container, Iterator
from graphlib import TopologicalSorter
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "python" / "forebay"
LAZY = ("numpy", "rich", "pyarrow", "matplotlib", "jinja2", "darshan", "pandas")


def modules() -> dict[str, Path]:
    """The modules by name. A package is its __init__."""
    named = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        named[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return named


def imports(path: Path, known: Container[str]) -> Iterator[str]:
    """All modules that a module imports, also within functions and for types alone."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            for alias in node.names:
                module = f"{node.module}.{alias.name}"
                yield module if module in known else node.module or ""


def test_no_imports_go_in_a_circle() -> None:
    known = modules()
    graph = {
        name: set(imports(path, known)) & known.keys() - {name, "forebay"}
        for name, path in known.items()
        if name != "forebay"  # every import goes through it
    }
    assert len(graph) > 40 and "forebay.trace" in graph["forebay.analysis.describe"]
    TopologicalSorter(graph).prepare()


def test_what_runs_a_program_loads_no_library_but_the_command_line() -> None:
    code = "import sys, forebay.commands.run; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    ).stdout.split()
    assert "forebay.job.environment" in loaded
    assert not set(loaded) & set(LAZY)
