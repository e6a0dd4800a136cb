"""The ways to start a program with Forebay, and other tools in the same process."""

import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from harness import forebay, mpi

SOURCES = Path(__file__).parent / "programs"
FOREBAY = str(mpi.ROOT / ".venv-mpich" / "bin" / "forebay")
RUN = [FOREBAY, "run", "--"]
UNUSED = "no process on this node used MPI-IO through Forebay"

every_mpi = pytest.mark.parametrize("installation", mpi.ALL, ids=lambda each: each.name)


def outside(installation: mpi.Mpi, program: list[str]) -> list[str]:
    return [*RUN, *mpi.launch_command(installation, 2, program)]


def inside(installation: mpi.Mpi, program: list[str]) -> list[str]:
    return mpi.launch_command(installation, 2, [*RUN, *program])


def shell_as_program(installation: mpi.Mpi, program: list[str]) -> list[str]:
    script = ["sh", "-c", f"true; {shlex.join(program)}"]
    return [*RUN, *mpi.launch_command(installation, 2, script)]


def shell_around_launcher(installation: mpi.Mpi, program: list[str]) -> list[str]:
    command = mpi.launch_command(installation, 2, program)
    return [*RUN, "sh", "-c", f"{shlex.join(command)} | cat"]


def abi_stated(installation: mpi.Mpi, program: list[str]) -> list[str]:
    command = mpi.launch_command(installation, 2, program)
    return [FOREBAY, "run", "--mpi", installation.abi, "--", *command]


FORMS = (outside, inside, shell_as_program, shell_around_launcher, abi_stated)


def run_in(folder: Path, installation: mpi.Mpi, command: list[str]) -> forebay.Run:
    """Runs a whole command line, with its launcher, in the new `folder`."""
    folder.mkdir()
    outcome = mpi.run(command, installation.environment, folder)
    return forebay.Run(outcome, forebay.read_files(folder))


@every_mpi
@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_forms_of_forebay_run(
    form: Callable[[mpi.Mpi, list[str]], list[str]], installation: mpi.Mpi, tmp_path: Path
) -> None:
    executable = str(mpi.compile_program(installation, SOURCES / "tile_io.c"))
    program = [executable, ".", "collective"]
    plain_command = mpi.launch_command(installation, 2, program)
    plain = run_in(tmp_path / "plain", installation, plain_command)
    cached = run_in(tmp_path / "cached", installation, form(installation, program))
    forebay.assert_same(plain, cached)
    assert UNUSED not in cached.outcome.errors


def test_a_static_mpi_is_left_alone_and_named(tmp_path: Path) -> None:
    debian = next(each for each in mpi.ALL if each.name == "mpich-debian")
    libraries = ["-l:libmpich.a", "-lucp", "-lucs", "-l:libfabric.so.1", "-l:libhwloc.so.15"]
    flags = ["-Wl,--as-needed", *libraries, "-lm", "-lpthread"]
    executable = str(mpi.compile_program(debian, SOURCES / "tile_io.c", flags, "-static"))
    assert "libmpich" not in mpi.run(["ldd", executable]).output
    program = [executable, ".", "collective"]
    plain = run_in(tmp_path / "plain", debian, mpi.launch_command(debian, 2, program))
    cached = run_in(tmp_path / "cached", debian, outside(debian, program))
    forebay.assert_same(plain, cached)
    assert UNUSED in cached.outcome.errors


@every_mpi
@pytest.mark.parametrize("order", ["tool first", "forebay first"])
def test_a_profiling_tool_in_front(order: str, installation: mpi.Mpi, tmp_path: Path) -> None:
    flags = ["-shared", "-fPIC"]
    tool = str(mpi.compile_program(installation, SOURCES / "pmpi_tool.c", flags, ".so"))
    executable = str(mpi.compile_program(installation, SOURCES / "communicators.c"))
    preload = str(forebay.LIBRARIES / "libforebay_preload.so")
    both = f"{tool}:{preload}" if order == "tool first" else f"{preload}:{tool}"

    statistics = tmp_path / "statistics.json"

    def command(libraries: str) -> list[str]:
        variables = [f"LD_PRELOAD={libraries}", f"FOREBAY_STATS_JSON={statistics}"]
        return mpi.launch_command(installation, 2, ["env", *variables, executable, "."])

    plain = run_in(tmp_path / "plain", installation, command(tool))
    assert "tool: 3 opens, 120 writes, 120 reads, 3 closes" in plain.outcome.output  # of rank 0
    assert not statistics.exists()
    cached = run_in(tmp_path / "cached", installation, command(both))
    forebay.assert_same(plain, cached)
    counted = forebay.read_statistics(statistics)
    forebay.assert_served(counted, cached.outcome)
    assert counted is not None
    assert (counted["total"]["write_calls"], counted["total"]["read_calls"]) == (240, 240)


def test_h5py(tmp_path: Path) -> None:
    debian = next(each for each in mpi.ALL if each.name == "openmpi-debian")
    program = [debian.python, str(SOURCES / "h5py_datasets.py"), "."]
    for ranks in (1, 2, 4):
        plain = forebay.launch(debian, ranks, program, tmp_path / f"plain{ranks}")
        assert "verified" in plain.outcome.output, str(plain.outcome)
        cached = forebay.launch(debian, ranks, program, tmp_path / f"cached{ranks}", {})
        forebay.assert_same(plain, cached)
        forebay.assert_reached(cached)
