"""Ranks die; what they had written is in the file soon afterwards, without a command.

The numbers of issued and returned writes are kept outside the processes (crash_writer.c).
"""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import history
import jobs
import pytest

from harness import injector, mpi

ENDINGS = ("kill", "killall", "_exit", "exit", "abort", "segfault", "term")
KILLS = int(os.environ.get("CRASH_KILLS", "60"))
CALLS_KILLED_AT = int(os.environ.get("CRASH_CALLS", "5"))


@pytest.mark.parametrize("how", ENDINGS)
@pytest.mark.parametrize("scope", ["node", "process"])
@pytest.mark.parametrize("installation", jobs.MPIS, ids=lambda m: m.name)
def test_a_rank_ends(installation: mpi.Mpi, scope: str, how: str, tmp_path: Path) -> None:
    layout = history.Layout(ranks=2, records=2000, record_bytes=300)
    job = f"crash-{os.getpid()}-{installation.name}-{scope}-{how}"
    settings = {"FOREBAY_JOB": job, "FOREBAY_SCOPE": scope}
    arguments = ["--end", how, "--rank", "1", "--after", "5000"]
    # Once in some 400 runs MPICH's mpiexec did not notice that a rank had ended by _exit.
    for attempt in range(2):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        command = jobs.command_of(installation, folder, layout, settings, arguments)
        outcome = mpi.run(command, installation.environment, timeout_seconds=40)
        jobs.await_recovery(job)
        assert history.violations(folder / "file", folder / "history", layout) == []
        if outcome.code is not None:
            break
    assert outcome.code not in (0, None), str(outcome)


@pytest.mark.parametrize("scope", ["node", "process"])
@pytest.mark.parametrize("installation", jobs.MPIS, ids=lambda m: m.name)
def test_the_user_is_told(installation: mpi.Mpi, scope: str, tmp_path: Path) -> None:
    """`forebay run` reports what was saved, whichever process saved it."""
    program = mpi.compile_program(installation, jobs.WRITER)
    layout = history.Layout(ranks=2, records=2000, record_bytes=300)
    for attempt in range(3):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        words = [str(program), str(folder / "file"), str(folder / "history")]
        words += [str(layout.records), str(layout.record_bytes)]
        words += ["--end", "killall", "--rank", "1", "--after", "5000"]
        run = [sys.executable, "-m", "forebay", "run", "-o", f"scope={scope}", "--"]
        command = run + mpi.launch_command(installation, layout.ranks, words)
        outcome = mpi.run(command, installation.environment, timeout_seconds=60)
        assert outcome.code not in (0, None), str(outcome)
        told = re.findall(
            rf"forebay: processes ended without closing {re.escape(str(folder / 'file'))}; "
            r"([\d,]+) bytes that they had written were saved",
            outcome.errors,
        )
        assert len(told) == 1, str(outcome)
        assert history.violations(folder / "file", folder / "history", layout) == []


@pytest.mark.parametrize("chunk", range(10))
def test_random_moments(chunk: int, tmp_path: Path) -> None:
    """SIGKILL to one rank, to all, or to the launcher and all, at a random moment."""
    for number in range(chunk, KILLS, 10):
        draw = random.Random(number)
        installation = draw.choice(jobs.MPIS)
        layout = history.Layout(draw.choice((1, 2, 3)), draw.choice((500, 3000)), 300)
        job = f"moment-{os.getpid()}-{number}"
        settings = {
            "FOREBAY_JOB": job,
            "FOREBAY_SCOPE": draw.choice(("node", "process")),
            "FOREBAY_PAGE_KIND": draw.choice(("mask", "tree", "delta")),
            "FOREBAY_POLICY": draw.choice(("lru", "fifo", "lfu", "arc", "sieve", "s3fifo", "fcf")),
            "FOREBAY_STEP_ASIDE": "never",
            **draw.choice(jobs.CACHES),
        }
        sync = draw.choice((0, 50, 1000))
        folder = tmp_path / str(number)
        folder.mkdir()
        arguments = ["--after", "1000000000000", "--sync-every", str(sync)]
        command = jobs.command_of(installation, folder, layout, settings, arguments)
        launcher = jobs.start(command, installation.environment)
        try:
            ranks = jobs.processes(folder / "history", layout)
            time.sleep(draw.uniform(0, 0.1))
            victims = draw.choice(("one", "all", "launcher"))
            if victims == "launcher":
                launcher.kill()
            for rank in ranks if victims != "one" else [draw.choice(ranks)]:
                with suppress(ProcessLookupError):
                    os.kill(rank, signal.SIGKILL)
            with suppress(subprocess.TimeoutExpired):  # see test_a_rank_ends
                launcher.wait(timeout=20)
        finally:
            jobs.end(launcher)
        jobs.await_recovery(job)
        broken = history.violations(folder / "file", folder / "history", layout)
        assert broken == [], f"kill {number}: {settings} {victims} {layout}"
        (folder / "file").unlink()


