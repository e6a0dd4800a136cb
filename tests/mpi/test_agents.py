"""Nodes that own a file's bytes, when their agents are gone or cannot be had."""

from __future__ import annotations

import os
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest

from harness import forebay, mpi

HANDLES = Path(__file__).parent / "handles"
PROGRAMS = Path(__file__).parent
CHUNK = 64 * 1024
RECORD = 100
RANKS = 4
NODES = 2
OWNERS = {"FOREBAY_DOMAIN_SIZE": "64KiB", "FOREBAY_STEP_ASIDE": "never"}

every_wheel = pytest.mark.parametrize("installation", mpi.WHEELS, ids=lambda m: m.name)


def record(offset: int) -> bytes:
    """The bytes that harness/check.h's fill_bytes puts there."""
    mixed = (position * 0x9E3779B97F4A7C15 % 2**64 for position in range(offset, offset + RECORD))
    return bytes(1 + (value >> 40) % 255 for value in mixed)


@pytest.mark.parametrize(
    ("installation", "transport"),
    [*((wheel, "tcp") for wheel in mpi.WHEELS), (mpi.WHEELS[0], "libfabric")],
    ids=lambda value: getattr(value, "name", value),
)
def test_killed_agents_fail_accesses_and_lose_no_byte(
    installation: mpi.Mpi, transport: str, tmp_path: Path
) -> None:
    job = f"agents-{os.getpid()}-{installation.name}-{transport}"
    program = [str(mpi.compile_program(installation, HANDLES / "lost_agents.c")), "data.bin", job]
    settings = OWNERS | {"FOREBAY_JOB": job, "FOREBAY_ARENA_DIR": str(tmp_path / "arenas")}
    settings["FOREBAY_TRANSPORT"] = transport
    (tmp_path / "arenas").mkdir(mode=0o700)
    run = forebay.launch(
        installation, RANKS, forebay.on_nodes(program, NODES), tmp_path / "run", settings
    )
    assert run.outcome.code == 0, str(run.outcome)
    assert Counter(run.outcome.output.splitlines()) == {
        "own: written": RANKS,
        "other: MPI_ERR_IO": RANKS,
    }
    stored = run.files["data.bin"]
    for rank in range(RANKS):
        for chunk in (0, 1, 2 + rank % NODES):
            offset = chunk * CHUNK + rank * RECORD
            assert stored[offset : offset + RECORD] == record(offset), (rank, chunk)
        assert run.files[f"alone-{rank}.bin"] == record(0) + record(RECORD), rank
    assert run.statistics is not None
    assert run.statistics["files"]["alone-0.bin"]["cached"]
    assert run.outcome.errors.count("cannot reach the job's directory") == NODES, run.outcome
    assert not list((tmp_path / "arenas").glob("*/*"))


@every_wheel
def test_without_committers_the_library_serves_the_file(
    installation: mpi.Mpi, tmp_path: Path
) -> None:
    program = [str(mpi.compile_program(installation, PROGRAMS / "sync_visibility.c")), "."]
    settings = OWNERS | {"FOREBAY_COMMITTER": "false"}
    run = forebay.launch(
        installation, NODES, forebay.on_nodes(program, NODES), tmp_path / "run", settings
    )
    assert run.outcome.code == 0, str(run.outcome)
    assert run.statistics is not None
    assert not run.statistics["total"]["cached"]
    for file in run.statistics["files"].values():
        assert set(file["passed_through"]) == {"no_owners"}, file


def preloaded_firewall() -> str:
    """LD_PRELOAD for ranks behind firewall.c."""
    firewall = mpi.make(
        mpi.PROGRAMS / "firewall.so",
        [HANDLES / "firewall.c"],
        ["cc", "-g", "-O1", "-Wall", "-shared", "-fPIC", str(HANDLES / "firewall.c")],
    )
    return f"{firewall}:{forebay.LIBRARIES / 'libforebay_preload.so'}"


