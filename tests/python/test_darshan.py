"""Darshan logs: real ones are compared with pydarshan's reading, damaged ones are refused in one
line."""

from __future__ import annotations

import io
import json
import random
import subprocess
from pathlib import Path

import darshan
import numpy as np
import pytest
from click.testing import CliRunner

from darshan_logs import SHARED, Log
from forebay.analysis import analyze
from forebay.commands.convert import convert
from forebay.simulation import simulate_cache
from forebay.trace import Operation, TraceError, open_trace
from forebay.trace.counters import RankTime, SizeCount, Stripes
from forebay.trace.darshan import _columns
from traces import LOGS

# From the README of the data: ranks, segments of MPI-IO.
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
    monkeypatch.setattr("forebay.trace.darshan.find_spec", lambda _: None)
    with pytest.raises(TraceError, match="needs PyPI's darshan: pip install"):
        open_trace(LOGS / "ior_hdf5_4ranks.darshan")


def damaged(whole: bytes, seed: int) -> bytes:
    """The log, truncated or with a few bytes changed."""
    source = random.Random(seed)
    if seed % 3 == 0:
        return whole[: source.randrange(len(whole))]
    bad = bytearray(whole)
    for _ in range(source.randrange(1, 4)):
        bad[source.randrange(len(bad))] ^= source.randrange(1, 256)
    return bytes(bad)


def test_a_damaged_log_is_refused_in_one_line_or_read_with_its_losses(tmp_path):
    whole = (LOGS / "ior_hdf5_4ranks.darshan").read_bytes()
    refused_or_lacking = 0
    for seed in range(9):
        path = tmp_path / f"{seed}.darshan"
        path.write_bytes(damaged(whole, seed))
        try:
            trace = open_trace(path)
        except TraceError as error:
            assert str(error).startswith(f"{path}: ")
            assert "\n" not in str(error)
            refused_or_lacking += 1
        else:
            assert len(trace.accesses) == len(trace)
            refused_or_lacking += bool(trace.problems)
    assert refused_or_lacking > 0


@pytest.mark.parametrize("content", [b"", b"text", b"3.21\0\0\0\0" + bytes(8)])
def test_what_is_no_log_is_refused_in_one_line(tmp_path, content):
    path = tmp_path / "a.darshan"
    path.write_bytes(content)
    with pytest.raises(TraceError) as refusal:
        open_trace(path)
    assert str(refusal.value).startswith(f"{path}: PyPI's darshan cannot")


def test_strange_numbers_stay_in_their_columns():
    """As in a log without DXT offsets, or in a hostile one."""
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
    """What the child process writes for a log with one record."""
    usual = {"module": "DXT_MPIIO", "ranks": 4, "start_ns": 5, "partial": [], "complete": True}
    usual |= {"hosts": ["a"], "names": {}, "seconds": 1.0, "damaged": [], "counters": {}}
    usual |= {"stripes": []}
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
    monkeypatch.setattr("forebay.trace.darshan.subprocess.run", lambda *_, **__: done)


