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
INTERLEAVED = PROGRAMS / "handles" / "interleaved.c"
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


# The client of a node must not keep bytes that another one wrote, though the node's ranks need them
# no more: an ordinary program may read the file there afterwards.
@pytest.mark.parametrize("domain", ["region", "cyclic", "first-touch"])
def test_all_nodes_see_the_file_afterwards(domain: str, volume: Volume, box: Box) -> None:
    installation = mpi.WHEELS[0]
    program = str(mpi.compile_program(installation, INTERLEAVED))
    folder = volume.mount / f"afterwards-{domain}"
    folder.mkdir()
    settings = {"FOREBAY_DOMAIN": domain, "FOREBAY_STEP_ASIDE": "never"}
    for attempt in range(4):
        path = folder / f"file{attempt}"
        run = forebay.preloaded([program, str(path), "3"], settings)
        outcome = mpi.run(box.launch_command(installation, 4, run), installation.environment)
        assert outcome.code == 0, str(outcome)
        sums = {mpi.run(box.on(name, ["cksum", str(path)])).output.split()[0] for name in box.names}
        assert len(sums) == 1, f"nodes see different bytes of {path}"
        outcome = mpi.run(box.on(box.names[0], ["cmp", str(path), str(folder / "file0")]))
        assert outcome.code == 0, str(outcome)


# What a node writes first is its own: long runs and what follows them reach storage and come back
# by the node's own client, and no byte crosses the network between nodes.
def test_own_parts_stay_on_their_nodes(volume: Volume, box: Box) -> None:
    installation = mpi.WHEELS[0]
    program = str(mpi.compile_program(installation, PROGRAMS / "handles" / "own_parts.c"))
    run = forebay.launch(
        installation,
        4,
        [program, "file"],
        volume.mount / "own-parts",
        {"FOREBAY_STEP_ASIDE": "never"},
        launch_command=box.launch_command,
    )
    assert run.outcome.code == 0, str(run.outcome)
    assert run.statistics is not None
    (file,) = run.statistics["files"].values()
    assert file["domain"] == "first-touch"
    assert file["asked_bytes"] == file["exchanged_bytes"] == 0
    assert file["bypass_bytes"] >= 2 * 4 * 3 * (8 << 20)
