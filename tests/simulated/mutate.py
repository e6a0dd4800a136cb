#!/usr/bin/env python3
"""Changes the engine's headers, one operator or statement at a time, and runs the seeded test.

    mutate.py [--programs N] [--more N] [--only FILE ...] [--survivors FILE]

One program contains all mutants of a header, each behind a switch, and is run once for each. What
cannot be switched while the program runs is built alone.

Prints each mutant that the seeded test does not find. A survivor that is known stands in the file
of survivors, with the reason why it is no mistake, or which other test finds it. Others make the
exit code 1, and so does a line of that file that names no mutant. Needs tree-sitter and
tree-sitter-cpp.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import tree_sitter
import tree_sitter_cpp

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from simulated.workshop import ENGINE, CompileError, Workshop

FILES = [
    *("cache.h", "cache_pages.h", "cache_evict.h", "cache_fill.h", "cache_commit.h"),
    *("cache_guards.h", "cache_repair.h", "cache_rest.h", "cache_handle.h"),
    *("handle_writes.h", "handle_reads.h", "past_cache.h"),
    *("step_aside.h", "local_bypass.h", "access.h", "page_cursor.h", "cache_guests.h"),
    "hand_over.h",
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
SECONDS = 20  # of a core, for a run; of the sound engine it takes some 4

# How a mutant's text {0} and the right one {1} stand in one program. `chosen` is a condition.
EXPRESSION = "({chosen} ? ({0}) : ({1}))"
CONDITION = "({chosen} ? ({0}) : static_cast<bool>({1}))"
STATEMENT = "{{ if ({chosen}) {{ {0} }} else {{ {1} }} }}"
CHOICE = """#include <cstdlib>
inline const int forebay_mutant = [] {
  const char* const number = std::getenv("FOREBAY_MUTANT");
  return number == nullptr ? 0 : std::atoi(number);
}();
"""


@dataclass(frozen=True)
class Mutant:
    name: str  # without numbers of lines, which other changes move
    line: int
    begin: int  # bytes of the file's text
    end: int
    text: str  # in their place
    switch: str

    def apply(self, source: bytes) -> str:
        return (source[: self.begin] + self.text.encode() + source[self.end :]).decode()


def function_around(node: tree_sitter.Node | None) -> str:
    """The name of the function that contains the node."""
    while node is not None and node.type != "function_definition":
        node = node.parent
    name = node
    while name is not None and name.type not in ("identifier", "field_identifier"):
        name = name.child_by_field_name("declarator") or name.child_by_field_name("name")
    if name is None or name.text is None:
        return ""
    return name.text.decode() + ": "


def mutants_of(file: str, source: bytes) -> list[Mutant]:
    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_cpp.language()))
    names: Counter[str] = Counter()

    def text_of(begin: int, end: int) -> str:
        return source[begin:end].decode()

    def mutant(node: tree_sitter.Node, text: str, switch: str, what: str, at: int) -> Mutant:
        line = text_of(source.rfind(b"\n", 0, at) + 1, source.find(b"\n", at)).strip()
        name = f"{file}: {function_around(node)}{what}: {line}"
        names[name] += 1
        if names[name] > 1:
            name += f" #{names[name]}"
        return Mutant(name, node.start_point[0] + 1, node.start_byte, node.end_byte, text, switch)

    def visit(node: tree_sitter.Node) -> Iterator[Mutant]:
        begin, end = node.start_byte, node.end_byte
        if node.type in ("template_parameter_list", "static_assert_declaration", "preproc_include"):
            return
        operator = node.child_by_field_name("operator")
        if node.type == "binary_expression" and operator is not None:
            old = text_of(operator.start_byte, operator.end_byte)
            if old in OPERATORS:
                new = OPERATORS[old]
                text = text_of(begin, operator.start_byte) + new + text_of(operator.end_byte, end)
                what = f"{old} becomes {new}"
                yield mutant(node, text, EXPRESSION, what, operator.start_byte)
        elif node.type == "condition_clause":
            value = node.child_by_field_name("value")
            constant = node.prev_sibling is not None and node.prev_sibling.type == "constexpr"
            if value is not None and value.type != "declaration" and not constant:
                text = f"!({text_of(value.start_byte, value.end_byte)})"
                yield mutant(value, text, CONDITION, "the condition is turned round", begin)
        elif node.type == "expression_statement":
            yield mutant(node, ";", STATEMENT, "the statement is left out", begin)
        elif node.type in ("true", "false"):
            other = "false" if node.type == "true" else "true"
            yield mutant(node, other, EXPRESSION, f"{node.type} becomes {other}", begin)
        elif node.type in ("continue_statement", "break_statement"):
            yield mutant(node, ";", STATEMENT, "the jump is left out", begin)
        for child in node.children:
            yield from visit(child)

    return list(visit(parser.parse(source).root_node))


def switched(file: str, source: bytes, mutants: Sequence[tuple[int, Mutant]]) -> str:
    """The file with these mutants, outer ones first, each chosen by its number.

    The compiler takes what belongs to a switch for lines of a file "mutant", named by the number.
    """

    def place(at: int) -> str:
        line = source[:at].count(b"\n") + 1
        return f'\n#line {line} "{file}"\n'

    def part(begin: int, end: int, inside: Sequence[tuple[int, Mutant]]) -> str:
        text = ""
        while inside:
            (number, one), *rest = inside
            within = [other for other in rest if other[1].end <= one.end]
            inside = rest[len(within) :]
            mine = f'\n#line {number} "mutant"\n'
            right = place(one.begin) + part(one.begin, one.end, within) + mine
            chosen = f"forebay_mutant == {number}"
            text += source[begin : one.begin].decode() + mine
            text += one.switch.format(one.text.replace("\n", mine), right, chosen=chosen)
            text += place(one.end)
            begin = one.end
        return text + source[begin:end].decode()

    return CHOICE + place(0) + part(0, len(source), mutants)


def build(
    workshop: Workshop, file: str, source: bytes, mutants: Mapping[int, Mutant], program: Path
) -> set[int]:
    """Builds a program with all mutants that can be switched, and returns their numbers."""
    numbers = set(mutants)
    while True:
        inside = [(number, mutants[number]) for number in sorted(numbers)]
        try:
            workshop.build({file: switched(file, source, inside)}, program)
            return numbers
        except CompileError as error:
            places = re.findall(r"^(.*?):(\d+):(?:\d+:)? (?:fatal )?error:", str(error), re.M)
            wrong = {int(line) for name, line in places if name == "mutant"}
            if not numbers & wrong:
                lines = {int(line) for name, line in places if name.endswith(file)}
                wrong = {n for n in numbers if mutants[n].line in lines}
            if not numbers & wrong:
                raise
            numbers -= wrong


def known_survivors(path: Path) -> set[str]:
    """The mutants of the file: lines that begin in the first column and are no comment."""
    if not path.exists():
        return set()
    lines = path.read_text().splitlines()
    return {line for line in lines if line and not line.startswith((" ", "#"))}


def summary(counts: Counter[str]) -> str:
    fates = ("found", "known", "survived", "no program")
    return ", ".join(f"{counts[fate]} {fate}" for fate in fates)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=3000, help="random programs for a mutant")
    parser.add_argument("--more", type=int, default=40_000, help="for one that then survives")
    parser.add_argument("--only", nargs="+", default=FILES, choices=FILES, metavar="FILE")
    parser.add_argument("--survivors", type=Path, default=KNOWN, help="known ones, explained")
    arguments = parser.parse_args()
    known = {
        name
        for name in known_survivors(arguments.survivors)
        if name.partition(":")[0] in arguments.only
    }
    total: Counter[str] = Counter()
    unnamed = set(known)
    with tempfile.TemporaryDirectory() as folder:
        workshop = Workshop(Path(folder))
        program = Path(folder) / "nodes"
        alone = Path(folder) / "alone"
        for file in arguments.only:
            counts: Counter[str] = Counter()
            source = (ENGINE / file).read_bytes()
            mutants = dict(enumerate(mutants_of(file, source), 1))
            numbers = build(workshop, file, source, mutants, program)
            if not workshop.run(program, arguments.programs, SECONDS).passed:
                sys.exit(f"the test fails without a mutant of {file}, too")
            unnamed -= {mutant.name for mutant in mutants.values()}
            for number, mutant in mutants.items():
                tested = program if number in numbers else alone
                if tested is alone:
                    try:
                        workshop.build({file: mutant.apply(source)}, alone)
                    except CompileError:
                        counts["no program"] += 1
                        continue
                variables = {"FOREBAY_MUTANT": str(number)}
                passed = workshop.run(tested, arguments.programs, SECONDS, variables).passed
                if passed and mutant.name not in known and arguments.more > arguments.programs:
                    seconds = SECONDS * arguments.more // arguments.programs
                    passed = workshop.run(tested, arguments.more, seconds, variables).passed
                fate = "found" if not passed else "known" if mutant.name in known else "survived"
                counts[fate] += 1
                if fate == "survived":
                    print(f"line {mutant.line}: {mutant.name}", flush=True)
                if fate == "found" and mutant.name in known:
                    print(f"found, though known: {mutant.name}", flush=True)
            print(f"{file}: {summary(counts)}", flush=True)
            total += counts
    for name in sorted(unnamed):
        print(f"no mutant: {name}")
    print(summary(total))
    return 0 if total["survived"] == 0 and not unnamed else 1


if __name__ == "__main__":
    sys.exit(main())
