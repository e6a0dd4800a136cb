"""What strace printed, as a source of `forebay.trace.Trace`: the reads and writes of any program's
system calls.

It follows each process's file descriptors: who opened what, which descriptors share a position
(dup, fork), where a read or write without an offset lies.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from forebay.text import one_line
from forebay.trace.calls import MOST_BYTES, CallLog, Files, Identity, Row
from forebay.trace.types import TraceError

_READS = ("read", "readv", "pread64", "preadv", "preadv2")
_WRITES = ("write", "writev", "pwrite64", "pwritev", "pwritev2")
_ROUTINES = (*_READS, *_WRITES)
_PLACED = {"pread64": 1, "preadv": 1, "preadv2": 2, "pwrite64": 1, "pwritev": 1, "pwritev2": 2}
"""Calls that name an offset: the position of this argument, from the end."""
_UNSEEN = ("sendfile", "copy_file_range", "splice", "io_uring_enter", "io_submit")
"""Calls that move bytes of files in ways that strace does not tell."""
_NO_FILES = ("socket", "accept", "accept4", "eventfd2", "epoll_create1", "timerfd_create")
"""Calls whose result is a descriptor of no file."""
_FORKS = ("clone", "clone3", "fork", "vfork")
_OPENS = ("open", "openat", "openat2", "creat")
_CHANGES = (
    *("close", "dup", "dup2", "dup3", "fcntl", "pipe", "pipe2"),
    *("lseek", "ftruncate", "mmap", "execve", "execveat"),
)
"""Calls that change what descriptors stand for, positions, sizes or memory."""
_FOLLOWED = frozenset((*_ROUTINES, *_UNSEEN, *_NO_FILES, *_FORKS, *_OPENS, *_CHANGES))
_LOOKED_AT = 4096
"""Bytes by which a file is recognised."""

# Numbers have as many digits as 32 or 64 bits hold.
_TIME = rb"(?:(\d{1,10}\.\d{1,9})|(\d\d):(\d\d):(\d\d\.\d{1,9}))"
_LINE = re.compile(rb"(?:\[pid +(\d{1,9})\] |(\d{1,9}) +)?" + _TIME + rb" (.*)")
_RESULT = rb"(\?|-?\d{1,18}|0x[0-9a-f]{1,16})(?:<(.*?)>)?"
_CALL = re.compile(rb"(\w+)\((.*)\) += " + _RESULT + rb"(.*)", re.DOTALL)
_UNFINISHED = b" <unfinished ...>"
_RESUMED = re.compile(rb"<\.\.\. (\w+) resumed>(.*)", re.DOTALL)
_TOOK = re.compile(rb"<(\d{1,9}\.\d{1,9})>$")
_DESCRIPTOR = re.compile(rb"(\d{1,9}|AT_FDCWD)(?:<(.*?)>)?(?:, |$)")
_QUOTED = re.compile(rb'"((?:[^"\\]|\\.)*)"')
_SUFFIX = re.compile(r"\.(\d+)$")
_NANOSECONDS = 1_000_000_000
_DAY = 86_400 * _NANOSECONDS


def is_strace(path: Path) -> bool:
    """Whether the file begins as strace prints with -ttt or -tt; or whether a folder has such a
    file (of -ff)."""
    try:
        if path.is_dir():
            return any(_SUFFIX.search(file.name) and is_strace(file) for file in _files(path))
        with path.open("rb") as file:
            first = file.read(_LOOKED_AT).split(b"\n", 1)[0]
    except OSError:
        return False
    line = _LINE.match(first)
    if line is None:
        return False
    rest = line[7]
    return bool(re.match(rb"\w+\(|<\.\.\. |\+\+\+ |--- ", rest))


def _files(folder: Path) -> list[Path]:
    return sorted(file for file in folder.iterdir() if file.is_file())


@dataclass(slots=True)
class _Description:
    """What open returns: descriptors that were duplicated or inherited share it."""

    file: int
    appends: bool
    closes_at_exec: bool = False
    position: int = 0


@dataclass(slots=True)
class _Task:
    """A thread, or a process with one thread."""

    process: int
    """The thread of its process that began first."""
    descriptors: dict[int, _Description | None] = field(default_factory=dict)
    """None: no file (a pipe, a socket)."""


@dataclass(frozen=True, slots=True)
class _Call:
    """A system call that has returned."""

    start_ns: int
    end_ns: int
    task: int
    name: str
    arguments: bytes
    result: int
    shown: bytes
    """The path behind the result, if strace shows it (-y)."""


class StraceLog(CallLog):
    """The lines of one file of strace, or of a folder that has a file for each thread (-ff)."""

    def __init__(self, path: Path):
        name = one_line(str(path))
        try:
            parts = [file for file in _files(path) if is_strace(file)] if path.is_dir() else [path]
            calls = [call for part in parts for call in _calls_of(part)]
        except OSError as error:
            raise TraceError(f"{name}: {error.strerror}") from error
        calls.sort(key=lambda call: call.start_ns)
        if not calls:
            raise TraceError(f"{name}: it has no system call with a time; see strace -ttt")
        follower = _Follower(calls)
        timed = any(call.end_ns > call.start_ns for call in calls)
        super().__init__(
            name,
            "strace",
            follower.rows,
            follower.files,
            reads=_READS,
            writes=_WRITES,
            identities={row[0]: Identity(rank=-1, pid=row[0]) for row in follower.rows},
            zero_ns=calls[0].start_ns,
            problems=list(follower.problems(timed=timed)),
        )


def _calls_of(path: Path) -> Iterator[_Call]:
    """The calls of a file that have returned; those that never do are left out."""
    suffix = _SUFFIX.search(path.name)
    own = int(suffix[1]) if suffix else 0
    begun: dict[int, tuple[int, bytes]] = {}
    last = 0
    with path.open("rb") as file:
        for text in file:
            line = _LINE.match(text.rstrip(b"\r\n"))
            if line is None:
                continue  # a message of the program, or the end of a line that was broken
            first, second, seconds, *clock, rest = line.groups()
            task = int(first or second or own)
            now = _nanoseconds(seconds) if seconds else _of_day(*clock)
            while not seconds and now < last - _DAY // 2:
                now += _DAY  # past midnight
            last = now
            if rest.endswith(_UNFINISHED):
                begun[task] = (now, rest.removesuffix(_UNFINISHED))
                continue
            start = now
            if resumed := _RESUMED.match(rest):
                start, beginning = begun.pop(task, (now, b""))
                if not beginning.startswith(resumed[1] + b"("):
                    continue
                rest = beginning + resumed[2]
            call = _CALL.match(rest)
            if call is None or call[3] == b"?":
                continue
            name = call[1].decode("ascii", "replace")
            if name not in _FOLLOWED:
                continue
            took = _TOOK.search(call[5])
            end = start + _nanoseconds(took[1]) if took else max(start, now)
            yield _Call(start, end, task, name, call[2], _integer(call[3]), call[4] or b"")


def _integer(text: bytes) -> int:
    return int(text, 16 if text.startswith(b"0x") else 10)


def _nanoseconds(seconds: bytes) -> int:
    whole, fraction = seconds.split(b".")
    return int(whole) * _NANOSECONDS + int(fraction[:9].ljust(9, b"0"))


def _of_day(hours: bytes, minutes: bytes, seconds: bytes) -> int:
    return (int(hours) * 60 + int(minutes)) * 60 * _NANOSECONDS + _nanoseconds(seconds)


class _Follower:
    """Follows the descriptors through the calls, in the order of their starts."""

    def __init__(self, calls: Sequence[_Call]):
        self.files = Files()
        self.rows: list[Row] = []
        self._sizes: dict[int, int] = {}
        self._tasks: dict[int, _Task] = {}
        self._parents: dict[int, tuple[int, bool, bool]] = {}
        self._unplaced = self._mapped = self._system = 0
        self._unseen: dict[str, int] = {}
        for call in calls:
            if call.name in _FORKS and call.result > 0:
                flags = call.arguments
                shares, thread = b"CLONE_FILES" in flags, b"CLONE_THREAD" in flags
                self._parents.setdefault(call.result, (call.task, shares, thread))
        for call in calls:
            self._follow(call)

    def problems(self, *, timed: bool) -> Iterator[str]:
        """What is missing, one line each."""
        if not timed:
            yield "it has no durations: every call takes no time (strace -T tells them)"
        counted = (
            (self._unplaced, "reads and writes with descriptors of unknown origin"),
            (self._system, "reads and writes of the system's files and of program text"),
            (self._mapped, "mappings of files to be written, and what is done in that memory"),
            *((count, f"calls of {name}") for name, count in sorted(self._unseen.items())),
        )
        for count, what in counted:
            if count:
                yield f"left out: {count:,} {what}"

    def _task(self, number: int) -> _Task:
        known = self._tasks.get(number)
        if known is not None:
            return known
        parent, shares, thread = self._parents.get(number, (0, False, False))
        if parent and parent != number:
            of = self._task(parent)
            descriptors = of.descriptors if shares else dict(of.descriptors)
            task = _Task(of.process if thread else number, descriptors)
        else:
            task = _Task(number)
        self._tasks[number] = task
        return task

    def _follow(self, call: _Call) -> None:
        task = self._task(call.task)
        name = call.name
        if call.result < 0:
            return
        if name in _READS or name in _WRITES:
            self._access(task, call)
        elif name in _OPENS:
            self._open(task, call)
        elif name == "close":
            task.descriptors.pop(_descriptor(call)[0], None)
        elif name in ("dup", "dup2", "dup3") or (name == "fcntl" and b"F_DUPFD" in call.arguments):
            self._duplicate(task, call)
        elif name == "lseek":
            if (of := self._described(task, call)) is not None:
                of.position = call.result
        elif name in ("execve", "execveat"):
            for number in [n for n, of in task.descriptors.items() if of and of.closes_at_exec]:
                del task.descriptors[number]
        elif name in ("pipe", "pipe2"):
            task.descriptors |= dict.fromkeys(map(int, re.findall(rb"\d+", call.arguments)[:2]))
        elif name in _NO_FILES:
            task.descriptors[call.result] = None
        elif name == "ftruncate":
            self._truncate(task, call)
        elif name == "mmap":
            if b"MAP_SHARED" in call.arguments and b"PROT_WRITE" in call.arguments:
                self._mapped += b"MAP_ANONYMOUS" not in call.arguments
        elif name in _UNSEEN:
            self._unseen[name] = self._unseen.get(name, 0) + 1

    def _open(self, task: _Task, call: _Call) -> None:
        folder = _descriptor(call)[1] if call.name.startswith("openat") else b""
        quoted = _QUOTED.search(call.arguments)
        name = _unescaped(quoted[1]) if quoted else b""
        relative = folder + b"/" + name if folder and not name.startswith(b"/") else name
        path = _unescaped(call.shown) or relative
        flags = call.arguments[quoted.end() :] if quoted else b""
        file = self.files.number(os.path.normpath(path))
        if b"O_TRUNC" in flags or call.name == "creat":
            self._sizes[file] = 0
        task.descriptors[call.result] = _Description(
            file, b"O_APPEND" in flags, b"O_CLOEXEC" in flags
        )

    def _duplicate(self, task: _Task, call: _Call) -> None:
        of = self._described(task, call)
        if of is not None or _descriptor(call)[0] in task.descriptors:
            task.descriptors[call.result] = of
        else:
            task.descriptors.pop(call.result, None)

    def _truncate(self, task: _Task, call: _Call) -> None:
        size = call.arguments.rsplit(b", ", 1)[-1]
        of = self._described(task, call)
        if of is not None and size.isdigit():
            self._sizes[of.file] = int(size)

    def _described(self, task: _Task, call: _Call) -> _Description | None:
        """What the call's first argument stands for. If its open was not traced, the path that
        strace shows (-y) tells."""
        number, path = _descriptor(call)
        known = task.descriptors.get(number)
        if number not in task.descriptors and path.startswith(b"/"):
            known = _Description(
                self.files.number(path.removesuffix(b" (deleted)")), False, position=-1
            )
            task.descriptors[number] = known
        return known

    def _access(self, task: _Task, call: _Call) -> None:
        of = self._described(task, call)
        if of is None:
            # A pipe, a socket, a terminal; or a file that was opened before, without -y.
            number, path = _descriptor(call)
            self._unplaced += number > 2 and number not in task.descriptors and not path
            return
        if self.files.is_system(of.file):
            self._system += 1
            return
        name, writes = call.name, call.name in _WRITES
        offset = of.position
        if name in _PLACED:
            offset = _number_from_end(call.arguments, _PLACED[name])
        if name not in _PLACED or offset == -1:  # preadv2 and pwritev2 have -1 for the position
            offset = of.position
            if writes and of.appends:
                offset = self._sizes.get(of.file, 0)
            if offset < 0:
                self._unplaced += 1
                return
            of.position = offset + call.result
        end = offset + call.result
        if offset < 0 or end > MOST_BYTES:
            return
        if writes:
            self._sizes[of.file] = max(self._sizes.get(of.file, 0), end)
        routine = _ROUTINES.index(name)
        self.rows.append(
            (task.process, call.task, of.file, routine, offset, end, call.start_ns, call.end_ns)
        )


def _descriptor(call: _Call) -> tuple[int, bytes]:
    """The call's first argument: a descriptor (-1: none), and its path, if strace shows it."""
    found = _DESCRIPTOR.match(call.arguments)
    if found is None:
        return -1, b""
    return -1 if found[1] == b"AT_FDCWD" else int(found[1]), _unescaped(found[2] or b"")


def _number_from_end(arguments: bytes, place: int) -> int:
    """An argument, counted from the last (1); -2: it is no number."""
    words = arguments.rsplit(b", ", place)
    try:
        return int(words[-place]) if len(words) > place else -2
    except ValueError:
        return -2


def _unescaped(text: bytes) -> bytes:
    """A path as strace prints it: \\n, \\" and octal numbers."""
    names = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"v": b"\v", b"f": b"\f"}

    def plain(found: re.Match[bytes]) -> bytes:
        word = found[1]
        if word.isdigit():
            return bytes((int(word, 8) & 0xFF,))
        return names.get(word, word)

    return re.sub(rb"\\([0-7]{1,3}|.)", plain, text) if b"\\" in text else text
