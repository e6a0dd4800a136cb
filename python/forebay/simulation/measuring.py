"""Measures a mounted file system, for a machine that the cluster simulator can imitate.

    from forebay.simulation.measuring import measure
    mine = measure("/scratch/me")
    Path("mine.toml").write_text(mine.profile())

Processes of this node write and read files in a folder by plain calls, alone and together, small
and large. What a request takes is fitted by a time for each and a rate of bytes. A workload that no
value was fitted to is then run and simulated, which tells how far to trust the values.
"""

from __future__ import annotations

import errno
import fcntl
import json
import multiprocessing
import os
import shutil
import statistics
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from pathlib import Path
from threading import BrokenBarrierError
from time import perf_counter
from typing import Any

from forebay.kinds import check_callable, check_number, check_path
from forebay.mounts import mounted_kind
from forebay.simulation.cluster import simulate_cluster
from forebay.simulation.machines import Machine, machine, machine_of
from forebay.simulation.workload_traces import ior
from forebay.text import one_line

SIZES = (4_000, 60_000, 1_000_000)
"""Bytes of the requests that are measured; unaligned, as records are."""
_SECONDS = 0.15
"""Of a measurement, about."""
_MOST_BYTES = 256 << 20
"""Of a file."""
_COPY_BYTES = 64 << 20
_REPETITIONS = 3
_FILES = 12
"""That are made and opened, to measure that."""
_CHECK_BYTES = 47_008
_CHECK_S = 0.5
"""Of the check's writes, about."""
_LEAST_CHECK_RECORDS, _MOST_CHECK_RECORDS = 20, 2_000
_FASTEST = 1e12
"""Bytes a second, where bytes cost nothing that can be measured."""
_WORTH_S = 1e-3
"""Of a close: what it waits less is not worth a rate."""
_ANSWER_S = 600.0
_END_S = 5.0
_MOST_PROCESSES = 1024

_ALONE, _TOGETHER = "alone", "together"
_WAYS = {
    "write": "",
    "read": "a file that was there before the job",
    "read_written": "what the node has written since it has had the file open",
    "read_reopened": "other bytes that the job has written",
}
"""The machine's sections of requests, and what they are for."""
_REMARKS = {
    "close_bytes_per_second": "of what was written; 0: a close does not wait for it",
    "full_speed_nodes": "not known from one node: so many get this speed at the same time",
    "requests_at_once": "of one commit; as Forebay's storage makes large ones",
    "library_lock_s": "of the lock that MPI libraries take around each access on NFS",
}
_BASE = "nfs-25gbe"
_LOCKED = ("nfs", "nfs4")
"""File systems on which ROMIO takes a lock around each access."""

_Points = dict[int, list[float]]
"""Seconds of a request, by its bytes."""


@dataclass(frozen=True, slots=True)
class Fit:
    """What requests take: a time for each, and a rate of bytes."""

    call_s: float
    bytes_per_second: float

    def seconds(self, size: int) -> float:
        """Of a request of so many bytes."""
        return self.call_s + size / self.bytes_per_second


@dataclass(frozen=True, slots=True)
class Check:
    """Records of 47,008 bytes that processes write in turns and then read, which no value was
    fitted to. Seconds of the slowest process."""

    records: int
    """Of each process."""
    measured_s: float
    simulated_s: float

    @property
    def deviation(self) -> float:
        """Of the simulation: 0.1 is 10 % too slow."""
        return self.simulated_s / self.measured_s - 1


