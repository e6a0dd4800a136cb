"""Traces opened in Python: every column is compared with what was recorded."""

from __future__ import annotations

import gc
import os
import re
import resource
import socket

import numpy as np
import pytest

import forebay
from forebay import _core
from forebay.trace import COLUMNS, NO_TIME, Operation, TraceError, open_trace
from traces import (
    CLOSE,
    IWRITE,
    LOGS,
    OPEN,
    READ_AT_ALL,
    ROOT,
    ROUTINES,
    WRITE_AT,
    Call,
    block,
    calls_of,
    lines_of,
    process,
    sample,
    write_trace,
)


def place(rank, position):
    """The file offset of a data byte of the sample's view."""
    return 16 * rank + position // 16 * 64 + position % 16


@pytest.fixture
def trace(tmp_path):
    return open_trace(sample(tmp_path / "job"))


def test_columns_hold_what_was_recorded(trace):
    accesses = trace.accesses
    expected = [(rank, call) for rank in range(2) for call in calls_of(rank)]
    assert len(accesses) == len(trace) == len(expected) == 20
    assert trace.problems == [
        f"{process.source}: 3 accesses were not recorded" for process in trace.processes
    ]
    for i, (rank, call) in enumerate(expected):
        row = {name: accesses[name][i] for name in accesses.names}
        assert row["rank"] == row["process"] == rank
        assert row["thread"] == (i % 10 >= 6)
        opened = trace.opens[row["open"]]
        assert (opened.process, opened.number, opened.file) == (rank, call.file, row["file"])
        assert trace.files[row["file"]] == (
            f"/scratch/input {rank}" if call.file else "/scratch/checkpoint"
        )
        assert trace.routines[row["routine"]].name == ROUTINES[call.routine]
        assert row["collective"] == (call.routine in (OPEN, READ_AT_ALL, CLOSE))
        for name in ("requested", "transferred", "position", "sequence"):
            assert row[name] == getattr(call, name)
        assert row["start_ns"] == call.start_ns + 10_000 * rank
        assert row["end_ns"] == call.end_ns + 10_000 * rank
        completed = call.end_ns if call.completed_ns is None else call.completed_ns
        assert row["completed_ns"] == (NO_TIME if completed == -1 else completed + 10_000 * rank)
        assert row["view"] == ((1 + rank) if call.view else 0)
        assert not row["folded"]
        if call.routine in (OPEN, CLOSE):
            assert (row["offset"], row["end"]) == (-1, -1)
        elif call.view == 0:
            assert (row["offset"], row["end"]) == (call.position, call.position + call.requested)
            assert row["contiguous"]
        else:
            assert row["offset"] == place(rank, call.position)
            assert row["end"] == place(rank, call.position + call.requested - 1) + 1
            assert row["contiguous"] == (call.requested == 8)
    operations = [Operation(code) for code in accesses["operation"][:10]]
    assert operations == [
        Operation.OPEN,
        *[Operation.WRITE] * 5,
        Operation.READ,
        Operation.WRITE,
        Operation.WRITE,
        Operation.CLOSE,
    ]


def test_what_is_known_beside_the_accesses(trace):
    first, second = trace.processes
    assert (first.rank, first.ranks, first.host, first.pid) == (0, 2, "node0", 1000)
    assert (second.rank, second.clock_offset_ns, second.ended) == (1, 10_000, True)
    assert (second.accesses, second.lost, second.damaged) == (10, 3, 0)
    assert trace.files == ["/scratch/checkpoint", "/scratch/input 0", "/scratch/input 1"]
    assert [(open_.amode, open_.cached, open_.ranks) for open_ in trace.opens[:2]] == [
        (5, True, 2),
        (2, False, 2),
    ]
    assert (trace.totals.accesses, trace.lost, trace.totals.damaged, trace.folded) == (20, 6, 0, 0)
    view = trace.views[2]
    assert (view.process, view.origin, view.extent_bytes, view.data_bytes) == (1, 16, 640, 160)
    assert not view.contiguous
    assert trace.views[0].contiguous
    assert "20 accesses" in repr(trace)


