"""A collective call that commits does so once all ranks have made it.

The records of an early rank lie between those of a late one. Committed early, they leave one by
one; committed together, they leave as few large requests.
"""

import json
from pathlib import Path

import pytest

from harness import forebay, mpi
from harness.content import content

SOURCE = Path(__file__).parent / "late" / "late_rank.c"
RECORD, RECORDS = 300, 5000  # bytes; records per rank
MOST_REQUESTS = 200

ONE_NODE = ("close", "preallocate", "set_view", "sync")
# These calls commit if the ranks share no arena. On each node two ranks fill a part of the file.
TWO_NODES = ("seek_shared", "set_atomicity", "sync", "write_ordered")
CALLS = [*((call, 1) for call in ONE_NODE), *((call, 2) for call in TWO_NODES)]


@pytest.mark.parametrize("milliseconds", [0, 200])
@pytest.mark.parametrize(("call", "nodes"), CALLS)
@pytest.mark.parametrize("installation", (mpi.WHEELS[0], mpi.WHEELS[2]), ids=lambda m: m.name)
def test_commits_wait_for_all_ranks(
    installation: mpi.Mpi, call: str, nodes: int, milliseconds: int, tmp_path: Path
) -> None:
    executable = mpi.compile_program(installation, SOURCE)
    counted = tmp_path / "statistics.json"
    command: list[str] = [*installation.launcher]
    for node in range(nodes):
        settings = {
            "FOREBAY_NODE": f"node{node}",
            "FOREBAY_CONSISTENCY": "mpi",
            "FOREBAY_STATS_JSON": str(counted),
        }
        program = [str(executable), str(tmp_path), call, str(milliseconds)]
        command += [*([":"] if node else []), "-n", "2", *forebay.preloaded(program, settings)]
    outcome = mpi.run(command, installation.environment)
    assert outcome.code == 0, str(outcome)
    records = 2 * nodes * (RECORDS + (1 if call == "write_ordered" else 0))
    assert (tmp_path / "records").read_bytes() == content(records * RECORD)
    total = json.loads(counted.read_text())["total"]
    assert total["write_calls"] == 2 * nodes * RECORDS
    assert total["write_requests"] <= MOST_REQUESTS


@pytest.mark.parametrize("milliseconds", [0, 200])
@pytest.mark.parametrize("consistency", ["posix", "mpi"])
@pytest.mark.parametrize("call", ["close", "sync"])
@pytest.mark.parametrize("installation", (mpi.WHEELS[0], mpi.WHEELS[2]), ids=lambda m: m.name)
def test_records_of_two_nodes_leave_merged(
    installation: mpi.Mpi, call: str, consistency: str, milliseconds: int, tmp_path: Path
) -> None:
    """On two nodes, whether owners answer or get the bytes later."""
    program = [str(mpi.compile_program(installation, SOURCE)), ".", call, str(milliseconds)]
    settings = {"FOREBAY_CONSISTENCY": consistency}
    settings["FOREBAY_STEP_ASIDE"] = "never"
    run = forebay.launch(installation, 4, forebay.on_nodes(program, 2), tmp_path / "run", settings)
    assert run.outcome.code == 0, str(run.outcome)
    assert run.files["records"] == content(4 * RECORDS * RECORD)
    assert run.statistics is not None
    total = run.statistics["total"]
    assert total["write_calls"] == 4 * RECORDS
    assert total["write_requests"] <= MOST_REQUESTS
