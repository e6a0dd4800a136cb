"""Programs linked with an interposer instead of preloading: by pkg-config, by CMake."""

from __future__ import annotations

import os
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
# Needs no MPI routine that the interposer lacks.
WRITER = r"""
#include <mpi.h>

int main(int argc, char** argv) {
  MPI_File file;
  MPI_Init(&argc, &argv);
  MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
  const int code = MPI_File_write_at(file, 0, "written", 7, MPI_BYTE, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
  MPI_Finalize();
  return code;
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
    """The program's file routines are the interposer's, all others the MPI library's."""
    command = mpi.launch_command(installation, 1, [str(program)])
    outcome = mpi.run(command, {**outside(), **installation.environment})
    assert outcome.code == 0, str(outcome)
    open_home, rank_home = outcome.output.split()
    assert Path(open_home).name == f"libforebay_{installation.abi}.so"
    assert Path(rank_home).name.startswith("libmpi")


def link(installation: mpi.Mpi, text: str, folder: Path) -> Path:
    """A program linked with the interposer by pkg-config. Skips the test without pkg-config or
    MPI."""
    if not installation.available or shutil.which("pkg-config") is None:
        pytest.skip(f"{installation.name} is not complete here")
    source, program = folder / "linked.c", folder / "linked"
    source.write_text(text)
    directory = paths.library_directory() / "pkgconfig"
    flags = mpi.run(
        ["pkg-config", "--libs", f"forebay-{installation.abi}"], {"PKG_CONFIG_PATH": str(directory)}
    )
    assert flags.code == 0, str(flags)
    command = [installation.cc, str(source), "-o", str(program), *flags.output.split(), "-ldl"]
    subprocess.run(command, check=True)
    return program


@INSTALLATIONS
def test_by_pkg_config(installation, tmp_path):
    check(link(installation, PROGRAM, tmp_path), installation)


@INSTALLATIONS
def test_a_program_that_needs_nothing_else_of_mpi(installation, tmp_path):
    program = link(installation, WRITER, tmp_path)
    command = mpi.launch_command(installation, 1, [str(program), str(tmp_path / "file")])
    outcome = mpi.run(command, {**outside(), **installation.environment})
    assert outcome.code == 0, str(outcome)
    assert (tmp_path / "file").read_bytes() == b"written"


def test_a_program_without_an_mpi_library(tmp_path):
    installation = mpi.WHEELS[0]
    program = link(installation, WRITER, tmp_path)
    directory, object_file = paths.library_directory(), tmp_path / "linked.o"
    subprocess.run(
        [installation.cc, "-c", str(tmp_path / "linked.c"), "-o", str(object_file)], check=True
    )
    libraries = [f"-L{directory}", f"-Wl,-rpath,{directory}", "-lforebay_mpich"]
    subprocess.run(["cc", str(object_file), "-o", str(program), *libraries], check=True)
    outcome = mpi.run([str(program), str(tmp_path / "file")], outside())
    assert outcome.code == 1
    assert outcome.errors.startswith("forebay: no MPI library is loaded")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a program another group")
def test_a_program_with_other_rights_is_left_alone(tmp_path):
    """It runs without the cache, and ignores the environment of its user."""
    installation = mpi.WHEELS[0]
    program = link(installation, WRITER, tmp_path)
    stats = tmp_path / "stats.json"
    environment = outside(FOREBAY_STATS_JSON=str(stats), FOREBAY_RUN_DIR=str(tmp_path))
    words = [str(program), str(tmp_path / "file")]
    ordinary = mpi.run(words, {**environment, **installation.environment})
    assert (ordinary.code, ordinary.errors) == (0, "")
    marks = ["cached", "stats.json"]
    assert all((tmp_path / mark).exists() for mark in marks)
    for mark in marks:
        (tmp_path / mark).unlink()
    os.chown(program, -1, 65534)
    program.chmod(0o2755)
    outcome = mpi.run(words, {**environment, **installation.environment})
    assert outcome.code == 0, str(outcome)
    told = "forebay: not used in a program that has other rights than its user\n"
    assert outcome.errors == told
    assert not any((tmp_path / mark).exists() for mark in marks)
    assert (tmp_path / "file").read_bytes() == b"written"


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
