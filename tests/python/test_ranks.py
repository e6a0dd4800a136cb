"""`mpiexec -n N forebay analyze TRACE`, `forebay simulate cluster TRACE` and `forebay simulate
metadata`: the same output as without a launcher, printed once."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from command import FOREBAY, forebay, outside
from forebay.analysis import analyze
from forebay.analysis.conflicts import MOST_RUNS
from forebay.signatures import message_of
from forebay.trace import open_trace
from harness import mpi
from test_folding import busy
from test_parquet_trace import damaged
from traces import LOGS

(MPICH,) = (one for one in mpi.WHEELS if one.name.startswith("mpich"))


def by_ranks(
    ranks: int, folder: Path, *arguments: str, words: tuple[str, ...] = ("analyze",)
) -> mpi.Outcome:
    program = [*FOREBAY, *words, *arguments]
    command = mpi.launch_command(MPICH, ranks, program)
    return mpi.run(command, {**outside(), **MPICH.environment}, folder)


@pytest.mark.parametrize(
    ("name", "most_runs"),
    [("busy", MOST_RUNS), ("busy", 100), ("damaged", MOST_RUNS), ("log", MOST_RUNS)],
)
def test_ranks_come_to_the_same(name: str, most_runs: int, tmp_path: Path) -> None:
    sources = {"busy": busy, "damaged": damaged, "log": lambda _: LOGS / "ior_hdf5_4ranks.darshan"}
    trace = str(sources[name](tmp_path / "t"))
    outputs = ["--json", "--proto", "job.json", "--parquet", "job.table"]
    outcome = by_ranks(2, tmp_path, trace, *outputs, "--most-runs", str(most_runs))
    assert outcome.code == 0, str(outcome)
    alone = analyze(open_trace(trace), jobs=1, most_runs=most_runs)
    assert (alone.left_out > 0) == (most_runs < MOST_RUNS)
    assert json.loads(outcome.output) == json.loads(json.dumps(alone.to_json()))
    told = json.loads((tmp_path / "job.json").read_text())
    assert told == json.loads(json.dumps(message_of(alone)))
    assert (tmp_path / "job.table").read_bytes()[:4] == b"PAR1"


def test_more_ranks_than_processes(tmp_path: Path) -> None:
    outcome = by_ranks(3, tmp_path, str(LOGS / "ior_hdf5_4ranks.darshan"))
    assert outcome.code == 0, str(outcome)
    assert outcome.output.count("4 processes, ") >= 1
    assert outcome.output.count("calls in") == 1


def test_a_mistake_is_told_once(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    outcome = by_ranks(2, tmp_path, "empty")
    assert outcome.code != 0
    assert outcome.errors.count("no trace is in this folder") == 1
    (tmp_path / "there").touch()
    outcome = by_ranks(2, tmp_path, str(busy(tmp_path / "t")), "--proto", "there")
    assert outcome.code != 0
    assert outcome.errors.count("--force replaces it") == 1
    assert (tmp_path / "there").read_bytes() == b""


CLUSTER = ("simulate", "cluster")


def test_ranks_share_simulations(tmp_path: Path) -> None:
    """9 settings, the second name's values in the same order for each of the first's."""
    log = str(LOGS / "ior_hdf5_4ranks.darshan")
    compared = ["--compare", "scope=none,node,process", "--compare", "machine.servers=1,4,16"]
    alone = forebay(*CLUSTER, log, *compared, "--json")
    for ranks in (2, 3):
        outcome = by_ranks(ranks, tmp_path, log, *compared, "--json", words=CLUSTER)
        assert outcome.code == 0, str(outcome)
        assert json.loads(outcome.output) == json.loads(alone.stdout)
        assert outcome.errors.count("does not tell which calls") <= 1
    few = by_ranks(3, tmp_path, log, "--compare", "scope=none,node", words=CLUSTER)
    assert few.code == 0, str(few)
    assert few.output.count("speed-up") == 1


def test_ranks_share_simulations_of_metadata(tmp_path: Path) -> None:
    words = ("simulate", "metadata")
    arguments = ["--files", "40", "--directories", "4", "--compare", "machine.servers=1,2,4,8,16"]
    alone = forebay(*words, *arguments, "--json")
    outcome = by_ranks(2, tmp_path, *arguments, "--json", words=words)
    assert outcome.code == 0, str(outcome)
    assert json.loads(outcome.output) == json.loads(alone.stdout)
    (tmp_path / "tree").mkdir()
    for wrong, told in (
        (["--tree", "none"], "none"),
        (["--tree", "tree", "--files", "3"], "both make a tree"),
        (["--compare", "machine.server=3"], "machine.server"),
    ):
        outcome = by_ranks(2, tmp_path, *wrong, words=words)
        assert outcome.code != 0
        assert len([line for line in outcome.errors.splitlines() if told in line]) == 1, str(
            outcome
        )


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--compare", "scop=node"], "no option 'scop'"),
        (["--compare", "scope=none,nod"], "not 'nod'"),
        (["--series", "s.parquet"], "without mpiexec"),
        (["--compare", "scope"], "not NAME=VALUE"),
    ],
)
def test_a_mistake_in_settings_is_told_once(
    arguments: list[str], told: str, tmp_path: Path
) -> None:
    log = str(LOGS / "ior_hdf5_4ranks.darshan")
    outcome = by_ranks(2, tmp_path, log, *arguments, words=CLUSTER)
    assert outcome.code != 0
    assert outcome.errors.count(told) == 1, str(outcome)
    assert not (tmp_path / "s.parquet").exists()


def test_without_a_launcher_no_mpi_is_loaded(tmp_path: Path) -> None:
    program = (
        "import sys; from click.testing import CliRunner\n"
        "from forebay.commands.analyze import analyze\n"
        "assert CliRunner().invoke(analyze, sys.argv[1:]).exit_code == 0\n"
        "assert 'mpi4py' not in sys.modules"
    )
    command = [sys.executable, "-c", program, str(busy(tmp_path / "t"))]
    subprocess.run(command, env=outside(), check=True, timeout=60)


@pytest.mark.parametrize("words", [["analyze", LOGS / "ior_hdf5_4ranks.darshan"], ["recover"]])
def test_without_mpi4py_a_line_says_so(words: list[object], tmp_path: Path) -> None:
    (tmp_path / "mpi4py.py").write_text("raise ImportError('not here')")
    done = forebay(*words, PMI_RANK="0", PYTHONPATH=str(tmp_path))
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1 and "forebay[mpi]" in done.stderr


def test_a_single_rank_needs_no_mpi(tmp_path: Path) -> None:
    (tmp_path / "mpi4py.py").write_text("raise ImportError('not here')")
    alone = {"PMI_RANK": "0", "PMI_SIZE": "1", "PYTHONPATH": str(tmp_path)}
    done = forebay("analyze", busy(tmp_path / "t"), **alone)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("words", [["analyze", LOGS / "ior_hdf5_4ranks.darshan"], ["recover"]])
def test_ranks_of_another_mpi_are_not_taken_for_one(words: list[object]) -> None:
    of_another = {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "2"}
    done = forebay(*words, **of_another)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1
    assert "started 2 processes, but mpi4py's MPI library joins 1" in done.stderr


def test_signatures_survive_the_way(tmp_path: Path) -> None:
    for path in (busy(tmp_path / "t"), LOGS / "mpi-io-test_32ranks.darshan"):
        for file in analyze(open_trace(path)).files:
            for one in file.locals:
                again = pickle.loads(pickle.dumps(one.signature))
                assert again.message() == one.signature.message()
                assert all(
                    (a == b).all()
                    for a, b in zip(again.expand(), one.signature.expand(), strict=True)
                )
