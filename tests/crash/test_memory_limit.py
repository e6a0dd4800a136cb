"""A cache that would be larger than the job's control group allows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness import control_group, forebay, mpi

LIMIT = 256
RANKS = 2
OF_A_RANK = 200  # MiB


@pytest.mark.parametrize("scope", ["node", "process"])
def test_the_cache_keeps_below_the_groups_limit(scope: str, tmp_path: Path) -> None:
    """No process is killed, the file is complete, and the statistics say why the cache is small."""
    installation = mpi.WHEELS[0]
    program = mpi.compile_program(installation, Path(__file__).parent / "fill_cache.c")
    settings = {
        "FOREBAY_CACHE_SIZE": "256MiB",
        "FOREBAY_SCOPE": scope,
        "FOREBAY_STEP_ASIDE": "never",
        "FOREBAY_STATS": "true",
    }
    with control_group.memory_group(LIMIT << 20) as group:
        command = group.joined([str(program), "file", str(OF_A_RANK)])
        run = forebay.launch(installation, RANKS, command, tmp_path / "run", settings)
        kills = group.kills()
    assert (run.outcome.code, kills) == (0, 0), str(run.outcome)
    assert len(run.files["file"]) == (RANKS * OF_A_RANK) << 20
    assert run.statistics is not None
    assert run.statistics["memory_limit"] == LIMIT << 20
    assert run.statistics["total"]["write_calls"] == RANKS * OF_A_RANK << 6
    told = re.findall(r"The cache was held to ([0-9.]+) MiB a process", run.outcome.errors)
    assert forebay.output_lines(run) == [f"{LIMIT // 4 // RANKS}MiB"] * RANKS
    assert told == [f"{LIMIT / 4 / RANKS:.1f}"], str(run.outcome)