@every_wheel
def test_a_firewall_between_nodes_is_met_once(installation: mpi.Mpi, tmp_path: Path) -> None:
    log = tmp_path / "log"
    program = [str(mpi.compile_program(installation, PROGRAMS / "sync_visibility.c")), "."]
    settings = OWNERS | {
        "LD_PRELOAD": preloaded_firewall(),
        "FIREWALL_LOG": str(log),
    }
    run = forebay.launch(
        installation, NODES, forebay.on_nodes(program, NODES), tmp_path / "run", settings
    )
    assert run.outcome.code == 0, str(run.outcome)
    assert run.statistics is not None
    for file in run.statistics["files"].values():
        assert set(file["passed_through"]) == {"no_owners"}, file
        assert file["passed_through"]["no_owners"]["opens"] > NODES, file
    dialled = Counter(log.read_text().splitlines())
    # One agent also keeps the directory, which the first rank calls.
    assert dialled and max(dialled.values()) <= 2, dialled
    assert sum(count > 1 for count in dialled.values()) <= len(dialled) / NODES, dialled
    assert run.outcome.errors.count("cannot reach the job's directory") == 1, run.outcome


@pytest.mark.parametrize("provider", ["tcp", "sockets", "udp"])
def test_libfabric_needs_no_tcp_between_nodes(provider: str, tmp_path: Path) -> None:
    """A rank calls its own agent only, over the loopback."""
    installation = mpi.WHEELS[0]
    log = tmp_path / "log"
    program = [str(mpi.compile_program(installation, PROGRAMS / "sync_visibility.c")), "."]
    settings = OWNERS | {
        "FOREBAY_TRANSPORT": "libfabric",
        "FI_PROVIDER": provider,
        "LD_PRELOAD": preloaded_firewall(),
        "FIREWALL_LOG": str(log),
        "FIREWALL_LOOPBACK": "1",
        "FOREBAY_ARENA_DIR": str(tmp_path / "arenas"),
    }
    (tmp_path / "arenas").mkdir(mode=0o700)
    run = forebay.launch(
        installation, NODES, forebay.on_nodes(program, NODES), tmp_path / "run", settings
    )
    assert run.outcome.code == 0, str(run.outcome)
    forebay.assert_served(run.statistics, run.outcome)
    assert run.statistics is not None and run.statistics["total"]["asked_questions"] > 0
    assert run.statistics["libfabric_ranks"] == NODES
    assert not log.exists(), log.read_text()
    assert not run.outcome.errors, run.outcome
    # Agents say farewell: none waits for another to fall silent.
    committers = ["pgrep", "-f", f"forebay-committer {tmp_path}"]
    until = time.monotonic() + 15
    while time.monotonic() < until and subprocess.run(committers, check=False).returncode == 0:
        time.sleep(0.1)
    assert subprocess.run(committers, check=False).returncode == 1


def test_where_libfabric_finds_no_network_agents_use_tcp(tmp_path: Path) -> None:
    installation = mpi.WHEELS[0]
    program = [str(mpi.compile_program(installation, PROGRAMS / "sync_visibility.c")), "."]
    settings = OWNERS | {"FOREBAY_TRANSPORT": "libfabric", "FI_PROVIDER": "carrier-pigeon"}
    run = forebay.launch(
        installation, RANKS, forebay.on_nodes(program, NODES), tmp_path / "run", settings
    )
    assert run.outcome.code == 0, str(run.outcome)
    forebay.assert_served(run.statistics, run.outcome)
    assert run.statistics is not None and run.statistics["libfabric_ranks"] == 0
    lines = [line for line in run.outcome.errors.splitlines() if "libfabric" in line]
    assert len(lines) == NODES and len(set(lines)) == 1, run.outcome
    assert "transport=libfabric: libfabric finds no network" in lines[0]
    assert lines[0].endswith("ranks of this node reach agents of other nodes over TCP")


