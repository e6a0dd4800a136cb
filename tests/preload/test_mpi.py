"""Which calls of real MPI programs reach an interposer: each exactly once, from every language."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from harness import mpi
from stand_ins import Bench

SOURCES = Path(__file__).parent
WRITTEN = (17).to_bytes(4, sys.byteorder) + (4).to_bytes(4, sys.byteorder)
INSTALLATIONS = pytest.mark.parametrize("installation", mpi.ALL, ids=lambda one: one.name)


@pytest.fixture(scope="session")
def witness(tmp_path_factory: pytest.TempPathFactory, library_directory: Path) -> Bench:
    directory = tmp_path_factory.mktemp("witness")
    shutil.copy(library_directory / "libforebay_preload.so", directory)
    made = Bench(directory)
    for abi in ("mpich", "mpiabi", "openmpi"):
        made.build(f"libforebay_{abi}.so", "witness.c", "-ldl")
    return made


def calls(
    installation: mpi.Mpi,
    program: list[str],
    witness: Bench,
    folder: Path,
    preload: tuple[Path, ...] | None = None,
) -> list[str]:
    """The file routines that reached the interposer, in order, from a program on one rank."""
    libraries = (witness.preload,) if preload is None else preload
    log = folder / "calls"
    variables = {**installation.environment, "WITNESS": str(log)}
    setting = f"LD_PRELOAD={':'.join(str(library) for library in libraries)}"
    command = mpi.launch_command(installation, 1, ["env", setting, *program])
    outcome = mpi.run(command, variables, folder)
    assert outcome.code == 0, str(outcome)
    assert (folder / "written").read_bytes() == WRITTEN
    return [name for name in log.read_text().split() if name.startswith("File")]


def require(installation: mpi.Mpi, *commands: str | None) -> None:
    if not installation.available or not all(name and shutil.which(name) for name in commands):
        pytest.skip(f"{installation.name} is not complete here")


@INSTALLATIONS
def test_c(installation, witness, tmp_path):
    require(installation)
    program = str(mpi.compile_program(installation, SOURCES / "writes.c"))
    expected = ["File_open", "File_write_at", "File_close"]
    assert calls(installation, [program], witness, tmp_path) == expected


@pytest.mark.parametrize("order", ["tool first", "tool second"])
@INSTALLATIONS
def test_a_profiling_tool(installation, order, witness, tmp_path):
    require(installation)
    program = str(mpi.compile_program(installation, SOURCES / "writes.c"))
    flags = ["-shared", "-fPIC"]
    tool = mpi.compile_program(installation, SOURCES / "mpi_tool.c", flags, ".so")
    preload = (tool, witness.preload) if order == "tool first" else (witness.preload, tool)
    expected = ["File_open_by_tool", "File_open", "File_write_at", "File_close"]
    assert calls(installation, [program], witness, tmp_path, preload) == expected


@pytest.mark.parametrize("binding", [1, 2, 3], ids=["mpif.h", "use mpi", "use mpi_f08"])
@pytest.mark.parametrize("installation", mpi.DEBIAN, ids=lambda one: one.name)
def test_fortran(installation, binding, witness, tmp_path):
    require(installation, installation.fortran)
    flags = [f"-DBINDING={binding}"]
    source = SOURCES / "writes.F90"
    program = str(mpi.compile_program(installation, source, flags, f"-fortran-{binding}"))
    expected = ["File_open", "File_write_at", "File_close"]
    assert calls(installation, [program], witness, tmp_path) == expected


@INSTALLATIONS
def test_mpi4py(installation, witness, tmp_path):
    """mpi4py loads its MPI by dlopen, and calls the large-count routines if there are any."""
    require(installation, installation.python)
    imports = [installation.python, "-c", "import mpi4py"]
    if subprocess.run(imports, capture_output=True, check=False).returncode != 0:
        pytest.skip(f"no mpi4py for {installation.name}")
    program = [installation.python, str(SOURCES / "writes.py")]
    suffix = "" if installation.abi == "openmpi" else "_c"
    expected = ["File_open", f"File_write_at{suffix}", "File_close"]
    assert calls(installation, program, witness, tmp_path) == expected
