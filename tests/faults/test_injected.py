"""strace makes storage calls of MPI programs fail: which MPI call reports it, with which class and
text, and what a later call may return (failing_calls.c)."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from harness import content, forebay, mpi

FOLDER = Path(__file__).resolve().parent
MPIS = (mpi.WHEELS[0], mpi.WHEELS[2])
FILE_BYTES = 2 * 2000 * 300

# name: (scene, scope, class, cause, the call that fails)
SCENES = {
    "quota": (
        "once",
        "process",
        "quota",
        "Disk quota exceeded",
        "pwrite64,pwritev:error=EDQUOT:when=1",
    ),
    "space": ("once", "process", "space", "No space left", "pwrite64,pwritev:error=ENOSPC:when=1"),
    "too large": (
        "once",
        "process",
        "space",
        "File too large",
        "pwrite64,pwritev:error=EFBIG:when=1",
    ),
    "io": ("once", "process", "io", "Input/output error", "pwrite64,pwritev:error=EIO:when=1"),
    "quota for ever": ("for-ever", "node", "quota", "Disk quota", "pwrite64,pwritev:error=EDQUOT"),
    "io for ever": (
        "for-ever",
        "process",
        "io",
        "Input/output error",
        "pwrite64,pwritev:error=EIO",
    ),
    "quota at once": (
        "direct",
        "node",
        "quota",
        "Disk quota",
        "pwrite64,pwritev:error=EDQUOT:when=1",
    ),
    "flush": ("flush", "node", "io", "Input/output error", "fsync:error=EIO:when=1"),
    "flush alone": ("flush", "process", "io", "Input/output error", "fsync:error=EIO:when=1"),
    "read": ("read", "node", "io", "Input/output error", "pread64,preadv:error=EIO:when=1"),
    "interrupted writes": (
        "interrupted",
        "node",
        "none",
        "",
        "pwrite64,pwritev:error=EINTR:when=1..20",
    ),
    "interrupted flush": ("interrupted", "node", "none", "", "fsync:error=EINTR:when=1..20"),
    "interrupted reads": (
        "interrupted",
        "process",
        "none",
        "",
        "pread64,preadv:error=EINTR:when=1..20",
    ),
}


def can_trace() -> bool:
    """Whether strace is installed and may trace processes and make their calls fail."""
    if shutil.which("strace") is None:
        return False
    command = ["strace", "-f", "-o", "/dev/null", "-e", "inject=fsync:error=EIO", "true"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


@pytest.fixture(scope="module")
def written() -> bytes:
    """The contents that the writers' file must have in the end."""
    return content.content(FILE_BYTES)


@pytest.mark.skipif(not can_trace(), reason="strace may not trace here")
@pytest.mark.parametrize("name", SCENES)
@pytest.mark.parametrize("installation", MPIS, ids=lambda m: m.name)
def test_injected(installation: mpi.Mpi, name: str, written: bytes, tmp_path: Path) -> None:
    scene, scope, error_class, cause, injection = SCENES[name]
    program = mpi.compile_program(installation, FOLDER / "failing_calls.c")
    file, arenas = tmp_path / "file", tmp_path / "arenas"
    arenas.mkdir()
    file.write_bytes(written if scene == "read" else b"")
    settings = {
        "FOREBAY_SCOPE": scope,
        "FOREBAY_STEP_ASIDE": "never",
        "FOREBAY_WRITE_BEHIND": "false",
        "FOREBAY_READ_AHEAD": "0",
        "FOREBAY_COMMITTER": "false",
        "FOREBAY_ARENA_DIR": str(arenas),
        "FOREBAY_JOB": f"injected-{os.getpid()}",
    }
    log = tmp_path / "log"
    # Traces every rank; each thread counts its own calls. Only calls on this file fail. All append
    # to one log.
    trace = ["strace", "-f", "--seccomp-bpf", "-A", "-o", str(log), "-P", str(file)]
    trace += ["-e", f"trace={injection.split(':')[0]}", "-e", f"inject={injection}"]
    words = [str(program), str(file), scene, error_class, cause or "-"]
    command = mpi.launch_command(installation, 2, [*trace, *forebay.preloaded(words, settings)])
    outcome = mpi.run(command, installation.environment)
    assert outcome.code == 0, str(outcome)
    assert "(INJECTED)" in log.read_text(), "no call of the kind was made"
    left = list(arenas.glob("*/*"))
    if scene == "for-ever":
        assert left
        recover = [mpi.WHEELS[0].python, "-m", "forebay", "recover", str(arenas)]
        recovered = mpi.run(recover)
        assert recovered.code == 0, str(recovered)
        left = list(arenas.glob("*/*"))
    assert left == []
    if scene != "direct":
        assert file.read_bytes() == written
