"""`forebay simulate cluster`: answers on made and real traces, and bad input."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import forebay as package
from cluster_jobs import SCOPES, simulated
from command import forebay
from forebay.simulation import (
    ClusterResult,
    machine,
    machine_names,
    simulate_cluster,
    workload_traces,
)
from forebay.trace import TraceError
from traces import LOGS


def test_a_cache_of_the_node_makes_few_requests_of_pieces(pieces: Path) -> None:
    none, process, node, _ = simulate_cluster(
        pieces,
        "palmetto-gige",
        [one | {"machine.servers": "4", "collective": "independent"} for one in SCOPES],
    )
    moved = 8 * 2 * (256 << 10)
    assert (none.written_bytes, none.read_bytes) == (moved, moved)
    assert none.requests >= 2 * moved // (64 * 1024)
    assert (none.caches, process.caches, node.caches) == (0, 8, 1)
    assert node.requests < none.requests / 4
    assert node.run_s < none.run_s
    assert (none.hits, none.misses) == (0, 0)
    assert node.hits > 0


def test_a_result_adds_up(pieces: Path) -> None:
    (one,) = simulate_cluster(pieces, "palmetto-gige", [{"scope": "node"}], processes_per_node=2)
    parts = one.opening_s + one.reading_s + one.writing_s + one.closing_s + one.computing_s
    assert parts + one.waiting_s == pytest.approx(one.run_s)
    assert (one.processes, one.nodes, one.servers) == (8, 4, 90)
    assert one.bytes_per_second == pytest.approx((one.read_bytes + one.written_bytes) / one.run_s)
    assert one.to_json()["settings"] == {"scope": "node"}


def test_the_same_answer_twice(pieces: Path) -> None:
    runs = [simulate_cluster(pieces, "palmetto-gige", SCOPES, jobs=jobs) for jobs in (1, 3)]
    assert runs[0] == runs[1]


def test_machines_differ(pieces: Path) -> None:
    times = {
        name: simulate_cluster(pieces, name, [{"machine.servers": "4"}])[0].run_s
        for name in ("palmetto-myri10g", "palmetto-gige", "jazz-fast-ethernet")
    }
    assert times["palmetto-myri10g"] < times["palmetto-gige"] < times["jazz-fast-ethernet"]


def test_a_faster_link_takes_less_time(pieces: Path) -> None:
    slow, fast = simulate_cluster(
        pieces, "palmetto-gige", [{}, {"network.bits_per_second": "10e9"}], by_frames=False
    )
    assert fast.run_s < slow.run_s


def test_frames_and_messages_agree_without_losses(pieces: Path) -> None:
    roomy = machine("palmetto-gige").with_changes(
        {
            "network.least_switch_buffer": "100000000",
            "network.nic_queue_frames": "1000000",
            "network.serial_hosts": "false",
        }
    )
    frames, messages = (
        simulate_cluster(pieces, roomy, SCOPES[:1], by_frames=by_frames)[0]
        for by_frames in (True, False)
    )
    assert frames.dropped_frames == messages.dropped_frames == 0
    assert frames.run_s == pytest.approx(messages.run_s, rel=0.1)


def test_processes_think(pieces: Path) -> None:
    at_once, thinking = (
        simulate_cluster(pieces, "palmetto-gige", [{}], think=think, by_frames=False)[0]
        for think in (0, 2)
    )
    assert at_once.computing_s == 0
    # Four calls, one a millisecond, each of half of it.
    assert thinking.computing_s == pytest.approx(2 * 3 * 0.5e-3, rel=0.7)
    assert thinking.run_s > at_once.run_s


def test_values_are_compared_in_combination(pieces: Path) -> None:
    results = simulated(
        pieces, "--compare", "scope=none,node", "--compare", "machine.servers=2,4", "-o",
        "cache_size=4MiB",
    )  # fmt: skip
    assert [(one["settings"]["scope"], one["servers"]) for one in results] == [
        *(("none", 2), ("none", 4), ("node", 2), ("node", 4)),
    ]
    assert {one["settings"]["cache_size"] for one in results} == {"4MiB"}


def test_a_close_on_nfs_waits_for_the_server(pieces: Path) -> None:
    waits, returns = simulate_cluster(
        pieces,
        "nfs-25gbe",
        [{"file_system.client.commits_at_close": word} for word in ("true", "false")],
    )
    assert waits.closing_s > returns.closing_s
    assert (waits.lock_requests, waits.locks_called_back) == (0, 0)


@pytest.mark.parametrize("name", machine_names())
def test_every_machine_answers_for_a_real_log(name: str) -> None:
    """With and without caches, by messages and by frames."""
    for by_frames in (False, True):
        results = simulate_cluster(
            LOGS / "ior_hdf5_4ranks.darshan",
            name,
            [one | {"machine.servers": "1"} for one in SCOPES],
            by_frames=by_frames,
        )
        for one in results:
            assert one.machine == name
            assert 0 < one.run_s < 60
            assert one.requests > 0
        assert results[0].run_s != results[2].run_s


def test_collective_calls_are_made_in_two_phases(pieces: Path) -> None:
    """Without a cache: 4 calls of 8 processes, who exchange what they write and read."""
    said: list[str] = []
    united, one_aggregator, small_buffers, alone = simulate_cluster(
        pieces,
        "palmetto-gige",
        [
            {"machine.servers": "4"} | way
            for way in (
                *({}, {"cb_nodes": "1"}, {"cb_buffer_size": "64KiB"}),
                {"collective": "independent"},
            )
        ],
        processes_per_node=2,
        warn=said.append,
    )
    assert not said
    assert united.collective_calls == one_aggregator.collective_calls == 4
    assert united.exchanged_bytes == united.read_bytes + united.written_bytes
    assert (united.incomplete_calls, alone.collective_calls, alone.exchanged_bytes) == (0, 0, 0)
    assert one_aggregator.requests < united.requests < small_buffers.requests
    assert united.requests < alone.requests
    assert len({one.run_s for one in (united, one_aggregator, small_buffers, alone)}) == 4


def test_a_machine_is_shown() -> None:
    run = forebay(*("simulate", "cluster", "no-trace", "--show-machine"), "-o", "machine.servers=8")
    assert run.returncode == 0, run.stderr
    shown = json.loads(run.stdout)
    assert shown["machine"]["servers"] == 8 and shown["network"]["mtu"] == 1500


@pytest.mark.skipif(not LOGS.is_dir(), reason="there are no Darshan logs")
@pytest.mark.parametrize(
    "log", ("benchmark_write_parallel_384ranks", "ior_hdf5_4ranks", "mpi-io-test_32ranks")
)
def test_real_logs(log: str) -> None:
    """By messages: minutes of machine time take seconds."""
    path = LOGS / f"{log}.darshan"
    said: list[str] = []
    none, node = simulate_cluster(
        path, "palmetto-myri10g", SCOPES[::2], by_frames=False, warn=said.append
    )
    collective = [line for line in said if "accesses within 0.1 s are taken for one" in line]
    assert bool(collective) == (log == "benchmark_write_parallel_384ranks")
    assert none.accesses > 0 and none.read_bytes + none.written_bytes > 0
    assert 0 < none.run_s < 1e4 and 0 < node.run_s < 1e4
    assert isinstance(none, ClusterResult)


@pytest.mark.skipif(not LOGS.is_dir(), reason="there are no Darshan logs")
def test_the_example_of_the_documentation() -> None:
    """docs/cluster.md shows what the command prints."""
    text = (Path(__file__).resolve().parents[2] / "docs" / "cluster.md").read_text()
    block = text[text.index("    $ forebay simulate cluster") :].split("\n\n", 1)[0]
    command, _, shown = block.replace("\\\n", " ").partition("\n")
    words = command.split()[2:]
    words[2] = str(LOGS / words[2])
    done = forebay(*words)
    assert done.returncode == 0, done.stderr
    printed = [line.rstrip() for line in done.stdout.splitlines()[1:]]
    assert printed == [line[4:] for line in shown.splitlines()]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--machine", "palmeto-gige"], "there is no machine 'palmeto-gige'; the nearest is"),
        (["-o", "machine.server=4"], "there is no machine.server; the nearest is machine.servers"),
        (["-o", "machine.servers=0"], "machine.servers is a whole number from 1 to"),
        (["-o", "scope=jobs"], "scope is none, process, node or job, not 'jobs'"),
        (["-o", "scpe=node"], "scpe"),
        (["-o", "collective=two"], "collective is two-phase or independent, not 'two'"),
        (["-o", "cb_buffer_size=0"], "cb_buffer_size: '0' is no size"),
        (["-o", "cb_nodes=-1"], "cb_nodes"),
        (["-o", "union_window=soon"], "union_window is a number of seconds from 0 to"),
        (["-o", "union_window=nan"], "union_window is a number of seconds from 0 to"),
        (["-o", "polcy=lru"], "polcy"),
        (["-o", "scope=job", "-o", "consistency=mpi"], "is simulated with consistency=posix only"),
        (["-o", "scope=job", "-o", "domain=ciclic"], "ciclic"),
        (["-o", "policy=arcc"], "arcc"),
        (["-o", "page_size=3000"], "page_size"),
        (["-o", "scope"], "'scope' is not NAME=VALUE"),
        (["--compare", "scope=,"], "compares nothing"),
        (["--compare", "machine.servers=" + ",".join(map(str, range(1, 5000)))], "4,096"),
        (["-o", "machine.nodes=2", "--processes-per-node", "1"], "has 2 nodes (machine.nodes)"),
        (["-o", "machine.servers=1000000", "--memory", "1GiB"], "more than the 1 GiB allowed"),
        (["--think", "-1"], "--think"),
        (["--jobs", "0"], "--jobs"),
    ],
)
def test_mistakes_get_one_line(pieces: Path, words: list[str], said: str) -> None:
    run = forebay("simulate", "cluster", str(pieces), *words)
    assert run.returncode != 0
    assert run.stdout == ""
    assert said in run.stderr
    assert "Traceback" not in run.stderr
    assert len(run.stderr.strip().splitlines()) <= 4  # click adds its usage


def test_traces_without_places_are_refused(tmp_path: Path) -> None:
    ids = tmp_path / "ids.csv"
    ids.write_text("1\n2\n3\n")
    run = forebay("simulate", "cluster", str(ids))
    assert run.returncode != 0
    assert (
        run.stderr
        == "forebay: ids.csv: it names blocks, not places in files; a cluster has files\n"
    )
    with pytest.raises(TraceError, match="no-trace"):
        simulate_cluster(tmp_path / "no-trace", "palmetto-gige")


def test_arguments_of_other_kinds_are_refused(pieces: Path) -> None:
    with pytest.raises(TypeError, match="processes_per_node"):
        simulate_cluster(pieces, "palmetto-gige", processes_per_node="2")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="jobs is at least 1"):
        simulate_cluster(pieces, "palmetto-gige", jobs=0)
    with pytest.raises(ValueError, match="think is from 0"):
        package.simulate_cluster(pieces, "palmetto-gige", think=float("nan"))


def test_servers_may_have_raid_groups(tmp_path: Path) -> None:
    """Records that find nothing in a server's cache: more disks, less time; parity takes some."""
    folder = tmp_path / "records"
    workload_traces.ior(folder, 4, transfer=1 << 20, piece=1 << 16, segments=16)
    base = {
        "machine.servers": "1", "server.cache_bytes": "1MiB", "collective": "independent",
    }  # fmt: skip
    groups = [("0", "1"), ("0", "8"), ("5", "8"), ("6", "8")]
    changes = [
        base | {"server.raid": level, "server.disks": disks, "server.raid_unit_bytes": "64KiB"}
        for level, disks in groups
    ]
    one, striped, raid5, raid6 = (
        result.run_s
        for result in simulate_cluster(folder, "palmetto-myri10g", changes, by_frames=False)
    )
    assert striped < 0.7 * one
    assert striped < raid5 < raid6


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"server.raid": "6"}, "server.disks is at least 4 where server.raid is '6', not 1"),
        ({"server.raid": "7"}, "server.raid is '0' or '1' or '5' or '6', not '7'"),
        ({"server.raid_unit_bytes": "1000"}, "server.raid_unit_bytes is a multiple of 512"),
        ({"server.disks": "2000"}, "server.disks is a whole number from 1 to 1,024"),
    ],
)
def test_raid_groups_that_cannot_be_get_a_line(
    change: dict[str, str], expected: str, pieces: Path
) -> None:
    with pytest.raises(ValueError, match=re.escape(expected)):
        simulate_cluster(pieces, "perlmutter", [change])
