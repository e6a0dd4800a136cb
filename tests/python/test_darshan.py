"""Darshan logs: real ones against pydarshan's own reading, damaged ones against a line's room."""

from __future__ import annotations

import io
import json
import random
import subprocess
from pathlib import Path

import darshan
import numpy as np
import pytest

from forebay.darshan_log import _columns
from forebay.trace import Operation, TraceError, open_trace
from traces import LOGS

# As the data's README says: ranks, segments of MPI-IO.
REAL = {
    "benchmark_write_parallel_384ranks": (384, 8448),
    "mpi-io-test_32ranks": (32, 256),
    "ior_hdf5_4ranks": (4, 59),
}


@pytest.mark.parametrize("name", REAL)
def test_a_real_log_is_read_as_pydarshan_reads_it(name):
    path = LOGS / f"{name}.darshan"
    trace = open_trace(path)
    ranks, segments = REAL[name]
    assert trace.kind == "darshan"
    assert (len(trace.processes), len(trace)) == (ranks, segments)
    assert {process.ranks for process in trace.processes} == {ranks}
    assert trace.problems == []
    report = darshan.DarshanReport(str(path), read_all=False)
    report.mod_read_all_dxt_records("DXT_MPIIO", dtype="numpy")
    expected = []
    for record in report.records["DXT_MPIIO"]:
        for operation in ("write", "read"):
            for segment in record[f"{operation}_segments"]:
                expected.append(
                    (
                        record["rank"],
                        report.name_records[record["id"]],
                        operation,
                        segment["offset"],
                        segment["offset"] + segment["length"],
                        round(segment["start_time"] * 1e9),
                        round(segment["end_time"] * 1e9),
                    )
                )
    columns = ("rank", "file", "operation", "offset", "end", "start_ns", "end_ns")
    rows = trace.accesses.to_arrow().select(columns).to_pylist()
    assert sorted(tuple(row.values()) for row in rows) == sorted(expected)
    assert len(trace.accesses) == sum(process.accesses for process in trace.processes)
    hosts = {record["rank"]: record["hostname"] for record in report.records["DXT_MPIIO"]}
    assert {process.rank: process.host for process in trace.processes} == hosts


def test_accesses_of_a_rank_are_in_the_order_of_their_starts():
    accesses = open_trace(LOGS / "ior_hdf5_4ranks.darshan").accesses
    for rank in range(4):
        assert np.all(np.diff(accesses["start_ns"][accesses["rank"] == rank]) >= 0)
    assert np.all(np.diff(accesses["process"]) >= 0)
    assert set(accesses["operation"]) == {Operation.READ, Operation.WRITE}


def test_batches_are_the_whole_in_parts():
    trace = open_trace(LOGS / "mpi-io-test_32ranks.darshan")
    parts = list(trace.batches(rows=100))
    assert [len(part) for part in parts] == [100, 100, 56]
    for name in trace.accesses.names:
        assert np.array_equal(np.concatenate([p[name] for p in parts]), trace.accesses[name])


def test_a_log_is_known_by_its_first_bytes(tmp_path):
    copy = tmp_path / "renamed"
    copy.write_bytes((LOGS / "ior_hdf5_4ranks.darshan").read_bytes())
    assert len(open_trace(copy)) == 59


def test_without_pydarshan_it_is_named(monkeypatch):
    monkeypatch.setattr("forebay.darshan_log.find_spec", lambda _: None)
    with pytest.raises(TraceError, match="needs PyPI's darshan: pip install"):
        open_trace(LOGS / "ior_hdf5_4ranks.darshan")


def damaged(whole: bytes, seed: int) -> bytes:
    """Cut off or changed in a few bytes."""
    source = random.Random(seed)
    if seed % 3 == 0:
        return whole[: source.randrange(len(whole))]
    bad = bytearray(whole)
    for _ in range(source.randrange(1, 4)):
        bad[source.randrange(len(bad))] ^= source.randrange(1, 256)
    return bytes(bad)


def test_a_damaged_log_is_refused_in_one_line_or_read_with_its_losses(tmp_path):
    whole = (LOGS / "ior_hdf5_4ranks.darshan").read_bytes()
    refused = 0
    for seed in range(9):
        path = tmp_path / f"{seed}.darshan"
        path.write_bytes(damaged(whole, seed))
        try:
            trace = open_trace(path)
        except TraceError as error:
            assert str(error).startswith(f"{path}: ")
            assert "\n" not in str(error)
            refused += 1
        else:
            assert len(trace.accesses) == len(trace)
    assert refused > 0


