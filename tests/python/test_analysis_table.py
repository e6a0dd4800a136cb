"""`forebay analyze --parquet`: the table contains what the JSON contains."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from forebay.analysis import analyze
from forebay.analysis.table import table_of
from forebay.commands.analyze import analyze as command
from forebay.trace import open_trace
from test_folding import busy
from traces import LOGS

REAL = ("benchmark_write_parallel_384ranks", "mpi-io-test_32ranks", "ior_hdf5_4ranks")


@pytest.mark.parametrize("name", [*REAL, "busy"])
def test_the_table_holds_what_the_json_says(name: str, tmp_path: Path) -> None:
    path = busy(tmp_path / "t") if name == "busy" else LOGS / f"{name}.darshan"
    output = tmp_path / "job.parquet"
    result = CliRunner().invoke(command, [str(path), "--parquet", str(output)])
    assert result.exit_code == 0, result.output
    told = json.loads(json.dumps(analyze(open_trace(path)).to_json()))
    table = pq.read_table(output)
    rows = table.to_pylist()
    assert [row.pop("trace") for row in rows] == [str(path)] * len(told["files"])
    assert json.loads(json.dumps(rows)) == told.pop("files")
    assert json.loads(table.schema.metadata[b"forebay_analysis"]) == told


def test_tables_of_several_jobs_are_alike(tmp_path: Path) -> None:
    """The tables of jobs have the same columns, so that they can be combined, however little a job
    did."""
    (tmp_path / "one").mkdir()
    one = table_of(analyze(open_trace(busy(tmp_path / "one" / "t"))))
    other = table_of(analyze(open_trace(LOGS / f"{REAL[0]}.darshan")))
    assert one.schema == other.schema


def test_a_file_that_exists_is_kept(tmp_path: Path) -> None:
    output = tmp_path / "mine"
    output.write_text("mine")
    result = CliRunner().invoke(command, [str(busy(tmp_path / "t")), "--parquet", str(output)])
    assert result.exit_code == 2 and output.read_text() == "mine"
