"""`forebay run` inside the launcher, around each rank: the ranks still form one job."""

import json
from pathlib import Path

import pytest

from harness import forebay, mpi

SOURCES = Path(__file__).parent / "programs"
FOREBAY = str(mpi.ROOT / ".venv-mpich" / "bin" / "forebay")
RANKS = 4

# Runs around each rank: names the rank's node, then becomes `forebay run`. The modes: `forebay run`
# finds the launcher's variables (inside), does not find them and begins a job (own), or some ranks
# only are given a job.
NODE = 'rank=${PMI_RANK:-$OMPI_COMM_WORLD_RANK}; export FOREBAY_NODE="node$((rank % NODES))"; '
INSIDE = NODE + f'exec {FOREBAY} run -- "$@"'
OWN = (
    NODE
    + "hidden=; for name in PMI_RANK PMIX_RANK OMPI_COMM_WORLD_RANK; do"
    + ' eval "value=\\${$name-}"; [ -z "$value" ] || hidden="$hidden $name=$value"; unset $name;'
    + f' done; exec {FOREBAY} run -- env $hidden "$@"'
)
SOME = NODE + f'[ $rank = 1 ] && export FOREBAY_JOB=given-$$; exec {FOREBAY} run -- "$@"'
EACH = NODE + f'export FOREBAY_JOB=given-$$; exec {FOREBAY} run -- "$@"'
WRAPPERS = {"inside": INSIDE, "own": OWN, "some": SOME, "each": EACH}

every_wheel = pytest.mark.parametrize("installation", mpi.WHEELS, ids=lambda each: each.name)


def program(installation: mpi.Mpi, mode: str) -> list[str]:
    return [str(mpi.compile_program(installation, SOURCES / "jobs.c")), ".", mode]


def launch(installation: mpi.Mpi, folder: Path, wrapper: str, nodes: int, mode: str) -> forebay.Run:
    """Runs the program with a wrapper around each of its ranks, in the new `folder`."""
    folder.mkdir()
    statistics = folder.with_name("statistics.json")
    command = ["sh", "-c", wrapper, "sh", *program(installation, mode)]
    variables = {
        "NODES": str(nodes),
        "FOREBAY_CONSISTENCY": "mpi",
        "FOREBAY_STATS_JSON": str(statistics),
    }
    outcome = mpi.run(
        mpi.launch_command(installation, RANKS, command),
        {**installation.environment, **variables},
        folder,
    )
    return forebay.Run(outcome, forebay.read_files(folder), json.loads(statistics.read_text()))


def plain(installation: mpi.Mpi, folder: Path, mode: str) -> forebay.Run:
    folder.mkdir()
    command = mpi.launch_command(installation, RANKS, program(installation, mode))
    outcome = mpi.run(command, installation.environment, folder)
    return forebay.Run(outcome, forebay.read_files(folder))


def write_calls(run: forebay.Run, name: str) -> int:
    """The write calls that the cache served."""
    assert run.statistics is not None
    counts = run.statistics["files"].get(f"./{name}", {})
    return int(counts.get("write_calls", 0))


@every_wheel
@pytest.mark.parametrize("nodes", [1, 2])
@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_a_forebay_run_for_each_rank(
    wrapper: str, nodes: int, installation: mpi.Mpi, tmp_path: Path
) -> None:
    cached = launch(installation, tmp_path / "cached", WRAPPERS[wrapper], nodes, "together")
    forebay.assert_same(plain(installation, tmp_path / "plain", "together"), cached)
    assert cached.outcome.errors == ""
    assert write_calls(cached, "shared0") == 400
    assert [write_calls(cached, f"own{rank}") for rank in range(RANKS)] == [1] * RANKS


@every_wheel
def test_a_job_is_not_left_while_its_files_are_open(installation: mpi.Mpi, tmp_path: Path) -> None:
    cached = launch(installation, tmp_path / "cached", EACH, 1, "kept")
    forebay.assert_same(plain(installation, tmp_path / "plain", "kept"), cached)
    assert write_calls(cached, "shared0") == 0
    assert [write_calls(cached, f"own{rank}") for rank in range(RANKS)] == [1] * RANKS


@every_wheel
def test_ranks_of_one_launch_and_node_share_a_cache_from_the_start(
    installation: mpi.Mpi, tmp_path: Path
) -> None:
    cached = launch(installation, tmp_path / "cached", INSIDE, 1, "kept")
    forebay.assert_same(plain(installation, tmp_path / "plain", "kept"), cached)
    assert write_calls(cached, "shared0") == 400


@every_wheel
def test_ranks_without_forebay_in_the_same_world(installation: mpi.Mpi, tmp_path: Path) -> None:
    folder = tmp_path / "mixed"
    folder.mkdir()
    alone = program(installation, "alone")
    with_forebay = [FOREBAY, "run", "--", *alone]
    command = [*installation.launcher, "-n", "2", *with_forebay, ":", "-n", "2", *alone]
    outcome = mpi.run(command, installation.environment, folder)
    forebay.assert_same(
        plain(installation, tmp_path / "plain", "alone"),
        forebay.Run(outcome, forebay.read_files(folder)),
    )
