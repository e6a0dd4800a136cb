"""Files of signatures: they contain every access, and damaged files are refused in one line."""

from __future__ import annotations

import html
import json
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner
from google.protobuf.json_format import MessageToDict

from forebay.analysis import analyze
from forebay.commands.analyze import analyze as command
from forebay.reports.job import render
from forebay.signatures import (
    SignatureError,
    accesses_at,
    accesses_of,
    read,
    signature_pb2,
    starts_of,
    write,
)
from forebay.trace import open_trace
from traces import LOGS, OPEN, ROOT, WRITE_AT, Call, block, process, sample, write_trace

REAL = ("benchmark_write_parallel_384ranks", "mpi-io-test_32ranks", "ior_hdf5_4ranks")
PROTO = ROOT / "src" / "pattern" / "signature.proto"
GENERATED = ROOT / "python" / "forebay" / "signatures"


STARTS = (700_000, 12, 333_333, 950_001, 81_920, 500_000, 41_234, 222_222)


def own_starts(folder: Path, own_counts: bool = False) -> Path:
    """Ranks that write equal records, or different numbers of them, each at another place."""
    folder.mkdir()
    for rank, begin in enumerate(STARTS):
        calls = [Call(OPEN, end_ns=1000)]
        for i in range(20 + (rank if own_counts else 0)):
            start = 10_000 * (i + 1)
            calls.append(Call(WRITE_AT, 0, 0, begin + 150 * i, 100, 100, start, start + 1000))
        lines = [*process(rank, len(STARTS)), "file 0 8 0 5 /scratch/own", *block(calls)]
        write_trace(folder / f"{rank}-{rank}.trace", [*lines, f"end {len(calls)} 0"])
    return folder


def path_of(name: str, folder: Path) -> Path:
    made = {
        "sample": lambda: sample(folder / "t", ranks=3),
        "own": lambda: own_starts(folder / "t"),
    }
    return made[name]() if name in made else LOGS / f"{name}.darshan"


@pytest.mark.parametrize("ending", ["signatures", "json"])
@pytest.mark.parametrize("name", [*REAL, "sample", "own"])
def test_global_signatures_give_back_every_access(name, ending, tmp_path):
    path = path_of(name, tmp_path)
    output = tmp_path / f"job.{ending}"
    result = CliRunner().invoke(command, [str(path), "--proto", str(output)])
    assert result.exit_code == 0, result.output
    trace, signatures = open_trace(path), read(output)
    table = trace.accesses
    for merged in signatures.globals:
        assert merged.unmerged == merged.lost == 0
        told = Counter(
            (rank, *access)
            for pattern in merged.patterns
            for rank, start in starts_of(pattern)
            for access in accesses_at(pattern, start)
        )
        rows = (table["requested"] > 0) & (table["offset"] >= 0)
        rows &= table["file"] == trace.files.index(merged.file)
        names = ("rank", "routine", "offset", "requested")
        assert told == Counter(zip(*(table[one][rows].tolist() for one in names), strict=True))
        assert told.total() == merged.accesses > 0


@pytest.mark.parametrize("own_counts", [False, True])
def test_ranks_with_starts_of_their_own_are_one_line(own_counts, tmp_path):
    trace = own_starts(tmp_path / "t", own_counts)
    count = "20 to 27" if own_counts else "20"
    line = (
        "{8, <combination, 1>, [0-7], own starts 12 to 950001, 0.000010, "
        + ("0.000271" if own_counts else "0.000201")
        + ", {write, <fixed stride, 1>, <repeated "
        + count
        + ">, <small, fixed>, <fixed>}}"
    )
    (file,) = analyze(open_trace(trace)).files
    assert file.signature.patterns == (line,)
    assert file.signature.covered == file.signature.accesses
    assert line in CliRunner().invoke(command, [str(trace)]).output
    told = json.loads(CliRunner().invoke(command, [str(trace), "--json"]).output)
    assert told["files"][0]["signature"]["patterns"] == [line]
    assert html.escape(line) in render(open_trace(trace))
    CliRunner().invoke(command, [str(trace), "--proto", str(tmp_path / "job")])
    patterns = read(tmp_path / "job").globals[0].patterns
    if own_counts:
        assert len(patterns) == len(STARTS)
    else:
        assert [list(one.own_starts) for one in patterns] == [list(STARTS)]
        assert not patterns[0].HasField("base")


