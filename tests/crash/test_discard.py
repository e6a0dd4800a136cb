"""Bytes of dead jobs that cannot be committed: they are dropped by choice, and reported once."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from harness import forebay, mpi

PROGRAM = Path(__file__).resolve().parent / "leftovers.c"
RANKS, BYTES = 2, 5000
OF_A_FILE = "10,000 bytes"
RECOVER = [sys.executable, "-m", "forebay", "recover"]


def recover(*words: object) -> subprocess.CompletedProcess[str]:
    """Runs the command without a terminal, so that it cannot ask."""
    return subprocess.run(
        [*RECOVER, *map(str, words)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def command(job: str, end: str, arenas: Path, scope: str, *files: Path) -> list[str]:
    settings = {
        "FOREBAY_JOB": job,
        "FOREBAY_COMMITTER": "false",
        "FOREBAY_SCOPE": scope,
        "FOREBAY_STEP_ASIDE": "never",
        "FOREBAY_WRITE_BEHIND": "false",
        "FOREBAY_ARENA_DIR": str(arenas),
    }
    program = mpi.compile_program(mpi.WHEELS[0], PROGRAM)
    words = [str(program), end, str(BYTES), *map(str, files)]
    return mpi.launch_command(mpi.WHEELS[0], RANKS, forebay.preloaded(words, settings))


def leave(job: str, arenas: Path, scope: str, *files: Path) -> None:
    """Leaves bytes of these files in `arenas`, from a job that is killed. The job runs with a
    folder of its own, so that it does not commit what others left in `arenas`."""
    own = arenas.with_name(f"{job}-arenas")
    own.mkdir()
    mpi.run(command(job, "kill", own, scope, *files), mpi.WHEELS[0].environment)
    for folder in own.iterdir():
        (arenas / folder.name).mkdir(mode=0o700, parents=True, exist_ok=True)
        for segment in folder.iterdir():
            segment.rename(arenas / folder.name / segment.name)
    shutil.rmtree(own)


def left(folder: Path) -> list[Path]:
    return list((folder / "arenas").glob("*/*"))


@pytest.fixture(params=["node", "process"])
def two_jobs(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Job `one` left bytes of a and b, job `one.1` bytes of b and c; neither had a committer."""
    arenas = tmp_path / "arenas"
    a, b, c = (tmp_path / name for name in "abc")
    leave("one", arenas, request.param, a, b)
    leave("one.1", arenas, request.param, b, c)
    return tmp_path


def listed(folder: Path) -> set[str]:
    """The job and the file in each line of --list."""
    lines = recover("--list", folder / "arenas").stdout.splitlines()
    return {
        f"{line.rsplit('(job ')[1][:-1]} {Path(line.split(':')[0]).name}"
        for line in lines
        if f": {OF_A_FILE} to recover (job " in line
    }


ALL = {"one a", "one b", "one.1 b", "one.1 c"}


def test_a_list_names_jobs_and_files(two_jobs: Path) -> None:
    assert listed(two_jobs) == ALL
    assert listed(two_jobs) == ALL


def test_a_job_is_dropped(two_jobs: Path) -> None:
    done = recover("--discard", "--yes", "--job", "one", two_jobs / "arenas")
    assert (done.returncode, done.stderr) == (0, "")
    assert set(done.stdout.splitlines()) == {
        f"{two_jobs / name}: {OF_A_FILE} dropped (job one)" for name in "ab"
    }
    assert listed(two_jobs) == {"one.1 b", "one.1 c"}
    assert not any(path.name.startswith(("one.registry", "one-")) for path in left(two_jobs))
    assert recover(two_jobs / "arenas").returncode == 0
    assert left(two_jobs) == []
    sizes = [(two_jobs / name).stat().st_size for name in "abc"]
    assert sizes == [0, RANKS * BYTES, RANKS * BYTES]


