"""What `recorder2text` made of a trace of Recorder, as a source of `forebay.trace.Trace`: the POSIX
calls that read and write files.

Recorder (https://github.com/uiuc-hpc/Recorder) writes binary files; its command recorder2text makes
a folder _text of them, with a file RANK.txt for each rank. A line is a call: the seconds at which
it began and ended, its name, its depth below other calls, the kind of its interface, and its
arguments, where a path stands for each descriptor and each stream. Results are not recorded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from forebay.text import one_line
from forebay.trace.calls import MOST_BYTES, CallLog, Files, Identity, Row
from forebay.trace.types import TraceError

_READS = ("read", "readv", "pread", "pread64", "fread")
_WRITES = ("write", "writev", "pwrite", "pwrite64", "fwrite", "fprintf")
_ROUTINES = (*_READS, *_WRITES)
_PLACED = ("pread", "pread64", "pwrite", "pwrite64")
_OPENS = ("open", "open64", "creat", "creat64", "fopen", "fopen64")
_CLOSES = ("close", "fclose")
_SEEKS = ("lseek", "lseek64", "fseek", "fseeko")
_RESIZES = ("truncate", "ftruncate")
_FOLLOWED = frozenset((*_ROUTINES, *_OPENS, *_CLOSES, *_SEEKS, *_RESIZES))
_POSIX, _MPI_IO = b"0", b"1"
"""Kinds of interfaces."""
# Flags of open as Linux numbers them.
_O_CREAT, _O_EXCL, _O_TRUNC, _O_APPEND = 0o100, 0o200, 0o1000, 0o2000
_SEEK_SET, _SEEK_CUR, _SEEK_END = 0, 1, 2

_TIME = rb"(\d{1,9}\.\d{1,9})"
_LINE = re.compile(_TIME + rb" " + _TIME + rb" ([^ ]+) (\d{1,3}) ([0-4]) \(((?: [^ ]*)*) \)")
_NUMBER = re.compile(rb"-?\d{1,19}$")
_RANK = re.compile(r"(\d{1,9})\.txt$")
_LOOKED_AT = 4096
"""Bytes by which a file is recognised."""


def is_recorder(path: Path) -> bool:
    """Whether the file begins as recorder2text prints; or whether a folder, or its folder _text,
    has such a file, or is a trace that recorder2text can read."""
    try:
        if path.is_dir():
            return _is_binary(path) or any(map(is_recorder, _texts(path)))
        with path.open("rb") as file:
            return _LINE.match(file.read(_LOOKED_AT)) is not None
    except OSError:
        return False


def _is_binary(folder: Path) -> bool:
    return (folder / "recorder.mt").is_file()


def _texts(folder: Path) -> list[Path]:
    """The text files of a folder, by rank."""
    inner = folder / "_text"
    found = [file for file in (inner if inner.is_dir() else folder).iterdir() if _rank(file) >= 0]
    return sorted(found, key=_rank)


def _rank(file: Path) -> int:
    """The rank whose text it is; -1: the name tells none."""
    name = _RANK.fullmatch(file.name)
    return int(name[1]) if name and file.is_file() else -1


class _Call(NamedTuple):
    start_ns: int
    end_ns: int
    rank: int
    name: str
    arguments: list[bytes]


class RecorderLog(CallLog):
    """The lines of one file of recorder2text, or of a folder that has one for each rank."""

    def __init__(self, path: Path):
        name = one_line(str(path))
        try:
            parts = _texts(path) if path.is_dir() else [path]
            if not parts:
                raise TraceError(
                    f"{name}: a binary trace of Recorder; its command `recorder2text` makes text of"
                    " it, which can be read"
                )
            ranks = [max(0, _rank(part)) for part in parts]
            texts = [_Text(rank, part) for rank, part in zip(ranks, parts, strict=True)]
        except OSError as error:
            raise TraceError(f"{name}: {error.strerror}") from error
        calls = sorted((call for text in texts for call in text.calls), key=lambda call: call[0])
        if not calls:
            raise TraceError(f"{name}: it has no POSIX call that opens, reads or writes a file")
        follower = _Follower(calls)
        problems = list(follower.problems())
        unread = sum(text.unread for text in texts)
        if unread:
            problems.append(f"left out: {unread:,} lines that are no calls")
        if not follower.rows and any(text.mpi_io for text in texts):
            problems.append("only calls of MPI-IO moved bytes, and their places are not recorded")
        absent = max(ranks) + 1 - len(set(ranks))
        if path.is_dir() and absent:
            problems.append(f"{absent:,} of {max(ranks) + 1:,} ranks left no trace")
        super().__init__(
            name,
            "recorder",
            follower.rows,
            follower.files,
            reads=_READS,
            writes=_WRITES,
            identities={rank: Identity(rank=rank, pid=-1) for rank in ranks},
            zero_ns=0,
            problems=problems,
        )


class _Text:
    """The calls of a rank."""

    def __init__(self, rank: int, path: Path):
        self.calls: list[_Call] = []
        self.mpi_io = False
        self.unread = 0
        with path.open("rb") as file:
            for text in file:
                self._read(rank, text.rstrip(b"\r\n"))

    def _read(self, rank: int, text: bytes) -> None:
        line = _LINE.fullmatch(text)
        if line is None:
            self.unread += bool(text)
            return
        start, end, called, _, kind, arguments = line.groups()
        if kind == _MPI_IO:
            self.mpi_io = self.mpi_io or b"read" in called or b"write" in called
        name = called.decode("ascii", "replace")
        if kind != _POSIX or name not in _FOLLOWED:
            return
        start_ns = _nanoseconds(start)
        ended_ns = max(start_ns, _nanoseconds(end))
        self.calls.append(_Call(start_ns, ended_ns, rank, name, arguments.split(b" ")[1:]))


@dataclass(slots=True)
class _Opened:
    """A file as a rank has it open. The text tells no descriptors apart."""

    appends: bool
    position: int | None = 0
    """None: unknown."""
    times: int = 1


@dataclass(slots=True)
class _Size:
    end: int = 0
    """The largest that the calls have shown."""
    known: bool = False


@dataclass
class _Follower:
    """Follows the files' positions through the calls, in the order of their starts."""

    calls: Sequence[_Call]
    files: Files = field(default_factory=Files)
    rows: list[Row] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._opened: dict[tuple[int, int], _Opened] = {}
        self._sizes: dict[int, _Size] = {}
        self._senseless = self._unplaced = self._system = self._ends = self._twice = 0
        for call in self.calls:
            try:
                self._follow(call)
            except (IndexError, ValueError):
                self._senseless += 1

    def problems(self) -> Iterator[str]:
        """What is missing, one line each."""
        if self.rows:
            yield "it has no results: reads and writes count with the bytes that they asked for"
        for count, what in (
            (self._senseless, "calls whose arguments make no sense"),
            (self._unplaced, "reads and writes at unknown places"),
            (self._system, "reads and writes of the system's files and of program text"),
        ):
            if count:
                yield f"left out: {count:,} {what}"
        if self._ends:
            yield (
                f"{self._ends:,} times a position was taken from the end of a file, as far as the"
                " calls show it"
            )
        if self._twice:
            yield (
                f"{self._twice:,} times a rank opened a file that it had open: which descriptor a"
                " later call used is not recorded"
            )

    def _follow(self, call: _Call) -> None:
        name, arguments = call.name, call.arguments
        if name in _ROUTINES:
            self._access(call)
            return
        file = self.files.number(arguments[0])
        key = (call.rank, file)
        if name in _OPENS:
            self._open(key, call)
        elif name in _CLOSES:
            opened = self._opened.get(key)
            if opened is not None:
                opened.times -= 1
                if opened.times <= 0:
                    del self._opened[key]
        elif name in _SEEKS:
            self._seek(file, self._of(key), _number(arguments[1]), _number(arguments[2]))
        else:
            self._sizes[file] = _Size(_natural(arguments[1]), known=True)

    def _open(self, key: tuple[int, int], call: _Call) -> None:
        mode = call.arguments[1]
        if call.name.startswith("fopen"):
            empties, appends, creates = mode.startswith(b"w"), mode.startswith(b"a"), b"x" in mode
        elif call.name.startswith("creat"):
            empties, appends, creates = True, False, False
        else:
            flags = _number(mode)
            empties = bool(flags & _O_TRUNC)
            appends = bool(flags & _O_APPEND)
            creates = flags & (_O_CREAT | _O_EXCL) == _O_CREAT | _O_EXCL
        if empties or creates:
            self._sizes[key[1]] = _Size(known=True)
        before = self._opened.get(key)
        self._twice += before is not None
        self._opened[key] = _Opened(appends, times=1 + (before.times if before else 0))

    def _of(self, key: tuple[int, int]) -> _Opened:
        """The file as the rank has it open; its open may be missing."""
        return self._opened.setdefault(key, _Opened(appends=False, position=None))

    def _size(self, file: int) -> int:
        size = self._sizes.setdefault(file, _Size())
        self._ends += not size.known
        return size.end

    def _seek(self, file: int, opened: _Opened, offset: int, whence: int) -> None:
        base: int | None = 0
        if whence == _SEEK_CUR:
            base = opened.position
        elif whence == _SEEK_END:
            base = self._size(file)
        elif whence != _SEEK_SET:
            raise ValueError(whence)
        if base is not None and base + offset < 0:
            raise ValueError(offset)
        opened.position = None if base is None else base + offset

    def _access(self, call: _Call) -> None:
        name, arguments = call.name, call.arguments
        if name in ("fread", "fwrite"):
            path, length = arguments[3], _natural(arguments[1]) * _natural(arguments[2])
        elif name in ("readv", "writev"):
            path, length = arguments[0], _natural(arguments[1])
        elif name == "fprintf":  # the zero behind the text is counted
            path, length = arguments[0], max(0, _natural(arguments[1]) - 1)
        else:
            path, length = arguments[0], _natural(arguments[2])
        placed = _natural(arguments[3]) if name in _PLACED else None
        file = self.files.number(path)
        if self.files.is_system(file):
            self._system += 1
            return
        writes = name in _WRITES
        opened = self._of((call.rank, file))
        offset = placed
        if offset is None:
            offset = self._size(file) if writes and opened.appends else opened.position
            if offset is None:
                self._unplaced += 1
                return
        end = offset + length
        if end > MOST_BYTES:
            raise ValueError(end)
        if placed is None:
            opened.position = end
        if writes:
            size = self._sizes.setdefault(file, _Size())
            size.end = max(size.end, end)
        routine = _ROUTINES.index(name)
        self.rows.append(
            (call.rank, call.rank, file, routine, offset, end, call.start_ns, call.end_ns)
        )


def _number(text: bytes) -> int:
    if _NUMBER.match(text) is None:
        raise ValueError(text)
    return int(text)


def _natural(text: bytes) -> int:
    value = _number(text)
    if value < 0 or value > MOST_BYTES:
        raise ValueError(text)
    return value


def _nanoseconds(seconds: bytes) -> int:
    whole, fraction = seconds.split(b".")
    return int(whole) * 1_000_000_000 + int(fraction.ljust(9, b"0"))
