"""Runs a workload plain and through Forebay, in turn, and compares the two sides.

With baseline options the plain side runs through Forebay, too: then the comparison shows the effect
of the other options.
"""

from __future__ import annotations

import filecmp
import json
import math
import os
import shutil
import signal
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import click

from forebay.bench.mpi import Mpi, temporary_folders


@dataclass(frozen=True)
class Workload:
    """A program of `workloads/`, and what is compared of it.

    `figures` maps a name to the phases whose times it adds up. The time to write includes opening
    and closing, since the close commits. `cpu`: compares processor time per call with a warm cache,
    not elapsed time. `powers_of_four`: it runs on so many ranks only. `by_hand`: the program has a
    variant without MPI-IO, as users write it by hand.
    """

    name: str
    meaning: str
    figures: dict[str, tuple[str, ...]]
    cpu: bool = False
    powers_of_four: bool = False
    by_hand: bool = False


_WHOLE_WRITE = ("open", "write", "close")
_WRITE_AND_READ = {"write": _WHOLE_WRITE, "read": ("read",)}
WORKLOADS = {
    workload.name: workload
    for workload in (
        Workload(
            "small",
            "100,000 interleaved 300-byte writes, read back through the same handle",
            _WRITE_AND_READ,
        ),
        Workload(
            "ior-hard",
            "1,600 interleaved 47,008-byte writes, read back through the same handle",
            _WRITE_AND_READ,
        ),
        Workload(
            "checkpoint",
            "records of about 25 KB per rank, written, then read from the reopened file",
            {"write": _WHOLE_WRITE, "read": ("reopen", "read", "reclose")},
        ),
        Workload(
            "tile",
            "tiles of 128 rows of 80,000 bytes, row by row through a view, written and read back",
            _WRITE_AND_READ,
        ),
        Workload(
            "flash",
            "three files of 250 unaligned writes of 1 to 50 KB per rank, as FLASH with HDF5",
            {"write": _WHOLE_WRITE},
        ),
        Workload(
            "strided-read",
            "interleaved 4 KiB reads, 100 us of computation after each",
            {"read": ("open", "read", "close"), "compute": ("compute",)},
        ),
        Workload(
            "record-read",
            "five variables of each record, of unequal sizes and gaps, 100 us after each read",
            {"read": ("open", "read", "close"), "compute": ("compute",)},
        ),
        Workload(
            "rounds",
            "interleaved 47,008-byte reads, all again in 10 rounds, 100 us after each",
            {"read": ("open", "read", "close"), "compute": ("compute",)},
        ),
        Workload(
            "pio",
            "collective reads of 1 MiB in turn, 10 ms of computation after each",
            {"read": ("open", "read", "close"), "compute": ("compute",)},
        ),
        Workload(
            "pio-nested",
            "the same with two strides in turn",
            {"read": ("open", "read", "close"), "compute": ("compute",)},
        ),
        Workload(
            "stream",
            "contiguous 8 MiB writes, read back through the same handle",
            _WRITE_AND_READ,
        ),
        Workload(
            "small-parts",
            "25,000 consecutive 300-byte writes per rank, in a part of its own, read back",
            _WRITE_AND_READ,
        ),
        Workload(
            "ior-easy",
            "contiguous 1 MiB writes, read back through the same handle",
            _WRITE_AND_READ,
        ),
        Workload(
            "mpi-io-test",
            "blocks of 16 MiB, the ranks' one after the other, written and read back",
            _WRITE_AND_READ,
        ),
        Workload(
            "tile-io",
            "overlapping tiles of 1024 x 1024 x 8 bytes in one collective call each way",
            _WRITE_AND_READ,
        ),
        Workload(
            "tile-io-small",
            "20 pictures of tiles of 80 x 1000 bytes, in collective calls",
            _WRITE_AND_READ,
        ),
        Workload(
            "lattice",
            "blocks of a 4-D array, 16^4 sites of 192 bytes, in one collective call each way",
            _WRITE_AND_READ,
            by_hand=True,
        ),
        Workload(
            "btio",
            "cells of a cube on a diagonal (NAS BT-IO; 1, 4, 16 ranks), in collective calls",
            _WRITE_AND_READ,
            powers_of_four=True,
        ),
        Workload(
            "sliding-window",
            "tiles of 3 MiB, read and written, from tile to tile, in collective calls",
            {"write": ("write", "close"), "read": ("read",)},
        ),
        Workload(
            "points",
            "100,000 scattered 4-byte records per rank, in one collective call each way",
            _WRITE_AND_READ,
        ),
        Workload(
            "open",
            "400 opens and closes of a file, each with one 8-byte write or read per rank",
            {"write": ("write",), "read": ("read",)},
        ),
        Workload(
            "call",
            "processor time of one 300-byte call",
            {"first": ("first",), "again": ("again",), "read": ("read",)},
            cpu=True,
        ),
    )
}
SIDES = ("plain", "forebay")


