"""The machines that the cluster simulator can imitate: nodes, network, file system, servers and
disks, read from a profile in TOML.

    from forebay.simulation.machines import machine
    faster = machine("palmetto-gige").with_changes({"network.bits_per_second": "10e9"})

The profiles in the folder `machines` say where each of their values is from. Every value is
declared once, with its unit and its limits, in `machine_parts`: to add one, add a field there and a
line to each profile that has its section. A section that may be of several kinds is a union of
classes; its value `kind` says which. To add a machine, add a file to the folder.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import product
from operator import attrgetter
from pathlib import Path
from stat import S_ISREG
from types import UnionType
from typing import Annotated, Any, get_args, get_type_hints

from forebay.kinds import check_path
from forebay.simulation.machine_parts import (
    FlashDrive,
    Lustre,
    Measured,
    Memory,
    Network,
    Nfs,
    Pvfs,
    RotatingDisk,
    Server,
)
from forebay.simulation.machine_values import Count, Line, Rule, Value, Word
from forebay.text import one_line

_FOLDER = Path(__file__).parent / "machines"
_ENDING = ".toml"
_MOST_FILE_BYTES = 1 << 20
_MOST_SHOWN = 40
"""Characters of a file's text that a message repeats."""

# tomllib takes time that grows with the square of the number of parts of a name.
_LONG_NAME = re.compile(r"""(?<![\w-])(?:(?:[\w-]+|"[^"\n]*"|'[^'\n]*')[ \t]*\.[ \t]*){32}""")


class MachineError(ValueError):
    """A machine that cannot be: one line with file, place, what was expected, what was found."""


@dataclass(frozen=True, slots=True)
class Machine:
    """A cluster with its file system. One that exists is within all limits and free of
    contradictions; otherwise MachineError is raised.

    Its own values are those of section `machine`.
    """

    name: Annotated[str, Line(64)]
    description: Annotated[str, Line(1000)]
    nodes: Count
    processes_per_node: Count
    servers: Count
    """I/O servers, each on a node of its own."""
    network: Network
    memory: Memory
    file_system: Pvfs | Lustre | Nfs | Measured
    server: Server
    disk: RotatingDisk | FlashDrive

    def __post_init__(self) -> None:
        _checked(self.flat())
        for contradiction in self._contradictions():
            raise MachineError(contradiction)

    def _contradictions(self) -> Iterator[str]:
        yield from self.network.contradictions()
        yield from self.server.contradictions()
        if isinstance(self.file_system, Lustre | Nfs):
            yield from self.file_system.contradictions()
        if isinstance(self.file_system, Pvfs):
            group = self.file_system.group_servers
            if group > 0 and self.servers % group:
                yield (
                    f"file_system.group_servers divides machine.servers, {self.servers:,}, not"
                    f" {group:,}"
                )
        if isinstance(self.file_system, Nfs | Measured) and self.servers != 1:
            yield (
                f"machine.servers is 1 where file_system.kind is '{self.file_system.kind}', not"
                f" {self.servers:,}"
            )

    def flat(self) -> dict[str, Value]:
        """Every value by its dotted name, such as `network.mtu` or `machine.nodes`."""
        kinds = {key: attrgetter(key)(self) for key in _KINDS}
        return {key: attrgetter(key.removeprefix("machine."))(self) for key in _rules_with(kinds)}

    def to_json(self) -> dict[str, Any]:
        """Plain values, by sections as in a profile."""
        tables: dict[str, Any] = {}
        for key, value in self.flat().items():
            *sections, name = key.split(".")
            table = tables
            for section in sections:
                table = table.setdefault(section, {})
            table[name] = value
        return tables

    def with_changes(self, changes: Mapping[str, str]) -> Machine:
        """This machine with other values.

        Args:
            changes: texts by dotted names. Sizes, whose names end in `bytes`, may have a unit, as
                64KiB; other numbers are plain, as 10e9.

        Raises MachineError, one line with the name, for what a profile may not say either.
        """
        values: dict[str, object] = dict(self.flat())
        try:
            values |= {key: changes[key] for key in _KINDS if key in changes}
            rules = _rules_with(values)
            for key, text in changes.items():
                if key not in rules:
                    raise MachineError(_unknown(key, values))
                if not isinstance(text, str):
                    raise MachineError(f"{key} is changed by a text, not {_shown(text)}")
                values[key] = rules[key].parsed(text)
                if rules[key].value(values[key]) is None:
                    raise MachineError(_refusal(rules[key], key, text))
            return _made(values)
        except MachineError as error:
            raise MachineError(f"{self.name} with changes: {error}") from None