def test_many_ranks_of_a_real_log_are_few_lines():
    (file,) = analyze(open_trace(LOGS / f"{REAL[0]}.darshan")).files
    first, *_ = lines = file.signature.patterns
    assert first.startswith("{384, <random, 0>, [0-383], own starts 8336 to 12851525136, 0.000000,")
    assert len(lines) < 12
    assert not any(line.startswith("{2, ") for line in lines)


@pytest.mark.parametrize("ending", ["signatures", "json"])
@pytest.mark.parametrize("name", [*REAL, "sample"])
def test_files_of_signatures_give_back_every_access(name, ending, tmp_path):
    path = path_of(name, tmp_path)
    output = tmp_path / f"job.{ending}"
    result = CliRunner().invoke(command, [str(path), "--proto", str(output)])
    assert result.exit_code == 0, result.output
    trace, signatures = open_trace(path), read(output)
    table = trace.accesses
    names = [one.name.removeprefix("MPI_File_") for one in trace.routines]
    assert [one.name for one in signatures.operations] == names
    told = 0
    for local in signatures.locals:
        rows = (table["rank"] == local.rank) & (table["requested"] > 0) & (table["offset"] >= 0)
        rows &= table["thread"] == local.thread
        rows &= table["file"] == trace.files.index(local.file)
        columns = [table[column][rows].tolist() for column in ("routine", "offset", "requested")]
        assert list(accesses_of(local)) == list(zip(*columns, strict=True))
        told += local.accesses
    assert told == ((table["requested"] > 0) & (table["offset"] >= 0)).sum() > 0
    analysis = analyze(trace)
    assert sum(one.covered for one in signatures.locals) == analysis.covered
    assert [one.file for one in signatures.globals] == [one.path for one in analysis.files]
    for merged, file in zip(signatures.globals, analysis.files, strict=True):
        assert merged.covered == file.signature.covered


def test_both_forms_hold_the_same(tmp_path):
    analysis = analyze(open_trace(sample(tmp_path / "t")))
    for as_json in (False, True):
        with (tmp_path / str(as_json)).open("wb") as file:
            write(analysis, file, as_json)
    binary, text = (MessageToDict(read(tmp_path / str(form))) for form in (False, True))
    assert binary == text
    assert json.loads((tmp_path / "True").read_text())["version"] == 2
    assert int(binary["zeroNs"]) == analysis.first_ns


def test_the_generated_code_is_that_of_the_proto(tmp_path):
    generate = [sys.executable, "-m", "grpc_tools.protoc", f"-I{PROTO.parent}"]
    generate += [f"--python_out={tmp_path}", f"--pyi_out={tmp_path}", str(PROTO)]
    subprocess.run(generate, check=True, timeout=60)
    for generated in tmp_path.iterdir():
        assert generated.read_text() == (GENERATED / generated.name).read_text()


def small() -> signature_pb2.Signatures:
    message = signature_pb2.Signatures(version=2, operations=[{"name": "read"}])
    access = {"access": {"size": 8, "steps": [{"offset": 8}]}}
    pattern = {"loop": {"count": 3, "body": [access]}}
    part = {"accesses": 3, "pattern": {"pattern": 0, "position": 100}}
    message.locals.add(file="/a", accesses=3, patterns=[pattern], parts=[part])
    ranks = [{"first": 2, "last": 6, "step": 2}]
    together = {"pattern": pattern, "ranks": ranks, "own_starts": [5, 70, 6]}
    message.globals.add(file="/a", patterns=[together])
    return message


