"""The times of one analysis: all count from the start of the first call; accesses without times or
bytes are reported."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from forebay.analysis import Analysis, analyze
from forebay.commands.analyze import analyze as command
from forebay.reports.job import render
from forebay.trace import open_trace
from traces import CLOSE, LOGS, OPEN, READ_AT_ALL, WRITE_AT, Call, block, process, write_trace

REAL = ("benchmark_write_parallel_384ranks", "mpi-io-test_32ranks", "ior_hdf5_4ranks")
FIRST_NS = 5_196_000_000
"""Start of the first call after the job's time zero."""


def late(folder: Path, times: str = "exact") -> Path:
    """Two ranks that open a file late. Rank 1 writes what rank 0 reads, without a sync, after all
    ranks made a write and a read of no bytes."""
    folder.mkdir()
    for rank in range(2):
        calls = [Call(OPEN, start_ns=FIRST_NS, end_ns=FIRST_NS + 1_000_000)]

        def data(routine: int, at_ms: int, size: int, calls: list[Call] = calls) -> None:
            for i in range(20):
                start = FIRST_NS + at_ms * 1_000_000 + i * 10_000
                place = i * max(size, 1)
                calls.append(Call(routine, 0, 0, place, size, size, start, start + 2_000))

        data(WRITE_AT, 2, 0)
        data(WRITE_AT if rank else READ_AT_ALL, 250 * (2 - rank), 100)
        data(READ_AT_ALL, 900, 0)
        end = FIRST_NS + 1_000_000_000
        calls.append(Call(CLOSE, start_ns=end - 1000, end_ns=end))
        lines = [*process(rank, 2), "file 0 2 0 5 /scratch/late"]
        for part in (calls[:21], calls[21:41], calls[41:]):
            lines += block(part, times=times)
        write_trace(folder / f"{rank}-{rank}.trace", [*lines, f"end {len(calls)} 0"])
    return folder


def signature_times(analysis: Analysis) -> list[tuple[float, float]]:
    """The known starts and ends in signature lines."""
    lines = [line for file in analysis.files for line in file.signature.patterns]
    times = [re.findall(r", (-?\d+\.\d{6}), (-?\d+\.\d{6}), \{", line) for line in lines]
    assert all(len(one) == 1 for one in times), lines
    return [(float(start), float(end)) for ((start, end),) in times]


def test_all_times_count_from_the_first_call(tmp_path: Path) -> None:
    analysis = analyze(open_trace(late(tmp_path / "t")))
    assert analysis.first_ns == FIRST_NS
    assert analysis.seconds == pytest.approx(1.0)
    starts = [phase.start for phase in analysis.phases]
    assert starts == pytest.approx([0.25, 0.5])
    assert sorted(start for start, _ in signature_times(analysis)) == pytest.approx(starts)
    (file,) = analysis.files
    conflict = file.conflicts.unordered.examples[0]
    assert 0.25 <= conflict.first_seconds[0] < 0.26 and 0.5 <= conflict.second_seconds[0] < 0.51
    told = json.loads(CliRunner().invoke(command, [str(tmp_path / "t"), "--json"]).output)
    assert told["first_ns"] == FIRST_NS
    assert told["phases"][0]["start"] == pytest.approx(0.25)
    said = "Times are in seconds after the start of the first call."
    assert said in CliRunner().invoke(command, [str(tmp_path / "t")]).output
    assert said.replace("'", "&#39;") in render(open_trace(tmp_path / "t"))


@pytest.mark.parametrize("name", REAL)
def test_times_of_a_real_log_lie_within_the_job(name: str) -> None:
    analysis = analyze(open_trace(LOGS / f"{name}.darshan"))
    times = signature_times(analysis)
    assert min(start for start, _ in times) == pytest.approx(analysis.phases[0].start, abs=1e-5)
    assert max(end for _, end in times) <= analysis.seconds + 1e-6


def test_folded_times_are_unknown_and_count_from_the_first_block(tmp_path: Path) -> None:
    analysis = analyze(open_trace(late(tmp_path / "t", times="histogram")))
    assert analysis.first_ns == FIRST_NS
    assert analysis.seconds == 0 and analysis.phases == ()
    assert analysis.outside_phases.untimed == 40
    (file,) = analysis.files
    for line in file.signature.patterns:
        assert ", unknown, unknown, " in line
        assert line.endswith("<unknown>}}")  # no intervals either
    found = file.conflicts
    kinds = (found.concurrent, found.unordered)
    examples = [one for kind in kinds for one in kind.examples]
    assert examples
    assert all(0 <= one.first_seconds[0] <= 1 for one in examples)


def test_accesses_of_no_bytes_are_said_to_stand_in_no_phase(tmp_path: Path) -> None:
    trace = late(tmp_path / "t")
    analysis = analyze(open_trace(trace))
    assert [phase.accesses for phase in analysis.phases] == [20, 20]
    calls = sum(file.accesses for file in analysis.files)
    assert analysis.outside_phases.empty == calls - 40 == 80
    assert analysis.to_json()["outside_phases"] == {"empty": 80, "untimed": 0}
    said = "80 accesses moved no bytes, and belong to no phase"
    assert said in CliRunner().invoke(command, [str(trace)]).output
    assert said in render(open_trace(trace))


@pytest.mark.parametrize(("empty", "asking"), [(3000, 1200), (0, 1200)])
def test_accesses_of_no_bytes_are_not_small(empty: int, asking: int, tmp_path: Path) -> None:
    calls = [Call(OPEN, end_ns=1000)]
    for i in range(empty + asking):
        size = 0 if i < empty else 300
        calls.append(Call(WRITE_AT, 0, 0, 300 * i, size, size, 2000 * (i + 1), 2000 * (i + 1) + 9))
    (tmp_path / "t").mkdir()
    lines = [*process(0, 1), "file 0 1 0 5 /scratch/out", *block(calls), f"end {len(calls)} 0"]
    write_trace(tmp_path / "t" / "0-0.trace", lines)
    analysis = analyze(open_trace(tmp_path / "t"))
    (file,) = analysis.files
    assert (file.write.empty, file.write.median_size) == (empty, 512)
    small = [one for one in analysis.findings if one.title.startswith("small ")]
    assert bool(small) == (not empty)  # most calls have no bytes that a cache could unite
    assert all("less than 512 bytes" in one.evidence for one in small)
