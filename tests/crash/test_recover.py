"""`forebay recover` without a committer: list, commit, refuse, force, discard."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import history
import pytest

from harness import forebay, injector, mpi

FOLDER = Path(__file__).resolve().parent
LAYOUT = history.Layout(ranks=2, records=2000, record_bytes=300)
REPETITIONS = 2


def recover(*words: str) -> subprocess.CompletedProcess[str]:
    """Runs the command."""
    command = [sys.executable, "-m", "forebay", "recover", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture(params=["node", "process"])
def crashed(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A file whose writers were killed without a committer. Its cache is in tmp_path/arenas."""
    (tmp_path / "arenas").mkdir()
    program = mpi.compile_program(mpi.WHEELS[0], FOLDER / "crash_writer.c")
    words = [str(program), str(tmp_path / "file"), str(tmp_path / "history"), "2000", "300"]
    words += ["--end", "killall", "--rank", "1", "--after", "5000"]
    settings = {
        "FOREBAY_JOB": f"recover-{os.getpid()}",
        "FOREBAY_COMMITTER": "false",
        "FOREBAY_SCOPE": request.param,
        "FOREBAY_ARENA_DIR": str(tmp_path / "arenas"),
    }
    command = mpi.launch_command(mpi.WHEELS[0], 2, forebay.preloaded(words, settings))
    mpi.run(command, mpi.WHEELS[0].environment)
    assert left(tmp_path)
    return tmp_path


def left(folder: Path) -> list[Path]:
    return list((folder / "arenas").glob("*/*"))


def violations(folder: Path) -> list[str]:
    return history.violations(folder / "file", folder / "history", LAYOUT)


def test_what_is_left_is_listed_and_committed(crashed: Path) -> None:
    assert violations(crashed)
    listed = recover(str(crashed / "arenas"), "--list")
    assert listed.returncode == 1
    assert f"{crashed / 'file'}: " in listed.stdout
    assert "to recover" in listed.stdout
    assert violations(crashed)
    done = recover(str(crashed / "arenas"))
    assert (done.returncode, done.stderr) == (0, "")
    assert "bytes recovered" in done.stdout
    assert violations(crashed) == []
    assert left(crashed) == []
    assert recover(str(crashed / "arenas")).stdout == "nothing to recover\n"


def test_a_changed_file_is_left_alone(crashed: Path) -> None:
    file = crashed / "file"
    later = file.stat().st_mtime_ns + 60_000_000_000
    end = LAYOUT.offset(0, LAYOUT.records)
    changed = file.read_bytes().ljust(end, b"\0") + b"newer"  # the job had committed some bytes
    file.write_bytes(changed)
    os.utime(file, ns=(later, later))
    refused = recover(str(crashed / "arenas"))
    assert refused.returncode == 1
    assert "not recovered: it was changed after the job last wrote to it" in refused.stdout
    assert file.read_bytes() == changed
    assert recover(str(crashed / "arenas"), "--force").returncode == 0
    assert violations(crashed) == []
    assert file.read_bytes()[end:] == b"newer"
    assert left(crashed) == []


def test_another_file_is_never_written_to(crashed: Path) -> None:
    file = crashed / "file"
    file.rename(crashed / "moved")
    file.write_bytes(b"another")
    for words in ((), ("--force",)):
        refused = recover(str(crashed / "arenas"), *words)
        assert refused.returncode == 1
        assert "another file has its name" in refused.stdout
    assert file.read_bytes() == b"another"
    assert recover(str(crashed / "arenas"), "--discard", "--yes").returncode == 0
    assert left(crashed) == []


def test_an_interrupted_recovery_is_repeated(crashed: Path) -> None:
    command = [sys.executable, "-m", "forebay", "recover", str(crashed / "arenas")]
    for milliseconds in (30, 60, 90, 120):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        try:
            process.wait(timeout=milliseconds / 1000)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    assert recover(str(crashed / "arenas")).returncode == 0
    assert violations(crashed) == []
    assert left(crashed) == []