@dataclass(frozen=True, slots=True)
class Measurement:
    """What was found about a mounted file system. Times in seconds, rates in bytes a second."""

    kind: str
    """As the system names it, for example ext4 or nfs4."""
    processes: int
    create_s: float
    open_s: float
    close_s: float
    close_bytes_per_second: float
    """0: a close does not wait for what was written."""
    lock_s: float
    """Of a lock of bytes, and its end."""
    copy_bytes_per_second: float
    """Of memory."""
    alone: dict[str, Fit]
    """By the machine's names of its sections: write, read, read_written, read_reopened."""
    together: dict[str, Fit]
    """A request's part of the time of many that are under way."""
    check: Check | None = None

    def profile(self) -> str:
        """A machine with this file system, as a profile in TOML; its network is nfs-25gbe's."""
        return "\n".join(_profile(self)) + "\n"

    def machine(self) -> Machine:
        """That machine."""
        return machine_of(self.profile())


def measure(
    directory: str | os.PathLike[str],
    *,
    processes: int | None = None,
    progress: Callable[[str, float], None] = lambda _stage, _part: None,
) -> Measurement:
    """Measures the file system of a folder with processes of this node. Takes half a minute or so.

    Args:
        directory: where files of up to 256 MiB are made and removed again.
        processes: that write and read together. Default: one per core, 2 to 16.
        progress: called with the current stage and the fraction of it that is done.

    Raises ValueError, one line, if the folder cannot be used.
    """
    check_path(directory, "measure", "directory")
    check_callable(progress, "measure", "progress")
    if processes is None:
        processes = max(2, min(16, len(os.sched_getaffinity(0))))
    check_number(processes, "measure", "processes")
    if not 2 <= processes <= _MOST_PROCESSES:
        raise ValueError(f"processes are 2 to {_MOST_PROCESSES:,}, not {processes:,}")
    try:
        with tempfile.TemporaryDirectory(prefix=".forebay-measure-", dir=directory) as folder:
            return _measured(Path(folder), processes, progress)
    except OSError as error:
        name = one_line(os.fsdecode(directory))
        raise ValueError(f"{name}: {error.strerror or error}") from error


def _measured(folder: Path, processes: int, progress: Callable[[str, float], None]) -> Measurement:
    stage = f"measuring {mounted_kind(folder)}"
    progress(stage, 0.0)
    with _Processes(processes) as team:
        create_s, open_s, close_s = team.first("metadata", folder, _FILES)
        lock_s = team.first("lock", folder / "lock", _FILES)
        points: dict[tuple[str, str], _Points] = {
            (how, way): {} for how in (_ALONE, _TOGETHER) for way in _WAYS
        }
        closes: list[tuple[int, float]] = []
        rounds = [(count, size) for count in (1, processes) for size in SIZES] * _REPETITIONS
        for number, (count, size) in enumerate(rounds):
            progress(stage, (number + 1) / (len(rounds) + 2))
            how = _ALONE if count == 1 else _TOGETHER
            for way, seconds in _round(team, folder / f"file-{number}", count, size, closes):
                points[how, way].setdefault(size, []).append(seconds)
        found = Measurement(
            kind=mounted_kind(folder),
            processes=processes,
            create_s=create_s,
            open_s=open_s,
            close_s=close_s,
            close_bytes_per_second=_close_rate(closes, close_s),
            lock_s=lock_s,
            copy_bytes_per_second=_copy_rate(),
            alone={way: _fit(points[_ALONE, way]) for way in _WAYS},
            together={way: _fit(points[_TOGETHER, way]) for way in _WAYS},
        )
        records = int(_CHECK_S / found.alone["write"].seconds(_CHECK_BYTES))
        records = max(_LEAST_CHECK_RECORDS, min(_MOST_CHECK_RECORDS, records))
        ran = [_run_check(team, folder / f"check-{n}", records) for n in range(_REPETITIONS)]
    simulated_s = _simulated_check(folder, found.machine(), processes, records)
    progress(stage, 1.0)
    return replace(found, check=Check(records, statistics.median(ran), simulated_s))


