"""The cost of analyzing a converted trace: million accesses per second, best of several runs, for a
strided loop with irregular times, a nested loop and random offsets, by four processes each.

    python bench/parquet_analysis.py [MILLION_ACCESSES]        (Forebay installed with `arrow`)

Prints wall time with one thread and with one per core, and processor time, which other work on the
machine affects less.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from forebay import _core, analyze, open_trace
from forebay.analysis.folding import cores
from forebay.trace import Columns, Open, Operation, Process, Routine, Trace, View
from forebay.trace.formats import parquet

PROCESSES = 4
RUNS = 3
KINDS = ("strided", "nested", "random")


class Generated:
    """A job whose processes write one file."""

    kind = "forebay"
    problems: Sequence[str] = ()
    files = ("/scratch/out",)

    def __init__(self, pattern: str, accesses: int):
        self._pattern, self._each = pattern, accesses // PROCESSES
        self.access_count = self._each * PROCESSES
        self.processes = [
            Process("generated", "node", rank, PROCESSES, 1, 0, 0, self._each, 0, 0, 0, True)
            for rank in range(PROCESSES)
        ]
        self.opens = [Open(rank, 0, 0, PROCESSES, 5, False) for rank in range(PROCESSES)]
        self.views = [View(0, 0, 1, 1, True)]
        self.view_layouts = _core.TraceReader([]).views
        self.routines = [Routine("MPI_File_write_at", Operation.WRITE, False, False)]

    def bad_blocks(self) -> Mapping[tuple[int, int], tuple[int, str]]:
        return {}

    def batches(
        self, rows: int, processes: range | None, columns: Sequence[str]
    ) -> Iterator[Columns]:
        del columns  # all columns are made
        for process in processes or range(PROCESSES):
            made = self._columns(process)
            for begin in range(0, self._each, rows):
                yield {name: column[begin : begin + rows] for name, column in made.items()}

    def _columns(self, process: int) -> Columns:
        draw = np.random.default_rng(process)
        number = np.arange(self._each, dtype=np.int64)
        if self._pattern == "strided":
            offset = (number * PROCESSES + process) * 4096
        elif self._pattern == "nested":
            offset = number // 64 * (1 << 20) + number % 64 * 16384 + process * 4096
        else:
            offset = draw.integers(0, 1 << 40, self._each)
        gap, took = (draw.lognormal(np.log(mean), 0.5, self._each) for mean in (1000, 300))
        end_ns = np.cumsum((gap + took).astype(np.int64))
        start_ns = end_ns - took.astype(np.int64)
        sizes = np.full(self._each, 4096)
        values = {"rank": process, "process": process, "open": process, "operation": 2}
        values |= {"contiguous": 1}
        made = _core.TraceTable().columns()
        constant = {
            name: np.full(self._each, values.get(name, 0), column.dtype)
            for name, column in made.items()
        }
        times = {"start_ns": start_ns, "end_ns": end_ns, "completed_ns": end_ns}
        places = {"offset": offset, "position": offset, "end": offset + 4096}
        return constant | times | places | {"requested": sizes, "transferred": sizes}


def main() -> None:
    accesses = int(float(sys.argv[1] if len(sys.argv) > 1 else 16) * 1e6)
    with tempfile.TemporaryDirectory() as folder:
        for pattern in KINDS:
            path = Path(folder) / f"{pattern}.parquet"
            source = Trace(path, Generated(pattern, accesses))
            with path.open("wb") as file:
                parquet.write(source, source.batches(), file)
            size = path.stat().st_size / accesses
            for jobs in dict.fromkeys((1, cores())):
                wall = spent = float("inf")
                for _ in range(RUNS):
                    trace = open_trace(path)
                    began, began_cpu = time.perf_counter(), time.process_time()
                    analyze(trace, jobs=jobs)
                    wall = min(wall, time.perf_counter() - began)
                    spent = min(spent, time.process_time() - began_cpu)
                print(
                    f"{pattern:8} {size:5.1f} B an access, {jobs} threads:"
                    f" {accesses / wall / 1e6:5.1f} million/s,"
                    f" {spent / accesses * 1e9:4.0f} ns of processor time each"
                )


if __name__ == "__main__":
    main()