def test_extents_of_a_noncontiguous_access_are_listed_on_demand(trace):
    assert list(trace.extents(2, 40, 40)) == [(152, 8), (208, 16), (272, 16)]
    assert list(trace.extents(0, 40, 7)) == [(40, 7)]
    assert list(trace.extents(1, 0, 0)) == []
    endless = trace.extents(1, 0, 1 << 60)
    assert next(endless) == (0, 16)
    for wrong in [(9, 0, 1), (-1, 0, 1)]:
        with pytest.raises(IndexError):
            trace.extents(*wrong)
    for wrong in [(1, -1, 1), (1, 0, -1), (1, 1 << 62, 1 << 62)]:
        with pytest.raises(ValueError):
            trace.extents(*wrong)


def test_arrays_show_the_memory_of_the_table_and_keep_it(trace):
    table, _ = _core.AccessStream(_core.TraceReader([os.fsencode(trace.processes[0].source)])).next(
        0
    )
    once, again = table.columns(), table.columns()
    assert all(np.shares_memory(once[name], again[name]) for name in once)
    assert sum(column.itemsize for column in once.values()) == _core.table_bytes_per_access
    positions = once["position"]
    assert not positions.flags.writeable
    del table, once, again
    gc.collect()
    assert positions.tolist() == [call.position for call in calls_of(0)]


def test_batches_are_the_whole_in_parts(trace):
    parts = list(trace.batches(rows=1))
    assert [len(part) for part in parts] == [6, 4, 6, 4]
    for name in trace.accesses.names:
        joined = np.concatenate([part[name] for part in parts])
        assert np.array_equal(joined, trace.accesses[name])
    assert [len(part) for part in trace.batches()] == [20]
    with pytest.raises(ValueError):
        next(trace.batches(0))


def test_arrow_tables_have_names_and_nulls_and_no_copies(trace):
    table = trace.accesses.to_arrow()
    assert table.num_rows == 20
    rows = table.slice(7, 2).to_pylist()
    assert rows[0]["routine"] == "MPI_File_iwrite"
    assert rows[0]["operation"] == "write"
    assert rows[0]["file"] == "/scratch/checkpoint"
    assert (rows[0]["completed_ns"], rows[1]["completed_ns"]) == (8900, None)
    assert table["offset"].null_count == 4  # opens and closes
    for name in ("start_ns", "rank", "view"):
        address = trace.accesses[name].__array_interface__["data"][0]
        assert table[name].chunk(0).buffers()[1].address == address


def test_folded_times_are_said_to_be(tmp_path):
    calls = [Call(WRITE_AT, position=i, start_ns=50 + i, end_ns=60 + i) for i in range(9)]
    lines = [*process(0, 1), *block(calls, times="histogram"), *block(calls), "end 18 0"]
    trace = open_trace(write_trace(tmp_path / "0-1.trace", lines))
    assert trace.folded == 9
    assert trace.accesses["folded"].tolist() == [True] * 9 + [False] * 9
    assert set(trace.accesses["start_ns"][:9]) == set(trace.accesses["end_ns"][:9]) == {50}
    assert trace.problems == []


def test_routines_may_stand_on_lines_of_their_own_and_be_missing(tmp_path):
    lines = [*process(0, 1, routines="MPI_File_sync"), *block([Call(0), Call(1)]), "end 2 0"]
    trace = open_trace(write_trace(tmp_path / "0-1.trace", lines))
    names = [trace.routines[number].name for number in trace.accesses["routine"]]
    assert names == ["MPI_File_sync", "unknown"]
    assert trace.accesses["operation"].tolist() == [Operation.SYNC, Operation.OTHER]


def test_operations_are_those_of_the_core():
    assert [operation.name.lower() for operation in Operation] == list(_core.operations)
    assert forebay.open_trace is open_trace


def test_unknown_opens_and_views_have_no_place(tmp_path):
    lines = [*process(0, 1), *block([Call(WRITE_AT, file=7, view=3, requested=5)]), "end 1 0"]
    accesses = open_trace(write_trace(tmp_path / "0-1.trace", lines)).accesses
    for name in ("file", "open", "view", "offset", "end"):
        assert accesses[name].tolist() == [-1]
    assert accesses.to_arrow().to_pylist()[0]["file"] is None


def test_a_trace_without_accesses(tmp_path):
    trace = open_trace(write_trace(tmp_path / "0-1.trace", [*process(0, 1), "end 0 0"]))
    assert len(trace) == len(trace.accesses) == 0
    assert list(trace.batches()) == []
    assert trace.accesses.to_arrow().num_rows == 0
    assert trace.problems == []


