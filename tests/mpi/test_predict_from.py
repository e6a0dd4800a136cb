"""Read-ahead by the reads of an earlier run (option predict_from)."""

from pathlib import Path
from typing import Any

import pytest

from harness import forebay, mpi

PROGRAM = Path(__file__).parent / "handles" / "irregular.c"
# Pages of one record, and no pages kept for the second open.
CACHED = {
    "FOREBAY_STEP_ASIDE": "never",
    "FOREBAY_PAGE_SIZE": "640",
    "FOREBAY_KEEP": "never",
    "FOREBAY_SCOPE": "process",
}
WHEELS = pytest.mark.parametrize("installation", mpi.WHEELS, ids=lambda m: m.name)


def run(
    installation: mpi.Mpi, folder: Path, settings: dict[str, str], *words: str
) -> tuple[dict[str, Any], str]:
    """The statistics of the program's run on two ranks, and what it says on standard error."""
    program = [str(mpi.compile_program(installation, PROGRAM)), ".", *words]
    done = forebay.launch(installation, 2, program, folder, CACHED | settings)
    assert done.outcome.code == 0, str(done.outcome)
    assert done.statistics is not None
    return done.statistics["total"], done.outcome.errors


@pytest.fixture(params=mpi.WHEELS, ids=lambda m: m.name)
def traced(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[mpi.Mpi, Path, dict[str, Any]]:
    """An MPI, the trace of a run with it, and the statistics of that run."""
    trace = tmp_path / "trace"
    counts, _ = run(request.param, tmp_path / "first", {"FOREBAY_TRACE": str(trace)})
    assert len(list(trace.glob("*.trace"))) == 2
    return request.param, trace, counts


def test_reads_without_a_rule_are_fetched_ahead(
    traced: tuple[mpi.Mpi, Path, dict[str, Any]], tmp_path: Path
) -> None:
    installation, trace, first = traced
    counts, errors = run(installation, tmp_path / "again", {"FOREBAY_PREDICT_FROM": str(trace)})
    assert "forebay" not in errors
    assert counts["ahead_used_pages"] > 5 * first["ahead_used_pages"] + 500, (first, counts)
    fewer, _ = run(installation, tmp_path / "fewer", {"FOREBAY_PREDICT_FROM": str(trace)}, "3")
    assert fewer["ahead_used_pages"] > 5 * first["ahead_used_pages"] + 300, (first, fewer)


def test_what_a_trace_lacks_is_said_once(
    traced: tuple[mpi.Mpi, Path, dict[str, Any]], tmp_path: Path
) -> None:
    installation, trace, _ = traced
    for path in trace.glob("*.trace"):
        path.write_bytes(path.read_bytes()[:-2000])
    _, errors = run(installation, tmp_path / "cut", {"FOREBAY_PREDICT_FROM": str(trace)})
    assert errors.count(f"forebay: predict_from={trace} lacks reads: ") in (1, 2), errors
    for path in trace.glob("*.trace"):
        path.write_bytes(b"FOREBAYT, or so it says")
    _, errors = run(installation, tmp_path / "none", {"FOREBAY_PREDICT_FROM": str(trace)})
    assert f"forebay: predict_from={trace} foretells nothing: " in errors


@WHEELS
def test_a_folder_without_a_trace_changes_nothing(installation: mpi.Mpi, tmp_path: Path) -> None:
    for folder, why in ((tmp_path, "it has no trace of rank"), (tmp_path / "none", "No such file")):
        settings = {"FOREBAY_PREDICT_FROM": str(folder)}
        counts, errors = run(installation, tmp_path / f"run-{folder.name}", settings)
        assert f"forebay: predict_from={folder} foretells nothing: {why}" in errors
        assert counts["read_calls"] == 2400
