"""`forebay doctor`: it reports what fits, and finds what does not."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from command import FOREBAY, forebay, outside
from harness import mpi

STATIC = "int main(void) { return 0; }"
PATH = f"{Path(sys.executable).parent}:{os.environ['PATH']}"


def examined(*words: object, **env: str) -> dict[str, list[dict[str, Any]]]:
    """The checks, by subject."""
    done = forebay("doctor", "--json", *words, **{"PATH": PATH, **env})
    told = json.loads(done.stdout)
    unfit = any(check["state"] == "unfit" for check in told["checks"])
    assert (done.returncode, done.stderr) == (1 if unfit else 0, "")
    by_subject: dict[str, list[dict[str, Any]]] = {}
    for check in told["checks"]:
        by_subject.setdefault(check["subject"], []).append(check)
    return by_subject


def one(checks: dict[str, list[dict[str, Any]]], subject: str) -> tuple[str, str]:
    (check,) = checks[subject]
    return check["state"], check["found"]


def test_what_fits_is_said_to_fit(tmp_path: Path) -> None:
    checks = examined("--dir", tmp_path, "--ranks", 2)
    assert one(checks, "installation")[0] == "fit"
    state, found = one(checks, "MPI")
    assert state == "fit"
    assert "served as mpich" in found
    state, found = one(checks, "launcher")
    assert state == "fit"
    assert "mpiexec" in found
    assert one(checks, "shared memory")[0] in ("fit", "note")
    assert "takes up to 128 MiB" in one(checks, "shared memory")[1]
    assert "options" not in checks
    assert list(tmp_path.iterdir()) == []


def test_the_page_fits_a_terminal(tmp_path: Path) -> None:
    done = forebay("doctor", "--dir", tmp_path, COLUMNS="80", PATH=PATH)
    lines = [line.rstrip() for line in done.stdout.splitlines()]
    assert done.returncode == 0
    assert lines[-1] == "Forebay can be used here."
    assert all(len(line) <= 80 for line in lines)


def test_options_in_the_environment(tmp_path: Path) -> None:
    checks = examined("--dir", tmp_path, FOREBAY_POLCY="lru", FOREBAY_PAGE_SIZE="3000")
    found = " ".join(check["found"] for check in checks["options"])
    assert {check["state"] for check in checks["options"]} == {"unfit"}
    assert "did you mean FOREBAY_POLICY?" in found
    assert "FOREBAY_PAGE_SIZE=3000 is not accepted" in found
    assert one(examined(FOREBAY_ENABLE="false"), "options")[0] == "note"
    given = one(examined(FOREBAY_CACHE_SIZE="8MiB", FOREBAY_POLICY="arc"), "options")
    assert given == ("fit", "from the environment: policy=arc, cache_size=8MiB")


def test_the_transport_between_nodes(tmp_path: Path) -> None:
    assert "transport" not in examined("--dir", tmp_path)
    checks = examined("--dir", tmp_path, FOREBAY_TRANSPORT="libfabric", FI_PROVIDER="tcp")
    assert one(checks, "transport") == (
        "fit",
        "libfabric reaches other nodes by its provider tcp;ofi_rxm",
    )
    checks = examined("--dir", tmp_path, FOREBAY_TRANSPORT="libfabric", FI_PROVIDER="pigeon")
    state, found = one(checks, "transport")
    assert state == "note" and found.startswith("libfabric finds no network"), found
    assert found.endswith(": agents of nodes use TCP")


def test_programs(tmp_path: Path) -> None:
    compiler = shutil.which("gcc")
    assert compiler is not None
    source = tmp_path / "program.c"
    source.write_text(STATIC)
    for name, words in (("static", ["-static"]), ("dynamic", [])):
        subprocess.run([compiler, source, "-o", tmp_path / name, *words], check=True)
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    shutil.copy(tmp_path / "dynamic", tmp_path / "setuid")
    (tmp_path / "setuid").chmod(0o755 | stat.S_ISUID)
    for name, state, words in (
        ("static", "unfit", "linked statically"),
        ("dynamic", "fit", "linked dynamically"),
        ("script", "note", "is a script"),
        ("setuid", "unfit", "other rights"),
        ("missing", "unfit", "no such command"),
    ):
        told = one(examined(tmp_path / name), "program")
        assert told[0] == state, name
        assert words in told[1]


@pytest.mark.parametrize("installation", mpi.ALL, ids=lambda one: one.name)
def test_every_mpi_is_served(installation: mpi.Mpi, tmp_path: Path) -> None:
    if not installation.available:
        pytest.skip("not installed")
    source, program = tmp_path / "program.c", tmp_path / "program"
    source.write_text("#include <mpi.h>\nint main(void) { return MPI_Init(0, 0); }")
    subprocess.run([installation.cc, source, "-o", program], check=True)
    state, found = one(examined(program), "MPI")
    assert state == "fit"
    assert f"served as {installation.abi}" in found


def test_a_library_of_no_known_abi(tmp_path: Path) -> None:
    compiler = shutil.which("gcc")
    assert compiler is not None
    library, program = tmp_path / "libmpi.so.99", tmp_path / "program"
    (tmp_path / "library.c").write_text("void PMPI_Init(void) {} void PMPI_File_open(void) {}")
    (tmp_path / "program.c").write_text("void PMPI_Init(void); int main(void) { PMPI_Init(); }")
    made = [compiler, "-shared", "-fPIC", tmp_path / "library.c", "-o", library]
    subprocess.run([*made, "-Wl,-soname,libmpi.so.99"], check=True)
    linked = [compiler, tmp_path / "program.c", library, "-o", program, f"-Wl,-rpath,{tmp_path}"]
    subprocess.run(linked, check=True)
    state, found = one(examined(program), "MPI")
    assert state == "unfit"
    assert "has no ABI that Forebay knows" in found


@pytest.mark.parametrize("kind", ["missing", "not ours alone"])
def test_shared_memory_that_cannot_be_used(kind: str, tmp_path: Path) -> None:
    folder = tmp_path / "arenas"
    if kind != "missing":
        own = folder / f"forebay-{os.geteuid()}"
        own.mkdir(parents=True)
        own.chmod(0o777)
    state, _ = one(examined(FOREBAY_ARENA_DIR=str(folder)), "shared memory")
    assert state == "unfit"


def test_more_cache_than_there_is_shared_memory() -> None:
    state, found = one(examined("--ranks", 4096, FOREBAY_CACHE_SIZE="1TiB"), "shared memory")
    assert state == "note"
    assert "stays smaller" in found


def test_nodes_that_share_a_file() -> None:
    assert "several nodes" not in examined(SLURM_NNODES="4")
    for option, fit in (
        ({"FOREBAY_SCOPE": "node"}, "scope=job, the default, caches them"),
        ({"FOREBAY_STORAGE": "mpi"}, "storage=posix, the default, caches them"),
        (
            {"FOREBAY_COMMITTER": "false", "FOREBAY_SCOPE": "node"},
            "scope=job, committer=true, the defaults, cache them",
        ),
    ):
        (check,) = examined(SLURM_NNODES="4", **option)["several nodes"]
        assert check["state"] == "note"
        assert "are not cached" in check["found"]
        assert check["advice"] == fit
        standard = option | {"FOREBAY_CONSISTENCY": "mpi"}
        assert "several nodes" not in examined(SLURM_NNODES="4", **standard)


def test_ranks_of_a_job_tell_once() -> None:
    rank = {"PMI_RANK": "0", "MPI_LOCALRANKID": "0", "MPI_LOCALNRANKS": "2"}
    first = examined(**rank)
    assert "one of 2 on its node" in one(first, "launcher")[1]
    others = forebay("doctor", **(rank | {"PMI_RANK": "1", "MPI_LOCALRANKID": "1"}))
    assert (others.returncode, others.stdout) == (0, "")
    # The first rank of another node reports only what does not fit.
    elsewhere = rank | {"PMI_RANK": "2", "FOREBAY_POLCY": "lru"}
    done = forebay("doctor", **elsewhere)
    assert done.returncode == 1
    assert done.stdout.startswith("On ")
    assert "FOREBAY_POLICY" in done.stdout
    assert "installation" not in done.stdout


def test_within_mpiexec() -> None:
    mpiexec = shutil.which("mpiexec", path=PATH)
    assert mpiexec is not None
    command = [mpiexec, "-n", "3", *FOREBAY, "doctor"]
    settings = outside(PATH=PATH)
    done = subprocess.run(command, env=settings, capture_output=True, text=True, timeout=120)
    assert done.stdout.count("installation") == 1
    assert done.returncode == 0
