"""A memory control group for the processes of one test."""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

# Per version of control groups: the folder of groups, the file of the limit, and the file that
# counts kills.
HIERARCHIES = (
    (Path("/sys/fs/cgroup"), "memory.max", "memory.events"),
    (Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes", "memory.oom_control"),
)


class Group:
    """A control group with little memory."""

    def __init__(self, folder: Path, limit: str, kills: str, limit_bytes: int) -> None:
        self.members = folder / "cgroup.procs"
        self._kills = folder / kills
        folder.mkdir()
        try:
            # Opens only a file that the kernel made; otherwise there is no limit.
            with (folder / limit).open("r+") as file:
                file.write(str(limit_bytes))
        except OSError:
            folder.rmdir()
            raise
        self.folder = folder

    def joined(self, command: Sequence[str], condition: str = "true") -> list[str]:
        """A command that joins the group, if the shell command `condition` succeeds, and runs
        `command`."""
        script = f'{condition} && echo $$ >{self.members}; exec "$@"'
        return ["sh", "-c", script, "sh", *command]

    def kills(self) -> int:
        lines = (line.split() for line in self._kills.read_text().splitlines())
        return next(int(number) for name, number in lines if name == "oom_kill")

    def remove(self) -> None:
        """Removes the group once its last process has ended."""
        patience = time.monotonic() + 60
        while self.folder.exists() and time.monotonic() < patience:
            with suppress(OSError):
                self.folder.rmdir()
            time.sleep(0.1)


@contextmanager
def memory_group(limit_bytes: int) -> Iterator[Group]:
    """A group with this limit. Skips the test if there can be none."""
    for hierarchy, limit, kills in HIERARCHIES:
        with suppress(OSError):
            made = Group(hierarchy / f"forebay-{os.getpid()}", limit, kills, limit_bytes)
            break
    else:
        pytest.skip("no memory control group to be had here")
    try:
        yield made
    finally:
        made.remove()
