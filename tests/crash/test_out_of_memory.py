"""A rank that the kernel's OOM killer takes, in a memory control group of its own."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import history
import jobs
import pytest

from harness import mpi

LIMIT_BYTES = 256 << 20
LAYOUT = history.Layout(ranks=2, records=2000, record_bytes=300)
# The controller's files by version: the folder that holds groups, the limit, and where kills are
# counted.
HIERARCHIES = (
    (Path("/sys/fs/cgroup"), "memory.max", "memory.events"),
    (Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes", "memory.oom_control"),
)


class Group:
    """A control group with little memory."""

    def __init__(self, folder: Path, limit: str, kills: str) -> None:
        self.members = folder / "cgroup.procs"
        self._kills = folder / kills
        folder.mkdir()
        try:
            # Only where the kernel has put the file: elsewhere there is no limit.
            with (folder / limit).open("r+") as file:
                file.write(str(LIMIT_BYTES))
        except OSError:
            folder.rmdir()
            raise
        self.folder = folder

    def kills(self) -> int:
        lines = (line.split() for line in self._kills.read_text().splitlines())
        return next(int(number) for name, number in lines if name == "oom_kill")

    def remove(self) -> None:
        """When the last process has left it."""
        patience = time.monotonic() + 60
        while self.folder.exists() and time.monotonic() < patience:
            with suppress(OSError):
                self.folder.rmdir()
            time.sleep(0.1)


@pytest.fixture
def group() -> Iterator[Group]:
    for hierarchy, limit, kills in HIERARCHIES:
        with suppress(OSError):
            made = Group(hierarchy / f"forebay-{os.getpid()}", limit, kills)
            yield made
            made.remove()
            return
    pytest.skip("no memory control group to be had here")


@pytest.mark.parametrize("scope", ["node", "process"])
@pytest.mark.parametrize("installation", jobs.MPIS, ids=lambda m: m.name)
def test_out_of_memory(installation: mpi.Mpi, scope: str, group: Group, tmp_path: Path) -> None:
    job = f"oom-{os.getpid()}-{installation.name}-{scope}"
    settings = {"FOREBAY_JOB": job, "FOREBAY_SCOPE": scope, "FOREBAY_STEP_ASIDE": "never"}
    arguments = ["--end", "oom", "--rank", "1", "--after", "5000"]
    command = jobs.command_of(installation, tmp_path, LAYOUT, settings, arguments)
    join = f'[ "${{PMI_RANK:-$OMPI_COMM_WORLD_RANK}}" = 1 ] && echo $$ >{group.members}; exec "$@"'
    position = command.index("env")
    command[position:position] = ["sh", "-c", join, "sh"]
    outcome = mpi.run(command, installation.environment, timeout_seconds=120)
    assert group.kills() >= 1
    assert outcome.code not in (0, None), str(outcome)
    jobs.await_recovery(job)
    assert history.violations(tmp_path / "file", tmp_path / "history", LAYOUT) == []