def median_interval(values: Sequence[float], confidence: float = 0.95) -> tuple[float, float]:
    """The narrowest pair of order statistics that contains the median with this confidence.

    Independent of the distribution (Conover, Practical Nonparametric Statistics, 3.2). With too few
    values (fewer than six for 0.95) it is the whole range.
    """
    ordered, n = sorted(values), len(values)
    cut, tail = 0, 0.5**n
    while cut < n // 2 and tail <= (1 - confidence) / 2:
        cut += 1
        tail += math.comb(n, cut) * 0.5**n
    lowest = max(cut - 1, 0)
    return ordered[lowest], ordered[n - 1 - lowest]


@dataclass
class Figure:
    """One figure of both sides, in seconds per file (nanoseconds per call if `unit` says so).

    `plain` and `forebay` have one value per pair: the mean over all files of a launch, or with
    `first_file` that of its first file. `speed_up` is the median of the pairs' ratios.
    """

    name: str
    unit: str
    plain: list[float] = field(default_factory=list)
    forebay: list[float] = field(default_factory=list)
    first_file: bool = False

    def of(self, side: str) -> list[float]:
        return self.plain if side == "plain" else self.forebay

    @property
    def ratios(self) -> list[float]:
        return [p / f for p, f in zip(self.plain, self.forebay, strict=True)]

    @property
    def speed_up(self) -> float:
        return statistics.median(self.ratios)

    @property
    def speed_up_interval(self) -> tuple[float, float]:
        """95 % confidence interval of the speed-up."""
        return median_interval(self.ratios)


@dataclass
class Report:
    """The result of one `forebay bench`."""

    workload: str
    mpi: str
    ranks: int
    nodes: int  # as Forebay found
    options: dict[str, str]
    baseline: dict[str, str]  # options of the plain side, if it runs through Forebay
    by_hand: bool  # the plain side is the program without MPI-IO
    calls: dict[str, int]  # "write", "read" -> calls of all ranks in one repetition
    bytes: int
    figures: list[Figure]
    requests: dict[str, dict[str, int]]  # side -> "write", "read", "syscalls" of one repetition
    aside_calls: int  # calls that Forebay left to storage because caching did not pay

    def figure(self, name: str, first_file: bool = False) -> Figure:
        return next(f for f in self.figures if (f.name, f.first_file) == (name, first_file))

    @property
    def headings(self) -> tuple[str, str]:
        """The names of the sides."""
        plain = "baseline" if self.baseline else "by hand" if self.by_hand else "plain"
        return (plain, "Forebay")

    def as_json(self) -> dict[str, Any]:
        """Plain data, with medians and ratios."""
        data = asdict(self)
        for entry, figure in zip(data["figures"], self.figures, strict=True):
            entry["median"] = {side: statistics.median(figure.of(side)) for side in SIDES}
            entry["minimum"] = {side: min(figure.of(side)) for side in SIDES}
            entry["speed_up"] = figure.speed_up
            entry["speed_up_interval"] = list(figure.speed_up_interval)
        return data


