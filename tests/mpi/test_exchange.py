"""The exchange of collective calls between the nodes that own a file's bytes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from harness import forebay, mpi

PROGRAM = Path(__file__).parent / "collective_exchange.c"
RANKS = 4
WORKLOADS = mpi.ROOT / "python" / "forebay" / "bench" / "workloads"
SMALL_CHUNKS = {"FOREBAY_DOMAIN_SIZE": "64KiB", "FOREBAY_STEP_ASIDE": "never"}
OWNERS = SMALL_CHUNKS | {"FOREBAY_DOMAIN": "cyclic"}


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
        assert (file["domain"], file["chunk_bytes"]) == ("cyclic", 64 << 10)
    # Whoever asked for them: every byte was served by one owner, and none served much more.
    assert sum(total["owner_bytes"]) == moved
    assert max(total["owner_bytes"]) < 1.3 * moved / nodes


@pytest.mark.parametrize("way", ["C", "I"], ids=["collective", "independent"])
@pytest.mark.parametrize("installation", mpi.WHEELS, ids=lambda m: m.name)
def test_statistics_tell_where_the_bytes_of_reads_were(
    installation: mpi.Mpi, way: str, tmp_path: Path
) -> None:
    """Every byte is read once: those of this node, of the other one, or from storage."""
    program = str(mpi.compile_program(installation, PROGRAM.parent / "handles" / "origins.c"))
    settings = OWNERS | {"FOREBAY_READ_AHEAD": "0", "FOREBAY_KEEP": "never"}
    read = RANKS * 16 * 65536

    def total(nodes: int, what: str) -> tuple[int, ...]:
        command = forebay.on_nodes([program, ".", way, what], nodes)
        run = forebay.launch(installation, RANKS, command, tmp_path / f"{nodes}-{what}", settings)
        assert run.outcome.code == 0, str(run.outcome)
        forebay.assert_served(run.statistics, run.outcome)
        assert run.statistics is not None
        counted = run.statistics["total"]
        # One question for each block of another node.
        of_others = counted["exchanged_bytes"] + counted["asked_bytes"]
        questions = counted["exchanged_questions"], counted["asked_questions"]
        assert questions[way == "I"] == of_others // 65536 and questions[way == "C"] == 0
        return tuple(counted[f"read_{part}bytes"] for part in ("", "remote_", "storage_"))

    for what, of_storage in (("own", 0), ("old", read)):
        assert total(1, what) == (read, 0, of_storage)
        # Owners alternate by 64 KiB as the nodes of ranks do: the next rank's block is the other
        # node's.
        assert total(2, what) == (read, 0 if of_storage else read, of_storage)


@pytest.mark.parametrize("runs", ["around", "inside"])
@pytest.mark.parametrize("nodes", [2, 4])
@pytest.mark.parametrize("installation", mpi.WHEELS, ids=lambda m: m.name)
def test_the_first_collective_access_divides_the_file(
    installation: mpi.Mpi, nodes: int, runs: str, tmp_path: Path
) -> None:
    """Ranks of a node have tiles that follow each other: with two nodes all bytes are their own.
    `runs`: where `forebay run` is, around the launcher or inside it."""
    program = str(mpi.compile_program(installation, PROGRAM.parent / "handles" / "tiles.c"))
    written = RANKS * 256 * 4096

    def exchanged(name: str, settings: dict[str, str], *arguments: str) -> tuple[str, int, int]:
        command = forebay.on_nodes([program, ".", str(nodes), *arguments], nodes)
        where = {} if runs == "around" else {"FOREBAY_EVERY_RANK": ""}
        run = forebay.launch(installation, RANKS, command, tmp_path / name, settings | where)
        assert run.outcome.code == 0, str(run.outcome)
        forebay.assert_served(run.statistics, run.outcome)
        assert run.statistics is not None
        total = run.statistics["total"]
        assert total["write_bytes"] + total["read_bytes"] == sum(total["owner_bytes"])
        assert max(total["owner_bytes"]) < 1.1 * 2 * written / nodes
        (file,) = run.statistics["files"].values()
        return (
            file["domain"],
            file["chunk_bytes"],
            total["exchanged_bytes"] + total["asked_bytes"],
        )

    # Of four nodes, two have the rows of a half, and each of them owns a half of these rows.
    of_others = 0 if nodes == 2 else written
    assert exchanged("region", SMALL_CHUNKS) == ("region", written // nodes, of_others)
    in_turn = 2 * written * (nodes - 1) // nodes
    assert exchanged("cyclic", OWNERS)[2] == pytest.approx(in_turn, rel=0.1)
    # Who has the file open by itself knows its owners as they were, and they stay.
    for when in ("beside", "before"):
        domain, chunk, others = exchanged(when, SMALL_CHUNKS, when)
        assert (domain, chunk) == ("cyclic", 64 << 10)
        assert others == pytest.approx(in_turn, rel=0.1)


@pytest.mark.parametrize("installation", mpi.WHEELS, ids=lambda m: m.name)
def test_ranks_are_one_job_by_the_name_of_their_launch(
    installation: mpi.Mpi, tmp_path: Path
) -> None:
    """Without `forebay run` around it, also if they have files open before they open one together.
    Hydra, MPICH's launcher, gives them no such name; that of a step around it is not theirs."""
    if installation.abi != "openmpi":
        around = {**installation.environment, "SLURM_JOB_ID": "12", "SLURM_STEP_ID": "3"}
        installation = replace(installation, environment=around)
    program = str(mpi.compile_program(installation, PROGRAM.parent / "handles" / "tiles.c"))
    command = forebay.on_nodes([program, ".", "2", "logs"], 2)
    settings = SMALL_CHUNKS | {"FOREBAY_EVERY_RANK": "", "FOREBAY_JOB": ""}
    run = forebay.launch(installation, RANKS, command, tmp_path / "run", settings)
    assert run.outcome.code == 0, str(run.outcome)
    assert run.statistics is not None
    named = installation.abi == "openmpi"
    line = "tiles goes past the cache: its ranks began as different jobs"
    assert run.outcome.errors.count(line) == (0 if named else 1), str(run.outcome)
    assert run.statistics["files"]["./tiles"]["cached"] == named
    if named:
        assert run.statistics["files"]["./tiles"]["domain"] == "region"