def machine_names() -> tuple[str, ...]:
    """The machines whose profiles are part of the package."""
    return tuple(sorted(path.stem for path in _FOLDER.glob(f"*{_ENDING}")))


def machine(name_or_path: str | os.PathLike[str]) -> Machine:
    """The machine of a profile.

    Args:
        name_or_path: one of `machine_names()`, or the path of a file. A name comes first; write
            ./NAME for a file that has one.

    Raises MachineError, one line with file and place, for a file that is no complete profile.
    """
    check_path(name_or_path, "machine", "name_or_path")
    given = os.fsdecode(name_or_path)
    path = _FOLDER / f"{given}{_ENDING}" if given in machine_names() else _user_path(given)
    try:
        return _made(_flat(_tables(path), ""))
    except MachineError as error:
        raise MachineError(f"{_short(str(path), 1000)}: {error}") from None


def machine_of(profile: str) -> Machine:
    """The machine of a profile's text. Raises MachineError, one line with the place."""
    return _made(_flat(_parsed(profile.encode()), ""))


def _user_path(given: str) -> Path:
    """The path that is given; MachineError if it rather is a name with a mistake."""
    path = Path(given)
    looks_like_path = os.sep in given or given.endswith(_ENDING)
    with suppress(OSError, ValueError):
        if looks_like_path or (given and path.exists()):
            return path
    near = get_close_matches(given[:_MOST_SHOWN], machine_names(), 1)
    advice = f"; the nearest is {near[0]}" if near else ""
    raise MachineError(
        f"there is no machine {_shown(given)}{advice}; give {', '.join(machine_names())} or the"
        " path of a profile"
    )


def _tables(path: Path) -> dict[str, Any]:
    try:
        if not S_ISREG(path.stat().st_mode):
            raise MachineError("a profile is a file, this is a folder or a device")
        with path.open("rb") as file:
            content = file.read(_MOST_FILE_BYTES + 1)
    except OSError as error:
        raise MachineError(f"cannot be read: {error.strerror or type(error).__name__}") from None
    except MachineError:
        raise
    except ValueError as error:  # a path that the system does not allow
        raise MachineError(f"cannot be read: {_short(str(error), 200)}") from None
    if len(content) > _MOST_FILE_BYTES:
        raise MachineError(f"a profile has at most {_MOST_FILE_BYTES:,} bytes, this file has more")
    return _parsed(content)


def _parsed(content: bytes) -> dict[str, Any]:
    try:
        text = content.decode()
        if long := _LONG_NAME.search(text):
            line = text.count("\n", 0, long.start()) + 1
            raise MachineError(
                f"line {line:,} has a name of over 32 parts, where a profile's have 3"
            )
        return tomllib.loads(text)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise MachineError(f"is no text in UTF-8 (line {line:,})") from None
    except RecursionError:
        raise MachineError("is no profile: arrays or tables within too many others") from None
    except MachineError:
        raise
    except ValueError as error:  # tomllib's own, and int's of a number with too many digits
        raise MachineError(f"is no TOML: {_short(str(error), 200)}") from None


def _flat(tables: dict[str, Any], place: str) -> dict[str, object]:
    """Every value of the tables by its dotted name."""
    values: dict[str, object] = {}
    for name, value in tables.items():
        key = f"{place}{name}"
        if key in _SECTIONS:
            if not isinstance(value, dict):
                raise MachineError(f"{key} is a section, not {_shown(value)}")
            values |= _flat(value, f"{key}.")
        elif "." in name or key not in _KEYS:
            raise MachineError(_unknown(key, {}, isinstance(value, dict)))
        else:
            values[key] = value
    return values


def _made(values: Mapping[str, object]) -> Machine:
    """A machine of values by their dotted names."""
    made: Machine = _filled(Machine, _checked(values), "machine.", "")
    return made


def _checked(values: Mapping[str, object]) -> dict[str, Value]:
    """The values as their rules want them; MachineError unless all are there and allowed."""
    checked: dict[str, Value] = {}
    rules = _rules_with(values)
    for key, rule in rules.items():
        if key not in values:
            raise MachineError(f"{key} is missing; it is {rule.wanted}")
        value = rule.value(values[key])
        if value is None:
            raise MachineError(_refusal(rule, key, values[key]))
        checked[key] = value
    for key in values:
        if key not in rules:
            raise MachineError(_unknown(key, values))
    return checked


