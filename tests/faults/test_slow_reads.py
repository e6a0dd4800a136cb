"""Programs on storage whose reads take their time: strace delays them, as a network would."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from faults.test_injected import MPIS, can_trace
from harness import forebay, mpi

WORKLOADS = mpi.ROOT / "python" / "forebay" / "bench" / "workloads"
DELAY_US = 4000
RANKS = 2
READS = 20  # of each rank
BLOCK = 1 << 20


@pytest.fixture(params=MPIS, ids=lambda m: m.name)
def installation(request: pytest.FixtureRequest) -> Any:
    if not can_trace():
        pytest.skip("strace may not trace here")
    return request.param


def statistics_of(
    installation: mpi.Mpi, workload: str, folder: Path, **options: str
) -> dict[str, int]:
    """The statistics of a workload that reads `READS` blocks with each rank, and verifies them."""
    program = mpi.compile_program(installation, WORKLOADS / f"{workload}.c")
    statistics = folder / "statistics.json"
    settings = {"FOREBAY_STEP_ASIDE": "never", "FOREBAY_STATS_JSON": str(statistics)}
    settings |= {f"FOREBAY_{name.upper()}": value for name, value in options.items()}
    calls = "pread64,preadv"
    trace = ["strace", "-f", "--seccomp-bpf", "-qq", "-o", "/dev/null", "-e", f"trace={calls}"]
    trace += ["-e", f"inject={calls}:delay_enter={DELAY_US}"]
    words = [str(program), "--dir", str(folder), "--count", str(READS), "--no-file-check"]
    command = mpi.launch_command(installation, RANKS, [*trace, *forebay.preloaded(words, settings)])
    outcome = mpi.run(command, installation.environment, folder)
    assert outcome.code == 0, str(outcome)
    assert '"verified": true' in outcome.output
    total: dict[str, int] = json.loads(statistics.read_text())["total"]
    assert total["read_bytes"] == RANKS * READS * BLOCK
    return total


@pytest.mark.parametrize("workload", ["pio", "pio-nested"])
def test_long_reads_are_fetched_ahead_where_the_program_computes(
    installation: mpi.Mpi, workload: str, tmp_path: Path
) -> None:
    total = statistics_of(installation, workload, tmp_path)
    assert total["ahead_used_pages"] * (64 << 10) > total["read_bytes"] // 3
    assert total["bypass_bytes"] < total["read_bytes"] * 2 // 3


def test_nothing_is_fetched_ahead_if_that_is_switched_off(
    installation: mpi.Mpi, tmp_path: Path
) -> None:
    total = statistics_of(installation, "pio", tmp_path, read_ahead="0")
    assert total["ahead_pages"] == 0
    assert total["bypass_bytes"] == total["read_bytes"]
