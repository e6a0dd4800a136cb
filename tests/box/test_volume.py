"""Programs on nodes of which each has a client of its own of one GlusterFS volume.

The clients keep what they have read and what was written to them, as those of NFS do. Without
Forebay ranks of several nodes see old bytes then, also after sync, barrier, sync. With it every
byte has one owner, and so one client.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from test_nodes import PROGRAMS, semantic_programs

from harness import forebay, gluster, mpi
from harness.box import Box, why_not
from harness.gluster import Volume
from mpi.test_semantics import CONFIGURATIONS, directive

NODES = 2
# Where bytes are handed over, the MPI library serves atomic mode and shared pointers.
BY_LIBRARY = [
    (PROGRAMS / f"semantics_{name}.c", "job") for name in ("atomic", "pointers", "routines")
]

pytestmark = pytest.mark.skipif(
    bool(why_not() or gluster.why_not()),
    reason=f"no nodes with clients of a volume: {why_not() or gluster.why_not()}",
)


@pytest.fixture(scope="module")
def volume(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Volume]:
    with Volume(tmp_path_factory.mktemp("gluster") / "volume", close_to_open=True) as made:
        yield made


@pytest.fixture(scope="module")
def box(volume: Volume, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    with Box(NODES, tmp_path_factory.mktemp("box"), volume=volume) as made:
        yield made


@pytest.mark.parametrize(
    ("source", "configuration"),
    [
        case
        for case in semantic_programs()
        if case[1] in ("job", "owners") and case not in BY_LIBRARY
    ],
    ids=lambda value: value.stem if isinstance(value, Path) else value,
)
def test_semantics(source: Path, configuration: str, volume: Volume, box: Box) -> None:
    installation = mpi.WHEELS[0]
    ranks = 4 if "4" in (directive(source, "ranks") or ["4"]) else 2
    program = [str(mpi.compile_program(installation, source)), "."]
    run = forebay.launch(
        installation,
        ranks,
        program,
        volume.mount / f"{source.stem}-{configuration}",
        CONFIGURATIONS[configuration],
        launch_command=box.launch_command,
    )
    assert run.outcome.code == 0, str(run.outcome)
    forebay.assert_served(run.statistics, run.outcome)
    assert run.statistics is not None and run.statistics["nodes"] == NODES
