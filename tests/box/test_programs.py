"""Libraries and languages on nodes of which each has a client of its own of one GlusterFS volume
(test_volume.py): same output and same bytes as on one node without Forebay."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_volume import box, volume

from apps.test_programs import BY_NAME, PROGRAMS, SOURCES, Program
from harness import forebay, gluster, mpi
from harness.box import Box, why_not
from harness.gluster import Volume

__all__ = ["box", "volume"]  # fixtures

# Debian's MPICH 4.0 is left out: with UCX over TCP its ranks sometimes wait for each other for ever
# in MPI_Finalize, also without Forebay.
SAMPLE = (
    ("hdf5", "openmpi-debian"),
    ("flash", "openmpi-debian"),
    ("flash-collective", "openmpi-debian"),
    ("pnetcdf", "openmpi-debian"),
    ("pnetcdf-order", "openmpi-debian"),
    ("netcdf4", "openmpi-debian"),
    ("mpi_f08", "openmpi-debian"),
    ("communicators", "mpich"),
    ("tiles-collective", "mpich"),
)

pytestmark = pytest.mark.skipif(
    bool(why_not() or gluster.why_not()),
    reason=f"no nodes with clients of a volume: {why_not() or gluster.why_not()}",
)


@pytest.mark.parametrize(
    ("program", "installation"),
    [
        pytest.param(program, BY_NAME[name], id=f"{program.name}-{name}")
        for program in PROGRAMS
        for name in program.installations
        if (program.name, name) in SAMPLE
    ],
)
def test_program(
    program: Program, installation: mpi.Mpi, volume: Volume, box: Box, tmp_path: Path
) -> None:
    flags = program.flags(installation)
    suffix = f"-{program.name}" if flags else ""
    executable = mpi.compile_program(installation, SOURCES / program.source, flags, suffix)
    command = [str(executable), ".", *program.arguments]
    plain = forebay.launch(installation, 4, command, tmp_path / "plain")
    assert plain.outcome.code == 0, str(plain.outcome)
    folder = volume.mount / f"{program.name}-{installation.name}"
    settings = {"FOREBAY_STEP_ASIDE": "never"}
    cached = forebay.launch(
        installation, 4, command, folder, settings, launch_command=box.launch_command
    )
    forebay.assert_same(plain, cached)
    forebay.assert_served(cached.statistics, cached.outcome)
    assert cached.statistics is not None and cached.statistics["nodes"] == len(box.names)


def test_mpi4py(volume: Volume, box: Box) -> None:
    program = [mpi.WHEELS[0].python, str(SOURCES / "mpi4py_on_nodes.py"), "file"]
    run = forebay.launch(
        mpi.WHEELS[0],
        4,
        program,
        volume.mount / "mpi4py",
        {"FOREBAY_STEP_ASIDE": "never"},
        launch_command=box.launch_command,
    )
    assert run.outcome.code == 0, str(run.outcome)
    assert run.files["file"] == b"".join(bytes([rank]) * 1000 for rank in range(4)) * 100
    forebay.assert_served(run.statistics, run.outcome)