@pytest.mark.parametrize("installation", mpi.WHEELS, ids=lambda m: m.name)
def test_the_owners_keep_their_parts_over_a_close(installation: mpi.Mpi, tmp_path: Path) -> None:
    """What a node has kept of a file is its part again, before any collective access tells so."""
    program = str(mpi.compile_program(installation, PROGRAM.parent / "handles" / "tiles.c"))
    command = forebay.on_nodes([program, ".", "2", "again"], 2)
    run = forebay.launch(installation, RANKS, command, tmp_path / "run", SMALL_CHUNKS)
    assert run.outcome.code == 0, str(run.outcome)
    forebay.assert_served(run.statistics, run.outcome)
    assert run.statistics is not None
    total = run.statistics["total"]
    assert total["kept_pages"] > 0
    assert total["read_bytes"] == 2 * RANKS * 256 * 4096
    assert total["asked_bytes"] == total["exchanged_bytes"] == total["read_storage_bytes"] == 0


@pytest.mark.parametrize("installation", mpi.WHEELS, ids=lambda m: m.name)
def test_handles_of_single_ranks_leave_the_file_in_the_caches(
    installation: mpi.Mpi, tmp_path: Path
) -> None:
    """A rank that opens a file by itself joins the owners that the file has. No cache holds bytes
    of others then, and nothing has to go to storage before the close."""
    program = str(mpi.compile_program(installation, PROGRAM.parent / "handles" / "own_handles.c"))
    command = forebay.on_nodes([program, "."], 2)
    run = forebay.launch(installation, RANKS, command, tmp_path / "run", OWNERS)
    assert run.outcome.code == 0, str(run.outcome)
    forebay.assert_served(run.statistics, run.outcome)
    assert run.statistics is not None
    total = run.statistics["total"]
    assert total["committed_bytes"] == 100 * RANKS * 101
    assert total["commit_lists"] <= 2 and total["write_requests"] <= 2


