"""What a close commits while other handles have the file open."""

from pathlib import Path

import pytest

from harness import forebay, mpi
from harness.content import content

SOURCE = Path(__file__).parent / "handles" / "closing.c"
QUESTIONS = (
    "another's piece after a close that wrote nothing",
    "own piece after a close",
    "another's piece after a close",
    "own piece after the last close",
    "another's piece after the last close",
)


@pytest.mark.parametrize(
    ("value", "stored"),
    [(None, "no yes no yes yes"), ("each", "no yes no yes yes"), ("last", "no no no yes yes")],
    ids=["default", "each", "last"],
)
@pytest.mark.parametrize("scope", ["node", "job"])
@pytest.mark.parametrize("installation", mpi.WHEELS, ids=lambda m: m.name)
def test_a_close_commits(
    installation: mpi.Mpi, scope: str, value: str | None, stored: str, tmp_path: Path
) -> None:
    program = [str(mpi.compile_program(installation, SOURCE)), "data.bin"]
    settings = {"FOREBAY_STEP_ASIDE": "never", "FOREBAY_WRITE_BEHIND": "false"}
    settings["FOREBAY_SCOPE"] = scope
    if value is not None:
        settings["FOREBAY_COMMIT_AT_CLOSE"] = value
    run = forebay.launch(installation, 2, program, tmp_path / "run", settings)
    assert run.outcome.code == 0, str(run.outcome)
    words = {"yes": "stored", "no": "absent"}
    assert run.outcome.output.splitlines() == [
        f"{question}: {words[answer]}"
        for question, answer in zip(QUESTIONS, stored.split(), strict=True)
    ]
    assert run.statistics is not None
    assert run.statistics["files"]["data.bin"]["write_calls"] == 4


def test_files_of_several_nodes_are_committed_at_each_close(tmp_path: Path) -> None:
    installation = mpi.WHEELS[0]
    program = [str(mpi.compile_program(installation, SOURCE)), "data.bin"]
    settings = {
        "FOREBAY_STEP_ASIDE": "never",
        "FOREBAY_WRITE_BEHIND": "false",
        "FOREBAY_CONSISTENCY": "mpi",
        "FOREBAY_COMMIT_AT_CLOSE": "last",
    }
    run = forebay.launch(installation, 2, forebay.on_nodes(program, 2), tmp_path / "run", settings)
    assert run.outcome.code == 0, str(run.outcome)
    assert run.outcome.output.splitlines()[-2:] == [
        f"{question}: stored" for question in QUESTIONS[-2:]
    ]


@pytest.mark.parametrize("end", ["alone", "callback"])
@pytest.mark.parametrize(("nodes", "runs"), [(1, "around"), (2, "around"), (2, "inside")])
@pytest.mark.parametrize("installation", mpi.WHEELS, ids=lambda m: m.name)
def test_files_may_be_used_until_the_job_ends(
    installation: mpi.Mpi, nodes: int, runs: str, end: str, tmp_path: Path
) -> None:
    """When other ranks are in MPI_Finalize, and in what MPI_Finalize calls. `runs`: where `forebay
    run` is, around the launcher or inside it."""
    ranks, apart, length = 4, 100_000, 16
    program = mpi.compile_program(installation, SOURCE.parent / "last_ranks.c")
    command = forebay.on_nodes([str(program), "data.bin", end], nodes)
    settings = {"FOREBAY_STEP_ASIDE": "never", "FOREBAY_DOMAIN_SIZE": "64KiB"}
    if runs == "inside":
        settings["FOREBAY_EVERY_RANK"] = ""
    run = forebay.launch(installation, ranks, command, tmp_path / "run", settings)
    assert run.outcome.code == 0, str(run.outcome)
    left = (tmp_path / "run" / "data.bin").read_bytes()
    letters = b"Abcd" if end == "alone" else b"ABCD"
    expected = b"".join(bytes([letter]) * length for letter in letters)
    for place in range(20):
        assert left[place * apart :][: len(expected)] == expected


@pytest.mark.parametrize("change", ["renamed", "removed"])
@pytest.mark.parametrize("nodes", [1, 2])
@pytest.mark.parametrize("installation", mpi.WHEELS, ids=lambda m: m.name)
def test_an_open_file_is_used_on_when_its_name_has_gone(
    installation: mpi.Mpi, nodes: int, change: str, tmp_path: Path
) -> None:
    """What has its name now stays as it is."""
    program = mpi.compile_program(installation, SOURCE.parent / "renamed.c")
    command = forebay.on_nodes([str(program), "data.bin", change], nodes)
    settings = {"FOREBAY_STEP_ASIDE": "never", "FOREBAY_DOMAIN_SIZE": "64KiB"}
    run = forebay.launch(installation, 4, command, tmp_path / "run", settings)
    assert run.outcome.code == 0, str(run.outcome)
    if change == "removed":
        assert not run.files
        return
    assert run.files["data.bin"] == b"another file"
    assert run.files["data.bin.renamed"] == content(4 * 100 * 1000)
