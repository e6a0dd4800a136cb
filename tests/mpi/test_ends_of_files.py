"""Where a file ends, as its ranks see it."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness import forebay, mpi

HANDLES = Path(__file__).parent / "handles"
SETTINGS = {"FOREBAY_STEP_ASIDE": "never", "FOREBAY_DOMAIN_SIZE": "64KiB"}


def run(installation: mpi.Mpi, program: str, nodes: int, folder: Path) -> None:
    command = [str(mpi.compile_program(installation, HANDLES / program)), "data.bin"]
    done = forebay.launch(installation, 4, forebay.on_nodes(command, nodes), folder, SETTINGS)
    assert done.outcome.code == 0, str(done.outcome)


@pytest.mark.parametrize("nodes", [1, 2])
@pytest.mark.parametrize("installation", mpi.WHEELS, ids=lambda m: m.name)
def test_a_sync_shows_that_a_file_has_become_shorter(
    installation: mpi.Mpi, nodes: int, tmp_path: Path
) -> None:
    run(installation, "shortened.c", nodes, tmp_path / "run")


@pytest.mark.parametrize("nodes", [1, 2])
def test_a_seek_from_the_end_counts_the_data_of_the_view(nodes: int, tmp_path: Path) -> None:
    """Under MPICH: plain Open MPI has another idea of this end."""
    run(mpi.WHEELS[0], "foreign_end.c", nodes, tmp_path / "run")