@pytest.mark.parametrize(
    ("limit", "ranks", "nodes", "cached"),
    [
        ("-n 62", 32, 2, False),  # an agent could have 31 connections
        ("-Sn 62", 20, 20, True),  # a rank has connections with few agents
    ],
)
def test_few_descriptors(limit: str, ranks: int, nodes: int, cached: bool, tmp_path: Path) -> None:
    """Files have owners only if all ranks can call them. If there are too many nodes, some own
    nothing."""
    installation = mpi.WHEELS[0]
    program = [str(mpi.compile_program(installation, PROGRAMS / "sync_visibility.c")), "."]
    limited = ["sh", "-c", f'ulimit {limit} && exec "$0" "$@"', *program]
    run = forebay.launch(
        installation, ranks, forebay.on_nodes(limited, nodes), tmp_path / "run", OWNERS
    )
    assert run.outcome.code == 0, str(run.outcome)
    assert run.statistics is not None
    for file in run.statistics["files"].values():
        assert set(file["passed_through"]) == (set() if cached else {"no_owners"}), file
    assert bool(run.statistics["total"]["cached"]) == cached


@pytest.mark.parametrize("consistency", ["posix", "mpi"])
def test_stripes_of_a_server_have_one_owner(consistency: str, tmp_path: Path) -> None:
    """Of three servers, one node has two: its stripes leave as 0, 2 and 3, 5 and 6, 8 and 9, 11.

    Two ranks of a node would commit side by side, and cut them.
    """
    installation = mpi.WHEELS[0]
    program = [str(mpi.compile_program(installation, HANDLES / "striped.c")), "data.bin"]
    settings = {
        "FOREBAY_CONSISTENCY": consistency,
        "FOREBAY_DOMAIN": "stripe",
        "FOREBAY_STEP_ASIDE": "never",
    }
    run = forebay.launch(
        installation, NODES, forebay.on_nodes(program, NODES), tmp_path / "run", settings
    )
    assert run.outcome.code == 0, str(run.outcome)
    assert run.files["data.bin"][:RECORD] == record(0)
    assert len(run.files["data.bin"]) == 12 * 128 * 1024
    assert run.statistics is not None
    assert run.statistics["total"]["write_requests"] == 5 + 4


@pytest.mark.parametrize("consistency", ["posix", "mpi"])
def test_one_node_may_own_all(consistency: str, tmp_path: Path) -> None:
    """Two owners of chunks in turn commit each chunk by itself, one owner all of them at once.

    The option goes before the program's own hint, which counts only if it is a number.
    """
    installation = mpi.WHEELS[0]
    program = [str(mpi.compile_program(installation, HANDLES / "striped.c")), "data.bin"]
    for number, (option, hint, requests) in enumerate(
        [(0, [], 24), (1, [], 1), (0, ["1"], 1), (2, ["1"], 24), (0, ["*:1"], 24), (0, ["0"], 24)]
    ):
        settings = OWNERS | {
            "FOREBAY_CONSISTENCY": consistency,
            "FOREBAY_DOMAIN": "cyclic",
            "FOREBAY_CB_NODES": str(option),
        }
        run = forebay.launch(
            installation,
            NODES,
            forebay.on_nodes(program + hint, NODES),
            tmp_path / f"run-{number}",
            settings,
        )
        assert run.outcome.code == 0, str(run.outcome)
        assert run.statistics is not None
        assert run.statistics["total"]["write_requests"] == requests


def test_owners_fetch_little_of_what_others_own(tmp_path: Path) -> None:
    """All that the ranks read lies in its owner's cache: what is fetched ahead is of no use."""
    installation = mpi.WHEELS[0]
    workload = mpi.ROOT / "python" / "forebay" / "bench" / "workloads" / "ior-hard.c"
    program = [str(mpi.compile_program(installation, workload)), "--count", "800"]
    settings = {
        "FOREBAY_STEP_ASIDE": "never",
        "FOREBAY_DIRTY_BOUND": "0.02",  # so that storage has bytes to fetch
    }
    run = forebay.launch(
        installation, RANKS, forebay.on_nodes(program, NODES), tmp_path / "run", settings
    )
    assert run.outcome.code == 0, str(run.outcome)
    assert run.statistics is not None
    total = run.statistics["total"]
    assert total["read_bytes"] == 800 * 47008
    assert total["fetched_bytes"] < total["read_bytes"] / 2


