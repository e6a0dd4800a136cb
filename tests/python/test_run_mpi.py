"""`forebay run` around and inside real launchers."""

from __future__ import annotations

import json
import subprocess

import pytest

from command import FOREBAY, outside
from harness import mpi

WRITES = """
from mpi4py import MPI
file = MPI.File.Open(MPI.COMM_WORLD, "written", MPI.MODE_CREATE | MPI.MODE_RDWR)
file.Write_at_all(8 * MPI.COMM_WORLD.rank, b"%08d" % MPI.COMM_WORLD.rank)
if MPI.COMM_WORLD.rank == 0:
    print(file.Get_info().Get("forebay_page_size"))
file.Close()
"""
WITHOUT_IO = "from mpi4py import MPI; MPI.COMM_WORLD.Barrier()"
UNUSED = "no process on this node used MPI-IO through Forebay"


@pytest.fixture(params=mpi.WHEELS, ids=lambda one: one.name)
def installation(request: pytest.FixtureRequest) -> mpi.Mpi:
    one: mpi.Mpi = request.param
    imports = [one.python, "-c", "import mpi4py"]
    if not one.available or subprocess.run(imports, check=False).returncode != 0:
        pytest.skip(f"{one.name} is not complete here")
    return one


def run(installation: mpi.Mpi, command: list[str], folder) -> mpi.Outcome:
    outcome = mpi.run(command, {**outside(), **installation.environment}, folder)
    assert outcome.code == 0, str(outcome)
    return outcome


def launcher(installation: mpi.Mpi, *program: str) -> list[str]:
    return mpi.launch_command(installation, 2, program)


def test_around_the_launcher(installation, tmp_path):
    statistics = tmp_path / "statistics.json"
    wrapper = [*FOREBAY, "run", f"--stats-json={statistics}", "-o", "page_size=32KiB", "--"]
    program = launcher(installation, installation.python, "-c", WRITES)
    outcome = run(installation, [*wrapper, *program], tmp_path)
    assert (outcome.output.strip(), outcome.errors) == ("32KiB", "")
    assert (tmp_path / "written").read_text() == "0000000000000001"
    assert json.loads(statistics.read_text())["total"]["write_bytes"] == 16


def test_inside_the_launcher(installation, tmp_path):
    wrapper = [*FOREBAY, "run", "-o", "page_size=32KiB", "--"]
    program = launcher(installation, *wrapper, installation.python, "-c", WRITES)
    outcome = run(installation, program, tmp_path)
    assert (outcome.output.strip(), outcome.errors) == ("32KiB", "")
    assert (tmp_path / "written").read_text() == "0000000000000001"


def test_options_from_a_file_are_weaker_than_the_command_line(installation, tmp_path):
    config = tmp_path / "forebay.toml"
    config.write_text('page_size = "16KiB"')
    program = launcher(installation, installation.python, "-c", WRITES)
    wrapper = [*FOREBAY, "run", f"--config={config}"]
    assert run(installation, [*wrapper, "--", *program], tmp_path).output.strip() == "16KiB"
    stronger = [*wrapper, "-o", "page_size=8KiB", "--", *program]
    assert run(installation, stronger, tmp_path).output.strip() == "8KiB"


def test_an_mpi_program_without_mpi_io_is_named_once(installation, tmp_path):
    program = launcher(installation, installation.python, "-c", WITHOUT_IO)
    outcome = run(installation, [*FOREBAY, "run", "--", *program], tmp_path)
    assert outcome.errors.count(UNUSED) == 1


def test_the_exit_code_of_a_failed_job_is_handed_on(installation, tmp_path):
    program = launcher(installation, installation.python, "-c", "raise SystemExit(5)")
    plain = mpi.run(program, {**outside(), **installation.environment}, tmp_path)
    wrapped = [*FOREBAY, "run", "--", *program]
    through = mpi.run(wrapped, {**outside(), **installation.environment}, tmp_path)
    assert through.code == plain.code == 5