def test_what_a_log_lacks_is_said(monkeypatch):
    path = LOGS / "ior_hdf5_4ranks.darshan"
    with_child(monkeypatch, 0, archive())
    trace = open_trace(path)
    assert (trace.problems, trace.files, len(trace)) == ([], ["file 0xff"], 1)
    full = {"partial": ["DXT_POSIX"], "damaged": ["POSIX"]}
    with_child(monkeypatch, 0, archive(**full, complete=False, module="DXT_POSIX"))
    trace = open_trace(path)
    assert [problem.split(": ")[1] for problem in trace.problems] == [
        "Darshan's memory was full",
        "its DXT_POSIX records are damaged after what could be read",
        "its POSIX counters are damaged after what could be read",
        "its DXT records are those of POSIX calls",
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


def counted(folder: Path) -> Path:
    """A log of two ranks with every module; in each of them one rank has counters of its own."""
    log = Log(2, 30, full=["POSIX"])
    for rank in range(2):
        calls = {"COLL_OPENS": 1, "INDEP_OPENS": rank, "COLL_WRITES": 6, "SPLIT_WRITES": 2}
        calls |= {"NB_READS": 3, "INDEP_READS": 1, "SYNCS": 5, "VIEWS": 7, "HINTS": 1, "MODE": 9}
        calls |= {"BYTES_WRITTEN": 800, "BYTES_READ": 40, "SIZE_WRITE_AGG_0_100": 8}
        calls |= {"SIZE_READ_AGG_0_100": 4, "ACCESS1_ACCESS": 100, "ACCESS1_COUNT": 8 + rank}
        calls |= {"F_WRITE_TIME": 2.5 + rank, "F_READ_TIME": 0.5, "F_META_TIME": 0.25}
        log.count("MPI-IO", "/a", rank, {f"MPIIO_{name}": value for name, value in calls.items()})
    requests = {"OPENS": 3, "STATS": 2, "SEEKS": 4, "WRITES": 5, "READS": 1, "BYTES_WRITTEN": 800}
    requests |= {"FSYNCS": 1, "FDSYNCS": 1, "FILE_ALIGNMENT": 4096, "FILE_NOT_ALIGNED": 5}
    requests |= {"MEM_ALIGNMENT": 8, "MEM_NOT_ALIGNED": 2, "CONSEC_WRITES": 1, "SEQ_WRITES": 2}
    requests |= {"MODE": 0o644, "SIZE_WRITE_100_1K": 5, "F_META_TIME": 0.125, "F_WRITE_TIME": 1.0}
    requests |= {"SLOWEST_RANK": 1, "SLOWEST_RANK_BYTES": 500, "F_SLOWEST_RANK_TIME": 0.75}
    log.count("POSIX", "/a", SHARED, {f"POSIX_{name}": value for name, value in requests.items()})
    log.count("H5F", "/a", SHARED, {"H5F_OPENS": 2, "H5F_FLUSHES": 1, "H5F_F_META_TIME": 1.5})
    log.count("H5D", "/a:/x", 1, {"H5D_WRITES": 3, "H5D_BYTES_WRITTEN": 700}, of="/a")
    log.stripe("/a", 1 << 20, [3, 9])
    log.trace("/a", 0, [(0, 100, 0.5, 0.75)])
    return log.write(folder / "counted.darshan")


def test_counters_are_kept_with_the_trace(tmp_path):
    trace = open_trace(counted(tmp_path))
    job = trace.counters
    assert (job.layer, job.traced, job.processes, job.seconds) == ("MPI-IO", True, 2, 30.0)
    assert job.modules == ("MPI-IO", "POSIX", "H5F", "H5D", "LUSTRE")
    assert job.incomplete == ("POSIX",)
    (file,) = job.files
    assert (file.path, file.untraced) == ("/a", 2 * (8 + 4) - 1)
    mpiio = file.mpiio
    assert (mpiio.collective_opens, mpiio.independent_opens, mpiio.processes) == (2, 1, 2)
    write = mpiio.write
    assert (write.collective, write.split, write.in_collective, write.alone) == (12, 4, 16, 0)
    assert (write.bytes, write.seconds, write.sizes[0], sum(write.sizes)) == (1600, 6.0, 16, 16)
    read = mpiio.read
    assert (read.nonblocking, read.independent, read.alone, read.calls) == (6, 2, 8, 8)
    assert (mpiio.syncs, mpiio.views, mpiio.hints, mpiio.mode) == (10, 14, 2, 9)
    assert mpiio.metadata_seconds == 0.5
    assert mpiio.common_sizes == (SizeCount(100, 17),)
    assert mpiio.slowest == RankTime(1, 4.25, 840)
    assert mpiio.fastest == RankTime(0, 3.25, 840)
    posix = file.posix
    assert (posix.opens, posix.stats, posix.seeks, posix.syncs, posix.mode) == (3, 2, 4, 2, 0o644)
    assert (posix.requests, posix.write.bytes, posix.write.sizes[1]) == (6, 800, 5)
    assert (posix.write.consecutive, posix.write.sequential) == (1, 2)
    assert (posix.alignment, posix.unaligned) == (4096, 5)
    assert (posix.memory_alignment, posix.unaligned_in_memory) == (8, 2)
    assert (posix.metadata_seconds, posix.slowest) == (0.125, RankTime(1, 0.75, 500))
    hdf5 = file.hdf5
    assert (hdf5.processes, hdf5.opens, hdf5.flushes, hdf5.metadata_seconds) == (2, 2, 1, 1.5)
    assert (hdf5.datasets, hdf5.dataset_processes, hdf5.bytes_written) == (1, 1, 700)
    assert file.stripes == Stripes(1 << 20, 2, (3, 9))


def test_counters_and_what_is_unknown_outlive_conversion(tmp_path):
    trace = open_trace(counted(tmp_path))
    assert trace.accesses["collective"].tolist() == [-1]
    assert trace.accesses.to_arrow()["collective"].to_pylist() == [None]
    for name in ("a.parquet", "a.csv", "a.json"):
        made = CliRunner().invoke(convert, [str(trace.path), "-o", str(tmp_path / name)])
        assert made.exit_code == 0, made.output
    again = open_trace(tmp_path / "a.parquet")
    assert again.counters == trace.counters
    assert again.accesses["collective"].tolist() == [-1]
    assert [routine.collective for routine in again.routines] == [None, None]
    assert again.lost == trace.lost == 23
    names, row = (tmp_path / "a.csv").read_text().splitlines()
    assert dict(zip(names.split(","), row.split(","), strict=True))["collective"] == ""
    told = json.loads((tmp_path / "a.json").read_text())["otherData"]["counters"]
    assert told["files"][0]["mpiio"]["write"]["collective"] == 12
    one, other = (analyze(which).to_json() | {"trace": ""} for which in (trace, again))
    assert one == other
    assert one["files"][0]["write"]["collective"] is None  # the accesses lack some calls


def test_a_log_of_counters_alone_is_a_trace_without_accesses(tmp_path):
    log = Log(3, 30)
    log.count("MPI-IO", "/a", SHARED, {"MPIIO_COLL_READS": 9})
    trace = open_trace(log.write(tmp_path / "a.darshan"))
    assert (len(trace), trace.lost, trace.files) == (0, 9, ["/a"])
    (problem,) = trace.problems
    assert "it has no DXT records" in problem and "DXT_ENABLE_IO_TRACE=1" in problem
    made = CliRunner().invoke(convert, [str(trace.path), "-o", str(tmp_path / "a.parquet")])
    assert made.exit_code == 0, made.output
    assert open_trace(tmp_path / "a.parquet").counters == trace.counters


def test_a_log_of_no_file_is_refused_in_one_line(tmp_path):
    log = Log(3, 30)
    log.count("H5F", "/a", SHARED, {"H5F_OPENS": 1})
    with pytest.raises(TraceError, match="it tells of no MPI-IO and of no POSIX calls"):
        open_trace(log.write(tmp_path / "a.darshan"))


@pytest.mark.parametrize("name", REAL)
def test_every_call_of_a_real_log_is_traced_and_counted(name):
    """So statements about all calls apply to the calls shown."""
    trace = open_trace(LOGS / f"{name}.darshan")
    assert trace.lost == 0
    calls = [of for file in trace.counters.files for of in (file.mpiio.read, file.mpiio.write)]
    assert sum(of.calls for of in calls) == len(trace)
    assert (trace.accesses["collective"] == -1).all()


def test_simulations_say_what_is_known_of_collective_calls(tmp_path):
    log = Log(2, 30)
    for rank in range(2):
        log.count("MPI-IO", "/a", rank, {"MPIIO_COLL_WRITES": 1, "MPIIO_INDEP_WRITES": 1})
        log.trace("/a", rank, [(rank * 4096, 4096, 0.0, 0.1), (8192, 4096, 1.0, 1.1)])
    path = log.write(tmp_path / "a.darshan")
    said: list[str] = []
    simulate_cache(
        path, policies=["lru"], awareness=["aggregated"], cache_sizes=[1 << 20], warn=said.append
    )
    (line,) = said
    assert "it marks no collective calls (its counters: 2 of 4 were collective)" in line