def test_a_file_is_dropped_and_the_others_can_be_committed(
    two_jobs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(two_jobs)
    done = recover("--discard", "--yes", "--file", "./a", "arenas")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{two_jobs / 'a'}: {OF_A_FILE} dropped (job one)\n"
    assert listed(two_jobs) == ALL - {"one a"}
    both = ["--file", "b", "--job", "one.1", "--file", str(two_jobs / "c")]
    assert recover("--discard", "--yes", *both, "arenas").stdout.count(f"{OF_A_FILE} dropped") == 2
    assert listed(two_jobs) == {"one b"}
    assert recover("arenas").returncode == 0
    assert left(two_jobs) == []
    assert [(two_jobs / name).stat().st_size for name in "abc"] == [0, RANKS * BYTES, 0]
    expected = b"a" * BYTES + b"b" * BYTES
    assert (two_jobs / "b").read_bytes() == expected


def test_without_a_choice_all_is_dropped(two_jobs: Path) -> None:
    done = recover("--discard", "--yes", two_jobs / "arenas")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count(f"{OF_A_FILE} dropped (job ") == len(ALL)
    assert left(two_jobs) == []
    again = recover("--discard", two_jobs / "arenas")
    assert (again.returncode, again.stdout) == (0, "nothing to recover\n")


MISTAKES = {
    "a job that is not there": (["--job", "two"], "--job two: no job of this name"),
    "the beginning of a job's name": (["--job", "on"], "--job on: no job of this name"),
    "no name": (["--job", ""], "no job of this name"),
    "a file that nobody left": (["--file", "d"], "--file d: nothing is left for this file"),
    "a file of the other job": (["--job", "one", "--file", "c"], "--file c: nothing is left"),
    "the beginning of a file's name": (["--file", ""], "nothing is left for this file"),
    "a file of two jobs": (["--file", "b"], "--file b: choose one by --job (there is one, one.1)"),
    "one of several that is wrong": (["--file", "a", "--file", "d"], "--file d: nothing is left"),
}


@pytest.mark.parametrize(("words", "told"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistaken_choice_drops_nothing(
    tmp_path_factory: pytest.TempPathFactory,
    words: list[str],
    told: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = _two_jobs_once(tmp_path_factory)
    monkeypatch.chdir(folder)
    done = recover("--discard", "--yes", *words, "arenas")
    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr
    assert done.stderr.startswith("forebay: ") and done.stderr.count("\n") == 1
    assert listed(folder) == ALL


def test_an_unreadable_cache_is_dropped_alone(two_jobs: Path) -> None:
    damaged = [path for path in left(two_jobs) if path.name.endswith(".registry")]
    damaged = [path for path in damaged if path.name.startswith(("one.r", "one-"))]
    for registry in damaged:
        with registry.open("r+b") as file:
            file.seek(16)  # the size, in the header
            file.write(b"\xff")
    assert listed(two_jobs) == {"one.1 b", "one.1 c"}
    jobs = [word for one in damaged for word in ("--job", one.name.removesuffix(".registry"))]
    done = recover("--discard", "--yes", *jobs, two_jobs / "arenas")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count(": its header is damaged (job one") == len(damaged)
    assert done.stdout.count(": dropped\n") == len(damaged)
    assert not any(path.name.startswith(("one.r", "one.a", "one-")) for path in left(two_jobs))
    assert listed(two_jobs) == {"one.1 b", "one.1 c"}


def test_where_nobody_can_be_asked_nothing_is_dropped(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = _two_jobs_once(tmp_path_factory)
    for words in ([], ["--job", "one"], ["--job", "one", "--file", str(folder / "b")]):
        done = recover("--discard", *words, folder / "arenas")
        assert (done.returncode, done.stdout) == (2, "")
        assert "--yes" in done.stderr and done.stderr.count("\n") == 1
    for words in (["--job", "one"], ["--file", "a", "--list"], ["--yes"]):
        done = recover(*words, folder / "arenas")
        assert (done.returncode, done.stdout) == (2, "")
        assert "go with --discard" in done.stderr
    assert listed(folder) == ALL


_made: list[Path] = []


def _two_jobs_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The state of `two_jobs`, for tests that do not change it."""
    if not _made:
        folder = tmp_path_factory.mktemp("two-jobs")
        leave("one", folder / "arenas", "node", folder / "a", folder / "b")
        leave("one.1", folder / "arenas", "node", folder / "b", folder / "c")
        _made.append(folder)
    return _made[0]


def on_a_terminal(answer: str, *words: object) -> tuple[int, str]:
    """The command's exit code, and what its terminal shows, with `answer` typed there."""
    ours, its = pty.openpty()
    with subprocess.Popen(
        [*RECOVER, *map(str, words)], stdin=its, stdout=its, stderr=its, start_new_session=True
    ) as process:
        os.close(its)
        os.write(ours, answer.encode())
        shown = b""
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:  # how Linux reports that the other side is closed
                break
            if not part:
                break
            shown += part
    os.close(ours)
    return process.returncode, shown.decode()


def test_a_terminal_is_asked(two_jobs: Path) -> None:
    words = ["--discard", "--job", "one", two_jobs / "arenas"]
    code, shown = on_a_terminal("n\n", *words)
    assert code == 1
    assert shown.count(f"{OF_A_FILE} to drop (job one)") == 2 and "one.1" not in shown
    assert "nothing was dropped" in shown
    assert listed(two_jobs) == ALL
    code, shown = on_a_terminal("\x04", *words)
    assert code != 0
    assert listed(two_jobs) == ALL
    code, shown = on_a_terminal("y\n", *words)
    assert code == 0
    assert shown.count(f"{OF_A_FILE} dropped (job one)") == 2
    assert listed(two_jobs) == {"one.1 b", "one.1 c"}


def test_a_running_job_keeps_what_it_has(tmp_path: Path) -> None:
    """A job is in use while one of its processes lives, whatever other jobs have left."""
    arenas = tmp_path / "arenas"
    arenas.mkdir()
    launched = subprocess.Popen(
        command("busy", "wait", arenas, "node", tmp_path / "a"),
        env={**os.environ, **mpi.WHEELS[0].environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with launched:
        assert launched.stdout is not None and launched.stdin is not None
        assert launched.stdout.readline() == b"written\n"
        one = recover("--discard", "--yes", "--job", "busy", arenas)
        assert (one.returncode, one.stdout) == (1, "")
        assert "in use by a running job (job busy); nothing was dropped" in one.stderr
        every = recover("--discard", "--yes", arenas)
        assert (every.returncode, every.stdout) == (0, "nothing to recover\n")
        launched.stdin.close()
    assert launched.returncode == 0
    assert (tmp_path / "a").stat().st_size == RANKS * BYTES


def replaced(file: Path) -> None:
    """Gives the name to another file, so that what was left for the first one cannot be
    committed."""
    file.rename(file.with_suffix(".moved"))
    file.write_bytes(b"another")


MISSING = "are still missing: another file has its name"


def lines_of_jobs(folder: Path, scope: str, *names: str) -> list[str]:
    """The lines in which simultaneous jobs report earlier ones."""
    running = [
        subprocess.Popen(
            command(name, "close", folder / "arenas", scope, folder / f"{name}-file"),
            env={**os.environ, **mpi.WHEELS[0].environment},
            stderr=subprocess.PIPE,
            text=True,
        )
        for name in names
    ]
    told = [job.communicate(timeout=120)[1] for job in running]
    assert [job.returncode for job in running] == [0] * len(names), told
    for name in names:
        assert (folder / f"{name}-file").stat().st_size == RANKS * BYTES
    return [line for text in told for line in text.splitlines() if MISSING in line]


@pytest.mark.parametrize("scope", ["node", "process"])
def test_what_cannot_be_committed_is_told_once(tmp_path: Path, scope: str) -> None:
    leave("dead", tmp_path / "arenas", scope, tmp_path / "a", tmp_path / "b")
    for name in "ab":
        replaced(tmp_path / name)
    first = lines_of_jobs(tmp_path, scope, "first")
    assert len(first) == 2
    arenas = tmp_path / "arenas"
    assert all(f"forebay recover --list {arenas} shows it" in line for line in first)
    assert lines_of_jobs(tmp_path, scope, "second") == []
    assert recover("--list", arenas).stdout.count(f"{OF_A_FILE} to recover (job dead)") == 2
    # Something left later is reported then, and alone.
    leave("later", arenas, scope, tmp_path / "c")
    replaced(tmp_path / "c")
    (later,) = lines_of_jobs(tmp_path, scope, "third")
    assert f"written to {tmp_path / 'c'} are" in later
    assert lines_of_jobs(tmp_path, scope, "fourth") == []
    assert recover("--discard", "--yes", arenas).stdout.count("dropped") == 3
    assert left(tmp_path) == []


def test_one_of_several_jobs_at_once_tells(tmp_path: Path) -> None:
    leave("dead", tmp_path / "arenas", "node", tmp_path / "a")
    replaced(tmp_path / "a")
    assert len(lines_of_jobs(tmp_path, "node", "p", "q", "r", "s")) == 1


def test_whoever_was_told_by_a_command_hears_no_more(tmp_path: Path) -> None:
    leave("dead", tmp_path / "arenas", "node", tmp_path / "a")
    replaced(tmp_path / "a")
    assert recover(tmp_path / "arenas").returncode == 1
    assert lines_of_jobs(tmp_path, "node", "p") == []
    assert listed(tmp_path) == {"dead a"}
