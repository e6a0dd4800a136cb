"""`forebay analyze` on real Darshan logs, and on traces with known answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from forebay.analysis import analyze
from forebay.commands.analyze import analyze as command
from forebay.commands.convert import convert
from forebay.commands.report import report
from forebay.reports.job import render
from forebay.trace import Operation, open_trace
from traces import (
    CLOSE,
    COMMUNICATOR,
    EXCHANGE,
    LOGS,
    OPEN,
    ORDERING_ROUTINES,
    READ_AT_ALL,
    ROUTINES,
    WRITE_AT,
    Call,
    block,
    interleaved,
    process,
    sample,
    write_trace,
)

REAL = ("benchmark_write_parallel_384ranks", "mpi-io-test_32ranks", "ior_hdf5_4ranks")


@pytest.mark.parametrize("name", REAL)
def test_signatures_give_back_every_access_of_a_real_log(name: str) -> None:
    trace = open_trace(LOGS / f"{name}.darshan")
    analysis = analyze(trace)
    table = trace.accesses
    expanded = 0
    for file in analysis.files:
        of_file = table["file"] == trace.files.index(file.path)
        for one in file.locals:
            rows = of_file & (table["rank"] == one.rank) & (table["requested"] > 0)
            rows &= table["thread"] == one.thread
            routines, offsets, sizes = one.signature.expand()
            assert (routines == table["routine"][rows]).all()
            assert (offsets == table["offset"][rows]).all()
            assert (sizes == table["requested"][rows]).all()
            assert one.lost == 0
            expanded += len(offsets)
    assert expanded == (table["requested"] > 0).sum() > 0


@pytest.mark.parametrize("name", REAL)
def test_sums_of_a_real_log_are_those_of_its_table(name: str) -> None:
    trace = open_trace(LOGS / f"{name}.darshan")
    analysis = analyze(trace)
    table = trace.accesses
    for kind, operation in (("read", Operation.READ), ("write", Operation.WRITE)):
        rows = table["operation"] == operation
        counts = [getattr(file, kind) for file in analysis.files]
        assert sum(one.calls for one in counts) == rows.sum()
        assert sum(one.transferred for one in counts) == table["transferred"][rows].sum()
        took = (table["end_ns"] - table["start_ns"])[rows].sum() / 1e9
        assert sum(one.seconds for one in counts) == pytest.approx(took)
    assert analysis.seconds == pytest.approx(
        np.ptp([table["start_ns"].min(), table["end_ns"].max()]) / 1e9
    )


def test_strided_for_each_and_contiguous_for_all(tmp_path: Path) -> None:
    """Yin's figure 4."""
    (file,) = analyze(open_trace(interleaved(tmp_path / "t", ranks=4, records=50))).files
    assert file.processes == 4
    assert file.coverage == 1
    assert file.spatial == "contiguous"
    assert len(file.signature.patterns) == 1
    assert "[0-3], 300*rank + 0" in file.signature.patterns[0]
    for one in file.locals:
        assert "<fixed stride, 1>" in one.pattern
        assert len(one.trace) == 1
    assert file.write.median_size == 512
    assert file.write.size_classes[9] == file.write.calls == 200


def test_threads_that_read_halves_of_a_file_are_two_patterns(tmp_path: Path) -> None:
    size, turns, counts, begins = 4096, 30, (3, 2), (0, 3 * 30)  # records
    lines = [*process(0, 1), "file 0 1 0 5 /scratch/in", *block([Call(OPEN, end_ns=10)])]
    for turn in range(turns):
        for thread in (0, 1):
            first = begins[thread] + turn * counts[thread]
            records = range(first, first + counts[thread])
            calls = [
                Call(READ_AT_ALL, 0, 0, i * size, size, size, 1000 * i, 1000 * i + 9)
                for i in records
            ]
            lines += block(calls, thread=thread)
    (tmp_path / "t").mkdir()
    write_trace(tmp_path / "t" / "0-0.trace", [*lines, f"end {turns * sum(counts) + 1} 0"])
    analysis = analyze(open_trace(tmp_path / "t"))
    assert analysis.problems == ()
    (file,) = analysis.files
    assert [(one.thread, one.accesses, len(one.trace)) for one in file.locals] == [
        (0, turns * 3, 1),
        (1, turns * 2, 1),
    ]
    assert file.processes == file.signature.processes == 1
    assert file.coverage == 1 and file.signature.covered == turns * sum(counts)
    assert file.spatial == "contiguous" and len(file.signature.patterns) == 2
    result = CliRunner().invoke(command, [str(tmp_path / "t"), "--local"])
    assert "rank 0, thread 1: {read, <contiguous, 1>" in result.output


