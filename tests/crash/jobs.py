"""Jobs of crash_writer: starting them, and their remains on this node."""

from __future__ import annotations

import os
import signal
import struct
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import history

from harness import forebay, mpi

WRITER = Path(__file__).resolve().parent / "crash_writer.c"
MPIS = (mpi.WHEELS[0], mpi.WHEELS[2])
LIST = [*forebay.RECOVER, "--list"]
RECOVERY_SECONDS = 60
LAUNCH_SECONDS = 5
NO_SERVER = 213  # exit code of Open MPI's launcher if its PMIx server did not start

# A large cache, and one so small that some bytes are always in flight.
CACHES: tuple[Mapping[str, str], ...] = (
    {},
    {"FOREBAY_PAGE_SIZE": "4KiB", "FOREBAY_CACHE_SIZE": "64KiB"},
    {"FOREBAY_PAGE_SIZE": "512", "FOREBAY_CACHE_SIZE": "256KiB", "FOREBAY_COMMIT_SIZE": "4KiB"},
)


def await_recovery(job: str) -> None:
    """Returns when nothing of the job's caches is left."""
    left = forebay.await_recovery(job, RECOVERY_SECONDS)
    assert not left, f"still there: {left}\n{_users(left)}\n{mpi.run(LIST).output}"


def _users(segments: Sequence[Path]) -> str:
    """The processes that have any of the segments mapped, each with what its threads wait for."""
    wanted = [str(path) for path in segments]
    lines = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            maps = (process / "maps").read_text()
            if any(path in maps for path in wanted):
                words = (process / "cmdline").read_bytes().split(b"\0")
                lines.append(f"process {process.name}: {b' '.join(words).decode()}")
                lines += [_waits_for(thread) for thread in (process / "task").iterdir()]
    return "\n".join(lines) or "no process has them mapped"


def _waits_for(thread: Path) -> str:
    """A line about a thread: its state, and where it is in the kernel."""
    texts = [(thread / name).read_text().strip() for name in ("wchan", "syscall")]
    state = (thread / "stat").read_text().rpartition(")")[2].split()[0]
    return f"  thread {thread.name}: {state} {' '.join(texts)}"


def command_of(
    installation: mpi.Mpi,
    folder: Path,
    layout: history.Layout,
    settings: Mapping[str, str],
    arguments: list[str],
    nodes: int = 1,
) -> list[str]:
    """The command that starts crash_writer through Forebay on the layout's ranks. `nodes`: on which
    they are, as far as Forebay can tell."""
    program = mpi.compile_program(installation, WRITER)
    words = [str(program), str(folder / "file"), str(folder / "history")]
    words += [str(layout.records), str(layout.record_bytes), *arguments]
    if nodes > 1:
        words = forebay.on_nodes(words, nodes)
    return mpi.launch_command(installation, layout.ranks, forebay.preloaded(words, settings))


def processes(prefix: Path, layout: history.Layout) -> list[int]:
    """The ranks' process ids, once all have begun to write."""
    for _ in range(2000):
        with suppress(FileNotFoundError, struct.error):
            found = [history.History.of(prefix, rank) for rank in range(layout.ranks)]
            if all(one.process and one.issued for one in found):
                return [one.process for one in found]
        time.sleep(0.01)
    raise TimeoutError("the ranks did not begin")


def start(command: list[str], environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Starts a launcher in a session of its own, so that its signals reach nobody else.

    Repeats this if it ends before it has started anything, as Open MPI's sometimes does (mpi.run).
    """
    for _ in range(mpi.LAUNCHES):
        launcher = subprocess.Popen(
            command,
            env={**os.environ, **environment},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        if not _ended_early(launcher):
            break
    return launcher


def _ended_early(launcher: subprocess.Popen[bytes]) -> bool:
    """Waits for the launcher's first child. Returns whether the launcher ended before, because its
    server did not start."""
    children = Path(f"/proc/{launcher.pid}/task/{launcher.pid}/children")
    patience = time.monotonic() + LAUNCH_SECONDS
    while time.monotonic() < patience:
        if launcher.poll() is not None:
            return launcher.returncode == NO_SERVER
        with suppress(OSError):
            if children.read_text():
                break
        time.sleep(0.001)
    return False


def end(launcher: subprocess.Popen[bytes]) -> None:
    """Ends a launcher and its processes."""
    launcher.terminate()
    with suppress(subprocess.TimeoutExpired):
        launcher.wait(timeout=20)
    with suppress(ProcessLookupError):
        os.killpg(launcher.pid, signal.SIGKILL)
