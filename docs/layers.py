#!/usr/bin/env python3
"""Draws layers.svg: which folders of the sources use which, from their #include and import lines.

    python3 docs/layers.py [FILE.svg]

A folder stands above all folders that it uses; otherwise the picture cannot be drawn. What a folder
may use is in the tables of architecture.md; tests/python/test_sources.py compares them.
"""

from __future__ import annotations

import argparse
import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SRC = ROOT / "src"
BINDINGS = ROOT / "python"
PACKAGE = BINDINGS / "forebay"
MODULES = "modules"  # the modules of the package that are in no folder
CORE = "_core"
# The package's doors: they pass its public names on, and belong to no layer.
DOORS = ("__init__", "__main__")

Uses = dict[str, set[str]]


@dataclass(frozen=True)
class Layer:
    """Folders of one layer, from above, each with what it is."""

    name: str
    colours: tuple[str, str]  # on a light and on a dark page
    folders: dict[str, str]


BLUE = ("#1f6fb2", "#6cb6ff")
GREEN = ("#2e8540", "#6bc46d")
AMBER = ("#b36200", "#e0a24b")
PURPLE = ("#7b4fb5", "#b392f0")
RED = ("#b5434f", "#f08a93")
COLOURS = (BLUE, GREEN, AMBER, PURPLE, RED)

SOURCES = (
    Layer(
        "processes",
        BLUE,
        {
            "preload": "binds MPI to Forebay",
            "mpiio": "the calls of MPI_File",
            "committer": "commits what the dead wrote",
            "earlier": "reads of an earlier run",
            CORE: "src, for Python",
        },
    ),
    Layer("networks", RED, {"fabric": "tunnels between agents"}),
    Layer("nodes", AMBER, {"agent": "the caches of other nodes"}),
    Layer(
        "drivers", GREEN, {"runtime": "the cache in a program", "sim": "the cache in simulators"}
    ),
    Layer(
        "I/O, options",
        AMBER,
        {
            "options": "every option",
            "channel": "messages between nodes",
            "storage": "transfers to files",
        },
    ),
    Layer("engine", RED, {"engine": "an access, and the protocol of a page"}),
    Layer(
        "mechanisms",
        PURPLE,
        {
            "page": "which bytes of a page are dirty",
            "policy": "which page is replaced",
            "domain": "which node owns which bytes",
            "predict": "which bytes are read next",
        },
    ),
    Layer(
        "vocabulary",
        BLUE,
        {
            "pattern": "accesses folded into signatures",
            "trace": "recorded accesses, and their files",
            "arena": "memory with links by index",
            "extent": "ranges of bytes, and types of files",
        },
    ),
)
PYTHON = (
    Layer("commands", BLUE, {"commands": "the command line"}),
    Layer(
        "results",
        GREEN,
        {
            "reports": "pages",
            "plots": "figures",
            "bench": "workloads, compared",
        },
    ),
    Layer(
        "analysis",
        AMBER,
        {
            "signatures": "signatures in files",
            "analysis": "sums, findings, conflicts",
            "simulation": "what caches would do",
        },
    ),
    Layer(
        "origins", PURPLE, {"trace": "traces of any origin", "job": "starting a job with Forebay"}
    ),
    Layer("base", RED, {MODULES: "sizes, paths, text", CORE: "src, for Python"}),
)


def includes(path: Path) -> list[str]:
    """The sources of this project that a source includes, as it names them."""
    return re.findall(r'^\s*#\s*include\s+"([^"]+)"', path.read_text(), re.MULTILINE)


def source_uses() -> Uses:
    """The folders of src, and the bindings, with the folders whose headers they include."""
    folders = {path.name for path in SRC.iterdir() if path.is_dir()}
    found: Uses = {name: set() for name in (*folders, CORE)}
    for name, paths in (
        (CORE, BINDINGS.glob("*.*")),
        *((one, (SRC / one).rglob("*")) for one in folders),
    ):
        for path in paths:
            if path.suffix in (".h", ".cpp", ".S"):
                found[name] |= {used.partition("/")[0] for used in includes(path)} & folders
        found[name].discard(name)
    return found