def test_small_interleaved_writes_are_found(tmp_path: Path) -> None:
    few = analyze(open_trace(interleaved(tmp_path / "few", ranks=2, records=50)))
    assert few.findings == ()
    many = analyze(open_trace(interleaved(tmp_path / "many", ranks=2, records=600)))
    (finding,) = many.findings
    assert finding.title == "small interleaved writes of /scratch/out"
    assert "1,200 of 1,200" in finding.evidence
    assert "forebay run" in finding.advice
    large = analyze(open_trace(interleaved(tmp_path / "large", 2, 600, size=1 << 20)))
    assert large.findings == ()


def test_what_is_lost_is_said_first(tmp_path: Path) -> None:
    result = CliRunner().invoke(command, [str(sample(tmp_path / "t"))])
    assert result.exit_code == 0, result.output
    assert result.output.startswith("6 calls were made but not recorded")


def with_steps(folder: Path, steps: bool, times: str) -> Path:
    """Two ranks that write through a cache; with `steps` as with the option `deterministic`."""
    folder.mkdir()
    routines = [*ROUTINES, "forebay_cache_join", "forebay_cache_commit"]
    join, commit = range(len(ROUTINES), len(routines))

    def step(routine: int, at_ns: int) -> list[Call]:
        return [Call(routine, requested=1, start_ns=at_ns, end_ns=at_ns)] if steps else []

    for rank in range(2):
        calls = [Call(OPEN, end_ns=1000), *step(join, 1000)]
        for i in range(20):
            start = 10_000 * (i + 1)
            place = 100 * (2 * i + rank)
            calls += [Call(WRITE_AT, 0, 0, place, 100, 100, start, start + 900)]
            calls += step(commit, start + 900)
        calls += [Call(CLOSE, start_ns=300_000, end_ns=310_000), *step(commit, 310_000)]
        lines = process(rank, 2, routines=" ".join(routines))
        lines += ["file 0 2 1 5 /scratch/out", *block(calls[:10]), *block(calls[10:], 0, times)]
        write_trace(folder / f"{rank}-{rank}.trace", [*lines, f"end {len(calls)} 0"])
    return folder


@pytest.mark.parametrize("times", ["exact", "histogram"])
def test_steps_of_the_cache_are_no_calls(times: str, tmp_path: Path) -> None:
    (tmp_path / "deterministic").mkdir()
    plain = with_steps(tmp_path / "t", False, "exact")
    stepped = with_steps(tmp_path / "deterministic" / "t", True, "exact")
    if times == "histogram":  # other blocks have other times, so only their calls can be equal
        stepped = with_steps(tmp_path / "deterministic" / "folded", True, times)
    trace = open_trace(stepped)
    assert len(trace) == 2 * (22 + 22)
    analysis = analyze(trace)
    told, alone = analysis.to_json(), analyze(open_trace(plain)).to_json()
    assert (told["accesses"], told["steps"], alone["steps"]) == (44, 44, 0)
    folded = (trace.accesses["operation"] != Operation.STEP) & trace.accesses["folded"]
    assert told["folded"] == folded.sum() == (0 if times == "exact" else 2 * 17)
    if times == "exact":
        for one in (told, alone):
            del one["trace"], one["steps"]
        assert told == alone
    printed = CliRunner().invoke(command, [str(stepped)]).output
    assert "2 processes, 44 calls" in printed
    assert "\n44 steps of the cache recorded (deterministic)\n" in printed
    assert "steps of" not in CliRunner().invoke(command, [str(plain)]).output
    page = render(trace)
    assert "44 steps of the cache recorded (deterministic)" in page
    assert "forebay_cache" not in page
    assert "steps of" not in render(open_trace(plain))


@pytest.mark.parametrize("name", ["steps.parquet", "steps.csv", "steps.json"])
def test_steps_of_the_cache_are_converted(name: str, tmp_path: Path) -> None:
    trace = with_steps(tmp_path / "t", True, "exact")
    output = tmp_path / name
    made = CliRunner().invoke(convert, [str(trace), "-o", str(output)])
    assert made.exit_code == 0, made.output
    if name == "steps.parquet":
        told = analyze(open_trace(output)).to_json()
        assert told | {"trace": ""} == analyze(open_trace(trace)).to_json() | {"trace": ""}
        commits = open_trace(output).accesses.to_arrow().column("operation").to_pylist()
        assert commits.count("step") == 44
    else:
        assert output.read_text().count("forebay_cache_commit") == 42


def test_json_holds_what_the_analysis_says(tmp_path: Path) -> None:
    trace = interleaved(tmp_path / "t", ranks=3, records=20)
    result = CliRunner().invoke(command, [str(trace), "--json"])
    assert result.exit_code == 0, result.output
    told = json.loads(result.output)
    assert told == json.loads(json.dumps(analyze(open_trace(trace)).to_json()))
    assert (told["accesses"], told["covered"], told["lost"]) == (3 * 22, 60, 0)
    assert told["files"][0]["write"]["transferred"] == 3 * 20 * 300