@pytest.mark.parametrize("content", [b"", b"text", b"3.21\0\0\0\0" + bytes(8)])
def test_what_is_no_log_is_refused_in_one_line(tmp_path, content):
    path = tmp_path / "a.darshan"
    path.write_bytes(content)
    with pytest.raises(TraceError) as refusal:
        open_trace(path)
    assert str(refusal.value).startswith(f"{path}: PyPI's darshan cannot")


def test_strange_numbers_stay_in_their_columns():
    """Of a log without DXT offsets, or a hostile one."""
    records = np.array([(5, 3, 2, 1)], [(n, "<i8") for n in ("id", "rank", "writes", "reads")])
    segments = np.array(
        [(-1, 8, 0.5, 0.6), (2**62, 2**62, float("nan"), 1e300), (0, -5, 0.25, 0.25)],
        [("offset", "<i8"), ("length", "<i8"), ("start", "<f8"), ("end", "<f8")],
    )
    columns = _columns(records, segments, np.array([5]), np.array([0]))
    assert columns["start_ns"].tolist() == [0, 250_000_000, 500_000_000]
    assert columns["offset"].tolist() == [-1, -1, -1]
    assert columns["end"].tolist() == [-1, -1, -1]
    assert columns["operation"].tolist() == [Operation.WRITE, Operation.READ, Operation.WRITE]


def archive(**facts: object) -> bytes:
    """What the child writes of a log of one record."""
    usual = {"module": "DXT_MPIIO", "ranks": 4, "start_ns": 5, "partial": False, "complete": True}
    usual |= {"hosts": ["a"], "names": {}}
    kinds = [(n, "<i8") for n in ("id", "rank", "writes", "reads")]
    parts = [(n, "<i8") for n in ("offset", "length")] + [(n, "<f8") for n in ("start", "end")]
    file = io.BytesIO()
    np.savez(
        file,
        facts=np.array(json.dumps(usual | facts)),
        records=np.array([(255, 3, 1, 0)], kinds),
        segments=np.array([(0, 8, 0.5, 0.6)], parts),
    )
    return file.getvalue()


def with_child(monkeypatch, code: int, output: bytes = b"", errors: bytes = b"") -> None:
    done = subprocess.CompletedProcess([], code, output, errors)
    monkeypatch.setattr("forebay.darshan_log.subprocess.run", lambda *_, **__: done)


def test_what_a_log_lacks_is_said(monkeypatch):
    path = LOGS / "ior_hdf5_4ranks.darshan"
    with_child(monkeypatch, 0, archive())
    trace = open_trace(path)
    assert (trace.problems, trace.files, len(trace)) == ([], ["file 0xff"], 1)
    with_child(monkeypatch, 0, archive(partial=True, complete=False, module="DXT_POSIX"))
    trace = open_trace(path)
    assert [problem.split(": ")[1] for problem in trace.problems] == [
        "Darshan's memory was full",
        "its DXT_POSIX records are damaged after what could be read",
        "it has no MPI-IO records; these are the accesses of POSIX calls",
    ]
    assert not trace.processes[0].ended


def test_what_the_child_says_is_handed_on(monkeypatch):
    path = LOGS / "ior_hdf5_4ranks.darshan"
    refusals = {
        (-11, b""): "PyPI's darshan crashed on it (SIGSEGV)",
        (3, b"Error: Invalid DXT POSIX module version\nPyPI's darshan cannot read it"): (
            "PyPI's darshan cannot read it (Error: Invalid DXT POSIX module version)"
        ),
        (1, b"Traceback ...\nMemoryError: \x1b[2J"): (
            "PyPI's darshan cannot read it (MemoryError: \\x1b[2J)"
        ),
        (1, b""): "PyPI's darshan cannot read it (it says nothing)",
    }
    for (code, errors), reason in refusals.items():
        with_child(monkeypatch, code, errors=errors)
        with pytest.raises(TraceError) as refusal:
            open_trace(path)
        assert str(refusal.value) == f"{path}: {reason}"


def test_the_data_is_there():
    assert Path(LOGS).is_dir(), f"the real logs are missing: {LOGS}"
