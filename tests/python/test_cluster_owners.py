"""`forebay simulate cluster`: who owns which bytes, and which servers have them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from command import forebay
from forebay.simulation import (
    simulate_cluster,
    workload_traces,
)
from forebay.simulation.made_traces import READ_AT, WRITE_AT, Call, Use, write_trace


def test_owners_merge_the_pieces_of_all_nodes(pieces: Path) -> None:
    """Pieces in turn on 4 nodes: each node's cache has every byte of its part of the file."""
    moved = 8 * 2 * (256 << 10)
    for name in ("palmetto-myri10g", "perlmutter"):
        node, job, one_owner = simulate_cluster(
            pieces,
            name,
            [
                {"scope": "node"},
                {"scope": "job", "domain_size": "256KiB"},
                {"scope": "job", "cb_nodes": "1"},
            ],
            processes_per_node=2,
        )
        assert job.requests < node.requests / 2
        assert (node.agent_questions, node.agent_bytes) == (0, 0)
        # Three quarters of what is written and read are another node's.
        assert job.agent_bytes == one_owner.agent_bytes == 2 * moved * 3 // 4
        assert job.agent_questions > one_owner.agent_questions > 0


def test_a_job_on_one_node_has_the_cache_of_the_node(pieces: Path) -> None:
    node, job = simulate_cluster(pieces, "perlmutter", [{"scope": "node"}, {"scope": "job"}])
    assert replace(job, settings={}) == replace(node, settings={})


def test_an_agent_opens_a_file_once(pieces: Path) -> None:
    """Whatever the number of processes that ask it for bytes. The metadata server needs a second
    for each open. Processes of a collective call ask each other."""
    slow = {"file_system.metadata.get_attributes_s": "1", "machine.servers": "1"}
    one_by_one = {"scope": "job", "collective": "independent"}
    changes = [one | slow for one in ({"scope": "none"}, {"scope": "job"}, one_by_one)]
    for per_node, nodes in ((2, 4), (4, 2)):
        none, together, job = simulate_cluster(
            pieces, "palmetto-gige", changes, processes_per_node=per_node
        )
        assert none.run_s > 8
        assert together.run_s < none.run_s + 0.5
        assert job.run_s < none.run_s + nodes + 0.5
        assert together.agent_questions > 0 and job.agent_questions > 0


def test_nodes_keep_copies_of_what_is_only_read(tmp_path: Path) -> None:
    """Each process's node fetches ahead of its independent reads, and of its long ones, unless a
    byte of the file is written."""
    changes: list[dict[str, str]] = [{"scope": "none"}, {"scope": "node"}, {"scope": "job"}]
    for independent, size in ((True, 256 << 10), (False, 1 << 20)):
        trace = tmp_path / f"pio-{size}"
        workload_traces.pio(trace, 4, size=size, count=32, independent=independent, compute=0.1)
        none, node, job = simulate_cluster(
            trace, "palmetto-gige", changes, processes_per_node=1, think=1.0
        )
        assert job.run_s < 0.9 * none.run_s
        assert job.run_s == pytest.approx(node.run_s, rel=0.15)
        assert job.hits == node.hits > 0
    folder = tmp_path / "written"
    calls = [Call(READ_AT, n * 4096, 4096) for n in range(100)]
    write_trace(folder, 2, lambda _: [Use("file", [None], [[*calls, Call(WRITE_AT, 0, 1)]])])
    (written,) = simulate_cluster(folder, "palmetto-gige", changes[2:], processes_per_node=1)
    assert written.agent_questions > 0


def test_processes_of_a_node_fetch_ahead_for_each_other(tmp_path: Path) -> None:
    """A node's cache is read ahead as fast as the caches of its processes, in fewer requests: each
    process has a helper, and takes the others' rows along."""
    workload_traces.pio(tmp_path / "pio", 8, size=1 << 20, count=32, independent=True, compute=0.05)
    process, node = simulate_cluster(
        tmp_path / "pio",
        "palmetto-gige",
        [{"scope": scope, "machine.servers": "8"} for scope in ("process", "node")],
        processes_per_node=4,
        think=1.0,
    )
    assert node.run_s == pytest.approx(process.run_s, rel=0.05)
    assert node.requests < 0.75 * process.requests
    assert node.bypass_bytes == process.bypass_bytes


def test_owners_of_whole_stripes_share_no_lock(tmp_path: Path) -> None:
    """domain=stripe gives each server's stripes to one node, cyclic chunks do not. (Read-ahead
    would look a little into the next node's stripe.)"""
    folder = tmp_path / "records"
    workload_traces.ior(folder, 16, transfer=47_008, piece=47_008, segments=100)
    cyclic, stripe = simulate_cluster(
        folder,
        "perlmutter",
        [
            {
                "scope": "job",
                "domain": domain,
                "read_ahead": "0",
                "file_system.stripe_count": "4",
            }
            for domain in ("cyclic", "stripe")
        ],
        processes_per_node=4,
    )
    assert stripe.locks_called_back == 0 < cyclic.locks_called_back
    assert stripe.agent_bytes > 0


