"""A file system that fills up below the cache (a small tmpfs in a mount namespace).

Plain MPI libraries return success from sync and close there, so only Forebay is tested.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from harness import forebay, mpi, namespace

FOLDER = Path(__file__).resolve().parent
MPIS = (mpi.WHEELS[0], mpi.WHEELS[2])


@pytest.mark.skipif(not namespace.can_mount(), reason="no mount namespace to be had here")
@pytest.mark.parametrize("what", ["sync", "close"])
@pytest.mark.parametrize("scope", ["node", "process"])
@pytest.mark.parametrize("installation", MPIS, ids=lambda m: m.name)
def test_full_disk(installation: mpi.Mpi, scope: str, what: str, tmp_path: Path) -> None:
    """A file of 6 MB on 8 MiB, of which ballast takes 6. Afterwards the bytes are recovered."""
    program = mpi.compile_program(installation, FOLDER / "full_disk.c")
    arenas, disk = tmp_path / "arenas", tmp_path / "disk"
    arenas.mkdir()
    disk.mkdir()
    settings = {
        "FOREBAY_SCOPE": scope,
        "FOREBAY_STEP_ASIDE": "never",
        "FOREBAY_JOB": f"full-{os.getpid()}-{installation.name}-{scope}-{what}",
        "FOREBAY_ARENA_DIR": str(arenas),
        "FOREBAY_COMMITTER": "false",
    }
    words = forebay.preloaded([str(program), str(disk), what], settings)
    launch = mpi.launch_command(installation, 2, words)
    recover = [installation.python, "-m", "forebay", "recover", str(arenas)]
    if installation is not mpi.WHEELS[0]:
        recover[0] = mpi.WHEELS[0].python
    script = f"""
        mount -t tmpfs -o size=8m none {disk} || exit 90
        head -c 6m /dev/zero >{disk}/ballast
        "$@" || exit $?
        {" ".join(recover)} --list
        rm -f {disk}/ballast
        {" ".join(recover)} || exit 91
        stat -c %s {disk}/full
    """
    outcome = mpi.run([*namespace.SHELL, script, "sh", *launch], installation.environment)
    assert outcome.code == 0, str(outcome)
    lines = outcome.output.splitlines()
    assert lines[-1] == "6000000"
    if what == "close":
        assert any("bytes to recover" in line for line in lines), outcome.output
        assert any("bytes recovered" in line for line in lines), outcome.output
    else:
        assert lines[:2] == ["nothing to recover"] * 2
