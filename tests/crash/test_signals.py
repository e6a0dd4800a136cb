"""Signals, and ends that begin in a second thread or in a handler of the program.

A handler may interrupt any MPI call: one rank sends the signal to all, which receive it at any
point of their work.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import history
import jobs
import pytest

from harness import mpi

SIGNALS = (signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)
# What the program does in its handler or afterwards; whether it then ends in order.
REACTIONS = {
    "return": True,
    "close": True,
    "finalize": True,
    "exit": False,
    "_exit": False,
    "abort": False,
    "longjmp": None,  # in order unless an MPI call was interrupted
}
# A rank whose call was interrupted exits, while the other one may wait for it. MPICH's launcher
# does not always see that a rank is gone (without Forebay neither, about once in 70 launches).
MAY_WAIT = ("longjmp",)
TURNS = int(os.environ.get("CRASH_SIGNALS", "3"))
LAYOUT = history.Layout(ranks=2, records=2000, record_bytes=300)
MPI_NAMES = pytest.mark.parametrize("installation", jobs.MPIS, ids=lambda m: m.name)


def turns(installation: mpi.Mpi) -> range:
    """The numbers of the runs to make; fewer for Open MPI, whose launcher is slow."""
    return range(TURNS if installation.abi == "mpich" else (TURNS + 2) // 3)


def run(
    installation: mpi.Mpi, folder: Path, draw: random.Random, arguments: Sequence[str]
) -> mpi.Outcome:
    """Runs the writer with a random cache. Nothing may be lost, and the launcher must end, except
    after the reactions of MAY_WAIT."""
    job = f"signal-{os.getpid()}-{folder.parent.name}-{folder.name}"
    settings = {
        "FOREBAY_JOB": job,
        "FOREBAY_SCOPE": draw.choice(("node", "process")),
        "FOREBAY_PAGE_KIND": draw.choice(("mask", "tree", "delta")),
        "FOREBAY_STEP_ASIDE": "never",
        **draw.choice(jobs.CACHES),
    }
    folder.mkdir()
    command = jobs.command_of(installation, folder, LAYOUT, settings, list(arguments))
    may_wait = any(one in arguments for one in MAY_WAIT)
    seconds = 20 if may_wait else 60
    outcome = mpi.run(command, installation.environment, timeout_seconds=seconds)
    if outcome.code is None:  # the launcher was killed; ranks that outlive it still use the cache
        for pid in jobs.processes(folder / "history", LAYOUT):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    jobs.await_recovery(job)
    broken = history.violations(folder / "file", folder / "history", LAYOUT)
    assert broken == [], f"{settings} {outcome}"
    assert outcome.code is not None or may_wait, f"{settings} {outcome}"
    return outcome


@pytest.mark.parametrize("reaction", REACTIONS)
@MPI_NAMES
def test_a_handler_of_the_program(installation: mpi.Mpi, reaction: str, tmp_path: Path) -> None:
    for turn in turns(installation):
        draw = random.Random(turn)
        arguments = ["--end", "signal", "--rank", str(draw.randrange(2))]
        arguments += ["--after", str(draw.randrange(500, 9000)), "--then", reaction]
        arguments += ["--signal", str(int(SIGNALS[(turn + len(reaction)) % 3]))]
        arguments += ["--handler", ("before", "after", "siginfo")[turn % 3]]
        arguments += ["--threads", str(draw.randrange(2)), "--reader", str(draw.randrange(2))]
        outcome = run(installation, tmp_path / str(turn), draw, arguments)
        if REACTIONS[reaction] is not None:
            assert (outcome.code == 0) is REACTIONS[reaction], str(outcome)


@pytest.mark.parametrize("how", ["exit-thread", "abort-thread"])
@MPI_NAMES
def test_a_second_thread_ends_the_process(installation: mpi.Mpi, how: str, tmp_path: Path) -> None:
    """A second thread ends the process while the first one writes."""
    for turn in turns(installation):
        draw = random.Random(turn)
        arguments = ["--end", how, "--rank", "1", "--after", str(draw.randrange(500, 9000))]
        # Any thread may exit, but may call MPI_Abort only with MPI_THREAD_MULTIPLE.
        threads = "1" if how == "abort-thread" else str(turn % 2)
        arguments += ["--threads", threads, "--reader", str(draw.randrange(2))]
        outcome = run(installation, tmp_path / str(turn), draw, arguments)
        assert outcome.code != 0, str(outcome)
        assert "egmentation" not in outcome.errors, str(outcome)


@pytest.mark.parametrize("scope", ["node", "process"])
@MPI_NAMES
def test_two_handles_are_open_at_the_end(installation: mpi.Mpi, scope: str, tmp_path: Path) -> None:
    """Two handles are open at the end, one of them only for reading."""
    for how in ("exit", "killall"):
        folder = tmp_path / how
        folder.mkdir()
        job = f"handles-{os.getpid()}-{installation.name}-{scope}-{how}"
        settings = {"FOREBAY_JOB": job, "FOREBAY_SCOPE": scope, "FOREBAY_STEP_ASIDE": "never"}
        arguments = ["--end", how, "--rank", "1", "--after", "5000", "--reader", "1"]
        command = jobs.command_of(installation, folder, LAYOUT, settings, arguments)
        outcome = mpi.run(command, installation.environment, timeout_seconds=60)
        jobs.await_recovery(job)
        assert history.violations(folder / "file", folder / "history", LAYOUT) == []
        assert outcome.code not in (0, None), str(outcome)


@pytest.mark.parametrize("handler", ["none", "close", "exit"])
@MPI_NAMES
def test_the_launcher_gets_sigterm(installation: mpi.Mpi, handler: str, tmp_path: Path) -> None:
    """Batch systems send SIGTERM to the launcher at a time limit: MPICH's forwards it, Open MPI's
    sends its own."""
    job = f"term-{os.getpid()}-{installation.name}-{handler}"
    arguments = ["--after", "1000000000000"]
    if handler != "none":
        arguments += ["--signal", str(int(signal.SIGTERM)), "--handler", "after"]
        arguments += ["--then", handler]
    settings = {"FOREBAY_JOB": job, "FOREBAY_STEP_ASIDE": "never"}
    command = jobs.command_of(installation, tmp_path, LAYOUT, settings, arguments)
    launcher = jobs.start(command, installation.environment)
    try:
        ranks = jobs.processes(tmp_path / "history", LAYOUT)
        time.sleep(0.05)
        launcher.send_signal(signal.SIGTERM)
        launcher.wait(timeout=60)
    finally:
        jobs.end(launcher)
        for rank in ranks:
            with suppress(ProcessLookupError):
                os.kill(rank, signal.SIGKILL)
    jobs.await_recovery(job)
    assert history.violations(tmp_path / "file", tmp_path / "history", LAYOUT) == []
