"""Parquet files of `forebay convert`, read back: the same analysis as of the trace; and damaged
files."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from forebay.analysis import analyze
from forebay.commands.analyze import analyze as analyze_command
from forebay.commands.convert import convert
from forebay.commands.report import report
from forebay.trace import COLUMNS, Trace, TraceError, open_trace
from test_trace_damage import blocks_of, crc32c
from traces import IWRITE, LOGS, Call, block, lines_of, process, sample, write_trace

REAL = ("benchmark_write_parallel_384ranks", "mpi-io-test_32ranks", "ior_hdf5_4ranks")


def damaged(folder: Path) -> Path:
    """A killed process, folded times, and two processes with a block of wrong content."""
    folder.mkdir()
    write_trace(folder / "0-1000.trace", lines_of(0, 4, ended=False))
    calls = [Call(IWRITE, 0, 0, 10 * i, 10, 10, 100 * i, 100 * i + 50) for i in range(9)]
    lines = [*process(2, 4), "file 0 4 0 5 /scratch/checkpoint"]
    lines += [*block(calls, times="histogram"), "end 12 3"]
    write_trace(folder / "2-1002.trace", lines)
    for rank in (1, 3):
        path = folder / f"{rank}-100{rank}.trace"
        content = bytearray(write_trace(path, lines_of(rank, 4)).read_bytes())
        # The head of the first block has a wrong number of accesses and a correct checksum.
        begin = next(at for at, _ in blocks_of(bytes(content)) if content[at + 4] == 4)
        content[begin + 12] += 1
        checksum = crc32c(bytes(content[begin : begin + 28]))
        content[begin + 28 : begin + 32] = checksum.to_bytes(4, "little")
        path.write_bytes(content)
    return folder


SOURCES: dict[str, Callable[[Path], Path]] = {
    **{name: lambda _, name=name: LOGS / f"{name}.darshan" for name in REAL},
    "sample": lambda folder: sample(folder / "sample", ranks=3),
    "damaged": lambda folder: damaged(folder / "damaged"),
}


def converted(source: Path, folder: Path) -> Path:
    output = folder / "job.parquet"
    result = CliRunner().invoke(convert, [str(source), "-o", str(output)])
    assert result.exit_code == 0, result.output
    return output


def told(trace: Trace) -> Any:
    analysis = analyze(trace).to_json()
    del analysis["trace"]
    return json.loads(json.dumps(analysis))


@pytest.mark.parametrize("name", SOURCES)
def test_a_trace_is_read_back(name: str, tmp_path: Path) -> None:
    source = SOURCES[name](tmp_path)
    first = open_trace(source)
    again = open_trace(converted(source, tmp_path))
    for column in COLUMNS:
        assert again.accesses[column].dtype == first.accesses[column].dtype
        assert (again.accesses[column] == first.accesses[column]).all(), column
    for table in ("kind", "files", "opens", "views", "routines", "problems", "totals"):
        assert getattr(again, table) == getattr(first, table), table
    # Damage is found when accesses are read; the Parquet file counts it per process.
    for mine, theirs in zip(again.processes, first.processes, strict=True):
        assert asdict(mine) | {"damaged": 0} == asdict(theirs) | {"damaged": 0}
    assert told(again) == told(first)


def test_pieces_of_an_access_are_kept(tmp_path: Path) -> None:
    first = open_trace(sample(tmp_path / "t"))
    again = open_trace(converted(first.path, tmp_path))
    assert not all(view.contiguous for view in first.views)
    for i in range(len(first)):
        where = [int(first.accesses[c][i]) for c in ("view", "position", "requested")]
        if first.accesses["offset"][i] >= 0:
            assert list(again.extents(*where)) == list(first.extents(*where))


def test_batches_hold_what_is_asked_for(tmp_path: Path) -> None:
    trace = open_trace(converted(sample(tmp_path / "t", ranks=5), tmp_path))
    batches = list(trace.batches(rows=7, processes=range(1, 3), columns=("offset", "process")))
    assert max(len(batch) for batch in batches) <= 7
    assert all(batch.names == ("offset", "process") for batch in batches)
    offsets = np.concatenate([batch["offset"] for batch in batches])
    rows = np.isin(trace.accesses["process"], (1, 2))
    assert (offsets == trace.accesses["offset"][rows]).all()


def test_commands_take_it(tmp_path: Path) -> None:
    file = converted(sample(tmp_path / "t"), tmp_path)
    shown = CliRunner().invoke(analyze_command, [str(file)])
    assert shown.exit_code == 0 and "/scratch/checkpoint" in shown.output
    page = tmp_path / "page.html"
    assert CliRunner().invoke(report, [str(file), "-o", str(page)]).exit_code == 0
    assert "/scratch/checkpoint" in page.read_text()
    # With another name, the file is recognised by its beginning.
    renamed = file.rename(tmp_path / "job")
    assert len(open_trace(renamed)) == 20


def changed(table: pa.Table, column: str, values: Any) -> pa.Table:
    return table.set_column(table.column_names.index(column), column, values)


def without_metadata(table: pa.Table, about: Any) -> tuple[pa.Table, Any]:
    return table, None


def metadata_of_others(table: pa.Table, about: Any) -> tuple[pa.Table, Any]:
    return table, {"processes": 17}


def negative_process(table: pa.Table, about: Any) -> tuple[pa.Table, Any]:
    about["processes"] = []
    return table, about


def bad_view(table: pa.Table, about: Any) -> tuple[pa.Table, Any]:
    about["views"][0] = "AAAA"
    return table, about


def bad_operation(table: pa.Table, about: Any) -> tuple[pa.Table, Any]:
    about["routines"][1]["operation"] = 99
    return table, about


def other_type(table: pa.Table, about: Any) -> tuple[pa.Table, Any]:
    return changed(table, "offset", table["offset"].cast(pa.float64())), about


def missing_column(table: pa.Table, about: Any) -> tuple[pa.Table, Any]:
    return table.drop_columns(["view"]), about


def missing_value(table: pa.Table, about: Any) -> tuple[pa.Table, Any]:
    return changed(table, "requested", pa.array([None, *range(len(table) - 1)], pa.int64())), about


def unknown_file(table: pa.Table, about: Any) -> tuple[pa.Table, Any]:
    about["files"][0] = "/else"
    return table, about


def unknown_view(table: pa.Table, about: Any) -> tuple[pa.Table, Any]:
    return changed(table, "view", pa.array([7] * len(table), pa.int32())), about


@pytest.mark.parametrize(
    "damage",
    [
        without_metadata,
        metadata_of_others,
        negative_process,
        bad_view,
        bad_operation,
        other_type,
        missing_column,
        missing_value,
        unknown_file,
        unknown_view,
    ],
)
def test_what_makes_no_sense_is_refused_in_a_line(damage: Any, tmp_path: Path) -> None:
    file = converted(sample(tmp_path / "t"), tmp_path)
    table = pq.read_table(file)
    about = json.loads(pq.read_metadata(file).metadata[b"forebay"])
    table, about = damage(table, about)
    table = table.replace_schema_metadata({} if about is None else {"forebay": json.dumps(about)})
    pq.write_table(table, file)
    with pytest.raises(TraceError) as caught:
        analyze(open_trace(file))
    assert str(caught.value).startswith(f"{file}: ")
    assert "\n" not in str(caught.value)
    result = CliRunner().invoke(analyze_command, [str(file)])
    assert result.exit_code == 1 and result.output.count("\n") == 1


def test_every_truncation_is_refused(tmp_path: Path) -> None:
    file = converted(sample(tmp_path / "t"), tmp_path)
    content = file.read_bytes()
    for length in range(0, len(content), 7):
        file.write_bytes(content[:length])
        with pytest.raises(TraceError) as caught:
            open_trace(file)
        assert "\n" not in str(caught.value)
