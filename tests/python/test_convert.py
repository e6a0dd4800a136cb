"""`forebay convert`: the contents of its file, and the cases without a file."""

from __future__ import annotations

import csv
import json
import resource
import subprocess
import sys
from collections import Counter
from itertools import pairwise

import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from command import FOREBAY, forebay, outside
from forebay.commands.convert import convert
from forebay.trace import COLUMNS, open_trace
from forebay.trace.formats import FORMATS
from traces import IWRITE, LOGS, ROUTINES, WRITE_AT, Call, block, calls_of, process, sample
from traces import write_trace as write_one


@pytest.fixture
def job(tmp_path):
    return sample(tmp_path / "job")


def converted(trace, output, *more):
    done = forebay("convert", trace, "-o", output, *more)
    assert done.returncode == 0, done.stderr
    return done


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def test_parquet_holds_the_table(job, tmp_path):
    done = converted(job, tmp_path / "a.parquet")
    assert "20 accesses; 6 were not recorded" in done.stderr.splitlines()[-1]
    assert done.stdout == ""
    file = pq.ParquetFile(tmp_path / "a.parquet")
    trace = open_trace(job)
    assert file.read().to_pylist() == trace.accesses.to_arrow().to_pylist()
    assert file.metadata.row_group(0).column(0).compression == "ZSTD"
    about = json.loads(file.metadata.metadata[b"forebay"])
    assert about["totals"] == {"accesses": 20, "folded": 0, "lost": 6, "damaged": 0}
    assert about["processes"][1]["host"] == "node1"
    assert about["problems"] == trace.problems


