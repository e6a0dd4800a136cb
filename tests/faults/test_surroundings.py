"""Scarce resources: few descriptors, forks, a small /dev/shm."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from harness import content, forebay, mpi, namespace

FOLDER = Path(__file__).resolve().parent
RECORD_BYTES = 300
# MPICH's queues in /dev/shm take several megabytes without this.
SMALL_QUEUES = {"MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_NUM_CELLS": "8"}
MPIS = pytest.mark.parametrize("installation", (mpi.WHEELS[0], mpi.WHEELS[2]), ids=lambda m: m.name)


@pytest.mark.parametrize("ranks", [1, 2])
@MPIS
def test_few_descriptors(installation: mpi.Mpi, ranks: int, tmp_path: Path) -> None:
    """5,000 opens and closes per rank. The cache is so small that files evict each other's
    pages."""
    program = mpi.compile_program(installation, FOLDER / "many_opens.c")
    folder = tmp_path / "files"
    settings = {
        "FOREBAY_PAGE_SIZE": "512",
        "FOREBAY_CACHE_SIZE": "8KiB",
        "FOREBAY_STEP_ASIDE": "never",
    }
    words = [str(program), str(folder), "5000"]
    run = forebay.launch(installation, ranks, words, folder, settings, timeout_seconds=600)
    assert run.outcome.code == 0, str(run.outcome)
    forebay.assert_reached(run)


@pytest.mark.parametrize("scope", ["node", "process"])
@pytest.mark.parametrize("page_kind", ["mask", "tree"])
@MPIS
def test_forks(installation: mpi.Mpi, page_kind: str, scope: str, tmp_path: Path) -> None:
    """Children, however they end, neither commit nor drop bytes of their parent."""
    program = mpi.compile_program(installation, FOLDER / "forks.c")
    settings = {
        "FOREBAY_SCOPE": scope,
        "FOREBAY_PAGE_KIND": page_kind,
        "FOREBAY_WRITE_BEHIND": "false",
        "FOREBAY_STEP_ASIDE": "never",
    }
    run = forebay.launch(installation, 2, [str(program), "file"], tmp_path / "run", settings)
    assert run.outcome.code == 0, str(run.outcome)
    forebay.assert_reached(run)
    assert run.files["file"] == content.content(len(run.files["file"]))
    assert len(run.files["file"]) == 7 * 500 * 2 * RECORD_BYTES


@pytest.mark.skipif(not namespace.can_mount(), reason="no mount namespace to be had here")
@pytest.mark.parametrize(
    ("place", "size"), [("/dev/shm", "2m"), ("/dev/shm", "6m"), ("arena_dir", "64k")]
)
@MPIS
def test_small_shared_memory(installation: mpi.Mpi, place: str, size: str, tmp_path: Path) -> None:
    """64 KiB are too small for a cache; 2 and 6 MB hold a part of what is written."""
    program = mpi.compile_program(installation, FOLDER / "records.c")
    settings = {"FOREBAY_STEP_ASIDE": "never", "FOREBAY_JOB": f"small-{os.getpid()}"}
    folder = Path(place)
    if place == "arena_dir":
        folder = tmp_path / "arenas"
        folder.mkdir()
        settings["FOREBAY_ARENA_DIR"] = str(folder)
    file, records = tmp_path / "file", 15000
    counted = tmp_path / "statistics.json"
    settings["FOREBAY_STATS_JSON"] = str(counted)
    words = forebay.preloaded([str(program), str(file), str(records)], settings)
    script = f"""
        mount -t tmpfs -o size={size} none {folder} || exit 90
        "$@" || exit $?
        sleep 1
        find {folder} -type f
    """
    command = [*namespace.SHELL, script, "sh", *mpi.launch_command(installation, 2, words)]
    outcome = mpi.run(command, {**installation.environment, **SMALL_QUEUES})
    assert outcome.code == 0, str(outcome)
    assert outcome.output == ""  # nothing is left
    assert file.read_bytes() == content.content(2 * records * RECORD_BYTES)
    statistics = forebay.read_statistics(counted)
    assert statistics is not None, str(outcome)
    assert "goes past the cache" in outcome.errors or "go past the cache" in outcome.errors
    if size != "64k":
        forebay.assert_served(statistics, outcome)
        assert statistics["total"]["bypass_calls"] > 0
    else:
        assert forebay.served_files(statistics) == set()
