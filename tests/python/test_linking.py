"""Programs linked with an interposer instead of preloading: by pkg-config, by CMake."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from command import outside
from forebay import paths
from harness import mpi

PROGRAM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  Dl_info open, rank;
  MPI_Init(&argc, &argv);
  if (dladdr((void*)MPI_File_open, &open) == 0) return 1;
  if (dladdr((void*)MPI_Comm_rank, &rank) == 0) return 1;
  printf("%s\n%s\n", open.dli_fname, rank.dli_fname);
  return MPI_Finalize();
}
"""
PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(linked C)
find_package(forebay REQUIRED)
add_executable(linked linked.c)
target_link_libraries(linked PRIVATE forebay::{abi} ${{CMAKE_DL_LIBS}})
"""
INSTALLATIONS = pytest.mark.parametrize("installation", mpi.ALL, ids=lambda one: one.name)


def check(program: Path, installation: mpi.Mpi) -> None:
    """The file routines are the interposer's, all others the MPI library's."""
    command = mpi.launch_command(installation, 1, [str(program)])
    outcome = mpi.run(command, {**outside(), **installation.environment})
    assert outcome.code == 0, str(outcome)
    open_home, rank_home = outcome.output.split()
    assert Path(open_home).name == f"libforebay_{installation.abi}.so"
    assert Path(rank_home).name.startswith("libmpi")


@INSTALLATIONS
def test_by_pkg_config(installation, tmp_path):
    if not installation.available or shutil.which("pkg-config") is None:
        pytest.skip(f"{installation.name} is not complete here")
    source, program = tmp_path / "linked.c", tmp_path / "linked"
    source.write_text(PROGRAM)
    directory = paths.library_directory() / "pkgconfig"
    flags = mpi.run(
        ["pkg-config", "--libs", f"forebay-{installation.abi}"], {"PKG_CONFIG_PATH": str(directory)}
    )
    assert flags.code == 0, str(flags)
    command = [installation.cc, str(source), "-o", str(program), *flags.output.split(), "-ldl"]
    subprocess.run(command, check=True)
    check(program, installation)


@INSTALLATIONS
def test_by_cmake(installation, tmp_path):
    if not installation.available or shutil.which("cmake") is None:
        pytest.skip(f"{installation.name} is not complete here")
    (tmp_path / "linked.c").write_text(PROGRAM)
    (tmp_path / "CMakeLists.txt").write_text(PROJECT.format(abi=installation.abi))
    package = paths.library_directory() / "cmake" / "forebay"
    configure = ["cmake", "-S", str(tmp_path), "-B", str(tmp_path / "build")]
    configure += [f"-Dforebay_DIR={package}", f"-DCMAKE_C_COMPILER={installation.cc}"]
    for command in (configure, ["cmake", "--build", str(tmp_path / "build")]):
        outcome = mpi.run(command, outside())
        assert outcome.code == 0, str(outcome)
    check(tmp_path / "build" / "linked", installation)
