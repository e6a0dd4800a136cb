"""The stand-ins for all tests of the preload, built once."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from stand_ins import Bench


@pytest.fixture(scope="session")
def bench(tmp_path_factory: pytest.TempPathFactory, library_directory: Path) -> Bench:
    directory = tmp_path_factory.mktemp("preload")
    shutil.copy(library_directory / "libforebay_preload.so", directory)
    made = Bench(directory)
    for abi in ("mpich", "mpiabi", "openmpi"):
        made.build(f"libforebay_{abi}.so", "interposer.c", f'-DABI="{abi}"')
    made.build("libmpi.so.12", "libmpi.c", "-Wl,-soname,libmpi.so.12")
    made.build("libmpi_abi.so.1", "libmpi.c", "-Wl,-soname,libmpi_abi.so.1")
    made.build("libmpi.so.40", "libmpi.c", "-Wl,-soname,libmpi.so.40", "-DOPEN_MPI")
    made.build("libother.so.1", "libmpi.c", "-Wl,-soname,libother.so.1")
    made.build("libplugin.so", "calls.c", "-l:libmpi.so.12")
    made.build("loader", "loader.c", "-ldl", "-pthread")
    return made