def imported(path: Path) -> Iterator[str]:
    """The modules that a module imports, also within functions and for types alone. A name that is
    imported from a module counts as a module of this name in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def package_uses() -> Uses:
    """The packages within forebay, its other modules as one, and _core, with what they import."""
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    alone = {path.stem for path in PACKAGE.glob("*.py")} - set(DOORS)
    found: Uses = {name: set() for name in (*folders, MODULES, CORE)}
    for path in PACKAGE.rglob("*.py"):
        first = path.relative_to(PACKAGE).parts[0]
        if path.parent == PACKAGE and path.stem in DOORS:
            continue
        name = first if first in folders else MODULES
        for module in imported(path):
            parent, _, rest = module.partition(".")
            if parent == "forebay":
                used = rest.partition(".")[0]
                found[name] |= {MODULES} if used in alone else {used} & found.keys()
        found[name].discard(name)
    return found


# The picture. Each folder has a row and a column, and a box where they meet.
KEY = "A line leaves a folder to the right and bends down to each folder that it uses."
ROW = 34
COLUMN = 36
BOX = 24  # the height of a box
BEND = 9
LEFT = 300  # the right edge of the first box
NAMES = 20  # where the names of layers begin
PADDING = 14
TITLE = 44
CHARACTER = 8.1  # the width of a letter in a box


def svg(x: float) -> str:
    return f"{x:.1f}".removesuffix(".0")


class Panel:
    """One tree of folders, drawn from `top` on."""

    def __init__(self, title: str, layers: tuple[Layer, ...], uses: Mapping[str, set[str]]) -> None:
        self.layers = layers
        self.title = title
        self.uses = uses
        self.names = [name for layer in layers for name in layer.folders]
        if set(self.names) != set(uses):
            raise ValueError(f"no layer has, or the tree lacks: {set(self.names) ^ set(uses)}")
        for row, name in enumerate(self.names):
            above = uses[name] & set(self.names[:row])
            if above:
                raise ValueError(f"{name} uses {', '.join(sorted(above))}, which is not below it")
        self.height = TITLE + ROW * len(self.names) + PADDING
        self.width = LEFT + COLUMN * (len(self.names) - 1) + PADDING

    def draw(self, top: float, width: float) -> list[str]:
        lines = [f'<text class="title" x="{NAMES}" y="{svg(top + 26)}">{escape(self.title)}</text>']
        rows = {name: top + TITLE + ROW * (row + 0.5) for row, name in enumerate(self.names)}
        columns = {name: LEFT - 18 + COLUMN * row for row, name in enumerate(self.names)}
        for number, layer in enumerate(self.layers):
            colour = COLOURS.index(layer.colours)
            first = rows[next(iter(layer.folders))] - ROW / 2
            lines.append(
                f'<rect class="band{number % 2}" x="8" y="{svg(first)}" width="{svg(width - 16)}"'
                f' height="{ROW * len(layer.folders)}"/>'
                f'<text class="layer fill{colour}" x="{NAMES}" y="{svg(first + ROW / 2 + 4)}">'
                f"{escape(layer.name)}</text>"
            )
        for name in self.names:
            used = [other for other in self.names if other in self.uses[name]]
            if used:
                end = columns[used[-1]] - BEND
                lines.append(
                    f'<path class="use" d="M{svg(columns[name])} {svg(rows[name])} H{svg(end)}"/>'
                )
        for layer in self.layers:
            for name, text in layer.folders.items():
                lines += self._folder(name, text, layer, rows, columns)
        return lines

    def _folder(
        self,
        name: str,
        text: str,
        layer: Layer,
        rows: Mapping[str, float],
        columns: Mapping[str, float],
    ) -> Iterator[str]:
        """The box of a folder, and the lines that lead to it."""
        colour = COLOURS.index(layer.colours)
        x, y = columns[name], rows[name]
        users = [rows[other] for other in self.names if name in self.uses[other]]
        bends = " ".join(f"M{svg(x - BEND)} {svg(row)} q{BEND} 0 {BEND} {BEND}" for row in users)
        if users:
            start, tip = min(users) + BEND, y - BOX / 2
            trunk = f"M{svg(x)} {svg(start)} V{svg(tip - 5)}"
            yield (
                f'<path class="way line{colour}" d="{bends} {trunk}"/>'
                f'<path class="tip fill{colour}" d="M{svg(x - 4)} {svg(tip - 7)} h8 l-4 7 z"/>'
            )
        width = len(name) * CHARACTER + 14
        left = x + 16 - width
        yield (
            f'<rect class="box line{colour}" x="{svg(left)}" y="{svg(y - BOX / 2)}"'
            f' width="{svg(width)}" height="{BOX}" rx="5"/>'
            f'<text class="name" x="{svg(left + width / 2)}" y="{svg(y + 4.5)}">'
            f"{escape(name)}</text>"
            f'<text class="what" x="{svg(left - 8)}" y="{svg(y + 4)}">{escape(text)}</text>'
        )


def style() -> str:
    """The colours, on light and on dark pages."""

    def colours(dark: bool) -> str:
        page, ink, soft, odd, even, line = (
            ("#0d1117", "#e6edf3", "#9da7b3", "#161b22", "#11161d", "#57606a")
            if dark
            else ("#ffffff", "#1f2328", "#59636e", "#f3f5f8", "#fafbfc", "#a9b3bd")
        )
        rules = [
            f".page,.box{{fill:{page}}} .title,.name{{fill:{ink}}} .what{{fill:{soft}}}",
            f".band0{{fill:{odd}}} .band1{{fill:{even}}} .use{{stroke:{line}}}",
        ]
        for number, colour in enumerate(COLOURS):
            rules.append(
                f".fill{number}{{fill:{colour[dark]}}} .line{number}{{stroke:{colour[dark]}}}"
            )
        return "\n".join(rules)

    return (
        "text{font-family:'DejaVu Sans',Helvetica,Arial,sans-serif}\n"
        ".title{font-size:15px;font-weight:bold} .layer{font-size:12px;font-weight:bold}\n"
        ".name{font:13px 'DejaVu Sans Mono',Menlo,Consolas,monospace;text-anchor:middle}\n"
        ".what{font-size:11.5px;text-anchor:end}\n"
        ".use,.way{fill:none;stroke-width:1.5} .box{stroke-width:1.6}\n"
        f"{colours(False)}\n@media (prefers-color-scheme: dark){{\n{colours(True)}\n}}"
    )


def picture() -> str:
    """The picture of the tree, as SVG. Raises ValueError if a folder uses one that is not below it,
    or has no layer."""
    panels = (
        Panel("src: what each folder includes", SOURCES, source_uses()),
        Panel("python/forebay: what each package imports", PYTHON, package_uses()),
    )
    width = max(panel.width for panel in panels)
    height = sum(panel.height for panel in panels)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">',
        "<title>The folders of the sources, and which uses which</title>",
        f"<style>\n{style()}\n</style>",
        f'<rect class="page" width="{width}" height="{height}"/>',
        f'<text class="what" x="{width - 16}" y="26">{KEY}</text>',
    ]
    top = 0.0
    for panel in panels:
        lines += panel.draw(top, width)
        top += panel.height
    return "\n".join([*lines, "</svg>"]) + "\n"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Draws the picture of the folders of the sources.")
    parser.add_argument("target", nargs="?", type=Path, default=ROOT / "docs" / "layers.svg")
    parser.parse_args().target.write_text(picture())
