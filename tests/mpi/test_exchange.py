"""The exchange of collective calls between the nodes that own a file's bytes."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness import forebay, mpi

PROGRAM = Path(__file__).parent / "collective_exchange.c"
RANKS = 4
OWNERS = {"FOREBAY_DOMAIN_SIZE": "64KiB", "FOREBAY_STEP_ASIDE": "never"}


@pytest.mark.parametrize("nodes", [2, 4])
@pytest.mark.parametrize("installation", mpi.WHEELS, ids=lambda m: m.name)
def test_agents_are_asked_only_for_owners_without_a_rank(
    installation: mpi.Mpi, nodes: int, tmp_path: Path
) -> None:
    program = forebay.on_nodes([str(mpi.compile_program(installation, PROGRAM)), "."], nodes)
    run = forebay.launch(installation, RANKS, program, tmp_path / "run", OWNERS)
    assert run.outcome.code == 0, str(run.outcome)
    forebay.assert_served(run.statistics, run.outcome)
    assert run.statistics is not None
    total = run.statistics["total"]
    moved = total["write_bytes"] + total["read_bytes"]
    others = total["exchanged_bytes"] + total["asked_bytes"]
    # A byte in two, or three in four, belongs to another node.
    assert 0.95 * moved * (nodes - 1) / nodes < others < moved
    if nodes == 2:
        assert total["asked_bytes"] == 0
    else:
        # 5,000 bytes a piece, written and read by two ranks; half of the owners have none of them.
        assert total["asked_bytes"] == pytest.approx(2 * 2 * 500_000 / 2, rel=0.1)
    for file in run.statistics["files"].values():
        assert len(file["owner_bytes"]) == nodes
        assert (file["domain"], file["chunk_bytes"]) == ("region", 64 << 10)
    # Whoever asked for them: every byte was served by one owner, and none served much more.
    assert sum(total["owner_bytes"]) == moved
    assert max(total["owner_bytes"]) < 1.3 * moved / nodes
