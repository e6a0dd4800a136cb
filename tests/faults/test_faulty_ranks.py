"""Every storage call, shared-memory call and allocation of Forebay's made to fail in turn, inside
MPI programs: faulty_ranks.c says what must hold. A launch runs hundreds of scenarios."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from harness import injector, mpi

FOLDER = Path(__file__).resolve().parent
MPIS = (mpi.WHEELS[0], mpi.WHEELS[2])
TIMEOUT_SECONDS = 300
# Every call of every rank in turn; of four ranks, one in so many of each.
STRIDES = {1: 1, 2: 1, 4: 1 if "FAULTS_ALL" in os.environ else 10}


def faults_of(installation: mpi.Mpi, ranks: int, folder: Path, *arguments: str) -> int:
    """Runs the program; the number of faults that it met."""
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


@pytest.mark.parametrize("ranks", STRIDES)
@pytest.mark.parametrize("installation", MPIS, ids=lambda m: m.name)
def test_storage(installation: mpi.Mpi, ranks: int, tmp_path: Path) -> None:
    assert faults_of(installation, ranks, tmp_path, "storage", str(STRIDES[ranks])) > 1000


@pytest.mark.parametrize("how", ["once", "for ever"])
@pytest.mark.parametrize("rank", [0, 1, -1], ids=["rank 0", "rank 1", "all ranks"])
@pytest.mark.parametrize("installation", MPIS, ids=lambda m: m.name)
def test_shared_memory(installation: mpi.Mpi, rank: int, how: str, tmp_path: Path) -> None:
    number = str(["once", "for ever"].index(how))
    assert faults_of(installation, 2, tmp_path, "segments", str(rank), number) > 20


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("installation", MPIS, ids=lambda m: m.name)
def test_memory(installation: mpi.Mpi, ranks: int, tmp_path: Path) -> None:
    assert faults_of(installation, ranks, tmp_path, "memory", str(STRIDES[ranks])) > 1000