def _filled(section: type, values: Mapping[str, Value], own: str, below: str) -> Any:
    """A section made of its values, which begin with `own`, and sections, with `below`."""
    fields: dict[str, Any] = {}
    for name, hint in _hints(section):
        inner = f"{below}{name}."
        if sections := _sections(hint):
            fields[name] = _filled(_one_of(sections, inner, values), values, inner, inner)
        else:
            fields[name] = values[own + name]
    return section(**fields)


def _rules_with(values: Mapping[str, object]) -> dict[str, Rule]:
    """The rules of a machine with these kinds of file system and disk."""
    return dict(_rules(Machine, "machine.", "", values))


def _rules(
    section: type, own: str, below: str, values: Mapping[str, object]
) -> Iterator[tuple[str, Rule]]:
    for name, hint in _hints(section):
        inner = f"{below}{name}."
        if sections := _sections(hint):
            chosen = _one_of(sections, inner, values)
            for key, rule in _rules(chosen, inner, inner, values):
                yield key, _kinds(sections) if key == f"{inner}kind" else rule
        else:
            yield own + name, hint.__metadata__[0]


def _sections(hint: Any) -> tuple[type, ...]:
    """The classes that a section may have; none: it is no section but a value."""
    if isinstance(hint, UnionType):
        return get_args(hint)
    return (hint,) if isinstance(hint, type) else ()


def _kinds(sections: tuple[type, ...]) -> Word:
    """What the value `kind` of a section may be."""
    return Word(tuple(word for one in sections for word in _kind_of(one)))


def _kind_of(section: type) -> tuple[str, ...]:
    words: tuple[str, ...] = dict(_hints(section))["kind"].__metadata__[0].words
    return words


def _one_of(sections: tuple[type, ...], place: str, values: Mapping[str, object]) -> type:
    """The class that the section has with these values: that of its kind."""
    if len(sections) == 1:
        return sections[0]
    kind = values.get(f"{place}kind")
    return next((one for one in sections if kind in _kind_of(one)), sections[0])


def _hints(section: type) -> Iterable[tuple[str, Any]]:
    """The fields of a section: sections, which are classes, and values with their rules."""
    return get_type_hints(section, include_extras=True).items()


def _all_keys() -> Iterator[str]:
    """The names of all values, whatever the kinds."""
    choices = {
        f"{name}.kind": _kinds(sections).words
        for name, hint in _hints(Machine)
        if len(sections := _sections(hint)) > 1
    }
    for kinds in product(*choices.values()):
        yield from _rules_with(dict(zip(choices, kinds, strict=True)))


_KEYS = tuple(dict.fromkeys(_all_keys()))
_KINDS = tuple(key for key in _KEYS if key.endswith(".kind"))
_SECTIONS = tuple(
    dict.fromkeys(
        key.rsplit(".", depth)[0] for key in _KEYS for depth in range(1, key.count(".") + 1)
    )
)


def _unknown(key: str, values: Mapping[str, object], is_section: bool = False) -> str:
    """That there is no such key in a machine with these kinds, and which may be meant."""
    section = key.partition(".")[0]
    kind = values.get(f"{section}.kind")
    if key in _KEYS:
        return f"there is no {key} where {section}.kind is {_shown(kind)}"
    cut = key[: 2 * _MOST_SHOWN]
    known = _SECTIONS if is_section else tuple(_rules_with(values)) if values else _KEYS
    name = cut.rpartition(".")[2]
    misplaced = [one for one in known if one.rpartition(".")[2] == name]
    near = get_close_matches(cut, misplaced or known, 1, 0)[0]
    if is_section:
        return f"there is no section [{_short(key)}]; the nearest is [{near}]"
    return f"there is no {_short(key)}; the nearest is {near}"


def _refusal(rule: Rule, key: str, found: object) -> str:
    return f"{key} is {rule.wanted}, not {_shown(found)}"


def _shown(found: object) -> str:
    """A value on a line."""
    if isinstance(found, str):
        return f"'{_short(found)}'"
    if isinstance(found, bool):
        return str(found).lower()
    if isinstance(found, int) and found.bit_length() > 64:
        return f"a number of {found.bit_length():,} bits"
    if isinstance(found, int | float):
        return str(found)
    names = {dict: "a section", list: "an array", type(None): "None"}
    return names.get(type(found), f"a {type(found).__name__}")


def _short(text: str, most: int = _MOST_SHOWN) -> str:
    """The beginning of a text, on a line."""
    return one_line(text[:most]) + ("..." if len(text) > most else "")