def test_the_documented_parts_of_owners(tmp_path: Path) -> None:
    """docs/cluster.md compares chunks in turn, stripes, and parts of the first call's region."""
    text = (Path(__file__).resolve().parents[2] / "docs" / "cluster.md").read_text()
    workload_traces.lattice(tmp_path / "lattice", 32)
    domains = ("cyclic", "stripe", "region")
    changes = [
        {"scope": "job", "domain": domain, "file_system.stripe_count": stripes}
        for stripes in ("1", "4", "8")
        for domain in domains
    ]
    results = simulate_cluster(
        tmp_path / "lattice", "perlmutter", changes, processes_per_node=4, by_frames=False
    )
    for row, stripes in enumerate(("1", "4", "8")):
        times = [f"{1e3 * one.run_s:.1f} ms" for one in results[3 * row : 3 * row + 3]]
        assert f"| {stripes} | {' | '.join(times)} |" in text
    cyclic, _, region = results[:3]
    moved = cyclic.read_bytes + cyclic.written_bytes
    assert cyclic.agent_bytes > 0.8 * moved
    assert region.agent_bytes == pytest.approx(moved / 2, rel=0.05)
    stripe, even = results[7:]
    assert replace(even, settings={}) == replace(stripe, settings={})


def test_parts_of_a_region_go_by_stripes_only_where_servers_have_locks(tmp_path: Path) -> None:
    """PVFS has none: a node owns most of what its processes access, however the strips lie."""
    workload_traces.lattice(tmp_path / "lattice", 16)
    domains = ("region", "stripe", "cyclic")
    changes = [{"scope": "job", "domain": domain} for domain in domains]
    region, stripe, cyclic = simulate_cluster(
        tmp_path / "lattice", "palmetto-myri10g", changes, processes_per_node=4
    )
    assert region.agent_bytes < 0.7 * stripe.agent_bytes
    assert region.agent_questions < stripe.agent_questions
    assert stripe.requests < cyclic.requests
    even = [one | {"file_system.stripe_count": "4"} for one in changes[:2]]
    region, stripe = simulate_cluster(
        tmp_path / "lattice", "perlmutter", even, processes_per_node=4
    )
    assert region.agent_bytes == stripe.agent_bytes


def test_owners_keep_parts_that_fit_the_next_view(tmp_path: Path) -> None:
    """domain=dynamic looks anew at each view: two fields of one size need the same parts."""
    workload_traces.lattice(tmp_path / "fields", 8, count=2)
    region, dynamic, cyclic = simulate_cluster(
        tmp_path / "fields",
        "perlmutter",
        [{"scope": "job", "domain": domain} for domain in ("region", "dynamic", "cyclic")],
        processes_per_node=2,
    )
    assert dynamic.agent_bytes == region.agent_bytes < cyclic.agent_bytes
    assert dynamic.requests == region.requests


def test_nodes_take_each_others_locks_on_lustre(pieces: Path) -> None:
    """Pieces of 1 KiB in turn: on one node a lock for each stripe, on eight one for each piece."""
    together, apart = (
        simulate_cluster(
            pieces,
            "perlmutter",
            [{"collective": "independent"}],
            processes_per_node=each,
        )[0]
        for each in (8, 1)
    )
    assert together.locks_called_back == 0 and 1 <= together.lock_requests <= 16
    assert apart.lock_requests > apart.locks_called_back > 1000
    assert apart.run_s > 10 * together.run_s
    assert together.requests < 20 < apart.requests


def test_the_documented_records_share_stripes(tmp_path: Path) -> None:
    """docs/cluster.md says what records in turn take on Lustre, and how many locks."""
    text = (Path(__file__).resolve().parents[2] / "docs" / "cluster.md").read_text()
    folder = tmp_path / "records"
    workload_traces.ior(folder, 16, transfer=47_008, piece=47_008, segments=200)
    none, node, job = simulate_cluster(
        folder,
        "perlmutter",
        [{"scope": scope, "collective": "independent"} for scope in ("none", "node", "job")],
        processes_per_node=4,
        by_frames=False,
    )
    none_ms, node_ms, ms = (f"{1e3 * one.run_s:.0f} ms" for one in (none, node, job))
    said = f"takes {none_ms}, with a cache of each node {node_ms}, with one cache of the job {ms}"
    assert f"Without Forebay this {said}" in text
    assert f"{job.agent_bytes / 2**20:.0f} MiB go to other nodes" in text
    assert f"{job.locks_called_back:,} locks\nare called back" in text
    assert f"{none.lock_requests:,} locks are asked for" in text
    assert f"{none.locks_called_back:,} are called back" in text
    (together,) = simulate_cluster(
        folder, "perlmutter", [{"collective": "independent"}], processes_per_node=16
    )
    assert together.locks_called_back == 0


