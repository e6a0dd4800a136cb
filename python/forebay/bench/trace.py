"""The cost of a trace: bytes per call in loops with irregular times, and time of MPI_Finalize."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.table import Table

from forebay.bench.mpi import Mpi, temporary_folders
from forebay.bench.runs import run_command
from forebay.trace import Operation, open_trace

LOOPS = ("strided", "nested", "random")
TIMES = ("exact", "histogram")
_PER_CALLS = 100_000


@dataclass(frozen=True)
class LoopReport:
    """One loop. Dictionaries have a value for each way to keep times."""

    loop: str
    calls: int
    """Calls of all ranks, opens and closes included."""
    bytes_per_call: dict[str, float]
    """Bytes of the whole trace per call; the largest of all launches."""
    finalize_ms: dict[str, float]
    """Milliseconds of MPI_Finalize on the slowest rank, the least of all launches; `plain`: without
    Forebay."""
    finalize_ms_per_100k: dict[str, float]
    """The milliseconds that the trace adds, per 100,000 calls of each rank."""


@dataclass(frozen=True)
class TraceReport:
    """The result of one `forebay bench trace`."""

    mpi: str
    ranks: int
    loops: tuple[LoopReport, ...]

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


@dataclass(frozen=True)
class TraceBench:
    """Launches each loop `repeat` times: plain, with exact times and with folded times, in turn."""

    mpi: Mpi
    directory: Path
    ranks: int
    repeat: int = 5
    count: int = 0
    timeout_seconds: float = 600

    def run(self, progress: Callable[[str], None] = lambda _: None) -> TraceReport:
        """Measures. Raises click.ClickException if a launch fails or a trace lacks calls."""
        with temporary_folders(self.directory) as (build, files):
            program = self.mpi.compile("trace", build)
            loops = tuple(self._loop(loop, program, files, progress) for loop in LOOPS)
        return TraceReport(f"{self.mpi.family} {self.mpi.version}", self.ranks, loops)

    def _loop(
        self, loop: str, program: Path, files: Path, progress: Callable[[str], None]
    ) -> LoopReport:
        calls = 0
        bytes_per_call = dict.fromkeys(TIMES, 0.0)
        finalize: dict[str, list[float]] = {side: [] for side in ("plain", *TIMES)}
        for number in range(self.repeat):
            for side, seconds in finalize.items():
                progress(f"{loop}: {number + 1} of {self.repeat}, {side}")
                trace = files / f"{loop}.{number}.{side}"
                writes, took = self._launch(loop, program, files, side, trace)
                seconds.append(took)
                if side == "plain":
                    continue
                calls = writes + 2 * self.ranks
                size = self._size(trace, calls)
                bytes_per_call[side] = max(bytes_per_call[side], size / calls)
        least = {side: 1e3 * min(seconds) for side, seconds in finalize.items()}
        scale = _PER_CALLS / (calls / self.ranks)
        added = {side: (least[side] - least["plain"]) * scale for side in TIMES}
        return LoopReport(loop, calls, bytes_per_call, least, added)

    def _launch(
        self, loop: str, program: Path, files: Path, side: str, trace: Path
    ) -> tuple[int, float]:
        """The writes of all ranks, and the seconds of the slowest MPI_Finalize."""
        words = [str(program), "--dir", str(files), "--variant", loop]
        words += ["--count", str(self.count)] if self.count else []
        command = self.mpi.command(self.ranks, words)
        if side != "plain":
            wrapper = [sys.executable, "-m", "forebay", "trace", "--dir", str(trace)]
            command = [*wrapper, "--times", side, "--", *command]
        output = run_command(command, self.mpi.environment(self.ranks), self.timeout_seconds)
        lines = output.splitlines()
        (row,) = (json.loads(line) for line in lines if line.startswith("{"))
        took = [float(line.split()[1]) for line in lines if line.startswith("finalize ")]
        if not row["verified"] or len(took) != self.ranks:
            raise click.ClickException(f"{side}: the data is wrong (trace, {loop})")
        return int(row["write_calls"]), max(took)

    @staticmethod
    def _size(path: Path, calls: int) -> int:
        """The bytes of a trace, which must contain `calls` calls."""
        trace = open_trace(path)
        orders = [operation for operation in Operation if operation.orders]
        held = int((~np.isin(trace.accesses["operation"], orders)).sum())
        if trace.problems or held != calls or trace.totals.lost:
            raise click.ClickException(
                f"the trace holds {held:,} of {calls:,} calls {' '.join(trace.problems)}"
            )
        return sum(file.stat().st_size for file in path.iterdir())


def trace_table(report: TraceReport) -> Table:
    """One row per loop."""
    table = Table(
        title=f"traces of {report.ranks} ranks, {report.mpi}",
        caption="finalize: what a trace adds to MPI_Finalize for 100,000 calls of each rank, by the"
        " least of all launches",
        title_justify="left",
        caption_justify="left",
    )
    table.add_column("")
    table.add_column("calls", justify="right")
    for times in TIMES:
        table.add_column(f"bytes a call\n{times} times", justify="right")
    for times in TIMES:
        table.add_column(f"finalize\n{times} times", justify="right")
    for loop in report.loops:
        table.add_row(
            loop.loop,
            f"{loop.calls:,}",
            *(f"{loop.bytes_per_call[times]:.3f}" for times in TIMES),
            *(f"{loop.finalize_ms_per_100k[times]:.2f} ms" for times in TIMES),
        )
    return table
