"""MPI_THREAD_MULTIPLE: 8 threads on each of 2 ranks, a million operations per MPI. Each read
returns what was current at some moment within it (value_history.c)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from harness import forebay, mpi

FOLDER = Path(__file__).resolve().parent
RANKS, THREADS, RUNS = 2, 8, 12
OPERATIONS = int(os.environ.get("HISTORY_OPERATIONS", "2000000"))  # of all runs together
NOT_MULTIPLE = 77

# A large cache, and one so small that pages are evicted all the time.
CACHES = {
    "roomy": {"FOREBAY_PAGE_SIZE": "4KiB"},
    "tight": {"FOREBAY_PAGE_SIZE": "512", "FOREBAY_CACHE_SIZE": "8KiB"},
}


@pytest.mark.parametrize("cache", CACHES)
@pytest.mark.parametrize("page_kind", ["mask", "tree", "delta"])
@pytest.mark.parametrize("installation", (mpi.WHEELS[0], mpi.WHEELS[2]), ids=lambda m: m.name)
def test_value_history(installation: mpi.Mpi, page_kind: str, cache: str, tmp_path: Path) -> None:
    program = mpi.compile_program(installation, FOLDER / "value_history.c", ["-pthread"])
    settings = {"FOREBAY_PAGE_KIND": page_kind, "FOREBAY_STEP_ASIDE": "never", **CACHES[cache]}
    words = [str(program), "file", str(tmp_path / "history")]
    words += [str(OPERATIONS // (RUNS * RANKS * THREADS)), "1"]
    done = forebay.launch(
        installation, RANKS, words, tmp_path / "run", settings, timeout_seconds=1800
    )
    if done.outcome.code == NOT_MULTIPLE:
        pytest.skip("this MPI does not give MPI_THREAD_MULTIPLE")
    assert done.outcome.code == 0, str(done.outcome)
    forebay.assert_reached(done)
