"""What the values of a machine's profile may be: each is declared with its unit and its limits."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Protocol

from forebay import _core

SECTOR_BYTES = 512

Value = bool | int | float | str


class Rule(Protocol):
    """What a value may be."""

    @property
    def wanted(self) -> str:
        """As in: `network.mtu` is ..."""

    def value(self, given: object) -> Value | None:
        """The value, None if it is not allowed."""

    def parsed(self, text: str) -> object:
        """What the text of an option stands for; the text itself if for nothing."""


@dataclass(frozen=True)
class Whole:
    """A whole number."""

    least: int
    most: int

    @property
    def wanted(self) -> str:
        return f"a whole number from {self.least:,} to {self.most:,}"

    def value(self, given: object) -> Value | None:
        if isinstance(given, bool) or not isinstance(given, int):
            return None
        return given if self.least <= given <= self.most else None

    def parsed(self, text: str) -> object:
        number = _number(text)
        return int(number) if isinstance(number, float) and number.is_integer() else number


class Size(Whole):
    """A whole number of bytes; an option may have a unit."""

    def parsed(self, text: str) -> object:
        size = _core.parse_bytes(text) if text.isascii() else None
        return text if size is None else size


@dataclass(frozen=True)
class Number:
    """A number, above 0 if `positive`."""

    most: float
    positive: bool = False

    @property
    def wanted(self) -> str:
        if self.positive:
            return f"a number above 0, at most {self.most:g}"
        return f"a number from 0 to {self.most:g}"

    def value(self, given: object) -> Value | None:
        if isinstance(given, bool) or not isinstance(given, int | float):
            return None
        allowed = 0 <= given <= self.most and not (self.positive and given == 0)
        return float(given) if allowed else None

    def parsed(self, text: str) -> object:
        return _number(text)


@dataclass(frozen=True)
class Word:
    """One of a few words."""

    words: tuple[str, ...]

    @property
    def wanted(self) -> str:
        return " or ".join(f"'{word}'" for word in self.words)

    def value(self, given: object) -> Value | None:
        return given if isinstance(given, str) and given in self.words else None

    def parsed(self, text: str) -> object:
        return text


@dataclass(frozen=True)
class Truth:
    """true or false."""

    wanted = "true or false"

    def value(self, given: object) -> Value | None:
        return given if isinstance(given, bool) else None

    def parsed(self, text: str) -> object:
        return {"true": True, "false": False}.get(text.lower(), text)


@dataclass(frozen=True)
class Line:
    """A text that fits on a line of a terminal."""

    most: int

    @property
    def wanted(self) -> str:
        return f"a line of 1 to {self.most:,} printable characters"

    def value(self, given: object) -> Value | None:
        if not isinstance(given, str) or not given.isprintable() or not given.strip():
            return None
        return given if len(given) <= self.most else None

    def parsed(self, text: str) -> object:
        return text


YesOrNo = Annotated[bool, Truth()]
Count = Annotated[int, Whole(1, 1 << 20)]
Bytes = Annotated[int, Size(1, 1 << 40)]
BytesOrNone = Annotated[int, Size(0, 1 << 50)]
BufferBytes = Annotated[int, Whole(0, 1 << 40)]
Seconds = Annotated[float, Number(1e6)]
Rate = Annotated[float, Number(1e18, positive=True)]


def _number(text: str) -> object:
    """The number that is written; the text itself if it is none."""
    for kind in (int, float):
        with suppress(ValueError):
            if text.isascii():
                return kind(text)
    return text
