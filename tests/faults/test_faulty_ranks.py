"""Each storage call, shared-memory call and allocation of Forebay fails in turn, in MPI programs.
faulty_ranks.c says what must hold. A launch runs hundreds of scenarios."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from harness import injector, mpi

FOLDER = Path(__file__).resolve().parent
MPIS = (mpi.WHEELS[0], mpi.WHEELS[2])
TIMEOUT_SECONDS = 300
# With FAULTS_ALL, every rank runs the settings that otherwise alternate from rank to rank, and
# there are also more ranks than this machine has cores, which takes minutes for each.
ALL = "FAULTS_ALL" in os.environ
RANKS = (1, 2, 4) if ALL else (1, 2)


def faults_of(installation: mpi.Mpi, ranks: int, folder: Path, *arguments: str) -> int:
    """Runs the program and returns the number of faults that occurred."""
    program = mpi.compile_program(installation, FOLDER / "faulty_ranks.c")
    settings = {
        "FOREBAY_JOB": f"faulty-{os.getpid()}-{installation.name}-{folder.name}",
        "FOREBAY_STEP_ASIDE": "never",
    }
    words = injector.preloaded([str(program), str(folder / "file"), *arguments], settings)
    launch = mpi.launch_command(installation, ranks, words)
    outcome = mpi.run(launch, installation.environment, timeout_seconds=TIMEOUT_SECONDS)
    assert outcome.code == 0, str(outcome)
    told = re.search(r"^(\d+) runs, (\d+) faults$", outcome.output, re.MULTILINE)
    assert told, str(outcome)
    print(told[0])
    return int(told[2])


@pytest.mark.long
@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("installation", MPIS, ids=lambda m: m.name)
def test_storage(installation: mpi.Mpi, ranks: int, tmp_path: Path) -> None:
    which = "all" if ALL or ranks == 1 else "some"
    assert faults_of(installation, ranks, tmp_path, "storage", which) > 1000


@pytest.mark.parametrize("how", ["once", "for ever"])
@pytest.mark.parametrize(
    ("ranks", "rank"), [(1, 0), (2, 0), (2, 1), (2, -1), (4, 0), (4, 3), (4, -1)]
)
@pytest.mark.parametrize("installation", MPIS, ids=lambda m: m.name)
def test_shared_memory(
    installation: mpi.Mpi, ranks: int, rank: int, how: str, tmp_path: Path
) -> None:
    count = {"once": "1", "for ever": "0"}[how]
    assert faults_of(installation, ranks, tmp_path, "segments", str(rank), count) > 20


@pytest.mark.long
@pytest.mark.parametrize(
    ("installation", "ranks"),
    [(installation, ranks) for installation in MPIS for ranks in RANKS if ALL or ranks == 1]
    + ([] if ALL else [(MPIS[1], 2)]),
    ids=lambda value: getattr(value, "name", str(value)),
)
def test_memory(installation: mpi.Mpi, ranks: int, tmp_path: Path) -> None:
    which = "all" if ALL or ranks == 1 else "some"
    assert faults_of(installation, ranks, tmp_path, "memory", which) > 1000
