"""The kernel's OOM killer kills a rank, in a memory control group of its own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import history
import jobs
import pytest

from harness import control_group, mpi

LIMIT_BYTES = 256 << 20
LAYOUT = history.Layout(ranks=2, records=2000, record_bytes=300)


@pytest.fixture
def group() -> Iterator[control_group.Group]:
    with control_group.memory_group(LIMIT_BYTES) as made:
        yield made


@pytest.mark.parametrize("scope", ["node", "process"])
@pytest.mark.parametrize("installation", jobs.MPIS, ids=lambda m: m.name)
def test_out_of_memory(
    installation: mpi.Mpi, scope: str, group: control_group.Group, tmp_path: Path
) -> None:
    job = f"oom-{os.getpid()}-{installation.name}-{scope}"
    settings = {"FOREBAY_JOB": job, "FOREBAY_SCOPE": scope, "FOREBAY_STEP_ASIDE": "never"}
    arguments = ["--end", "oom", "--rank", "1", "--after", "5000"]
    command = jobs.command_of(installation, tmp_path, LAYOUT, settings, arguments)
    position = command.index("env")
    of_rank_1 = '[ "${PMI_RANK:-$OMPI_COMM_WORLD_RANK}" = 1 ]'
    command[position:] = group.joined(command[position:], of_rank_1)
    outcome = mpi.run(command, installation.environment, timeout_seconds=120)
    assert group.kills() >= 1
    assert outcome.code not in (0, None), str(outcome)
    jobs.await_recovery(job)
    assert history.violations(tmp_path / "file", tmp_path / "history", LAYOUT) == []