def test_csv_holds_the_table(job, tmp_path):
    converted(job, tmp_path / "a.csv")
    with (tmp_path / "a.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    expected = open_trace(job).accesses.to_arrow().to_pylist()

    def text(value):
        return "" if value is None else str(int(value) if isinstance(value, bool) else value)

    assert tuple(rows[0]) == COLUMNS
    assert rows == [{name: text(value) for name, value in row.items()} for row in expected]


def timeline(path):
    """Slices, requests and names, after checking the requirements of Perfetto's importer."""
    content = json.loads(path.read_text())
    assert content["displayTimeUnit"] == "ns"
    events = content["traceEvents"]
    kinds = {kind: [e for e in events if e["ph"] == kind] for kind in "Xbem"}
    kinds["M"] = [event for event in events if event["ph"] == "M"]
    assert sum(len(found) for found in kinds.values()) == len(events)
    assert all(event["pid"] > 0 and event["tid"] > 0 for event in events)
    process_of = {}
    for event in events:
        assert process_of.setdefault(event["tid"], event["pid"]) == event["pid"]
    by_track = {}
    for event in kinds["X"]:
        assert event["ts"] >= 0
        assert event["dur"] >= 0
        by_track.setdefault(event["tid"], []).append((event["ts"], event["ts"] + event["dur"]))
    for slices in by_track.values():
        slices.sort()
        assert all(a[1] <= b[0] + 1e-6 for a, b in pairwise(slices))
    return content, kinds


def test_a_timeline_shows_every_call(job, tmp_path):
    converted(job, tmp_path / "a.json")
    content, events = timeline(tmp_path / "a.json")
    assert content["otherData"]["problems"] == open_trace(job).problems
    names = {e["pid"]: e["args"]["name"] for e in events["M"] if e["name"] == "process_name"}
    assert names == {1: "rank 0 (node0)", 2: "rank 1 (node1)"}
    threads = [e["args"]["name"] for e in events["M"] if e["name"] == "thread_name"]
    assert threads == ["thread 0", "thread 1"] * 2
    found = sorted((e["pid"], e["ts"], e["name"], e["dur"]) for e in events["X"])
    expected = [
        (
            rank + 1,
            10 * rank + call.start_ns / 1000,
            ROUTINES[call.routine],
            (call.end_ns - call.start_ns) / 1000,
        )
        for rank in range(2)
        for call in calls_of(rank)
    ]
    assert found == sorted(expected)
    write = next(e for e in events["X"] if e["name"] == ROUTINES[WRITE_AT])
    assert write["cat"] == "write"
    assert write["args"]["file"] == "/scratch/checkpoint"
    assert (write["args"]["offset"], write["args"]["requested"]) == (0, 40)
    starts = [(e["id"], e["name"], e["ts"]) for e in events["b"]]
    assert starts == [("1", ROUTINES[IWRITE], 8.0), ("2", ROUTINES[IWRITE], 18.0)]
    assert [(e["id"], e["ts"]) for e in events["e"]] == [("1", 8.9), ("2", 18.9)]


def test_a_timeline_begins_at_0_and_leaves_out_folded_times(tmp_path):
    timed = [Call(WRITE_AT, start_ns=-7_000, end_ns=-6_999), Call(WRITE_AT, end_ns=10**17 + 1)]
    lines = [*process(0, 1), *block(timed), *block(timed, times="histogram"), "end 4 0"]
    write_one(tmp_path / "0-1.trace", lines)
    done = converted(tmp_path / "0-1.trace", tmp_path / "a.perfetto-trace")
    assert "4 accesses; 2 of them without times, left out" in done.stderr
    text = (tmp_path / "a.perfetto-trace").read_text()
    assert text.count('"ph":"X"') == 2
    assert '"ts":0.000,"dur":0.001' in text
    assert '"ts":7.000,"dur":100000000000000.001' in text  # no digit is lost


def test_calls_that_overlap_take_tracks_of_their_own(tmp_path):
    calls = [Call(WRITE_AT, start_ns=i * 10, end_ns=i * 10 + 25) for i in range(9)]
    lines = [*process(0, 1), *block(calls), "end 9 0"]
    write_one(tmp_path / "0-1.trace", lines)
    converted(tmp_path / "0-1.trace", tmp_path / "a.json")
    _, events = timeline(tmp_path / "a.json")
    assert sorted(Counter(event["tid"] for event in events["X"]).values()) == [3, 3, 3]


@pytest.mark.parametrize("format_", FORMATS, ids=lambda format_: format_.name)
def test_every_format_takes_a_darshan_log_and_a_trace_of_nothing(format_, tmp_path):
    output = tmp_path / "output"
    converted(LOGS / "ior_hdf5_4ranks.darshan", output, "--to", format_.name)
    content = output.read_bytes()
    empty = write_one(tmp_path / "0-1.trace", [*process(0, 1), "end 0 0"])
    done = converted(empty, output, "--to", format_.name, "--force")
    assert done.stderr == "forebay: 0 accesses\n"
    assert output.stat().st_size > 0
    assert output.read_bytes() != content
    if format_.name == "parquet":
        assert pq.read_table(output).num_rows == 0
    elif format_.name == "csv":
        assert output.read_text() == ",".join(COLUMNS) + "\n"
    else:
        timeline(output)


def test_a_darshan_log_makes_a_timeline(tmp_path):
    converted(LOGS / "mpi-io-test_32ranks.darshan", tmp_path / "a.json")
    _, events = timeline(tmp_path / "a.json")
    assert len(events["X"]) == 256
    assert len({event["pid"] for event in events["X"]}) == 32


@pytest.mark.parametrize("ending", ["parquet", "csv", "json"])
def test_no_file_is_overwritten_unless_asked(job, tmp_path, ending):
    output = tmp_path / f"a.{ending}"
    output.write_text("precious")
    done = forebay("convert", job, "-o", output)
    assert done.returncode == 2
    assert done.stderr == f"forebay: -o {output}: it exists; --force replaces it\n"
    assert output.read_text() == "precious"
    converted(job, output, "--force")
    assert output.stat().st_size > 100
    assert names_in(tmp_path) == [output.name, "job"]


def test_mistakes_are_answered_in_one_line(job, tmp_path):
    mistakes = {
        ("-o", tmp_path / "a.txt"): "end it in one of .parquet, .csv, .json, .perfetto-trace",
        ("-o", tmp_path / "a.csv", "--to", "excel"): "'excel' is not one of",
        (): "Missing option '-o'",
        ("-o", "/dev/null", "--to", "csv", "--force"): "it is no regular file",
        ("-o", job / "0-1000.trace", "--to", "csv", "--force"): "it is part of the trace",
    }
    for words, answer in mistakes.items():
        done = forebay("convert", job, *words)
        assert done.returncode == 2
        assert answer in done.stderr
        assert len(done.stderr.splitlines()) == 1
    assert len(open_trace(job)) == 20


@pytest.mark.parametrize("what", ["nothing there", "no folder", "no trace", "no space"])
def test_failures_end_with_1_and_leave_no_file(job, tmp_path, what):
    output = tmp_path / ("absent/a.csv" if what == "no folder" else "a.csv")
    trace = job
    if what == "nothing there":
        trace = tmp_path / "gone"
    elif what == "no trace":
        trace = tmp_path / "text"
        trace.write_text("a line of a text file, longer than any head")
    command = [*FOREBAY, "convert", str(trace), "-o", str(output)]
    limit = (400, 400) if what == "no space" else (resource.RLIM_INFINITY,) * 2
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        env=outside(PYTHONDONTWRITEBYTECODE="1"),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit),
        timeout=60,
    )
    reasons = {
        "nothing there": f"forebay: {trace}: No such file or directory\n",
        "no folder": f"forebay: {output}: No such file or directory\n",
        "no trace": f"forebay: {trace}: it is no trace of Forebay\n",
        "no space": f"forebay: {output}: File too large\n",
    }
    assert (done.returncode, done.stderr) == (1, reasons[what])
    assert set(names_in(tmp_path)) <= {"job", "text"}