def test_strange_bytes_in_names_stay_printable(tmp_path):
    path = write_trace(
        tmp_path / "0-1.trace", [*process(0, 1, host="a\x1b[2Jb"), "file 0 1 0 0 x", "end 0 0"]
    )
    trace = open_trace(path)
    assert trace.processes[0].host == "a\x1b[2Jb"
    odd = tmp_path / "new\nline\x1b.trace"
    odd.write_bytes(b"nothing")
    with pytest.raises(TraceError, match=r"new\\nline\\x1b.trace: it is no trace of Forebay"):
        open_trace(odd)


def test_ranks_without_a_trace_are_missed(tmp_path):
    folder = tmp_path / "job"
    folder.mkdir()
    write_trace(folder / "1-5.trace", lines_of(1, 4))
    assert f"{folder}: 3 of 4 ranks left no trace" in open_trace(folder).problems


@pytest.mark.parametrize("what", ["absent", "empty", "socket", "other", "directory"])
def test_what_is_no_trace_is_refused_in_one_line(tmp_path, what):
    path = tmp_path / "it"
    if what in ("empty", "directory"):
        path.mkdir()
    if what == "directory":
        (path / "0-1.trace").mkdir()
    elif what == "socket":
        socket.socket(socket.AF_UNIX).bind(str(path))
    elif what == "other":
        path.write_text("a line of a text file, longer than any head")
    with pytest.raises(TraceError) as refusal:
        open_trace(path)
    assert str(refusal.value).startswith(str(path))
    assert "\n" not in str(refusal.value)


def test_a_pipe_is_not_waited_for(tmp_path):
    (tmp_path / "job").mkdir()
    os.mkfifo(tmp_path / "job" / "0-1.trace")
    with pytest.raises(TraceError, match="it is no regular file"):
        open_trace(tmp_path / "job")


def test_completion_of_a_request(trace):
    requests = trace.accesses["routine"] == [r.name for r in trace.routines].index(ROUTINES[IWRITE])
    assert trace.accesses["completed_ns"][requests].tolist() == [8900, NO_TIME, 18900, NO_TIME]


def test_memory_follows_the_file_not_what_it_claims(tmp_path):
    """A file of 24 kB with 26 million accesses: opening it, and batches, take little memory."""
    lines = [*process(0, 1), *(f"{Call(WRITE_AT).line()}\n" * 65_536).split("\n")[:-1]]
    one = write_trace(tmp_path / "0-1.trace", [*lines, "block 0 exact"]).read_bytes()
    at = one.index(b"FBLK", 40)
    assert len(one) - at < 150
    many = tmp_path / "many.trace"
    many.write_bytes(one[:at] + one[at:] * 400)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    trace = open_trace(many)
    assert len(trace) == 400 * 65_536
    assert sum(len(batch) for batch in trace.batches()) == len(trace)
    grown_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown_kib < 400 * 1024
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("forebay.trace.types.available_bytes", lambda: 1 << 30)
        with pytest.raises(TraceError, match="26,214,400 accesses take"):
            _ = trace.accesses


DOCUMENT = ROOT / "docs" / "tracing.md"


def test_the_examples_of_the_document_run(tmp_path, monkeypatch):
    sample(tmp_path / "run.trace", ranks=4)
    (tmp_path / "job.darshan").symlink_to(LOGS / "ior_hdf5_4ranks.darshan")
    monkeypatch.chdir(tmp_path)
    examples = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    assert len(examples) == 6
    names: dict[str, object] = {}
    for example in examples:
        exec(example, names)
    assert names["busiest"] == 40
    # Row 17 is a write of rank 1 at data byte 200: half of the thirteenth block.
    assert (names["offset"], names["length"]) == (place(1, 200), 8)


def test_the_document_has_every_column_with_its_type(trace):
    table = {}
    for names, kind in re.findall(
        r"^\| (`[^|]*`) \| (u?int\d+|bool) \|", DOCUMENT.read_text(), re.M
    ):
        table |= dict.fromkeys(re.findall(r"`(\w+)`", names), kind)
    assert table == {name: str(trace.accesses[name].dtype) for name in COLUMNS}
