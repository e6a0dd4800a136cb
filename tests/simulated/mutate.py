#!/usr/bin/env python3
"""Changes the engine's headers, one operator or statement at a time, and runs the seeded test.

    mutate.py [--programs N] [--only FILE ...] [--survivors FILE]

Prints each mutant that the seeded test does not find. A survivor that is known stands in the file
of survivors, with the reason why it is no mistake, or not one that this test could find; others
make the exit code 1. Needs tree-sitter and tree-sitter-cpp.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import tree_sitter
import tree_sitter_cpp

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from simulated.workshop import ENGINE, CompileError, Workshop

FILES = [
    *("cache.h", "cache_pages.h", "cache_fill.h", "cache_commit.h", "cache_guards.h"),
    *("cache_repair.h", "cache_handle.h", "past_cache.h"),
]
OPERATORS = {
    "==": "!=",
    "!=": "==",
    "<": "<=",
    "<=": "<",
    ">": ">=",
    ">=": ">",
    "&&": "||",
    "||": "&&",
    "+": "-",
    "-": "+",
}
KNOWN = Path(__file__).resolve().parent / "survivors.txt"


@dataclass(frozen=True)
class Mutant:
    file: str
    begin: int  # bytes of the file's text
    end: int
    text: str  # in their place
    line: int
    what: str

    def name(self, source: bytes) -> str:
        """Says what is changed, without numbers of lines, which other changes move."""
        begin = source.rfind(b"\n", 0, self.begin) + 1
        end = source.find(b"\n", self.end)
        line = source[begin:end].decode().strip()
        return f"{self.file}: {self.what}: {line}"

    def apply(self, source: bytes) -> str:
        return (source[: self.begin] + self.text.encode() + source[self.end :]).decode()


def mutants_of(file: str, source: bytes) -> Iterator[Mutant]:
    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_cpp.language()))

    def mutant(node: tree_sitter.Node, text: str, what: str) -> Mutant:
        line = node.start_point[0] + 1
        return Mutant(file, node.start_byte, node.end_byte, text, line, what)

    def visit(node: tree_sitter.Node) -> Iterator[Mutant]:
        if node.type in ("template_parameter_list", "static_assert_declaration", "preproc_include"):
            return
        operator = node.child_by_field_name("operator")
        if node.type == "binary_expression" and operator is not None:
            old = source[operator.start_byte : operator.end_byte].decode()
            if old in OPERATORS:
                yield mutant(operator, OPERATORS[old], f"{old} becomes {OPERATORS[old]}")
        elif node.type == "condition_clause":
            inner = source[node.start_byte + 1 : node.end_byte - 1].decode()
            if ";" not in inner:
                yield mutant(node, f"(!({inner}))", "the condition is turned round")
        elif node.type == "expression_statement":
            yield mutant(node, ";", "the statement is left out")
        elif node.type in ("true", "false"):
            other = "false" if node.type == "true" else "true"
            yield mutant(node, other, f"{node.type} becomes {other}")
        elif node.type in ("continue_statement", "break_statement"):
            yield mutant(node, ";", "the jump is left out")
        for child in node.children:
            yield from visit(child)

    yield from visit(parser.parse(source).root_node)


def known_survivors(path: Path) -> set[str]:
    """The mutants of the file: lines that begin in the first column and are no comment."""
    if not path.exists():
        return set()
    lines = path.read_text().splitlines()
    return {line for line in lines if line and not line.startswith((" ", "#"))}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=3000, help="random programs for a mutant")
    parser.add_argument("--only", nargs="+", default=FILES, choices=FILES, metavar="FILE")
    parser.add_argument("--survivors", type=Path, default=KNOWN, help="known ones, explained")
    arguments = parser.parse_args()
    known = known_survivors(arguments.survivors)
    counts = {"found": 0, "no program": 0, "known": 0, "survived": 0}
    with tempfile.TemporaryDirectory() as folder:
        workshop = Workshop(Path(folder))
        for file in arguments.only:
            source = (ENGINE / file).read_bytes()
            for mutant in mutants_of(file, source):
                name = mutant.name(source)
                try:
                    verdict = workshop.seeded_test({file: mutant.apply(source)}, arguments.programs)
                except CompileError:
                    counts["no program"] += 1
                    continue
                fate = "found" if not verdict.passed else "known" if name in known else "survived"
                counts[fate] += 1
                if fate == "survived":
                    print(f"line {mutant.line}: {name}", flush=True)
    print(", ".join(f"{count} {fate}" for fate, count in counts.items()))
    return 0 if counts["survived"] == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