def test_stripes_spread_a_file_on_lustre(tmp_path: Path) -> None:
    """Blocks of 64 MiB each: one server is the slowest link, many are not."""
    folder = tmp_path / "blocks"
    workload_traces.ior(folder, 16, transfer=8 << 20, piece=8 << 20, segments=8)
    one, many = simulate_cluster(
        folder,
        "perlmutter",
        [{"file_system.stripe_count": count} for count in ("1", "16")],
        processes_per_node=1,
    )
    assert one.server_busy > 0 and many.run_s < one.run_s / 2


PVFS = {"machine.servers": "4", "collective": "independent"}


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """4 processes, each of which writes two files: 256 KiB of its own in calls of 64 KiB."""
    folder = tmp_path_factory.mktemp("traces") / "parts"

    def uses(rank: int) -> list[Use]:
        calls = [
            Call(WRITE_AT, rank * (256 << 10) + at, 64 << 10) for at in range(0, 1 << 18, 1 << 16)
        ]
        return [Use(name, [None], [calls]) for name in ("fine.mesh", "checkpoint-1")]

    write_trace(folder, 4, uses)
    return folder


def test_a_layout_says_how_many_servers_have_an_access(parts: Path) -> None:
    """Strips of 16 KiB: a call of 64 KiB meets four servers, two of a group, or one."""
    common = PVFS | {"file_system.strip_bytes": "16KiB", "file_system.unit_bytes": "256KiB"}
    everywhere, one, two = simulate_cluster(
        parts,
        "palmetto-gige",
        [common | {"file_system.group_servers": group} for group in ("0", "1", "2")],
    )
    calls = 4 * 2 * 4
    assert (everywhere.requests, two.requests, one.requests) == (4 * calls, 2 * calls, calls)
    assert one.written_bytes == two.written_bytes == everywhere.written_bytes == calls << 16


def test_files_have_strips_of_their_own(parts: Path) -> None:
    same, mesh, both = simulate_cluster(
        parts,
        "palmetto-gige",
        [PVFS, PVFS | {"strips": "*.mesh:16KiB"}, PVFS | {"strips": "*mesh:32KiB+check*:16KiB"}],
    )
    calls = 4 * 4  # of a file; strips have 64 KiB
    assert same.requests == 2 * calls
    assert mesh.requests == (4 + 1) * calls
    assert both.requests == (2 + 4) * calls


@pytest.mark.parametrize(
    ("strips", "said"),
    [
        ("*.mesh", "strips: '*.mesh': give PATTERN:SIZE, or several joined by +"),
        ("*.mesh:", "strips: '*.mesh:': "),
        (":4KiB", "strips: ':4KiB': give PATTERN:SIZE"),
        ("*:0", "strips: '*:0': '0' is no size"),
        ("*:2TiB", "strips: '*:2TiB': a strip has 1 byte to 1 TiB"),
        ("*:4KiB+mash:1KiB", "no file's name matches 'mash'; there are checkpoint-1, fine.mesh"),
    ],
)
def test_wrong_strips_are_named(parts: Path, strips: str, said: str) -> None:
    run = forebay(
        "simulate", "cluster", str(parts), "-o", f"strips={strips}", "--compare", "scope=none"
    )
    assert run.returncode != 0 and run.stdout == ""
    assert said in run.stderr and run.stderr.count("\n") == 1


def test_strips_are_of_pvfs(parts: Path) -> None:
    with pytest.raises(
        ValueError, match="strips are of a file system of kind 'pvfs', not 'lustre'"
    ):
        simulate_cluster(parts, "perlmutter", [{"strips": "*:4KiB"}])


def test_the_first_writer_owns_a_chunk(tmp_path: Path) -> None:
    """With domain=first-touch what processes write of their own stays on their nodes. A process
    asks the home of a chunk once who owns it, and reads it there."""
    part, record = 1 << 20, 64 << 10
    for shift in (0, 2):  # processes of its own node, and of the next

        def own_and_others(rank: int, shift: int = shift) -> list[Use]:
            other = (rank + shift) % 8
            calls = [Call(WRITE_AT, rank * part + n * record, record) for n in range(16)]
            calls += [Call(READ_AT, other * part + n * record, record) for n in range(16)]
            return [Use("file", [None], [calls])]

        folder = tmp_path / f"shift-{shift}"
        write_trace(folder, 8, own_and_others)
        cyclic, touched = simulate_cluster(
            folder,
            "palmetto-gige",
            [
                {"scope": "job", "domain": domain, "domain_size": "256KiB", "read_ahead": "0"}
                for domain in ("cyclic", "first-touch")
            ],
            processes_per_node=2,
        )
        assert cyclic.agent_bytes == 2 * 8 * part * 3 // 4
        # Three quarters of the chunks have their homes on other nodes, and are claimed there once;
        # a process tells the three agents when it closes the file.
        asked, closes = 8 * 4 * 3 // 4, 8 * 3
        if shift == 0:
            assert touched.agent_bytes == 0
            assert touched.agent_questions == asked + closes
        else:
            assert touched.agent_bytes == 8 * part
            # A read of each chunk, unless its home owns it, has two more answers before the bytes.
            assert 8 * 16 < touched.agent_questions - asked - closes <= 8 * 16 + 2 * asked
