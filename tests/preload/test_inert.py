"""In processes without an MPI library the preload has no visible effect."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from stand_ins import Bench

STATE = """
import ctypes, json, os
program = ctypes.CDLL(None)
names = ["MPI_Init", "PMPI_Init", "MPI_File_open", "MPI_File_open_c", "forebay_entry_points"]
print(json.dumps({
    "symbols": {name: hasattr(program, name) for name in names},
    "threads": len(os.listdir("/proc/self/task")),
    "descriptors": len(os.listdir("/proc/self/fd")),
    "interposer": "libforebay_mp" in open("/proc/self/maps").read(),
}))
"""


def outputs(command: list[str], bench, **env: str) -> list[tuple[int, str, str]]:
    """The results of a command without the preload, and with it."""
    results = []
    for preload in ("", str(bench.preload)):
        environment = {**os.environ, **env, "LD_PRELOAD": preload}
        done = subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        results.append((done.returncode, done.stdout, done.stderr))
    return results


@pytest.mark.parametrize(
    "command",
    [
        ["sh", "-c", "echo out; echo err >&2; exit 3"],
        ["bash", "-c", "ls / | wc -l; cat /nonexistent"],
        [sys.executable, "-c", STATE],
        [sys.executable, "-c", "import ssl, sqlite3, ctypes; ctypes.CDLL('libm.so.6').cos"],
        [sys.executable, "-c", "import ctypes; ctypes.CDLL(None).MPI_File_open"],
    ],
)
def test_a_program_without_mpi_is_untouched(command, bench):
    plain, preloaded = outputs(command, bench)
    assert plain == preloaded


def test_no_file_is_written_but_for_forebay_run(bench, tmp_path):
    before = set(bench.directory.rglob("*"))
    outputs(["sh", "-c", "true"], bench)
    assert set(bench.directory.rglob("*")) == before
    outputs(["sh", "-c", "true"], bench, FOREBAY_RUN_DIR=str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["loaded"]


def test_a_child_of_an_mpi_program_and_a_forked_process(bench):
    main = str(Path(__file__).parent / "forking.c")
    program = bench.build("forking", "calls.c", main, "-l:libmpi.so.12")
    lines = bench.run(program).splitlines()
    assert [line.split()[0] for line in lines] == ["open=mpich", "open=mpich", "child"]


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("setpriv") is None, reason="needs root")
def test_a_process_with_raised_privileges_is_refused(bench):
    """The dynamic linker drops such a preload itself; here the preload is loaded as a needed
    library."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        directory.chmod(0o755)
        for library in bench.directory.glob("lib*.so*"):
            shutil.copy(library, directory)
        there = Bench(directory)
        main = str(Path(__file__).parent / "main.c")
        flags = ["-l:libmpi.so.12", "-Wl,--no-as-needed", "-l:libforebay_preload.so"]
        program = there.build("program", "calls.c", main, *flags)
        assert there.answers(program, preload=[])["open"] == "mpich"
        program.chmod(0o4755)
        as_nobody = ["setpriv", "--reuid=65534", "--clear-groups", program]
        assert there.answers(*as_nobody, preload=[])["open"] == "library"
