"""Other users of the node can neither open nor guess Forebay's files, nor put files in their
place."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import history
import jobs
import pytest

from harness import forebay, mpi

STRANGER = 65534
LAYOUT = history.Layout(ranks=2, records=2000, record_bytes=300)
MPIS = pytest.mark.parametrize("installation", jobs.MPIS, ids=lambda m: m.name)
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may become another user")


def what_a_stranger_can(base: Path, segment: Path) -> str:
    """Tries everything as another user, in a process of its own. Returns the names of successful
    attempts."""
    attempts = {
        "list": lambda: list(segment.parent.iterdir()),
        "read": lambda: segment.open("rb"),
        "write": lambda: segment.open("r+b"),
        "create": lambda: (segment.parent / "another.registry").open("xb"),
        "link": lambda: (base / "link").hardlink_to(segment),
        "remove": segment.unlink,
        "move": lambda: segment.parent.rename(base / "moved"),
    }
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setresgid(STRANGER, STRANGER, STRANGER)
            os.setresuid(STRANGER, STRANGER, STRANGER)
            (base / "stranger").touch()
            for name, attempt in attempts.items():
                with suppress(PermissionError):
                    attempt()
                    os.write(writer, f"{name} ".encode())
            os.write(writer, b"end")
        finally:
            os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    with os.fdopen(reader) as told:
        return told.read()


def base_directory(tmp_path: Path) -> Path:
    """A folder like /dev/shm: everybody may create files, only a file's owner may remove it."""
    base = tmp_path / "base"
    base.mkdir()
    base.chmod(0o1777)
    for parent in tmp_path.parents:  # pytest makes these folders for its user only
        if parent.stat().st_uid == os.geteuid() and parent != Path("/"):
            parent.chmod(parent.stat().st_mode | 0o011)
    tmp_path.chmod(0o711)
    return base


def write(
    installation: mpi.Mpi, tmp_path: Path, base: Path, job: str, *arguments: str
) -> mpi.Outcome:
    """Runs the writer with its caches in `base`."""
    settings = {
        "FOREBAY_JOB": job,
        "FOREBAY_ARENA_DIR": str(base),
        "FOREBAY_COMMITTER": "false",
        "FOREBAY_STEP_ASIDE": "never",
        "FOREBAY_STATS_JSON": str(tmp_path / "statistics"),
    }
    command = jobs.command_of(installation, tmp_path, LAYOUT, settings, list(arguments))
    return mpi.run(command, installation.environment, timeout_seconds=60)


def assert_passed_through(outcome: mpi.Outcome, tmp_path: Path) -> None:
    """Checks that the program ran as it does without Forebay."""
    assert outcome.code == 0, str(outcome)
    assert history.violations(tmp_path / "file", tmp_path / "history", LAYOUT, cached=False) == []
    assert outcome.errors.count(" goes past the cache: ") == 1, str(outcome)


@as_root
def test_a_stranger_is_refused(tmp_path: Path) -> None:
    base = base_directory(tmp_path)
    ending = ("--end", "killall", "--rank", "1", "--after", "5000")
    write(jobs.MPIS[0], tmp_path, base, f"stranger-{os.getpid()}", *ending)
    folder = base / "forebay-0"
    assert folder.stat().st_mode & 0o7777 == 0o700
    segments = sorted(folder.iterdir())
    assert len(segments) >= 2
    assert {path.stat().st_mode & 0o7777 for path in segments} == {0o600}
    for segment in segments:
        assert what_a_stranger_can(base, segment) == "end"
    recover = [sys.executable, "-m", "forebay", "recover", str(base)]
    assert subprocess.run(recover, timeout=60, check=False).returncode == 0
    assert history.violations(tmp_path / "file", tmp_path / "history", LAYOUT) == []


def made_by_a_stranger(place: Path, _: Path) -> None:
    place.mkdir(mode=0o700)
    os.chown(place, STRANGER, STRANGER)


def open_to_all(place: Path, _: Path) -> None:
    place.mkdir()
    place.chmod(0o777)


def a_link(place: Path, elsewhere: Path) -> None:
    elsewhere.chmod(0o700)
    place.symlink_to(elsewhere)


def a_file(place: Path, _: Path) -> None:
    place.write_bytes(b"")


@pytest.mark.parametrize("prepare", [made_by_a_stranger, open_to_all, a_link, a_file])
@MPIS
def test_a_prepared_directory_is_not_used(
    installation: mpi.Mpi, prepare: Callable[[Path, Path], None], tmp_path: Path
) -> None:
    if prepare is made_by_a_stranger and os.geteuid() != 0:
        pytest.skip("only root may give a directory away")
    base = base_directory(tmp_path)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    place = base / f"forebay-{os.geteuid()}"
    prepare(place, elsewhere)
    outcome = write(installation, tmp_path, base, f"prepared-{os.getpid()}")
    assert_passed_through(outcome, tmp_path)
    assert list(elsewhere.iterdir()) == []
    assert place.is_file() or list(place.iterdir()) == []


@pytest.mark.parametrize("suffix", [".registry", ".arena0"])
@MPIS
def test_a_link_in_place_of_a_segment_is_not_followed(
    installation: mpi.Mpi, suffix: str, tmp_path: Path
) -> None:
    base = base_directory(tmp_path)
    place = base / f"forebay-{os.geteuid()}"
    place.mkdir(mode=0o700)
    job = f"link-{os.getpid()}"
    target = tmp_path / "target"
    target.write_bytes(b"precious")
    missing = tmp_path / "missing"
    for aim in (target, missing):
        link = place / f"{job}{suffix}"
        link.symlink_to(aim)
        outcome = write(installation, tmp_path, base, job)
        assert_passed_through(outcome, tmp_path)
        link.unlink(missing_ok=True)  # the last process may have removed the link
    assert target.read_bytes() == b"precious"
    assert not missing.exists()


@MPIS
def test_launches_without_a_given_name_share_nothing(installation: mpi.Mpi, tmp_path: Path) -> None:
    """Without `forebay run`, ranks use the name of their launch; launches have different names."""
    base = base_directory(tmp_path)
    program = mpi.compile_program(installation, jobs.WRITER)
    settings = {"FOREBAY_ARENA_DIR": str(base), "FOREBAY_COMMITTER": "false"}
    launches: list[set[str]] = []
    for number in range(2):
        words = [str(program), str(tmp_path / "file"), str(tmp_path / "history"), "2000", "300"]
        words += ["--end", "killall", "--rank", "1", "--after", "5000"]
        words = forebay.preloaded(words, {**settings, "FOREBAY_NODE": f"node{number}"})
        mpi.run(mpi.launch_command(installation, 2, words), installation.environment)
        ending = f"-node{number}.registry"
        names = [path.name for path in base.glob(f"*/*{ending}")]
        launches.append({name.removesuffix(ending) for name in names})
    assert all(len(names) == 1 for names in launches)
    assert launches[0].isdisjoint(launches[1])
