"""A memory control group of a test's own, in which its processes meet a limit."""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

# The controller's files by version: the folder that holds groups, the limit, and where kills are
# counted.
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
            # Only where the kernel has put the file: elsewhere there is no limit.
            with (folder / limit).open("r+") as file:
                file.write(str(limit_bytes))
        except OSError:
            folder.rmdir()
            raise
        self.folder = folder

    def joined(self, command: Sequence[str], condition: str = "true") -> list[str]:
        """The command in the group, where the shell finds the condition true."""
        script = f'{condition} && echo $$ >{self.members}; exec "$@"'
        return ["sh", "-c", script, "sh", *command]

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


@contextmanager
def memory_group(limit_bytes: int) -> Iterator[Group]:
    """A group with that limit; skips the test where none is to be had."""
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
