"""Jobs of crash_writer: how they are started, and what they have on this node."""

from __future__ import annotations

import os
import signal
import struct
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import history

from harness import forebay, mpi

WRITER = Path(__file__).resolve().parent / "crash_writer.c"
MPIS = (mpi.WHEELS[0], mpi.WHEELS[2])
RECOVERY_SECONDS = 60
LAUNCH_SECONDS = 5
NO_SERVER = 213  # Open MPI's code where the PMIx server did not start

# Roomy, and so small that something is always on its way to storage.
CACHES: tuple[Mapping[str, str], ...] = (
    {},
    {"FOREBAY_PAGE_SIZE": "4KiB", "FOREBAY_CACHE_SIZE": "64KiB"},
    {"FOREBAY_PAGE_SIZE": "512", "FOREBAY_CACHE_SIZE": "256KiB", "FOREBAY_COMMIT_SIZE": "4KiB"},
)


def await_recovery(job: str) -> None:
    """Returns when nothing is left of the job's caches."""
    left = forebay.await_recovery(job, RECOVERY_SECONDS)
    assert not left, f"still there: {left}"


def command_of(
    installation: mpi.Mpi,
    folder: Path,
    layout: history.Layout,
    settings: Mapping[str, str],
    arguments: list[str],
) -> list[str]:
    """Starts crash_writer through Forebay on the layout's ranks."""
    program = mpi.compile_program(installation, WRITER)
    words = [str(program), str(folder / "file"), str(folder / "history")]
    words += [str(layout.records), str(layout.record_bytes), *arguments]
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
    """Starts a launcher in a session of its own, and lets nobody hear of it.

    Again if it ends without having started anything, as Open MPI's does at times (mpi.run).
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
    """Waits for the launcher's first child; whether it ends without one for want of its server."""
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
    """Ends a launcher and what it may have left running."""
    launcher.terminate()
    with suppress(subprocess.TimeoutExpired):
        launcher.wait(timeout=20)
    with suppress(ProcessLookupError):
        os.killpg(launcher.pid, signal.SIGKILL)
