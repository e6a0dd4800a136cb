"""What ranks ask owners on several nodes, and what the caches there count, beside what the cluster
simulator says of the same job: equal, since windows, owners and caches are the same code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import forebay as package
from harness import forebay, mpi

WORKLOADS = Path(__file__).resolve().parents[2] / "python" / "forebay" / "bench" / "workloads"


@pytest.mark.parametrize(
    ("workload", "nodes"),
    [("lattice", 2), ("lattice", 4), ("lattice", 8), ("tile-io", 4), ("ior-hard", 4), ("btio", 4)],
)
def test_nodes_do_what_is_simulated(workload: str, nodes: int, tmp_path: Path) -> None:
    installation = mpi.WHEELS[0]
    program = mpi.compile_program(installation, WORKLOADS / f"{workload}.c", ["-lm"])
    settings = {
        "FOREBAY_STEP_ASIDE": "never",
        "FOREBAY_STATS_JSON": str(tmp_path / "statistics.json"),
        "FOREBAY_TRACE": str(tmp_path / "trace"),
    }
    (tmp_path / "files").mkdir()
    command = [str(program), "--dir", str(tmp_path / "files"), "--repeat", "1"]
    launch = mpi.launch_command(
        installation, nodes, forebay.preloaded(forebay.on_nodes(command, nodes), settings)
    )
    outcome = mpi.run(launch, installation.environment, tmp_path)
    assert outcome.code == 0, str(outcome)
    counted = json.loads((tmp_path / "statistics.json").read_text())["total"]
    # Owners do not go by its strips, and its clients keep nothing: as in a local folder.
    (simulated,) = package.simulate_cluster(
        tmp_path / "trace", "palmetto-myri10g", [{"scope": "job", "step_aside": "never"}]
    )
    assert simulated.nodes == nodes
    assert (simulated.agent_questions > 0) == (nodes > 2)
    if counted["asked_questions"] == 0:  # opening and closing a file at an agent asks, too
        assert simulated.agent_questions == counted["exchanged_questions"]
    assert simulated.agent_bytes == counted["asked_bytes"] + counted["exchanged_bytes"]
    # The caches hold everything, so it does not matter which rank comes first. But accesses of one
    # handle to a page count once as long as no other page comes between them.
    for count in ("misses", "evictions", "committed_bytes"):
        assert getattr(simulated, count) == counted[count], count
    assert simulated.hits == pytest.approx(counted["hits"], rel=0.02)
