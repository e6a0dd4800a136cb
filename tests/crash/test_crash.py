"""Ranks that die: what they had written is in the file soon afterwards, without anyone asking.

The history of what was issued and what had returned is kept outside the processes (crash_writer.c).
"""

from __future__ import annotations

import os
import random
import re
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import history
import pytest

from harness import forebay, injector, mpi

FOLDER = Path(__file__).resolve().parent
MPIS = (mpi.WHEELS[0], mpi.WHEELS[2])
ENDINGS = ("kill", "killall", "_exit", "exit", "abort", "segfault", "term")
KILLS = int(os.environ.get("CRASH_KILLS", "200"))
CALLS_KILLED_AT = int(os.environ.get("CRASH_CALLS", "6"))
RECOVERY_SECONDS = 60

# Roomy, and so small that something is always on its way to storage.
CACHES: tuple[Mapping[str, str], ...] = (
    {},
    {"FOREBAY_PAGE_SIZE": "4KiB", "FOREBAY_CACHE_SIZE": "64KiB"},
    {"FOREBAY_PAGE_SIZE": "512", "FOREBAY_CACHE_SIZE": "256KiB", "FOREBAY_COMMIT_SIZE": "4KiB"},
)


def segments(job: str) -> list[Path]:
    """What the job has in shared memory."""
    return list(Path(f"/dev/shm/forebay-{os.geteuid()}").glob(f"{job}*"))


def await_recovery(job: str) -> None:
    """Returns when nothing is left of the job's caches."""
    patience = time.monotonic() + RECOVERY_SECONDS
    while segments(job):
        assert time.monotonic() < patience, f"still there: {segments(job)}"
        time.sleep(0.02)


def command_of(
    installation: mpi.Mpi,
    folder: Path,
    layout: history.Layout,
    settings: Mapping[str, str],
    arguments: list[str],
) -> list[str]:
    """Starts crash_writer through Forebay on the layout's ranks."""
    program = mpi.compile_program(installation, FOLDER / "crash_writer.c")
    words = [str(program), str(folder / "file"), str(folder / "history")]
    words += [str(layout.records), str(layout.record_bytes), *arguments]
    return mpi.launch_command(installation, layout.ranks, forebay.preloaded(words, settings))


@pytest.mark.parametrize("how", ENDINGS)
@pytest.mark.parametrize("scope", ["node", "process"])
@pytest.mark.parametrize("installation", MPIS, ids=lambda m: m.name)
def test_a_rank_ends(installation: mpi.Mpi, scope: str, how: str, tmp_path: Path) -> None:
    layout = history.Layout(ranks=2, records=2000, record_bytes=300)
    job = f"crash-{os.getpid()}-{installation.name}-{scope}-{how}"
    settings = {"FOREBAY_JOB": job, "FOREBAY_SCOPE": scope}
    arguments = ["--end", how, "--rank", "1", "--after", "5000"]
    # Once in some 400 runs MPICH's mpiexec did not notice that a rank had ended by _exit.
    for attempt in range(2):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        command = command_of(installation, folder, layout, settings, arguments)
        outcome = mpi.run(command, installation.environment, timeout_seconds=40)
        await_recovery(job)
        assert history.violations(folder / "file", folder / "history", layout) == []
        if outcome.code is not None:
            break
    assert outcome.code not in (0, None), str(outcome)


@pytest.mark.parametrize("scope", ["node", "process"])
@pytest.mark.parametrize("installation", MPIS, ids=lambda m: m.name)
def test_the_user_is_told(installation: mpi.Mpi, scope: str, tmp_path: Path) -> None:
    """`forebay run` says what was saved, whoever saved it."""
    program = mpi.compile_program(installation, FOLDER / "crash_writer.c")
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


def processes(prefix: Path, layout: history.Layout) -> list[int]:
    """The ranks' process ids, once all have begun to write."""
    for _ in range(2000):
        with suppress(FileNotFoundError, struct.error):
            found = [history.History.of(prefix, rank) for rank in range(layout.ranks)]
            if all(one.process and one.issued for one in found):
                return [one.process for one in found]
        time.sleep(0.01)
    raise TimeoutError("the ranks did not begin")


