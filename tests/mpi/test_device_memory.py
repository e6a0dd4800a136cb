"""Buffers in GPU memory, with an MPI library that accepts them: the program's own checks hold with
Forebay, and the cache serves it.

No GPU is needed. There is a library of stand-in memory, which the host cannot touch at its address,
a stand-in for each GPU library that knows this memory, and a layer over the real MPI library that
finds the bytes. If the host copies directly, the program ends.
"""

import json
import subprocess
from pathlib import Path

import pytest

from harness import forebay, mpi

SOURCES = Path(__file__).parent / "gpu"
# File name, source and the function that initialises it.
LIBRARIES = {
    "cuda": ("libcuda.so.1", "cuda.c", "cuInit"),
    "hip": ("libamdhip64.so.6", "hip.c", "hipInit"),
    "level-zero": ("libze_loader.so.1", "level_zero.c", "zeInit"),
}
CASES = [(mpi.WHEELS[0], library) for library in LIBRARIES]
CASES += [(installation, "cuda") for installation in mpi.WHEELS[1:]]
RANKS = 2


def build(installation: mpi.Mpi, output: Path, source: str, *flags: str) -> Path:
    """Compiles a stand-in, or a program with its libraries beside it."""
    compiler = installation.cc
    folder = output.parent
    command = [compiler, "-g", "-O1", "-Wall", "-o", str(output), str(SOURCES / source)]
    command += [f"-I{mpi.HEADERS}", f"-L{folder}", f"-Wl,-rpath,{folder}", *flags, "-ldevice"]
    subprocess.run(command if source != "device.c" else command[:-1], check=True)
    return output


def stand_ins(installation: mpi.Mpi, library: str, folder: Path, *flags: str) -> list[str]:
    """Builds everything in `folder`. Returns the program's command without its folder argument."""
    name, source, initialise = LIBRARIES[library]
    shared = ("-shared", "-fPIC")
    build(installation, folder / "libdevice.so", "device.c", *shared)
    gpu = build(installation, folder / name, source, *shared, f"-Wl,-soname,{name}")
    layer = "libmpi_abigpu.so" if installation.abi == "mpiabi" else "libmpigpu.so.12"
    needed = "-Wl,--no-as-needed"  # if the library only has to be in front
    build(installation, folder / layer, "aware_mpi.c", *shared, f"-Wl,-soname,{layer}", needed)
    program = folder / "device_access"
    build(installation, program, "device_access.c", needed, *flags, f"-l:{layer}")
    return [str(program), ".", str(gpu), initialise]


def check(run: forebay.Run) -> None:
    assert run.outcome.code == 0, str(run.outcome)


@pytest.mark.parametrize(
    ("installation", "library"), CASES, ids=lambda one: getattr(one, "name", one)
)
def test_preloaded(installation: mpi.Mpi, library: str, tmp_path: Path) -> None:
    """The GPU library is loaded while the file is open."""
    program = stand_ins(installation, library, tmp_path)
    plain = forebay.launch(installation, RANKS, program, tmp_path / "plain")
    check(plain)
    settings = {"FOREBAY_MPI": installation.abi}
    cached = forebay.launch(installation, RANKS, program, tmp_path / "cached", settings)
    check(cached)
    forebay.assert_same(plain, cached)
    forebay.assert_reached(cached)


def test_linked(tmp_path: Path) -> None:
    """Without a preload nobody reports which libraries are loaded."""
    installation = mpi.WHEELS[0]
    libraries = forebay.LIBRARIES
    flags = [f"-L{libraries}", f"-Wl,-rpath,{libraries}", f"-lforebay_{installation.abi}"]
    program = stand_ins(installation, "cuda", tmp_path, *flags)
    statistics = tmp_path / "statistics.json"
    settings = ["env", f"FOREBAY_STATS_JSON={statistics}"]
    run = forebay.launch(installation, RANKS, [*settings, *program], tmp_path / "linked")
    check(run)
    assert json.loads(statistics.read_text())["total"]["write_calls"] > 0