def _round(
    team: _Processes, path: Path, count: int, size: int, closes: list[tuple[int, float]]
) -> Iterator[tuple[str, float]]:
    """Writes a file and reads it, by `count` processes in turns of `size` bytes. Yields the names
    of the machine's sections and the seconds of a request there."""
    most = _MOST_BYTES // (count * size)
    team.first("create", path)
    team.all(count, "open", path)
    written = team.all(count, "write", count, size, most, _SECONDS)
    blocks = min(done for done, _ in written)
    yield "write", _a_request(written)
    yield "read_written", _a_request(team.all(count, "read", count, size, 1, blocks, _SECONDS))
    closed = team.all(count, "close")
    closes.append((size * sum(done for done, _ in written), max(closed)))
    team.all(count, "open", path)
    yield "read_reopened", _a_request(team.all(count, "read", count, size, 1, blocks, _SECONDS))
    team.all(count, "settle")
    team.all(count, "close")
    team.all(count, "open", path)
    yield "read", _a_request(team.all(count, "read", count, size, 1, blocks, _SECONDS))
    team.all(count, "close")
    path.unlink()


def _a_request(done: Sequence[tuple[int, float]]) -> float:
    """Seconds for each request, of processes that made some at the same time."""
    return max(seconds for _, seconds in done) / sum(count for count, _ in done)


def _fit(points: _Points) -> Fit:
    """The line through the medians whose relative deviations have the smallest squares."""
    medians = [(size, max(1e-9, statistics.median(times))) for size, times in points.items()]
    ones = sum(1 / t**2 for _, t in medians)
    sizes = sum(s / t**2 for s, t in medians)
    squares = sum(s * s / t**2 for s, t in medians)
    left, right = sum(1 / t for _, t in medians), sum(s / t for s, t in medians)
    determinant = ones * squares - sizes * sizes
    call_s = (left * squares - right * sizes) / determinant
    byte_s = (right * ones - left * sizes) / determinant
    if byte_s * _FASTEST <= 1:
        return Fit(left / ones, _FASTEST)
    return Fit(call_s, 1 / byte_s) if call_s > 0 else Fit(0.0, squares / right)


def _profile(found: Measurement) -> Iterator[str]:
    """The lines of a profile."""
    base = machine(_BASE).to_json()
    yield f"# {one_line(found.kind)}, measured by {found.processes} processes of one node."
    if found.check is not None:
        yield (
            f"# {found.check.records:,} records of {_CHECK_BYTES:,} bytes a process, written in"
            " turns and read:"
        )
        yield (
            f"# {found.check.measured_s:.3g} s measured, {found.check.simulated_s:.3g} s simulated"
            f" ({found.check.deviation:+.0%})."
        )
    yield f"# Network, server and disk are those of {_BASE}: no request of this file system uses"
    yield "# them, but the nodes' agents do (scope=job) use the network."
    sections: dict[str, dict[str, Any]] = {
        "machine": {
            **base["machine"],
            "name": "measured",
            "description": f"{one_line(found.kind)}, measured on one node",
            "processes_per_node": found.processes,
        },
        "network": base["network"],
        "memory": {"copy_bytes_per_second": found.copy_bytes_per_second},
        "file_system": {
            "kind": "measured",
            "create_s": found.create_s,
            "open_s": found.open_s,
            "close_s": found.close_s,
            "close_bytes_per_second": found.close_bytes_per_second,
            "full_speed_nodes": 1,
            "requests_at_once": 4,
            "library_lock_s": found.lock_s if found.kind in _LOCKED else 0.0,
        },
        **{f"file_system.{way}": _section(found, way) for way in _WAYS},
        "server": base["server"],
        "disk": base["disk"],
    }
    for name, values in sections.items():
        yield ""
        if said := _WAYS.get(name.removeprefix("file_system.")):
            yield f"# Reads of {said}."
        yield f"[{name}]"
        for key, value in values.items():
            remark = _REMARKS.get(key, "") if name == "file_system" else ""
            yield f"{key} = {_written(value)}" + (f" # {remark}" if remark else "")