def test_ranks_begin_where_they_did(tmp_path):
    (tmp_path / "file").write_bytes(small().SerializeToString())
    (pattern,) = read(tmp_path / "file").globals[0].patterns
    assert list(starts_of(pattern)) == [(2, 5), (4, 70), (6, 6)]
    del pattern.own_starts[:]
    pattern.base.MergeFrom(signature_pb2.Base(first_rank=2, rank_step=2, begin=9, step=100))
    assert list(starts_of(pattern)) == [(2, 9), (4, 109), (6, 209)]
    pattern.base.width, pattern.base.row_step = 2, 1000
    assert list(starts_of(pattern)) == [(2, 9), (4, 109), (6, 1009)]
    assert list(accesses_at(pattern, 1009))[-1] == (0, 1025, 8)


@pytest.mark.parametrize("version", [1, 2])
def test_a_small_one_is_read(version, tmp_path):
    message = small()
    message.version = version
    if version == 1:
        del message.globals[:]
    (tmp_path / "file").write_bytes(message.SerializeToString())
    (local,) = read(tmp_path / "file").locals
    assert list(accesses_of(local)) == [(0, 100, 8), (0, 108, 8), (0, 116, 8)]


def wrong_version(message):
    message.version = 3


def starts_of_other_ranks(message):
    message.globals[0].patterns[0].own_starts.append(1)


def ranks_without_a_step(message):
    message.globals[0].patterns[0].ranks[0].step = 0


def neither_starts_nor_base(message):
    del message.globals[0].patterns[0].own_starts[:]


def no_such_pattern(message):
    message.locals[0].parts[0].pattern.pattern = 1


def no_such_operation(message):
    message.locals[0].patterns[0].loop.body[0].access.operation = 1


def no_steps(message):
    del message.locals[0].patterns[0].loop.body[0].access.steps[:]


def no_body(message):
    del message.locals[0].patterns[0].loop.body[:]


def uneven_columns(message):
    message.locals[0].parts.add(accesses=1, raw={"offset": [1]})


@pytest.mark.parametrize(
    "damage",
    [
        *(wrong_version, no_such_pattern, no_such_operation, no_steps, no_body, uneven_columns),
        *(starts_of_other_ranks, ranks_without_a_step, neither_starts_nor_base),
    ],
    ids=lambda damage: damage.__name__,
)
def test_what_makes_no_sense_is_refused_in_a_line(damage, tmp_path):
    message = small()
    damage(message)
    (tmp_path / "file").write_bytes(message.SerializeToString())
    with pytest.raises(SignatureError) as caught:
        read(tmp_path / "file")
    assert str(caught.value).startswith(str(tmp_path / "file"))
    assert "\n" not in str(caught.value)


def test_damaged_files_are_read_or_refused(tmp_path):
    good = {
        "binary": small().SerializeToString(),
        "json": json.dumps(MessageToDict(small())).encode(),
    }
    draw = random.Random(3)
    for content in good.values():
        damaged = [content[:length] for length in range(len(content))]
        for _ in range(500):
            changed = bytearray(content)
            changed[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
            damaged.append(bytes(changed))
        damaged += [draw.randbytes(draw.randrange(100)) for _ in range(200)]
        for one in damaged:
            (tmp_path / "file").write_bytes(one)
            try:
                for local in read(tmp_path / "file").locals:
                    for number, _ in enumerate(accesses_of(local)):
                        if number == 100:
                            break
            except SignatureError as error:
                assert "\n" not in str(error)


def test_a_file_that_exists_is_kept(tmp_path: Path):
    output = tmp_path / "mine"
    output.write_text("mine")
    result = CliRunner().invoke(command, [str(sample(tmp_path / "t")), "--proto", str(output)])
    assert result.exit_code == 2
    assert output.read_text() == "mine"