# Where nodes see each other's bytes late, what a node writes first is its own, and goes past the
# caches; what the ranks read there is the other node's.
@pytest.mark.parametrize("nfs", [False, True], ids=["usual", "nfs"])
def test_long_runs_of_others_go_through_owners_where_nodes_see_each_other_late(
    nfs: bool, tmp_path: Path
) -> None:
    stand_in = mpi.make(
        mpi.PROGRAMS / "nfs.so",
        [HANDLES / "nfs.c"],
        ["cc", "-g", "-O1", "-Wall", "-shared", "-fPIC", str(HANDLES / "nfs.c")],
    )
    installation = mpi.WHEELS[0]
    program = [str(mpi.compile_program(installation, HANDLES / "long_runs.c")), "data.bin"]
    preload = str(forebay.LIBRARIES / "libforebay_preload.so")
    settings = OWNERS | ({"LD_PRELOAD": f"{stand_in}:{preload}"} if nfs else {})
    run = forebay.launch(
        installation, NODES, forebay.on_nodes(program, NODES), tmp_path / "run", settings
    )
    assert run.outcome.code == 0, str(run.outcome)
    assert run.statistics is not None
    total = run.statistics["total"]
    past, asked = (2 * 6 << 20, 2 * 6 << 20) if nfs else (4 * 6 << 20, 0)
    assert total["bypass_bytes"] == past
    assert total["asked_bytes"] == asked


@pytest.mark.parametrize("writes", [False, True], ids=["reads", "writes"])
@every_wheel
def test_nodes_keep_copies_until_a_rank_can_write(
    installation: mpi.Mpi, writes: bool, tmp_path: Path
) -> None:
    program = [str(mpi.compile_program(installation, HANDLES / "readers.c")), "data.bin"]
    run = forebay.launch(
        installation,
        RANKS,
        forebay.on_nodes(program + ["write"] * writes, NODES),
        tmp_path / "run",
        OWNERS,
    )
    assert run.outcome.code == 0, str(run.outcome)
    assert run.statistics is not None
    total = run.statistics["total"]
    assert total["read_bytes"] == RANKS * 1_000_000 * (1 + writes)
    if writes:
        assert total["asked_bytes"] > RANKS * 400_000
    else:
        # What one node has asked storage for, the other has got from there.
        assert 0 < total["asked_bytes"] <= 1_001_000 and total["exchanged_bytes"] == 0
        assert total["fetched_bytes"] < 3_000_000


@every_wheel
def test_opens_beside_closes_on_other_nodes_agree_on_the_owners(
    installation: mpi.Mpi, tmp_path: Path
) -> None:
    """An open that begins while the last one of other nodes ends may meet its owners."""
    rounds, nodes = 150, 3
    program = [str(mpi.compile_program(installation, HANDLES / "open_and_close.c")), "shared.bin"]
    opens = [("region", "abcdef"), ("first-touch", "abcdef"), ("region", "ababab")]
    opens += [("cyclic", "aabcbc"), ("first-touch", "abba")]
    for domain, groups in opens:
        command = forebay.on_nodes([*program, str(rounds), groups], nodes)
        settings = OWNERS | forebay.EVERY_RANK | {"FOREBAY_DOMAIN": domain}
        folder = tmp_path / f"{domain}-{groups}"
        run = forebay.launch(installation, len(groups), command, folder, settings)
        assert run.outcome.code == 0, str(run.outcome)
        assert run.statistics is not None
        file = run.statistics["files"]["shared.bin"]
        assert file["passed_through"] == {}
        assert (file["cached"], file["opens"]) == (True, len(groups) * rounds)
        assert run.statistics["total"]["asked_questions"] > 0