def write_alternating_records(
    installation: mpi.Mpi, tmp_path: Path, settings: dict[str, str]
) -> dict[str, int]:
    """Two nodes, which hand over, write 20,000 records of 300 bytes in turn, and read them. Returns
    the statistics' totals."""
    settings = settings | {
        "FOREBAY_CONSISTENCY": "mpi",
        "FOREBAY_STEP_ASIDE": "never",
        "FOREBAY_PAGE_SIZE": "4KiB",
    }
    workload = str(mpi.compile_program(installation, WORKLOADS / "small.c"))
    program = forebay.on_nodes([workload, "--dir", ".", "--count", "20000"], 2)
    run = forebay.launch(installation, RANKS, program, tmp_path / "run", settings)
    assert run.outcome.code == 0, str(run.outcome)
    assert '"verified": true' in run.outcome.output
    forebay.assert_served(run.statistics, run.outcome)
    assert run.statistics is not None
    return dict(run.statistics["total"])


@pytest.mark.parametrize("installation", mpi.WHEELS, ids=lambda m: m.name)
def test_bytes_that_are_handed_over_leave_in_few_requests(
    installation: mpi.Mpi, tmp_path: Path
) -> None:
    """Each node fills most of its cache with pages of which it has a half, and has more of them for
    the other than go over at once."""
    total = write_alternating_records(installation, tmp_path, {"FOREBAY_CACHE_SIZE": "4MiB"})
    assert total["evictions"] == 0
    assert total["guest_bytes"] == total["accepted_bytes"] == pytest.approx(3_000_000, rel=0.05)
    assert total["write_requests"] < 40


@pytest.mark.parametrize("installation", mpi.WHEELS, ids=lambda m: m.name)
def test_guests_leave_for_their_owners_where_they_have_no_room(
    installation: mpi.Mpi, tmp_path: Path
) -> None:
    """Caches have a quarter of the file: from some time on the ranks reach owners, who have what
    both nodes wrote to a page."""
    settings = {"FOREBAY_CACHE_SIZE": "768KiB", "FOREBAY_DOMAIN_SIZE": "64KiB"}
    total = write_alternating_records(installation, tmp_path, settings)
    assert total["guest_bytes"] > 100_000
    assert total["asked_questions"] > 1000
    assert total["write_calls"] == total["read_calls"] == 20_000
    assert total["write_bytes"] == total["read_bytes"] == 6_000_000
    assert total["committed_bytes"] == 6_000_000
    assert total["write_requests"] < 15_000


@pytest.mark.parametrize("installation", mpi.WHEELS, ids=lambda m: m.name)
def test_pages_leave_complete_though_a_rank_is_slow(installation: mpi.Mpi, tmp_path: Path) -> None:
    """Fast ranks leave pages to the slow one, and wait for it. 19.2 MB are written."""
    settings = {
        "FOREBAY_STEP_ASIDE": "never",
        "FOREBAY_PAGE_SIZE": "16KiB",
        "FOREBAY_CACHE_SIZE": "2MiB",
        "FOREBAY_DOMAIN_SIZE": "64KiB",
        "FOREBAY_DOMAIN": "cyclic",
        "FOREBAY_READ_AHEAD": "0",
    }
    program = str(mpi.compile_program(installation, PROGRAM.parent / "writers_apart.c"))
    run = forebay.launch(
        installation, RANKS, forebay.on_nodes([program], 2), tmp_path / "run", settings
    )
    assert run.outcome.code == 0, str(run.outcome)
    forebay.assert_served(run.statistics, run.outcome)
    assert run.statistics is not None
    total = run.statistics["total"]
    assert total["pace_waits"] > 0
    assert total["write_requests"] < 2000  # 6,400 records, 1,172 pages
