"""The statistics of each file, cached or not, and the line that says that nothing was cached."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from harness import mpi

SOURCES = Path(__file__).parent / "programs"
FOREBAY = str(mpi.ROOT / ".venv-mpich" / "bin" / "forebay")
RANKS = 2
MIB = 1 << 20
# Puts each rank on a node of its own.
NODES = 'export FOREBAY_NODE="node${PMI_RANK:-$OMPI_COMM_WORLD_RANK}"; exec "$@"'

every_wheel = pytest.mark.parametrize("installation", mpi.WHEELS, ids=lambda each: each.name)


def run(
    installation: mpi.Mpi, folder: Path, options: list[str], program: list[str], **variables: str
) -> mpi.Outcome:
    """Runs the program in the new `folder` with `forebay run` around its launcher."""
    folder.mkdir()
    command = [FOREBAY, "run", *options, "--", *mpi.launch_command(installation, RANKS, program)]
    outcome = mpi.run(command, {**installation.environment, **variables}, folder)
    assert outcome.code == 0, str(outcome)
    return outcome


def uncached(installation: mpi.Mpi) -> list[str]:
    return [str(mpi.compile_program(installation, SOURCES / "uncached.c")), "."]


def on_nodes(program: list[str]) -> list[str]:
    return ["sh", "-c", NODES, "sh", *program]


def told(file: dict[str, Any]) -> tuple[bool, int, dict[str, tuple[int, int]]]:
    """Whether a file was cached, the number of calls that the cache served, and the others by
    reason."""
    reasons = {why: (n["opens"], n["calls"]) for why, n in file["passed_through"].items()}
    return file["cached"], file["write_calls"], reasons


@every_wheel
def test_each_file_tells_how_often_it_passed_through_and_why(
    installation: mpi.Mpi, tmp_path: Path
) -> None:
    statistics = tmp_path / "statistics.json"
    run(installation, tmp_path / "run", [f"--stats-json={statistics}"], uncached(installation))
    counted = json.loads(statistics.read_text())
    assert {name: told(file) for name, file in counted["files"].items()} == {
        "./view": (True, 4, {}),
        "./large": (True, 2, {}),
        "./disabled": (False, 0, {"disabled": (2, 6)}),
        "./aside": (False, 0, {"step_aside_always": (2, 2)}),
        "./differing": (False, 0, {"options_differ": (2, 2)}),
        "./sequential": (False, 0, {"sequential": (2, 4)}),
        "./foreign": (True, 2, {"foreign_view": (0, 4)}),
        "./atomic": (True, 2, {"atomic_mode": (0, 4)}),
        "./pointer": (True, 4, {}),
    }
    assert (counted["ranks"], counted["nodes"]) == (RANKS, 1)
    assert (counted["total"]["opens"], counted["total"]["cached_opens"]) == (18, 10)
    large = counted["files"]["./large"]
    assert (large["bypass_calls"], large["bypass_bytes"]) == (2, 4 * MIB)
    assert large["bypass_written_bytes"] == 4 * MIB


@every_wheel
def test_files_of_several_nodes(installation: mpi.Mpi, tmp_path: Path) -> None:
    statistics = tmp_path / "statistics.json"
    options = [f"--stats-json={statistics}"]

    def files(*more: str) -> dict[str, object]:
        folder = tmp_path / f"run{len(more)}"
        run(installation, folder, [*options, *more], on_nodes(uncached(installation)))
        counted = json.loads(statistics.read_text())
        assert counted["nodes"] == 2
        return {name: told(file) for name, file in counted["files"].items()}

    assert files()["./view"] == (True, 4, {})
    alone = files("-o", "scope=node")
    assert alone["./view"] == (False, 0, {"several_nodes": (2, 4)})
    assert alone["./pointer"] == (True, 2, {"shared_pointer": (0, 2)})


@every_wheel
def test_the_memory_of_the_caches_at_its_highest(installation: mpi.Mpi, tmp_path: Path) -> None:
    statistics = tmp_path / "statistics.json"
    options = [f"--stats-json={statistics}", "-o", "step_aside=never"]
    run(installation, tmp_path / "run", options, uncached(installation))
    # The memory contains the 8 MiB of the view, the registry, and another cache.
    assert 8 * MIB < json.loads(statistics.read_text())["memory_bytes"] < 64 * MIB


def test_the_table(tmp_path: Path) -> None:
    installation = mpi.WHEELS[0]
    statistics = tmp_path / "statistics.json"
    options = ["--stats", f"--stats-json={statistics}", "-o", "step_aside=never"]
    outcome = run(installation, tmp_path / "run", options, uncached(installation))
    lines = outcome.errors.splitlines()
    total = json.loads(statistics.read_text())["total"]
    assert lines[0] == "forebay: 2 ranks on 1 node, all ranks summed"
    assert all(len(line) <= 80 for line in lines)
    words = " ".join(outcome.errors.split())
    assert "file calls mean size requests mean size moved" in words
    assert "file page hits page misses evicted bypassed aside I/O s" in words
    assert "./view write 4 2.0 MiB" in words
    requests = total["write_requests"]
    assert "./sequential was not cached (2 opens, 4 calls): MPI_MODE_SEQUENTIAL" in words
    assert "./foreign was cached, but 4 calls passed through: its view" in words
    assert "of shared memory at their highest" in words
    became = "became" if requests < 14 else "made"
    assert words.endswith(
        f" 14 calls {became} {requests} requests, and 22 more passed through; the cache was large "
        "enough."
    )


def test_calls_that_went_straight_to_a_local_disk(tmp_path: Path) -> None:
    statistics = tmp_path / "statistics.json"
    options = ["--stats", f"--stats-json={statistics}"]
    outcome = run(mpi.WHEELS[0], tmp_path / "run", options, uncached(mpi.WHEELS[0]))
    total = json.loads(statistics.read_text())["total"]
    words = " ".join(outcome.errors.split())
    assert 0 < total["local_calls"] <= total["aside_calls"] <= total["bypass_calls"]
    assert f"{total['local_calls']} calls, or parts of them, went straight to a local disk" in words
    assert "stepped aside" not in words
    # Of a call through a view only the first runs do: most bytes are in the cache.
    assert 2 * total["bypass_bytes"] < total["write_bytes"] + total["read_bytes"]
    assert "most went straight" not in words


def test_a_cache_that_was_too_small(tmp_path: Path) -> None:
    options = ["--stats", "-o", "step_aside=never", "-o", "cache_size=1MiB"]
    outcome = run(mpi.WHEELS[0], tmp_path / "run", options, uncached(mpi.WHEELS[0]))
    words = " ".join(outcome.errors.split())
    assert "% of the pages had to leave for others: a larger cache_size may keep them." in words


@every_wheel
@pytest.mark.parametrize("form", ["around the launcher", "in each rank"])
def test_one_line_where_nothing_was_cached(
    form: str, installation: mpi.Mpi, tmp_path: Path
) -> None:
    records = str(mpi.compile_program(installation, SOURCES / "jobs.c"))
    several = on_nodes([])
    shared = [records, ".", "shared"]
    folder = tmp_path / "run"
    if form == "around the launcher":
        outcome = run(installation, folder, ["-o", "scope=node"], [*several, *shared])
        said = "no file was cached on this node; "
    else:
        folder.mkdir()
        program = [*several, FOREBAY, "run", "-o", "scope=node", "--", *shared]
        command = mpi.launch_command(installation, RANKS, program)
        outcome = mpi.run(command, installation.environment, folder)
        said = "no file of rank 0 was cached; "
    reason = "./shared0: ranks of several nodes opened it, which only scope=job or consistency=mpi "
    reason += "caches (with storage=mpi only the latter)"
    assert outcome.errors == f"forebay: {said}{reason}\n"


def test_nothing_is_said_of_what_the_user_asked_for(tmp_path: Path) -> None:
    program = [str(mpi.compile_program(mpi.WHEELS[0], SOURCES / "jobs.c")), ".", "shared"]
    outcome = run(mpi.WHEELS[0], tmp_path / "run", ["-o", "enable=false"], program)
    assert outcome.errors == ""


@every_wheel
def test_worlds_that_were_spawned(installation: mpi.Mpi, tmp_path: Path) -> None:
    statistics = tmp_path / "statistics.json"
    program = [str(mpi.compile_program(installation, SOURCES / "spawn.c")), "."]
    run(installation, tmp_path / "run", [f"--stats-json={statistics}"], program)
    files = json.loads(statistics.read_text())["files"]
    # The children, a job of their own, may have been the last to write it.
    assert all(file["cached"] for name, file in files.items() if name != "./merged")
    if "./merged" in files:
        assert told(files["./merged"])[2].keys() == {"several_worlds"}


@pytest.mark.parametrize(
    "dropping",
    [["env", "LD_PRELOAD=libm.so.6"], ["env", "-u", "LD_PRELOAD"], ["sh", "job.sh"]],
    ids=["env", "env -u", "script"],
)
def test_a_job_that_changes_the_preload_is_told_so(dropping: list[str], tmp_path: Path) -> None:
    installation = mpi.WHEELS[0]
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "job.sh").write_text('LD_PRELOAD=libm.so.6\nexport LD_PRELOAD\nexec "$@"\n')
    records = str(mpi.compile_program(installation, SOURCES / "jobs.c"))
    launched = mpi.launch_command(installation, RANKS, [*dropping, records, ".", "together"])
    outcome = mpi.run([FOREBAY, "run", "--", *launched], installation.environment, folder)
    assert outcome.code == 0
    assert len(outcome.errors.splitlines()) == 1
    assert "changes LD_PRELOAD, which drops Forebay" in outcome.errors
    assert "statically" not in outcome.errors
    # Follows the advice.
    advised = [*dropping, FOREBAY, "run", "--", records, ".", "together"]
    launched = mpi.launch_command(installation, RANKS, advised)
    outcome = mpi.run([FOREBAY, "run", "--", *launched], installation.environment, folder)
    assert (outcome.code, outcome.errors) == (0, "")


def test_the_guide_tells_every_reason() -> None:
    source = (mpi.ROOT / "src" / "mpiio" / "file" / "uncached.cpp").read_text()
    guide = (mpi.ROOT / "docs" / "user-guide.md").read_text()
    reasons = [name for name in re.findall(r'^    {"(\w+)"', source, re.MULTILINE) if name != "no"]
    assert len(reasons) > 15
    assert [name for name in reasons if f"`{name}`" not in guide] == []


@every_wheel
def test_a_program_asks_for_its_statistics_by_name(installation: mpi.Mpi, tmp_path: Path) -> None:
    flags = [f"-I{mpi.ROOT / 'include'}", "-ldl"]
    program = mpi.compile_program(installation, SOURCES / "asks_by_name.c", flags)
    with_forebay = run(installation, tmp_path / "with", ["-o", "step_aside=never"], [str(program)])
    assert with_forebay.output.count(f"{installation.abi} 10") == RANKS  # in any order, or line
    plain = tmp_path / "plain"
    plain.mkdir()
    command = mpi.launch_command(installation, RANKS, [str(program)])
    outcome = mpi.run(command, installation.environment, plain)
    assert outcome.output.count("absent") == RANKS
    assert "public" not in with_forebay.output + outcome.output