def _section(found: Measurement, way: str) -> dict[str, float]:
    alone, together = found.alone[way], found.together[way]
    return {
        "alone_s": alone.call_s,
        "alone_bytes_per_second": alone.bytes_per_second,
        "together_s": together.call_s,
        "together_bytes_per_second": together.bytes_per_second,
    }


def _written(value: object) -> str:
    """A value in TOML."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.3e}"
    return json.dumps(value, ensure_ascii=False)


def _close_rate(closes: Sequence[tuple[int, float]], close_s: float) -> float:
    """Bytes a second for which closes wait; 0 if they hardly do."""
    waited = sum(max(0.0, seconds - close_s) for _, seconds in closes)
    rate = sum(size for size, _ in closes) / waited if waited else 0.0
    return rate if waited > len(closes) * _WORTH_S else 0.0


def _copy_rate() -> float:
    """Of memory, in bytes a second."""
    source = bytearray(_COPY_BYTES)
    times = []
    for _ in range(_REPETITIONS + 1):
        began = perf_counter()
        bytes(source)
        times.append(perf_counter() - began)
    return _COPY_BYTES / min(times)


def _run_check(team: _Processes, path: Path, records: int) -> float:
    """Seconds of the slowest process: records in turns, written and then read."""
    team.first("create", path)
    seconds: float = max(team.all(team.size, "check", team.size, path, _CHECK_BYTES, records))
    path.unlink()
    return seconds


def _simulated_check(folder: Path, on: Machine, processes: int, records: int) -> float:
    trace = folder / "check.trace"
    ior(trace, processes, transfer=_CHECK_BYTES, segments=records)
    changes = {"scope": "none", "collective": "independent"}
    result = simulate_cluster(trace, on, [changes], processes_per_node=processes, jobs=1)[0]
    shutil.rmtree(trace)
    # The file is made before the clock starts.
    return result.run_s - float(on.flat()["file_system.create_s"])


class _Processes:
    """Processes that carry out tasks, each on its own or several at the same time."""

    def __init__(self, size: int) -> None:
        self.size = size
        context = multiprocessing.get_context("spawn")
        self._barrier = context.Barrier(size)  # kept until the processes have it
        self._pipes: list[Connection] = []
        self._processes = []
        for rank in range(size):
            here, there = context.Pipe()
            process = context.Process(target=_work, args=(rank, there, self._barrier), daemon=True)
            process.start()
            there.close()
            self._pipes.append(here)
            self._processes.append(process)

    def __enter__(self) -> _Processes:
        return self

    def __exit__(self, *_: object) -> None:
        for pipe in self._pipes:
            pipe.close()  # ends the process
        for process in self._processes:
            process.join(_END_S)
            if process.is_alive():
                process.kill()
                process.join()

    def all(self, count: int, task: str, *arguments: object) -> list[Any]:
        """What the first `count` processes return. Raises the OSError of one of them."""
        for pipe in self._pipes[:count]:
            pipe.send((task, arguments))
        answers = [self._answer(pipe) for pipe in self._pipes[:count]]
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer
        return answers

    def first(self, task: str, *arguments: object) -> Any:
        """What the first process returns."""
        return self.all(1, task, *arguments)[0]

    @staticmethod
    def _answer(pipe: Connection) -> Any:
        try:
            if pipe.poll(_ANSWER_S):
                return pipe.recv()
        except EOFError:
            pass
        return OSError(errno.EIO, "a process that measures it has ended, or hangs")


def _work(rank: int, pipe: Connection, barrier: Barrier) -> None:
    """The life of a process that measures."""
    worker = _Worker(rank, barrier)
    while True:
        try:
            task, arguments = pipe.recv()
        except (EOFError, KeyboardInterrupt):
            return
        try:
            answer = getattr(worker, task)(*arguments)
        except OSError as error:
            barrier.abort()  # others do not wait for this process
            answer = error
        except BrokenBarrierError:
            answer = OSError(errno.EIO, "a process that measures it has failed")
        pipe.send(answer)


class _Worker:
    """The tasks of a process that measures."""

    def __init__(self, rank: int, barrier: Barrier) -> None:
        self._rank = rank
        self._barrier = barrier
        self._file = -1
        self._bytes = os.urandom(max(*SIZES, _CHECK_BYTES))

    def metadata(self, folder: Path, files: int) -> tuple[float, float, float]:
        """Median seconds of making a file, of opening one and of closing one."""
        makes: list[float] = []
        opens: list[float] = []
        closes: list[float] = []
        for number in range(files):
            path = folder / f"empty-{number}"
            for times, flags in ((makes, os.O_CREAT | os.O_EXCL), (opens, 0)):
                began = perf_counter()
                file = os.open(path, os.O_RDWR | flags, 0o600)
                opened = perf_counter()
                os.close(file)
                closes.append(perf_counter() - opened)
                times.append(opened - began)
            path.unlink()
        opening = statistics.median(opens)
        making = max(0.0, statistics.median(makes) - opening)  # beside an open
        return making, opening, statistics.median(closes)

    def lock(self, path: Path, times: int) -> float:
        """Median seconds of a lock of a byte and its end; 0 where there are no locks."""
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        taken = []
        try:
            for _ in range(times):
                began = perf_counter()
                fcntl.lockf(file, fcntl.LOCK_EX, 1)
                fcntl.lockf(file, fcntl.LOCK_UN, 1)
                taken.append(perf_counter() - began)
        except OSError:
            return 0.0
        finally:
            os.close(file)
            path.unlink()
        return statistics.median(taken)

    def create(self, path: Path) -> None:
        """Makes an empty file."""
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))

    def open(self, path: Path) -> None:
        """Opens the file of the following tasks."""
        self._file = os.open(path, os.O_RDWR)

    def write(self, count: int, size: int, most: int, seconds: float) -> tuple[int, float]:
        """Writes blocks in turns with the others, for some time. Returns how many, and seconds."""
        block = memoryview(self._bytes)[:size]
        return self._repeat(
            count,
            most,
            seconds,
            lambda n: os.pwrite(self._file, block, (n * count + self._rank) * size),
        )

    def read(
        self, count: int, size: int, shift: int, most: int, seconds: float
    ) -> tuple[int, float]:
        """Reads blocks of the process that is `shift` further on, as write() writes them."""
        block = [bytearray(size)]
        whose = (self._rank + shift) % count
        return self._repeat(
            count, most, seconds, lambda n: os.preadv(self._file, block, (n * count + whose) * size)
        )

    def settle(self) -> None:
        """The file's bytes leave this node."""
        os.fsync(self._file)
        os.posix_fadvise(self._file, 0, 0, os.POSIX_FADV_DONTNEED)

    def close(self) -> float:
        """Closes the file. Returns the seconds."""
        began = perf_counter()
        os.close(self._file)
        return perf_counter() - began

    def check(self, count: int, path: Path, size: int, records: int) -> float:
        """Writes records in turns with the others, and reads them. Returns the seconds."""
        self._wait_for(count)
        began = perf_counter()
        self.open(path)
        self._repeat_all(count, size, records)
        self.close()
        return perf_counter() - began

    def _repeat_all(self, count: int, size: int, records: int) -> None:
        block, target = memoryview(self._bytes)[:size], [bytearray(size)]
        places = [(n * count + self._rank) * size for n in range(records)]
        for place in places:
            os.pwrite(self._file, block, place)
        for place in places:
            os.preadv(self._file, target, place)

    def _repeat(
        self, count: int, most: int, seconds: float, request: Callable[[int], object]
    ) -> tuple[int, float]:
        self._wait_for(count)
        began = now = perf_counter()
        end = began + seconds
        done = 0
        while done < most and (now < end or done == 0):
            request(done)
            done += 1
            now = perf_counter()
        return done, now - began

    def _wait_for(self, count: int) -> None:
        if count > 1:
            self._barrier.wait(_ANSWER_S)
