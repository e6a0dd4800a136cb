"""Files of signatures: they give back every access, and damaged ones are refused in a line."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from google.protobuf.json_format import MessageToDict

from forebay import signature_pb2
from forebay.analysis import analyze
from forebay.analyzing import analyze as command
from forebay.signatures import SignatureError, accesses_of, read, write
from forebay.trace import open_trace
from traces import LOGS, ROOT, sample

REAL = ("benchmark_write_parallel_384ranks", "mpi-io-test_32ranks", "ior_hdf5_4ranks")
PROTO = ROOT / "src" / "pattern" / "signature.proto"


@pytest.mark.parametrize("ending", ["signatures", "json"])
@pytest.mark.parametrize("name", [*REAL, "sample"])
def test_files_of_signatures_give_back_every_access(name, ending, tmp_path):
    path = sample(tmp_path / "t", ranks=3) if name == "sample" else LOGS / f"{name}.darshan"
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
    assert json.loads((tmp_path / "True").read_text())["version"] == 1


def test_the_generated_code_is_that_of_the_proto(tmp_path):
    generate = [sys.executable, "-m", "grpc_tools.protoc", f"-I{PROTO.parent}"]
    generate += [f"--python_out={tmp_path}", f"--pyi_out={tmp_path}", str(PROTO)]
    subprocess.run(generate, check=True, timeout=60)
    for generated in tmp_path.iterdir():
        assert generated.read_text() == (ROOT / "python" / "forebay" / generated.name).read_text()


def small() -> signature_pb2.Signatures:
    message = signature_pb2.Signatures(version=1, operations=[{"name": "read"}])
    access = {"access": {"size": 8, "steps": [{"offset": 8}]}}
    pattern = {"loop": {"count": 3, "body": [access]}}
    part = {"accesses": 3, "pattern": {"pattern": 0, "position": 100}}
    message.locals.add(file="/a", accesses=3, patterns=[pattern], parts=[part])
    return message


def test_a_small_one_is_read(tmp_path):
    (tmp_path / "file").write_bytes(small().SerializeToString())
    (local,) = read(tmp_path / "file").locals
    assert list(accesses_of(local)) == [(0, 100, 8), (0, 108, 8), (0, 116, 8)]


def wrong_version(message):
    message.version = 2


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
    [wrong_version, no_such_pattern, no_such_operation, no_steps, no_body, uneven_columns],
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
