"""Killed jobs leave nothing behind once they are recovered."""

from __future__ import annotations

import fcntl
import os
import random
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import history
import jobs
import pytest

from harness import forebay, mpi

KILLS = 50
LAYOUT = history.Layout(ranks=2, records=2000, record_bytes=300)
FORMS = ("preloaded", "forebay run")
RUN = [str(mpi.ROOT / ".venv-mpich" / "bin" / "forebay"), "run", "--"]


def committers(job: str) -> list[int]:
    """The committers of the job's caches."""
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            words = (entry / "cmdline").read_bytes().split(b"\0")
            if words[0].endswith(b"/forebay-committer") and f"/{job}".encode() in words[1]:
                found.append(int(entry.name))
    return found


def assert_nothing_left(job: str, folder: Path) -> None:
    """No shared segment, no process of Forebay's, and no temporary file of Forebay's is left."""
    jobs.await_recovery(job)
    patience = time.monotonic() + jobs.RECOVERY_SECONDS
    while committers(job):
        assert time.monotonic() < patience, f"still running: {committers(job)}"
        time.sleep(0.02)
    assert [path for path in folder.rglob("*") if "forebay" in path.name] == []


def launch(
    installation: mpi.Mpi, folder: Path, job: str, form: str, arguments: list[str]
) -> subprocess.Popen[bytes]:
    """Starts the writer, preloaded directly or by `forebay run` inside the launcher, with
    folder/temporary as its folder for temporary files."""
    program = mpi.compile_program(installation, jobs.WRITER)
    words = [str(program), str(folder / "file"), str(folder / "history")]
    words += [str(LAYOUT.records), str(LAYOUT.record_bytes), *arguments]
    (folder / "temporary").mkdir()
    settings = {"FOREBAY_STEP_ASIDE": "never", "FOREBAY_JOB": job}
    settings["TMPDIR"] = str(folder / "temporary")
    words = forebay.preloaded(words, settings) if form == "preloaded" else [*RUN, *words]
    command = mpi.launch_command(installation, LAYOUT.ranks, words)
    return jobs.start(command, {**installation.environment, **settings})


def kill_some(folder: Path, draw: random.Random) -> None:
    ranks = jobs.processes(folder / "history", LAYOUT)
    time.sleep(draw.uniform(0, 0.05))
    for rank in ranks if draw.randrange(2) else [draw.choice(ranks)]:
        with suppress(ProcessLookupError):
            os.kill(rank, signal.SIGKILL)


@pytest.mark.long
def test_kills_leave_nothing(tmp_path: Path) -> None:
    """50 kills in a row, each followed by a recovery. Inside the launcher `forebay run` becomes the
    rank, so both die together; the launcher returns."""
    job = f"left-{os.getpid()}"
    never_returned = 0
    for number in range(KILLS):
        installation = jobs.MPIS[number % 5 == 0]  # Open MPI's launcher is slow
        folder = tmp_path / str(number)
        folder.mkdir()
        form = FORMS[number % 2]
        launcher = launch(installation, folder, job, form, ["--after", "1000000000000"])
        try:
            kill_some(folder, random.Random(number))
            launcher.wait(timeout=30)
        except subprocess.TimeoutExpired:
            never_returned += 1
        finally:
            jobs.end(launcher)
        jobs.await_recovery(job)
        assert history.violations(folder / "file", folder / "history", LAYOUT) == []
    assert_nothing_left(job, tmp_path)
    # Once in some 400 runs MPICH's mpiexec does not notice that a rank has ended.
    assert never_returned <= 1


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("installation", jobs.MPIS, ids=lambda m: m.name)
def test_a_clean_run_leaves_nothing(installation: mpi.Mpi, form: str, tmp_path: Path) -> None:
    job = f"clean-{os.getpid()}-{installation.name}-{form}"
    launcher = launch(installation, tmp_path, job, form, [])
    assert launcher.wait(timeout=60) == 0
    assert history.violations(tmp_path / "file", tmp_path / "history", LAYOUT) == []
    assert_nothing_left(job, tmp_path)


def test_a_committer_waits_for_a_recovery(tmp_path: Path) -> None:
    """A recovery, which may take long, watches over a job's cache when the committer starts."""
    installation = jobs.MPIS[0]
    job = f"watched-{os.getpid()}"
    ends = ["--end", "killall", "--rank", "1", "--after", "3000"]
    for name, committer in (("earlier", "false"), ("later", "true")):
        folder = tmp_path / name
        folder.mkdir()
        settings = {"FOREBAY_JOB": job, "FOREBAY_COMMITTER": committer}
        settings["FOREBAY_STEP_ASIDE"] = "never"
        command = jobs.command_of(installation, folder, LAYOUT, settings, ends)
        if name == "earlier":  # leaves the registry that the later job joins
            mpi.run(command, installation.environment)
    (path,) = (path for path in forebay.segments(job) if path.suffix == ".registry")
    with path.open("rb") as registry:
        fcntl.flock(registry, fcntl.LOCK_EX)
        mpi.run(command, installation.environment)
        time.sleep(6)
        assert history.violations(folder / "file", folder / "history", LAYOUT) != []
        assert len(committers(job)) == 1
    assert_nothing_left(job, tmp_path)
    for folder in tmp_path.iterdir():
        assert history.violations(folder / "file", folder / "history", LAYOUT) == []
