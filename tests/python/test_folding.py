"""Several threads read a trace with the same result as one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from forebay.analysis import Analysis, analyze, folding
from forebay.analysis.folding import parts_of
from forebay.commands.analyze import analyze as command
from forebay.commands.convert import convert
from forebay.signatures import message_of
from forebay.trace import Trace, TraceError, open_trace
from traces import CLOSE, LOGS, OPEN, READ_AT_ALL, WRITE_AT, Call, block, process, write_trace

RANKS = 7


def busy(folder: Path) -> Path:
    """Ranks with different numbers of accesses, some to bytes of neighbours, in two files. One rank
    did nothing."""
    folder.mkdir()
    for rank in range(RANKS):
        calls = [Call(OPEN, end_ns=1000)]
        for i in range(0 if rank == 3 else 40 * (rank + 1)):
            start = 10_000 * (i + 1) + 100 * rank
            place = (i * RANKS + rank) * 100
            routine, file = (READ_AT_ALL, 1) if i % 3 == 0 else (WRITE_AT, 0)
            calls.append(Call(routine, file, 0, place, 120, 120, start, start + 900))
        calls.append(Call(CLOSE, start_ns=9_000_000, end_ns=9_000_500))
        lines = [*process(rank, RANKS), f"file 0 {RANKS} 0 5 /out", f"file 1 {RANKS} 0 2 /in"]
        write_trace(folder / f"{rank}-{rank}.trace", [*lines, *block(calls), f"end {len(calls)} 0"])
    return folder


def everything(analysis: Analysis) -> Any:
    return json.dumps([analysis.to_json(), message_of(analysis)])


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the threads share short traces, too."""
    monkeypatch.setattr(folding, "ROWS_PER_BATCH", 2)


def sources(folder: Path) -> dict[str, Path]:
    trace = busy(folder / "busy")
    file = folder / "busy.parquet"
    assert CliRunner().invoke(convert, [str(trace), "-o", str(file)]).exit_code == 0
    logs = ("benchmark_write_parallel_384ranks", "mpi-io-test_32ranks", "ior_hdf5_4ranks")
    return {"trace": trace, "parquet": file} | {name: LOGS / f"{name}.darshan" for name in logs}


def test_the_number_of_threads_changes_nothing(tmp_path: Path) -> None:
    for name, path in sources(tmp_path).items():
        alone = everything(analyze(open_trace(path), jobs=1))
        for jobs in (2, 3, 16):
            assert everything(analyze(open_trace(path), jobs=jobs)) == alone, (name, jobs)


def test_parts_are_all_processes_in_order(tmp_path: Path) -> None:
    trace = open_trace(busy(tmp_path / "t"))
    for count in range(1, 12):
        parts = parts_of(trace, range(RANKS), count)
        assert [process for part in parts for process in part] == list(range(RANKS))
        assert min(count, 3) <= len(parts) <= count
        accesses = [sum(trace.processes[p].accesses for p in part) for part in parts]
        assert max(accesses) <= sum(accesses) / count + 40 * RANKS + 2


def test_what_a_thread_meets_is_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = open_trace(busy(tmp_path / "t"))
    batches = Trace.batches

    def broken(self: Trace, rows: int, processes: range, **more: Any) -> Any:
        if RANKS - 1 in processes:
            raise TraceError("out of order")
        return batches(self, rows, processes, **more)

    monkeypatch.setattr(Trace, "batches", broken)
    with pytest.raises(TraceError, match="out of order"):
        analyze(trace, jobs=3)


def test_the_command_takes_a_number(tmp_path: Path) -> None:
    trace = str(busy(tmp_path / "t"))
    one, two = (CliRunner().invoke(command, [trace, "--jobs", n, "--json"]) for n in ("1", "2"))
    assert one.exit_code == two.exit_code == 0
    assert one.output == two.output
    assert CliRunner().invoke(command, [trace, "--jobs", "0"]).exit_code == 2
