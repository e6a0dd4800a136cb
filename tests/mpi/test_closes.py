"""What a close commits while other handles have the file open."""

from pathlib import Path

import pytest

from harness import forebay, mpi

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