@dataclass
class Bench:
    """One comparison: a workload, an MPI, a directory.

    Makes `repeat` pairs of launches, plain and Forebay in turn. Each launch repeats the workload
    `rounds` times on fresh files. The first repetition, in which the cache is made, counts like the
    others, and is also shown by itself.

    With options in `baseline`, the plain side runs through Forebay with these options; `by_hand`,
    it is the program's variant without MPI-IO. With several
    `nodes`, Forebay takes the ranks for ranks of so many nodes.
    """

    workload: Workload
    mpi: Mpi
    directory: Path
    ranks: int
    repeat: int = 5
    rounds: int = 2
    count: int = 0
    nodes: int = 1
    options: dict[str, str] = field(default_factory=dict)
    baseline: dict[str, str] = field(default_factory=dict)
    by_hand: bool = False
    timeout_seconds: float = 1800

    def run(self, progress: Callable[[str], None] = lambda _: None) -> Report:
        """Measures. Raises click.ClickException if a side fails or its data is wrong."""
        with temporary_folders(self.directory, bool(self.mpi.launch_with)) as (build, files):
            return self._run(build, files, progress)

    def _run(self, build: Path, files: Path, progress: Callable[[str], None]) -> Report:
        program = self.mpi.compile(self.workload.name, build)
        unit = "ns/call" if self.workload.cpu else "s"
        several = self.rounds > 1 and not self.workload.cpu
        figures = [
            Figure(name, unit, first_file=first)
            for name in self.workload.figures
            for first in ((False, True) if several else (False,))
        ]
        hashes = set()
        row: dict[str, Any] = {}
        for pair in range(self.repeat):
            # What comes first changes: a disk that still writes what the last launch left hits both
            # sides alike.
            for side in SIDES if pair % 2 == 0 else reversed(SIDES):
                progress(f"{self.workload.name}: pair {pair + 1} of {self.repeat}, {side}")
                rows = self.launch(side, [str(program), *self._arguments(side, files, self.rounds)])
                row = rows[-1]
                hashes |= {entry["hash"] for entry in rows}
                for figure in figures:
                    figure.of(side).append(self.value(figure, rows))
        if len(hashes) != 1:
            raise click.ClickException("plain and Forebay did not leave the same bytes")
        progress(f"{self.workload.name}: counting requests")
        requests, ours = self._count(program, build, files)
        return Report(
            workload=self.workload.name,
            mpi=f"{self.mpi.family} {self.mpi.version}",
            ranks=self.ranks,
            nodes=ours["nodes"],
            options=self.options,
            baseline=self.baseline,
            by_hand=self.by_hand,
            calls={"write": row["write_calls"], "read": row["read_calls"]},
            bytes=row["written_bytes"] + row["read_bytes"],
            figures=figures,
            requests=requests,
            aside_calls=ours["total"]["aside_calls"],
        )

    def _arguments(self, side: str, files: Path, rounds: int) -> list[str]:
        arguments = ["--dir", str(files), "--repeat", str(rounds)]
        if self.by_hand and side == "plain":
            arguments += ["--variant", "by-hand"]
        return arguments + (["--count", str(self.count)] if self.count else [])

    def value(self, figure: Figure, rows: list[dict[str, Any]]) -> float:
        """The value of the figure for one launch, from a row per file."""
        phases = self.workload.figures[figure.name]
        if not self.workload.cpu:
            counted = rows[:1] if figure.first_file else rows
            return statistics.mean(
                float(sum(row["seconds"][phase] for phase in phases)) for row in counted
            )
        # All phases make the same number of calls on each rank.
        row = rows[-1]
        calls = (row["write_calls"] + row["read_calls"]) / len(self.workload.figures) / self.ranks
        warm = rows[1:] or rows
        return statistics.median(
            float(sum(row["cpu_seconds"][phase] for phase in phases) / calls * 1e9) for row in warm
        )

    def _count(
        self, program: Path, build: Path, files: Path
    ) -> tuple[dict[str, dict[str, int]], dict[str, Any]]:
        """Requests and system calls of both sides, from untimed launches whose files are compared.

        A preloaded library counts those of the plain side; Forebay counts its own. Also returns
        Forebay's statistics.
        """
        folders = {side: files / side for side in SIDES}
        for folder in folders.values():
            folder.mkdir()
        counts = build / "counts"
        counts.touch()
        export = {
            "LD_PRELOAD": str(self.mpi.compile_counter(build)),
            "FOREBAY_COUNT_DIR": str(folders["plain"]),
            "FOREBAY_COUNT_FILE": str(counts),
        }
        arguments = {
            side: [str(program), *self._arguments(side, folder, 1), "--no-file-check", "--keep"]
            for side, folder in folders.items()
        }
        names = ("write", "read", "syscalls")
        if self.baseline:
            plain = _requests(self._statistics("plain", arguments["plain"], build))
        else:
            self.launch("plain", arguments["plain"], export=export)
            rows = [json.loads(line) for line in counts.read_text().splitlines()]
            plain = {name: sum(row[name] for row in rows) for name in names}
        ours = self._statistics("forebay", arguments["forebay"], build)
        self._compare(folders["plain"], folders["forebay"])
        return {"plain": plain, "forebay": _requests(ours)}, ours

    def _statistics(self, side: str, program: Sequence[str], build: Path) -> dict[str, Any]:
        """Launches the side, and returns Forebay's statistics."""
        stats = build / f"{side}.json"
        self.launch(side, program, stats=stats)
        if not stats.exists():
            raise click.ClickException("Forebay took no part: it wrote no statistics")
        read: dict[str, Any] = json.loads(stats.read_text())
        return read

    def _compare(self, plain: Path, forebay: Path) -> None:
        """Compares the files of two folders byte for byte, by name."""
        names = sorted(path.name for path in plain.iterdir())
        _, different, missing = filecmp.cmpfiles(plain, forebay, names, shallow=False)
        if different or missing or names != sorted(path.name for path in forebay.iterdir()):
            raise click.ClickException(f"plain and Forebay differ in {different + missing}")

    def launch(
        self,
        side: str,
        program: Sequence[str],
        export: dict[str, str] | None = None,
        stats: Path | None = None,
    ) -> list[dict[str, Any]]:
        command = self.mpi.command(self.ranks, program, export, self.nodes)
        environment = self.mpi.environment(self.ranks)
        if side == "forebay" or self.baseline:
            run = [sys.executable, "-m", "forebay", "run"]
            if stats is not None:
                run += ["--stats-json", str(stats)]
            options = self.options if side == "forebay" else self.baseline
            for name, value in options.items():
                run += ["-o", f"{name}={value}"]
            command = [*run, "--", *command]
        rows = [
            json.loads(line)
            for line in run_command(command, environment, self.timeout_seconds).splitlines()
            if line.startswith("{")
        ]
        if not rows or not all(row["verified"] for row in rows):
            raise click.ClickException(f"{side}: the data is wrong ({self.workload.name})")
        return rows


def _requests(statistics: dict[str, Any]) -> dict[str, int]:
    total = statistics["total"]
    return {
        "write": total["write_requests"],
        "read": total["read_requests"],
        "syscalls": total["write_syscalls"] + total["read_syscalls"],
    }


def run_command(command: Sequence[str], environment: dict[str, str], timeout: float) -> str:
    """Runs a launch in a process group of its own and returns its standard output.

    Ends the group if the launch takes longer than `timeout` seconds or is interrupted.
    """
    if shutil.which(command[0]) is None:
        raise click.ClickException(f"{command[0]} not found")
    with subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
    ) as process:
        try:
            output, errors = process.communicate(timeout=timeout)
        except BaseException as error:
            os.killpg(process.pid, signal.SIGKILL)
            if isinstance(error, subprocess.TimeoutExpired):
                raise click.ClickException(f"no end after {timeout:.0f} s: {command}") from error
            raise
    if process.returncode != 0:
        raise click.ClickException(f"{' '.join(command)}\nfailed:\n{errors[-2000:]}")
    return output
