"""Programs of many kinds, plain and through Forebay: same exit code, same output, same bytes.

Each program verifies what it reads. The files of both runs are then compared.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness import forebay, mpi

SOURCES = Path(__file__).parent / "programs"
BY_NAME = {installation.name: installation for installation in mpi.ALL}
EVERYWHERE = tuple(BY_NAME)
ON_DEBIAN = ("mpich-debian", "openmpi-debian")
MPICHS = ("mpich", "mpiabi")
SPAWNING = tuple(name for name in EVERYWHERE if name != "mpich-debian")
NETCDF_HEADERS = "/usr/lib/x86_64-linux-gnu/netcdf/mpi/include"


def no_flags(_installation: mpi.Mpi) -> list[str]:
    return []


def hdf5(installation: mpi.Mpi) -> list[str]:
    return mpi.package_flags(f"hdf5-{installation.packages}")


def netcdf(installation: mpi.Mpi) -> list[str]:
    return [f"-I{NETCDF_HEADERS}", *mpi.package_flags("netcdf-mpi"), *hdf5(installation)]


def fortran(binding: int) -> Callable[[mpi.Mpi], list[str]]:
    return lambda _installation: [f"-DBINDING={binding}", "-fallow-argument-mismatch"]


@dataclass(frozen=True)
class Program:
    """A line of PROGRAMS: a source, how and for which MPIs to compile it, and its further
    arguments."""

    name: str
    source: str
    installations: tuple[str, ...] = EVERYWHERE
    flags: Callable[[mpi.Mpi], list[str]] = no_flags
    arguments: tuple[str, ...] = ()
    ranks: tuple[int, ...] = (1, 2, 4)
    succeeds: bool = True
    # Files that the program writes past Forebay; None: there are no statistics.
    past: tuple[str, ...] | None = ()


PROGRAMS = (
    Program("tiles-collective", "tile_io.c", arguments=("collective",)),
    Program("tiles-independent", "tile_io.c", arguments=("independent",)),
    Program("blocks", "block_io.c"),
    Program("hdf5", "hdf5_datasets.c", ON_DEBIAN, hdf5),
    Program("flash", "flash_checkpoint.c", ON_DEBIAN, hdf5, ("independent",)),
    Program("flash-collective", "flash_checkpoint.c", ON_DEBIAN, hdf5, ("collective",)),
    Program("pnetcdf", "pnetcdf_arrays.c", ("openmpi-debian",), lambda _: ["-lpnetcdf"]),
    Program("pnetcdf-order", "pnetcdf_order.c", ("openmpi-debian",), lambda _: ["-lpnetcdf"]),
    Program("netcdf4", "netcdf4_parallel.c", ("openmpi-debian",), netcdf),
    Program("mpif.h", "fortran_io.F90", ON_DEBIAN, fortran(1)),
    Program("use-mpi", "fortran_io.F90", ON_DEBIAN, fortran(2)),
    Program("mpi_f08", "fortran_io.F90", ON_DEBIAN, fortran(3)),
    Program("communicators", "communicators.c"),
    Program("forked-child", "forked_child.c"),
    # Debian's MPICH cannot spawn. Files that a spawned rank may open go past Forebay.
    Program("spawn", "spawn.c", SPAWNING, ranks=(1, 2), past=("children", "merged")),
    # Open MPI cannot begin a second session; MPICH's MPI-IO refuses to work without MPI_Init, with
    # and without Forebay. The program itself checks that its file is cached.
    Program("sessions", "sessions.c", ("openmpi",), arguments=("1",), past=None),
    Program(
        "sessions-refused",
        "sessions.c",
        MPICHS,
        arguments=("1",),
        ranks=(2,),
        succeeds=False,
        past=None,
    ),
)
CASES = [
    pytest.param(program, BY_NAME[name], ranks, id=f"{program.name}-{name}-{ranks}")
    for program in PROGRAMS
    for name in program.installations
    for ranks in program.ranks
]


@pytest.mark.parametrize(("program", "installation", "ranks"), CASES)
def test_program(program: Program, installation: mpi.Mpi, ranks: int, tmp_path: Path) -> None:
    flags = program.flags(installation)
    suffix = f"-{program.name}" if flags else ""
    executable = mpi.compile_program(installation, SOURCES / program.source, flags, suffix)
    command = [str(executable), ".", *program.arguments]
    plain = forebay.launch(installation, ranks, command, tmp_path / "plain")
    assert (plain.outcome.code == 0) == program.succeeds, str(plain.outcome)
    cached = forebay.launch(installation, ranks, command, tmp_path / "cached", {})
    forebay.assert_same(plain, cached)
    if program.past is not None:
        forebay.assert_reached(cached, program.past)


@pytest.mark.parametrize("name", ["pnetcdf", "pnetcdf-order"])
def test_pnetcdf_on_two_nodes(name: str, tmp_path: Path) -> None:
    """The order of collective calls holds across nodes that hand their bytes over."""
    program = next(one for one in PROGRAMS if one.name == name)
    installation = BY_NAME["openmpi-debian"]
    executable = mpi.compile_program(
        installation, SOURCES / program.source, program.flags(installation), f"-{name}"
    )
    settings = {"FOREBAY_CONSISTENCY": "mpi", "FOREBAY_STEP_ASIDE": "never"}
    command = forebay.on_nodes([str(executable), "."], 2)
    run = forebay.launch(installation, 4, command, tmp_path / "run", settings)
    assert run.outcome.code == 0, str(run.outcome)
    forebay.assert_served(run.statistics, run.outcome)
    assert run.statistics is not None
    total = run.statistics["total"]
    assert total["guest_bytes"] == total["accepted_bytes"] > 0


OWNERS = {"FOREBAY_DOMAIN_SIZE": "64KiB", "FOREBAY_STEP_ASIDE": "never"}


@pytest.mark.parametrize(
    ("program", "installation"),
    [
        pytest.param(program, BY_NAME[name], id=f"{program.name}-{name}")
        for program in PROGRAMS
        for name in program.installations
        if 4 in program.ranks and program.past == ()
    ],
)
def test_program_with_owners_on_two_nodes(
    program: Program, installation: mpi.Mpi, tmp_path: Path
) -> None:
    """A program needs no more than on one node."""
    flags = program.flags(installation)
    suffix = f"-{program.name}" if flags else ""
    executable = mpi.compile_program(installation, SOURCES / program.source, flags, suffix)
    command = forebay.on_nodes([str(executable), ".", *program.arguments], 2)
    plain = forebay.launch(installation, 4, command, tmp_path / "plain")
    assert plain.outcome.code == 0, str(plain.outcome)
    cached = forebay.launch(installation, 4, command, tmp_path / "cached", OWNERS)
    forebay.assert_same(plain, cached)
    forebay.assert_served(cached.statistics, cached.outcome)