@pytest.mark.parametrize("chunk", range(10))
def test_random_moments(chunk: int, tmp_path: Path) -> None:
    """SIGKILL of one rank, of all, or of the launcher with all, at any moment."""
    for number in range(chunk, KILLS, 10):
        draw = random.Random(number)
        installation = draw.choice(MPIS)
        layout = history.Layout(draw.choice((1, 2, 3)), draw.choice((500, 3000)), 300)
        job = f"moment-{os.getpid()}-{number}"
        settings = {
            "FOREBAY_JOB": job,
            "FOREBAY_SCOPE": draw.choice(("node", "process")),
            "FOREBAY_PAGE_KIND": draw.choice(("mask", "tree", "delta")),
            "FOREBAY_STEP_ASIDE": "never",
            **draw.choice(CACHES),
        }
        sync = draw.choice((0, 50, 1000))
        folder = tmp_path / str(number)
        folder.mkdir()
        arguments = ["--after", "1000000000000", "--sync-every", str(sync)]
        command = command_of(installation, folder, layout, settings, arguments)
        launcher = subprocess.Popen(
            command,
            env={**os.environ, **installation.environment},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            ranks = processes(folder / "history", layout)
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
            launcher.terminate()
            with suppress(subprocess.TimeoutExpired):
                launcher.wait(timeout=20)
            with suppress(ProcessLookupError):
                os.killpg(launcher.pid, signal.SIGKILL)
        await_recovery(job)
        broken = history.violations(folder / "file", folder / "history", layout)
        assert broken == [], f"kill {number}: {settings} {victims} {layout}"
        (folder / "file").unlink()


@pytest.mark.parametrize("how", injector.KILLS)
@pytest.mark.parametrize("scope", ["node", "process"])
@pytest.mark.parametrize("installation", MPIS, ids=lambda m: m.name)
def test_killed_at_a_storage_call(
    installation: mpi.Mpi, scope: str, how: str, tmp_path: Path
) -> None:
    """SIGKILL of a rank at one storage call after the other, evenly spread over all that it makes:
    before the call, after it, or with half of a transfer done."""
    program = mpi.compile_program(installation, FOLDER / "crash_writer.c")
    layout = history.Layout(ranks=2, records=120, record_bytes=300)
    settings = {
        "FOREBAY_SCOPE": scope,
        "FOREBAY_STEP_ASIDE": "never",
        "FOREBAY_PAGE_SIZE": "512",
        "FOREBAY_CACHE_SIZE": "8KiB",
        "FOREBAY_COMMIT_SIZE": "2KiB",
    }

    def killed(nth: int) -> int:
        """Runs the ranks, the second to die at its nth storage call; how many it made if not."""
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
        await_recovery(job)
        assert history.violations(folder / "file", folder / "history", layout) == [], str(outcome)
        if (folder / "count").exists():
            return int((folder / "count").read_text())
        assert outcome.code != 0, str(outcome)
        return 0

    calls = killed(injector.NEVER)
    assert calls > 20
    nths = [1 + part * (calls - 1) // CALLS_KILLED_AT for part in range(CALLS_KILLED_AT)]
    # Ranks share the work of committing: a run may make fewer calls than the one before.
    assert [killed(nth) for nth in nths].count(0) > CALLS_KILLED_AT / 2


def test_a_clean_run_leaves_nothing(tmp_path: Path) -> None:
    layout = history.Layout(ranks=2, records=2000, record_bytes=300)
    job = f"clean-{os.getpid()}"
    for installation in MPIS:
        command = command_of(installation, tmp_path, layout, {"FOREBAY_JOB": job}, [])
        outcome = mpi.run(command, installation.environment)
        assert outcome.code == 0, str(outcome)
        await_recovery(job)
        assert history.violations(tmp_path / "file", tmp_path / "history", layout) == []
