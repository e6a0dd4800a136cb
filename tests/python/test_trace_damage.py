"""Damaged and hostile trace files: readable parts are read, the rest is named and counted."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from forebay.trace import Trace, TraceError, open_trace
from traces import WRITE_AT, Call, block, lines_of, process, write_trace

HEAD_BYTES = 12
BLOCK_HEAD_BYTES = 32
MADE, LOST = 13, 3  # of the sample; ten of the calls are in its two blocks


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> bytes:
    path = tmp_path_factory.mktemp("whole") / "0-1000.trace"
    return write_trace(path, lines_of(0, 1)).read_bytes()


def checked(path, content: bytes) -> Trace | None:
    """Opens the file and reads everything; checks what holds for any file. None: the file was
    refused."""
    path.write_bytes(content)
    try:
        trace = open_trace(path)
    except TraceError as error:
        assert str(error).startswith(f"{path}: ")
        assert "\n" not in str(error)
        return None
    in_batches = sum(len(batch) for batch in trace.batches(rows=1))
    assert len(trace.accesses) == len(trace) == in_batches
    accesses = trace.accesses
    for name in accesses.names:
        assert len(accesses[name]) == len(trace)
    for column, table in [("file", trace.files), ("open", trace.opens), ("view", trace.views)]:
        assert all(-1 <= number < len(table) for number in accesses[column])
    assert all(number < len(trace.routines) for number in accesses["routine"])
    for i in range(len(accesses)):
        if accesses["offset"][i] >= 0:
            where = (accesses[name][i] for name in ("view", "position", "requested"))
            runs = trace.extents(*(int(number) for number in where))
            assert next(runs, (accesses["offset"][i], 0))[0] == accesses["offset"][i]
    for problem in trace.problems:
        assert problem.startswith(str(path))
        assert problem.isprintable()
    return trace


def blocks_of(content: bytes) -> Iterator[tuple[int, int]]:
    """Begin and end of each block."""
    at = HEAD_BYTES
    while at < len(content):
        length = int.from_bytes(content[at + 20 : at + 24], "little")
        yield at, at + BLOCK_HEAD_BYTES + length
        at += BLOCK_HEAD_BYTES + length


def test_every_truncation(whole, tmp_path):
    """Of the first n bytes, the blocks that end by then are read, and the rest is reported
    missing."""
    ends = [end for _, end in blocks_of(whole)]
    read = 0
    for length in range(len(whole)):
        trace = checked(tmp_path / "0-1000.trace", whole[:length])
        assert (trace is not None) == (length >= ends[0])
        if trace is None:
            continue
        accesses = 10 if length >= ends[-2] else 6 if length >= ends[-3] else 0
        assert trace.totals.accesses == accesses
        assert trace.problems
        # The head of a truncated block tells how many accesses it had.
        heads = [4, 6][accesses == 0] if accesses < 10 else 0
        begin = ends[-3] if accesses == 6 else ends[-4]
        cut = heads if length >= begin + BLOCK_HEAD_BYTES else 0
        assert trace.totals.damaged == cut
        read += 1
    assert read > len(whole) // 2


def test_every_changed_byte_is_found_and_costs_one_block(whole, tmp_path):
    source = random.Random(1)
    for at in range(len(whole)):
        bad = bytearray(whole)
        bad[at] ^= source.randrange(1, 256)
        trace = checked(tmp_path / "0-1000.trace", bytes(bad))
        if at < HEAD_BYTES:
            assert trace is None
            continue
        assert trace is not None
        assert len(trace.problems) > 1  # the sample itself says that accesses were lost
        assert trace.totals.accesses in (10, 6, 4)
        if trace.processes[0].ended:
            assert trace.totals.accesses + trace.totals.damaged == MADE - LOST


def test_random_damage(whole, tmp_path):
    """Bytes are changed, removed, inserted, doubled. Nothing is read that was not written."""
    source = random.Random(2)
    good = rows(checked(tmp_path / "0-1000.trace", whole))
    survived = 0
    for _ in range(400):
        bad = bytearray(whole)
        for _ in range(source.randrange(1, 6)):
            begin, end = sorted(source.randrange(len(bad) + 1) for _ in range(2))
            kind = source.randrange(4)
            if kind == 0 and begin < len(bad):
                bad[begin] ^= source.randrange(1, 256)
            elif kind == 1 and end - begin < 200:
                del bad[begin:end]
            elif kind == 2:
                bad[begin:begin] = source.randbytes(source.randrange(60))
            elif kind == 3 and end - begin < 300:
                bad[begin:begin] = bad[begin:end]
        trace = checked(tmp_path / "0-1000.trace", bytes(bad))
        if trace is None:
            continue
        survived += len(trace)
        assert rows(trace) <= good
    assert survived > 1000


def rows(trace: Trace | None) -> set[tuple[int, ...]]:
    """The columns that do not depend on other blocks, which may be damaged."""
    assert trace is not None
    names = ("thread", "requested", "transferred", "sequence", "position", "start_ns")
    return set(zip(*(trace.accesses[name].tolist() for name in names), strict=True))


def test_random_bytes(tmp_path):
    source = random.Random(3)
    for _ in range(200):
        head = b"FOREBAYT\x01\0\0\0" if source.random() < 0.8 else b""
        content = head + source.randbytes(source.randrange(300))
        assert checked(tmp_path / "0-1.trace", content) is None


def test_a_damaged_file_costs_no_other(whole, tmp_path):
    folder = tmp_path / "job"
    folder.mkdir()
    (folder / "0-1000.trace").write_bytes(whole)
    (folder / "1-1001.trace").write_bytes(b"FOREBAYT\x01\0\0\0 and so on")
    trace = open_trace(folder)
    assert [process.rank for process in trace.processes] == [0]
    assert len(trace.accesses) == 10
    assert any("1-1001.trace: at byte 12: " in problem for problem in trace.problems)


def test_a_block_whose_content_makes_no_sense_is_found_when_it_is_read(tmp_path):
    """The block's checksums are right, but its number of accesses disagrees with its columns."""
    calls = [Call(WRITE_AT, position=i) for i in range(5)]
    path = tmp_path / "0-1.trace"
    lines = [*process(0, 1), *block(calls), *block(calls), "end 10 0"]
    content = bytearray(write_trace(path, lines).read_bytes())
    begin = list(blocks_of(bytes(content)))[1][0]
    content[begin + 12 : begin + 16] = (7).to_bytes(4, "little")
    checksum = crc32c(bytes(content[begin : begin + 28]))
    content[begin + 28 : begin + 32] = checksum.to_bytes(4, "little")
    path.write_bytes(content)
    trace = open_trace(path)
    assert len(trace) == 12
    for _ in range(2):  # a problem is reported once, however often it is met
        assert sum(len(batch) for batch in trace.batches()) == 5
    assert len(trace) == len(trace.accesses) == 5
    assert trace.totals.damaged == 7
    (problem,) = trace.problems
    assert problem.startswith(f"{path}: at byte {begin}: block 1 of 7 accesses: ")


def test_a_file_that_shrinks_after_it_was_opened(tmp_path, whole):
    path = tmp_path / "0-1000.trace"
    path.write_bytes(whole)
    trace = open_trace(path)
    path.write_bytes(whole[:200])
    assert len(trace.accesses) == 0
    assert trace.totals.damaged == 10
    assert sum("cannot be read any more" in problem for problem in trace.problems) == 2


def crc32c(content: bytes) -> int:
    """CRC-32C (Castagnoli), bit by bit."""
    register = 0xFFFFFFFF
    for byte in content:
        register ^= byte
        for _ in range(8):
            register = register >> 1 ^ (0x82F63B78 if register & 1 else 0)
    return register ^ 0xFFFFFFFF