@pytest.mark.parametrize("installation", jobs.MPIS, ids=lambda m: m.name)
def test_killed_as_guests_leave(installation: mpi.Mpi, tmp_path: Path) -> None:
    """Two nodes have no room for what the other owns. The kill comes as they give it away, or as
    ranks write the same records again, to the owners."""
    layout = history.Layout(ranks=4, records=600, record_bytes=300)
    for number, after in enumerate((30, 60, 120, 250, 500, 900, 1500)):
        job = f"guests-{os.getpid()}-{installation.name}-{number}"
        settings = {
            "FOREBAY_JOB": job,
            "FOREBAY_CONSISTENCY": "mpi",
            "FOREBAY_STEP_ASIDE": "never",
            "FOREBAY_PAGE_SIZE": "512",
            "FOREBAY_CACHE_SIZE": "16KiB",
            "FOREBAY_DOMAIN_SIZE": "4KiB",
        }
        folder = tmp_path / str(number)
        folder.mkdir()
        how = ("kill", "killall")[number % 2]
        arguments = ["--end", how, "--rank", str(number % 4), "--after", str(after)]
        command = jobs.command_of(installation, folder, layout, settings, arguments, nodes=2)
        outcome = mpi.run(command, installation.environment, timeout_seconds=60)
        assert outcome.code != 0, str(outcome)
        jobs.await_recovery(job)
        assert history.violations(folder / "file", folder / "history", layout) == [], str(outcome)


@pytest.mark.parametrize("how", injector.KILLS)
@pytest.mark.parametrize("scope", ["node", "process"])
@pytest.mark.parametrize("installation", jobs.MPIS, ids=lambda m: m.name)
def test_killed_at_a_storage_call(
    installation: mpi.Mpi, scope: str, how: str, tmp_path: Path
) -> None:
    """SIGKILL to a rank at one of its storage calls: before the call, after it, or with half of a
    transfer done. The calls tried are spread evenly over all calls."""
    program = mpi.compile_program(installation, jobs.WRITER)
    layout = history.Layout(ranks=2, records=120, record_bytes=300)
    settings = {
        "FOREBAY_SCOPE": scope,
        "FOREBAY_STEP_ASIDE": "never",
        "FOREBAY_PAGE_SIZE": "512",
        "FOREBAY_CACHE_SIZE": "8KiB",
        "FOREBAY_COMMIT_SIZE": "2KiB",
    }

    def killed(nth: int) -> int:
        """Runs the ranks; the second one is to die at its nth storage call. Returns 0 if it died,
        otherwise the number of its calls."""
        folder = tmp_path / str(nth)
        folder.mkdir()
        job = f"call-{os.getpid()}-{installation.name}-{scope}-{how}-{nth}"
        variables = injector.kill(folder / "file", nth, how, rank=1)
        variables |= {"FOREBAY_JOB": job, "INJECT_COUNT": str(folder / "count")}
        words = [str(program), str(folder / "file"), str(folder / "history")]
        words += [str(layout.records), str(layout.record_bytes), "--sync-every", "40"]
        command = injector.preloaded(words, {**settings, **variables})
        launch = mpi.launch_command(installation, layout.ranks, command)
        outcome = mpi.run(launch, installation.environment, timeout_seconds=60)
        jobs.await_recovery(job)
        assert history.violations(folder / "file", folder / "history", layout) == [], str(outcome)
        if (folder / "count").exists():
            return int((folder / "count").read_text())
        assert outcome.code != 0, str(outcome)
        return 0

    calls = killed(injector.NEVER)
    assert calls > 20
    nths = [1 + part * (calls - 1) // CALLS_KILLED_AT for part in range(CALLS_KILLED_AT)]
    # Ranks share the work of committing, so a run may make fewer calls than the one before.
    assert [killed(nth) for nth in nths].count(0) > CALLS_KILLED_AT / 2


def test_a_clean_run_leaves_nothing(tmp_path: Path) -> None:
    layout = history.Layout(ranks=2, records=2000, record_bytes=300)
    job = f"clean-{os.getpid()}"
    for installation in jobs.MPIS:
        command = jobs.command_of(installation, tmp_path, layout, {"FOREBAY_JOB": job}, [])
        outcome = mpi.run(command, installation.environment)
        assert outcome.code == 0, str(outcome)
        jobs.await_recovery(job)
        assert history.violations(tmp_path / "file", tmp_path / "history", layout) == []