def test_a_terminal_gets_the_signatures_it_asks_for(tmp_path: Path) -> None:
    trace = interleaved(tmp_path / "t", ranks=3, records=20)
    plain = CliRunner().invoke(command, [str(trace)]).output
    assert "100%" in plain and "300*rank + 0" in plain and "rank 2:" not in plain
    local = CliRunner().invoke(command, [str(trace), "--local"]).output
    assert "rank 2: {write, <fixed stride, 1>" in local
    none = CliRunner().invoke(command, [str(trace), "--signatures", "0"]).output
    assert "300*rank" not in none


def test_bad_input_gets_one_line(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    result = CliRunner().invoke(command, [str(tmp_path / "empty")])
    assert result.exit_code == 1
    assert result.output.count("\n") == 1 and str(tmp_path / "empty") in result.output


def two_ranks(folder: Path, first: list[Call], second: list[Call], **more: object) -> Path:
    folder.mkdir()
    for rank, calls in enumerate((first, second)):
        calls = [Call(OPEN, end_ns=100), *calls]
        lines = [*process(rank, 2, **more), "file 0 2 0 5 /scratch/out", *block(calls)]
        write_trace(folder / f"{rank}-{rank}.trace", [*lines, f"end {len(calls)} 0"])
    return folder


@pytest.mark.parametrize(
    ("told", "meet", "reopened", "read_at", "needs", "said"),
    [
        (True, True, True, 5000, "mpi", "consistency=mpi is safe"),
        (True, True, False, 5000, "posix", "consistency=posix is needed"),
        (True, False, True, 5000, "unknown", "no recorded call guarantees"),
        (True, False, False, 1050, "none", "at the same time"),
        (True, False, False, None, "any", "every consistency and scope is safe"),
        (False, False, True, 5000, "unknown", "In this run"),
        (False, False, False, 5000, "unknown", "this trace does not show whether"),
        (False, False, False, 1050, "none", "In this run"),
        (False, False, False, None, "any", "every consistency and scope is safe"),
    ],
)
def test_conflicts_are_judged(
    tmp_path: Path,
    told: bool,
    meet: bool,
    reopened: bool,
    read_at: int | None,
    needs: str,
    said: str,
) -> None:
    """`told`: whether the trace has collectives; `meet`: whether there is one between the
    accesses."""
    write = [Call(WRITE_AT, 0, 0, 0, 100, 100, 1000, 1100)]
    read = [] if read_at is None else [Call(READ_AT_ALL, 0, 0, 40, 90, 60, read_at, read_at + 9)]
    if reopened:
        write.append(Call(CLOSE, start_ns=2000, end_ns=2100))
        read.insert(0, Call(OPEN, start_ns=3000, end_ns=3100))
    if meet:
        barrier = Call(EXCHANGE, COMMUNICATOR, 0, 77, start_ns=2200, end_ns=2300)
        write.append(barrier)
        read.insert(0, barrier)
    routines = {"routines": " ".join(ORDERING_ROUTINES)} if told else {}
    folder = two_ranks(tmp_path / "t", write, read, **routines)
    analysis = analyze(open_trace(folder))
    assert analysis.needs == needs
    assert (analysis.tells_order, analysis.orders) == (told, 2 * meet)
    assert analysis.totals.accesses == 2 + len(write) + len(read) - 2 * meet
    conflicts = analysis.files[0].conflicts
    kinds = [
        getattr(conflicts, kind)
        for kind in ("concurrent", "unordered", "ordered", "synced", "reopened")
    ]
    assert sum(one.pairs for one in kinds) == (read_at is not None)
    assert sum(one.bytes for one in kinds) == (60 if read_at else 0)
    for one in kinds:
        for example in one.examples:
            assert (example.offset, example.end) == (40, 100)
            assert (example.first_rank, example.first) == (0, "write")
            assert (example.second_rank, example.second) == (1, "read")
            assert example.first_seconds == pytest.approx((1e-6, 1.1e-6))
    printed = CliRunner().invoke(command, [str(folder)]).output
    assert said in printed
    assert ("is safe" in printed) == (needs in ("any", "mpi"))
    assert ("bytes 40 to 99" in printed) == (needs in ("posix", "unknown", "none"))
    page = render(open_trace(folder))
    assert said in page and "forebay_exchange" not in page
    assert analysis.to_json()["tells_order"] == told


def test_accesses_that_conflicts_are_not_looked_for_in_are_told_first(tmp_path: Path) -> None:
    """Each rank writes the same ten records."""
    writes = [
        [Call(WRITE_AT, 0, 0, 10 * i, 10, 10, start + i, start + i + 1) for i in range(10)]
        for start in (1000, 2000)
    ]
    folder = two_ranks(tmp_path / "t", *writes)

    def told(most_runs: int) -> tuple[dict[str, Any], str, str]:
        printed = CliRunner().invoke(command, [str(folder), "--most-runs", str(most_runs)]).output
        page, limit = str(tmp_path / f"{most_runs}.html"), ["--most-runs", str(most_runs)]
        assert CliRunner().invoke(report, [str(folder), "-o", page, *limit]).exit_code == 0
        analysis = analyze(open_trace(folder), most_runs=most_runs)
        return analysis.to_json(), printed, Path(page).read_text()

    whole, printed, page = told(20)
    assert (whole["needs"], whole["left_out"]) == ("unknown", 0)
    assert "10 pairs" in whole["findings"][0]["evidence"]
    assert "not examined" not in printed + page
    assert whole == analyze(open_trace(folder)).to_json()

    half, printed, page = told(10)
    line = "/scratch/out: 10 of 20 accesses were not examined for conflicts and shared bytes"
    assert (half["needs"], half["left_out"]) == ("any", 10)
    assert printed.startswith(line)
    assert "\nAmong the examined accesses: No process touches" in printed
    assert 0 < page.index(line) < page.index('class="tiles"')

    most, printed, page = told(15)
    assert (most["needs"], most["left_out"]) == ("unknown", 5)
    assert "5 pairs" in most["findings"][0]["evidence"]
    for text in (most["findings"][0]["evidence"], printed, page):
        assert "5 accesses were not examined" in text
    assert printed.startswith(line.replace("10 of", "5 of"))


def test_who_has_a_file_alone_has_no_conflicts(tmp_path: Path) -> None:
    trace = open_trace(interleaved(tmp_path / "t", ranks=1, records=20))
    assert analyze(trace, most_runs=10).left_out == 0


def phased(folder: Path) -> Path:
    """Two ranks write a file for 2 s, pause for 6 s, write it and read another for 1 s, then write
    a third at once, and at its end write the second again for a short time."""
    folder.mkdir()
    s = 1_000_000_000
    for rank in range(2):
        calls = []
        for file, routine, begin, end in (
            (0, WRITE_AT, 0, 2 * s),
            (0, WRITE_AT, 8 * s, 9 * s),
            (1, READ_AT_ALL, 8 * s, 9 * s),
            (2, WRITE_AT, 9 * s, 10 * s),
        ):
            step = (end - begin) // 100
            for i in range(100):
                start = begin + i * step + 1000 * rank
                calls.append(Call(routine, file, 0, 10 * i, 10, 10, start, start + step // 2))
        lines = [*process(rank, 2), *(f"file {n} 2 0 5 /scratch/f{n}" for n in range(3))]
        write_trace(folder / f"{rank}-{rank}.trace", [*lines, *block(calls), "end 400 0"])
    return folder


def test_phases_are_told(tmp_path: Path) -> None:
    folder = phased(tmp_path / "t")
    analysis = analyze(open_trace(folder))
    found = [(one.what, {Path(s.path).name for s in one.stretches}) for one in analysis.phases]
    assert found == [("write", {"f0"}), ("read, write", {"f0", "f1"}), ("write", {"f2"})]
    bounds = [(phase.start, phase.end) for phase in analysis.phases]
    assert np.ravel(bounds) == pytest.approx([0, 2, 8, 9, 9, 10], abs=0.02)
    assert [phase.accesses for phase in analysis.phases] == [200, 400, 200]
    assert [phase.bytes for phase in analysis.phases] == [2000, 4000, 2000]
    printed = CliRunner().invoke(command, [str(folder)]).output
    assert "phase  from s" in printed and "read, write  f0, f1" in printed
    steady = CliRunner().invoke(command, [str(interleaved(tmp_path / "one", 2, 600))]).output
    assert "from s" not in steady


def test_shared_bytes_are_told(tmp_path: Path) -> None:
    """Neighbours share a halo of 50 bytes; all read a header."""
    folder = tmp_path / "t"
    folder.mkdir()
    for rank in range(4):
        calls = [
            Call(READ_AT_ALL, 0, 0, 0, 64, 64, 0, 10),
            Call(WRITE_AT, 0, 0, 1000 + 1000 * rank, 1050, 1050, 100, 200),
        ]
        lines = [*process(rank, 4), "file 0 4 0 5 /scratch/out", *block(calls), "end 2 0"]
        write_trace(folder / f"{rank}-{rank}.trace", lines)
    (file,) = analyze(open_trace(folder)).files
    assert file.sharing.bytes == 64 + 3 * 50
    told = [(one.ranks, one.bytes, one.begin, one.end) for one in file.sharing.sets]
    assert told == [
        ("0-3", 64, 0, 64),
        ("0-1", 50, 2000, 2050),
        ("1-2", 50, 3000, 3050),
        ("2-3", 50, 4000, 4050),
    ]