def test_a_damaged_cache_is_refused(crashed: Path) -> None:
    registries = sorted((crashed / "arenas").glob("*/*.registry"))
    for registry in registries:
        with registry.open("r+b") as file:
            file.seek(16)  # the size, in the header
            file.write(b"\xff")
    refused = recover(str(crashed / "arenas"))
    assert refused.returncode == 1
    assert refused.stdout.count("its header is damaged") == len(registries)
    assert sorted((crashed / "arenas").glob("*/*.registry")) == registries


def test_what_a_sibling_wrote_is_no_change_by_others(tmp_path: Path) -> None:
    (tmp_path / "arenas").mkdir()
    file, half = tmp_path / "file", 70_000
    settings = {
        "FOREBAY_JOB": f"siblings-{os.getpid()}",
        "FOREBAY_COMMITTER": "false",
        "FOREBAY_SCOPE": "process",
        "FOREBAY_STEP_ASIDE": "never",
        "FOREBAY_WRITE_BEHIND": "false",
        "FOREBAY_ARENA_DIR": str(tmp_path / "arenas"),
    }
    program = mpi.compile_program(mpi.WHEELS[0], FOLDER / "siblings.c")
    words = forebay.preloaded([str(program), str(file), str(half)], settings)
    mpi.run(mpi.launch_command(mpi.WHEELS[0], 2, words), mpi.WHEELS[0].environment)
    assert file.read_bytes() == b"a" * half
    done = recover(str(tmp_path / "arenas"))
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert file.read_bytes() == b"a" * half + b"b" * half
    assert left(tmp_path) == []


def test_a_volatile_cache_is_forgotten(tmp_path: Path) -> None:
    """recoverable=false starts no committer, and the next job removes what is left."""
    (tmp_path / "arenas").mkdir()
    settings = {
        "FOREBAY_JOB": f"volatile-{os.getpid()}",
        "FOREBAY_RECOVERABLE": "false",
        "FOREBAY_STEP_ASIDE": "never",
        "FOREBAY_WRITE_BEHIND": "false",
        "FOREBAY_ARENA_DIR": str(tmp_path / "arenas"),
    }
    program = mpi.compile_program(mpi.WHEELS[0], FOLDER / "crash_writer.c")
    words = [str(program), str(tmp_path / "file"), str(tmp_path / "history"), "2000", "300"]
    words += ["--end", "killall", "--rank", "1", "--after", "5000"]
    command = mpi.launch_command(mpi.WHEELS[0], 2, forebay.preloaded(words, settings))
    mpi.run(command, mpi.WHEELS[0].environment)
    assert left(tmp_path)
    done = recover(str(tmp_path / "arenas"))
    assert (done.returncode, done.stdout) == (0, "nothing to recover\n")
    assert left(tmp_path) == []
    assert (tmp_path / "file").read_bytes() == b""


@pytest.mark.long
@pytest.mark.parametrize("how", injector.KILLS)
def test_killed_at_a_storage_call(crashed: Path, how: str) -> None:
    """The recovery dies at its nth storage call, dies again when it is repeated, and then
    completes; each time it begins with what the crash left. The first calls are tried one by one,
    later ones (with scope process there are thousands) at growing distances."""
    file, arenas, kept = crashed / "file", crashed / "arenas", crashed / "kept"
    before, times = file.read_bytes(), file.stat()
    shutil.copytree(arenas, kept)
    command = [sys.executable, "-m", "forebay", "recover", str(arenas)]
    kills = 0
    nth = 0
    while True:
        nth += 1 + nth // 2
        shutil.rmtree(arenas)
        shutil.copytree(kept, arenas)
        file.write_bytes(before)
        os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
        variables = {**os.environ, "LD_PRELOAD": str(injector.library())}
        variables |= injector.kill(file, nth, how)
        deaths = 0
        for _ in range(REPETITIONS):
            done = subprocess.run(
                command, env=variables, capture_output=True, text=True, timeout=60, check=False
            )
            if done.returncode != -signal.SIGKILL:
                break
            deaths += 1
        if deaths == REPETITIONS:
            done = recover(str(arenas))
        assert done.returncode == 0, done.stdout + done.stderr
        assert violations(crashed) == []
        assert left(crashed) == []
        kills += deaths
        if deaths == 0:
            break
    assert kills > 3
