"""Writes traces for tests, from descriptions that tests/trace/write_trace.cpp reads."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
WRITER = ROOT / "build" / "gcc" / "tests" / "forebay_write_trace"
LOGS = ROOT.parent / "shared" / "data" / "darshan"

ROUTINES = (
    "MPI_File_open",
    "MPI_File_write_at",
    "MPI_File_read_at_all",
    "MPI_File_iwrite",
    "MPI_File_close",
)
OPEN, WRITE_AT, READ_AT_ALL, IWRITE, CLOSE = range(len(ROUTINES))
# The routines of traces with collectives that order ranks.
ORDERING_ROUTINES = (*ROUTINES, "forebay_exchange")
EXCHANGE = len(ROUTINES)
COMMUNICATOR = 0x80000001  # in place of a file's number


@dataclass(frozen=True)
class Call:
    """A line `access`, with the fields of trace::Access."""

    routine: int
    file: int = 0
    view: int = 0
    position: int = 0
    requested: int = 0
    transferred: int = 0
    start_ns: int = 0
    end_ns: int = 0
    completed_ns: int | None = None
    sequence: int = 0

    def line(self) -> str:
        completed = self.end_ns if self.completed_ns is None else self.completed_ns
        return (
            f"access {self.routine} {self.file} {self.view} {self.position} {self.requested}"
            f" {self.transferred} {self.start_ns} {self.end_ns} {completed} {self.sequence}"
        )


def process(rank: int, ranks: int, **more: object) -> list[str]:
    """Lines that describe a process."""
    facts = {"rank": rank, "ranks": ranks, "host": f"node{rank}", "pid": 1000 + rank}
    facts |= {"zero_realtime_ns": 1_700_000_000_000_000_000, "routines": " ".join(ROUTINES)}
    return [f"process {name} {value}" for name, value in (facts | more).items()]


def block(calls: Iterable[Call], thread: int = 0, times: str = "exact") -> list[str]:
    """Lines of one block of accesses."""
    return [*(call.line() for call in calls), f"block {thread} {times}"]


def write_trace(path: Path, lines: Iterable[str]) -> Path:
    """Writes a trace file."""
    text = "\n".join(lines) + "\n"
    subprocess.run([str(WRITER), str(path)], input=text, text=True, check=True, timeout=60)
    return path


def calls_of(rank: int) -> list[Call]:
    """The calls of a rank of the sample: open, five strided writes, a contiguous read, close."""
    calls = [Call(OPEN, end_ns=500)]
    for i in range(5):
        start = 1000 * (i + 1)
        calls.append(Call(WRITE_AT, 0, 1, 40 * i, 40, 40, start, start + 300, sequence=i))
    calls.append(Call(READ_AT_ALL, 1, 0, 7 + rank, 100, 60, 7000, 7700))
    calls.append(Call(IWRITE, 0, 1, 200, 8, 8, 8000, 8100, 8900))
    calls.append(Call(IWRITE, 0, 1, 208, 8, 8, 9000, 9100, -1))
    calls.append(Call(CLOSE, start_ns=9500, end_ns=9600))
    return calls


def lines_of(rank: int, ranks: int, ended: bool = True) -> list[str]:
    """A process of the sample, with views of 16 of every 64 bytes, shifted by the rank."""
    calls = calls_of(rank)
    lines = process(rank, ranks, clock_offset_ns=10_000 * rank)
    lines += ["file 0 2 1 5 /scratch/checkpoint", f"file 1 2 0 2 /scratch/input {rank}"]
    lines += [f"view 1 {16 * rank} 640 10 64 16"]
    lines += block(calls[:6]) + block(calls[6:], thread=1)
    return [*lines, f"end {len(calls) + 3} 3"] if ended else lines


def sample(folder: Path, ranks: int = 2) -> Path:
    """Writes the trace of a small job."""
    folder.mkdir()
    for rank in range(ranks):
        write_trace(folder / f"{rank}-{1000 + rank}.trace", lines_of(rank, ranks))
    return folder


def interleaved(folder: Path, ranks: int, records: int, size: int = 300, shift: int = 0) -> Path:
    """Rank r writes records r, r + ranks, r + 2 ranks ..., one per microsecond."""
    folder.mkdir()
    for rank in range(ranks):
        places = ((i * ranks + rank) * size + shift * (i % 2) for i in range(records))
        calls = [Call(OPEN, end_ns=1000)]
        for i, place in enumerate(places):
            start = 10_000 * (i + 1)
            calls.append(Call(WRITE_AT, 0, 0, place, size, size, start, start + 1000))
        calls.append(Call(CLOSE, start_ns=10_000 * (records + 1), end_ns=10_000 * (records + 2)))
        lines = [*process(rank, ranks), f"file 0 {ranks} 0 5 /scratch/out", *block(calls)]
        lines.append(f"end {len(calls)} 0")
        write_trace(folder / f"{rank}-{rank}.trace", lines)
    return folder