def test_a_damaged_trace_is_converted_as_far_as_it_goes(job, tmp_path):
    path = job / "1-1001.trace"
    path.write_bytes(path.read_bytes()[:-60])
    done = converted(job, tmp_path / "a.csv")
    lines = done.stderr.splitlines()
    assert any(line.startswith(f"forebay: {path}: at byte ") for line in lines)
    assert lines[-1] == "forebay: 16 accesses; 3 were not recorded; 4 cannot be read"
    assert len((tmp_path / "a.csv").read_text().splitlines()) == 17


def test_without_pyarrow_it_is_named(job, tmp_path):
    code = (
        "import sys; sys.modules['pyarrow'] = None; from forebay.commands.cli import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "convert", str(job), "-o", str(tmp_path / "a.parquet")],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 1
    assert "parquet needs pyarrow: pip install 'forebay[arrow]'" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert names_in(tmp_path) == ["job"]


def test_refused_memory_is_answered_in_one_line(job, tmp_path, monkeypatch):
    def refuse(_):
        raise MemoryError

    monkeypatch.setattr("forebay.commands.convert.open_trace", refuse)
    done = CliRunner().invoke(convert, [str(job), "-o", str(tmp_path / "a.csv")])
    assert (done.exit_code, done.output) == (1, f"Error: {job}: there is not enough memory\n")
    assert names_in(tmp_path) == ["job"]


def test_memory_does_not_grow_with_the_trace(tmp_path):
    """Converts a million accesses to Parquet in the memory of a few batches."""
    random = np.random.default_rng(1)
    lines = process(0, 1)
    for first in range(0, 60_000, 2000):
        positions = random.integers(0, 1 << 40, 2000).tolist()
        lines += block(Call(WRITE_AT, position=p, requested=8, start_ns=first) for p in positions)
    one = write_one(tmp_path / "one", [*lines]).read_bytes()
    at = one.index(b"FBLK", 40)
    peaks = []
    for copies in (1, 40):
        path = tmp_path / f"{copies}.trace"
        path.write_bytes(one[:at] + one[at:] * copies)
        code = (
            "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True);"
            "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
        )
        command = [*FOREBAY, "convert", str(path), "-o", str(path.with_suffix(".parquet"))]
        done = subprocess.run(
            [sys.executable, "-c", code, *command], capture_output=True, text=True, check=True
        )
        peaks.append(int(done.stdout))
        assert pq.ParquetFile(path.with_suffix(".parquet")).metadata.num_rows == 60_000 * copies
    whole = 40 * 60_000 * 102 // 1024
    assert peaks[1] - peaks[0] < whole / 2
