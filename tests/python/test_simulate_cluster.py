"""`forebay simulate cluster`: answers on made and real traces, and bad input."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as parquet
import pytest

import forebay as package
import forebay.reports as forebay_reports
from command import forebay
from forebay.plots import run_times, waits
from forebay.simulation import (
    CLUSTER_SCOPES,
    WAIT_REASONS,
    ClusterResult,
    ClusterResults,
    machine,
    machine_names,
    simulate_cluster,
    workload_traces,
)
from forebay.simulation.made_traces import WRITE_AT, Call, Use, write_trace
from forebay.trace import TraceError
from traces import LOGS

SCOPES = [{"scope": scope} for scope in CLUSTER_SCOPES]


@pytest.fixture(scope="module")
def pieces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """8 processes, each with two transfers of 256 KiB in interleaved pieces of 1 KiB."""
    folder = tmp_path_factory.mktemp("traces") / "pieces"
    workload_traces.ior(folder, 8, transfer=256 << 10, piece=1 << 10, segments=2)
    return folder


def simulated(trace: Path, *words: str) -> list[dict[str, Any]]:
    run = forebay("simulate", "cluster", str(trace), "--json", *words)
    assert run.returncode == 0, run.stderr
    results: list[dict[str, Any]] = json.loads(run.stdout)["results"]
    return results


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


def test_the_table_names_what_differs(pieces: Path) -> None:
    run = forebay("simulate", "cluster", str(pieces), "-o", "machine.servers=4")
    assert run.returncode == 0, run.stderr
    lines = run.stdout.splitlines()
    assert "8 processes make 32 accesses to 8 MiB" in lines[1]
    assert lines[2] == "on palmetto-gige: 1 node, 4 servers"
    assert lines[3].split()[:2] == ["scope", "time"]
    assert [line.split()[0] for line in lines[4:8]] == list(CLUSTER_SCOPES)
    assert "scope=node: the busiest server works for" in run.stdout
    assert not run.stderr


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


def test_the_table_tells_of_locks(pieces: Path) -> None:
    words = ("--machine", "perlmutter", "--processes-per-node", "1", "-o", "scope=none")
    run = forebay("simulate", "cluster", str(pieces), *words, "-o", "collective=independent")
    assert run.returncode == 0, run.stderr
    assert "locks are asked for and" in " ".join(run.stdout.split())
    assert "time ms" in run.stdout


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


def test_the_table_tells_of_collective_calls(pieces: Path) -> None:
    run = forebay("simulate", "cluster", str(pieces), "--compare", "scope=none,node")
    assert run.returncode == 0, run.stderr
    assert "4 collective calls exchange 8 MiB." in " ".join(run.stdout.split())


def test_figures(pieces: Path, tmp_path: Path) -> None:
    """Bars of one comparison, a heat map of two, a map for each value of a third one."""
    bars, heat, maps = (tmp_path / f"{name}.svg" for name in ("bars", "heat", "maps"))
    words = ("simulate", "cluster", str(pieces), "--messages")
    assert forebay(*words, "--plot", bars).returncode == 0
    text = bars.read_text()
    assert all(said in text for said in ("scope=none", "scope=node", "seconds", "wait for the"))
    pages = ("--compare", "page_size=16KiB,64KiB,256KiB", "--compare", "cache_size=1MiB,2MiB")
    done = forebay(*words, "-o", "scope=node", *pages, "--plot", heat)
    assert done.returncode == 0, done.stderr
    text = heat.read_text()
    assert all(said in text for said in ("page_size", "cache_size", "256KiB", "2MiB"))
    assert text.count(" s<") == 6
    results = simulate_cluster(
        pieces,
        "palmetto-gige",
        [
            {"scope": scope, "page_size": page, "cache_size": cache}
            for scope in ("process", "node")
            for page in ("16KiB", "64KiB")
            for cache in ("1MiB", "2MiB", "4MiB")
        ],
        by_frames=False,
    )
    assert len(run_times(results).axes) == 2
    assert forebay(*words, "--plot", maps, "--compare", "machine.servers=2").returncode == 0
    again = forebay(*words, "--plot", maps)
    assert again.returncode == 2 and "--force replaces it" in again.stderr
    assert forebay(*words, "--plot", maps, "--force").returncode == 0
    wrong = forebay(*words, "--plot", tmp_path / "figure.doc")
    assert wrong.returncode == 2 and "end it in .svg" in wrong.stderr
    with pytest.raises(ValueError, match="no results"):
        run_times([])


def test_little_differences_look_little(pieces: Path) -> None:
    """Half of the colours of a heat map are for runs of more than 1.4 times the shortest."""
    changes = [
        {"scope": "node", "page_size": page, "cache_size": cache}
        for page in ("16KiB", "64KiB")
        for cache in ("8MiB", "16MiB")
    ]
    one, *_ = simulate_cluster(pieces, "palmetto-gige", changes[:1], by_frames=False)
    results = [
        replace(one, settings=change, run_s=seconds)
        for change, seconds in zip(changes, (1.0, 1.02, 1.05, 1.4), strict=True)
    ]
    (image,) = run_times(results).axes[0].images
    colours = np.asarray(image.get_array()).ravel().tolist()
    assert colours[0] == 0 and colours[2] < 0.1 and colours[3] < 0.5


def test_a_series(pieces: Path, tmp_path: Path) -> None:
    """What parts of the cluster did by interval, of every row of the comparison."""
    file = tmp_path / "series.parquet"
    words = ("simulate", "cluster", str(pieces), "--compare", "scope=none,node")
    done = forebay(*words, "--json", "--series", file)
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout)["results"]
    assert results == json.loads(forebay(*words, "--json").stdout)["results"]
    rows = parquet.read_table(file).to_pylist()
    for number, result in enumerate(results):
        own = [row for row in rows if row["simulation"] == number]
        assert {row["settings"] for row in own} == {f"scope={('none', 'node')[number]}"}
        assert max(row["end_s"] for row in own) >= result["run_s"]
        assert all(0 <= row["busy"] <= 1 for row in own)
        assert {row["name"] for row in own if row["part"] == "sending"} == {
            *(f"node {node}" for node in range(result["nodes"])),
            *(f"server {server}" for server in range(result["servers"])),
            "metadata",
        }
        for part, busiest in (("server", "server_busy"), ("disk", "disk_busy")):
            worked: dict[str, float] = {}
            for row in own:
                if row["part"] == part:
                    worked.setdefault(row["name"], 0.0)
                    worked[row["name"]] += row["busy"] * (row["end_s"] - row["start_s"])
            assert len(worked) == result["servers"]
            assert max(worked.values()) == pytest.approx(
                result[busiest] * result["run_s"], rel=1e-6, abs=1e-9
            )
        assert {row["part"] for row in own if row["waiting_s"] is not None} == {"server"}
        assert {row["part"] for row in own if row["requests"] is not None} == {"disk"}


def test_a_timeline(pieces: Path, tmp_path: Path) -> None:
    """Each process's track is full from the start to its end."""
    file = tmp_path / "timeline.json"
    words = ("simulate", "cluster", str(pieces), "-o", "scope=none", "--processes-per-node", "4")
    done = forebay(*words, "--json", "--timeline", file)
    assert done.returncode == 0, done.stderr
    (result,) = json.loads(done.stdout)["results"]
    events = json.loads(file.read_text())["traceEvents"]
    names = [event["args"]["name"] for event in events if event["ph"] == "M"]
    assert names == ["node 0", "node 1", *(f"process {process}" for process in range(8))]
    spans = [event for event in events if event["ph"] == "X"]
    assert {event["name"] for event in spans} == {"open", "read", "write"}
    assert {event["args"]["file"] for event in spans} == {"ior.dat"}
    moved = sum(event["args"].get("bytes", 0) for event in spans)
    assert moved == result["read_bytes"] + result["written_bytes"]
    for process in range(8):
        own = [event for event in spans if event["tid"] == process]
        assert {event["pid"] for event in own} == {process // 4}
        end = 0.0
        for event in own:
            assert event["ts"] == pytest.approx(end, abs=0.01)
            end = event["ts"] + event["dur"]
    assert max(event["ts"] + event["dur"] for event in spans) / 1e6 == pytest.approx(
        result["run_s"], abs=1e-8
    )
    several = forebay("simulate", "cluster", str(pieces), "--timeline", tmp_path / "several")
    assert several.returncode == 1
    assert "a timeline is of one simulation; these are 4" in several.stderr
    assert not (tmp_path / "several").exists()


def test_a_page_holds_the_results(pieces: Path, tmp_path: Path) -> None:
    page = tmp_path / "times.html"
    hostile = tmp_path / "<img onerror=alert(1)>"
    hostile.symlink_to(pieces)
    words = ("-o", "machine.servers=4", "--report", str(page))
    results = simulated(hostile, *words)
    text = page.read_text()
    assert "<img" not in text
    assert not re.search(r'(src|href)="(?!#)|url\((?!#)', text), "it loads something"
    embedded = re.search(r'<script type="application/json" id="results">(.*?)</script>', text)
    assert embedded is not None
    assert json.loads(embedded[1])["results"] == results
    for one in results:
        assert f"<td>{1e3 * one['run_s']:,.3f}</td>" in text
    assert "is the fastest" in text
    assert '<td class="text">machine.servers</td><td class="text">4</td>' in text
    assert '<td class="text">disk.model</td>' in text
    again = forebay("simulate", "cluster", str(pieces), *words)
    assert again.returncode != 0 and "exists" in again.stderr and page.read_text() == text
    assert forebay("simulate", "cluster", str(pieces), *words, "--force").returncode == 0


def test_a_page_says_which_are_as_fast(pieces: Path) -> None:
    changes = [{"scope": "none"}, {"scope": "node"}]
    none, node = simulate_cluster(pieces, "palmetto-gige", changes)
    names = [{"scope": name} for name in ("none", "process", "node")]
    times = [(2.0, 1.01, 1.0), (1.01, 1.0, 1.0), (1.0, 2.0, 3.0)]
    said = [
        "scope=node is the fastest: 1 s, 2 times as fast as scope=none. As fast within 2%:"
        " scope=process.",
        "No other simulation is 2% faster than scope=none, which takes 1.01 s.",
        "No other simulation is 2% faster than scope=none, which takes 1 s.",
    ]
    for seconds, verdict in zip(times, said, strict=True):
        results = ClusterResults(
            replace(none, settings=name, run_s=run_s)
            for name, run_s in zip(names, seconds, strict=True)
        )
        assert f"<b>{verdict}</b>" in forebay_reports.run_times(results, "palmetto-gige").html
    with pytest.raises(ValueError, match="no results"):
        forebay_reports.run_times(ClusterResults(), "palmetto-gige")
    with pytest.raises(TypeError, match=r"what forebay\.simulate_cluster returns"):
        forebay_reports.run_times([node], "palmetto-gige")  # type: ignore[arg-type]


def test_a_machine_is_shown() -> None:
    run = forebay(*("simulate", "cluster", "no-trace", "--show-machine"), "-o", "machine.servers=8")
    assert run.returncode == 0, run.stderr
    shown = json.loads(run.stdout)
    assert shown["machine"]["servers"] == 8 and shown["network"]["mtu"] == 1500


def made(folder: Path, workload: str, processes: int) -> Path:
    if workload == "ior":
        workload_traces.ior(folder, processes, transfer=64 << 10, piece=1 << 10, segments=3)
    elif workload == "mpi-io-test":
        workload_traces.mpi_io_test(folder, processes, size=100_000, iterations=3)
    else:
        workload_traces.tile_io(
            folder, processes, grid=(2, processes // 2), tile=(64, 32), overlap=(8, 4)
        )
    return folder


@pytest.mark.parametrize("workload", ["ior", "mpi-io-test", "tile-io"])
def test_more_processes_are_those_of_a_larger_job(tmp_path: Path, workload: str) -> None:
    few = made(tmp_path / "few", workload, 6)
    many = made(tmp_path / "many", workload, 16)
    said: list[str] = []
    changes = [one | {"machine.servers": "4"} for one in SCOPES]
    extended = simulate_cluster(few, "palmetto-gige", changes, processes=16, warn=said.append)
    larger = simulate_cluster(many, "palmetto-gige", changes)
    assert len(said) == 1, said
    assert "few: 16 processes are simulated; it has 6" in said[0]
    for got, wanted in zip(extended, larger, strict=True):
        assert got == replace(wanted, trace=got.trace, traced_processes=6)


@pytest.mark.parametrize(
    ("processes", "said"),
    [
        ("7", "pieces has 8 processes; 7 cannot be simulated, but 8 to 65,536"),
        ("0", "--processes"),
        ("65537", "--processes"),
    ],
)
def test_fewer_processes_are_refused(pieces: Path, processes: str, said: str) -> None:
    run = forebay("simulate", "cluster", str(pieces), "--processes", processes)
    assert run.returncode != 0
    assert run.stdout == ""
    assert said in run.stderr


def test_files_without_a_rule_are_named(tmp_path: Path) -> None:
    trace = tmp_path / "uneven.csv"
    uneven = [f"{i},{i},write,{100 * i * i},10,uneven.dat" for i in range(4)]
    trace.write_text("\n".join(uneven) + "\n")
    run = forebay("simulate", "cluster", str(trace), "--processes", "8")
    assert run.returncode != 0
    assert run.stderr == (
        "forebay: uneven.csv: what more processes would do is not known: uneven.dat: the places of"
        " its processes follow no rule\n"
    )
    even = [f"{4 + i},{i},write,{100 * i},10,even.dat" for i in range(4)]
    own = [f"{8 + i},{i},write,0,10,own.{i}" for i in range(4)]
    trace.write_text("\n".join([*uneven, *even, *own]) + "\n")
    said: list[str] = []
    (one,) = simulate_cluster(trace, "nfs-25gbe", processes=8, warn=said.append)
    assert (one.processes, one.traced_processes) == (8, 4)
    assert one.written_bytes == (4 + 8 + 8) * 10
    assert said == [
        "uneven.csv: 8 processes are simulated; it has 4, and the others do what these do, at the"
        " places that follow (1 shared file, 4 files of their own)",
        "uneven.csv: uneven.dat: the places of its processes follow no rule; it keeps its"
        " processes",
    ]


@pytest.mark.parametrize(("sets", "pieces"), [(20, 1), (5, 4)])
def test_parts_of_unequal_sizes_are_repeated(tmp_path: Path, sets: int, pieces: int) -> None:
    """FLASH I/O: each process's part of a data set has a size of its own; process 0 alone writes
    headers between."""
    workload_traces.flash(tmp_path / "flash", 4, sets=sets, pieces=pieces)
    said: list[str] = []
    one, two, three = (
        simulate_cluster(
            tmp_path / "flash", "palmetto-gige", processes=processes, warn=said.append
        )[0]
        for processes in (4, 8, 12)
    )
    assert two.written_bytes - one.written_bytes == three.written_bytes - two.written_bytes
    assert two.written_bytes == pytest.approx(2 * one.written_bytes, rel=0.05)
    assert two.accesses - one.accesses == 3 * 20 * 4
    assert said[1:2] == [
        "flash: 3 files have parts of unequal sizes; those of the other processes are as large as"
        " its own, in turn",
    ]
    assert f"flash: {3 * (sets + 2)} of its accesses" in said[2]


@pytest.mark.skipif(not LOGS.is_dir(), reason="there are no Darshan logs")
def test_gaps_for_metadata_are_no_hindrance() -> None:
    """The chunks of 384 processes, with HDF5's metadata between some of them."""
    log = LOGS / "benchmark_write_parallel_384ranks.darshan"
    one, more = (
        simulate_cluster(log, "palmetto-myri10g", processes=processes, by_frames=False)[0]
        for processes in (384, 768)
    )
    assert (more.processes, more.traced_processes) == (768, 384)
    assert more.written_bytes == pytest.approx(2 * one.written_bytes, rel=1e-4)


@pytest.mark.skipif(not LOGS.is_dir(), reason="there are no Darshan logs")
def test_metadata_of_some_processes_stays(tmp_path: Path) -> None:
    """HDF5 gives its metadata to some processes; the data of all follows a rule."""
    log = LOGS / "ior_hdf5_4ranks.darshan"
    said: list[str] = []
    (one,) = simulate_cluster(log, "nfs-25gbe", processes=12, warn=said.append)
    assert one.written_bytes - 12 * (1 << 20) < 1 << 14
    assert any("of its accesses" in line and "some processes only" in line for line in said)


@pytest.mark.skipif(not LOGS.is_dir(), reason="there are no Darshan logs")
def test_more_processes_of_a_real_log() -> None:
    log = LOGS / "mpi-io-test_32ranks.darshan"
    run = forebay(
        *("simulate", "cluster", str(log), "--processes", "96", "--messages"),
        *("-o", "scope=node", "--processes-per-node", "8"),
    )
    assert run.returncode == 0, run.stderr
    assert "96 processes, 64 of them beyond the trace's 32, make" in run.stdout
    assert "96 processes are simulated; it has 32" in run.stderr


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
        (["-o", "scope=job", "-o", "domain=first-touch"], "first-touch is not simulated; give"),
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


def test_waits_say_who_waited_for_whom(tmp_path: Path) -> None:
    """Records in turns on 4 nodes: nodes wait for each other's locks, for owners, for the last."""
    folder = tmp_path / "records"
    workload_traces.ior(folder, 8, transfer=47_008, piece=47_008, segments=20)
    changes = [{"scope": "none", "collective": "independent"}, {"scope": "none"}, {"scope": "job"}]
    independent, together, job = simulate_cluster(
        folder, "perlmutter", changes, processes_per_node=2, by_frames=False, waits=True
    )

    def sums(of: ClusterResult, reason: str) -> tuple[int, float]:
        some = [one for one in of.waits if one.reason == reason]
        return sum(one.times for one in some), sum(one.seconds for one in some)

    for result in (independent, together, job):
        assert list(result.waits) == sorted(result.waits, key=lambda one: -one.seconds)
        assert {one.reason for one in result.waits} <= set(WAIT_REASONS)
        for one in result.waits:
            assert re.fullmatch(r"node [0-3]", one.who)
            to_server = one.reason == "request"
            assert re.fullmatch(r"metadata|server \d+" if to_server else "node [0-3]", one.for_whom)
            assert one.times > 0 and one.seconds >= 0
            if one.reason in ("lock", "owner"):
                assert one.who != one.for_whom
        # One more for each open and close, and for the file's creation; agents open it, too.
        of_processes = result.requests + (8 + 8 + 1)
        asked = sums(result, "request")[0]
        assert asked > of_processes if result is job else asked == of_processes
        assert sums(result, "lock")[0] == result.locks_called_back
    assert independent.locks_called_back > 0 and sums(independent, "collective") == (0, 0)
    assert sums(job, "owner")[0] == job.agent_questions > 0
    calls, seconds = sums(together, "collective")
    assert calls == 7 * 2 * 20  # the others wait for the last of 8
    assert seconds > 0
    assert sums(job, "collective")[0] == calls  # through caches, too
    # A figure for each reason.
    figure = waits(job)
    titles = [axes.get_title(loc="left") or axes.get_title() for axes in figure.axes]
    assert [title for title in titles if title] == [
        "waiting for answers of servers",
        "waiting for locks that other nodes return",
        "waiting for owners of bytes",
        "waiting for the last to come to collective calls",
    ]


def test_results_say_nothing_of_waits_unless_asked(pieces: Path) -> None:
    (result,) = simulate_cluster(pieces, "palmetto-gige")
    assert result.waits == ()
    assert "waits" not in result.to_json()
    with pytest.raises(ValueError, match="does not say who waits"):
        waits(result)


def test_many_hosts_share_cells_of_the_figure(tmp_path: Path) -> None:
    workload_traces.ior(tmp_path / "many", 200, transfer=1 << 16, segments=2)
    (result,) = simulate_cluster(
        tmp_path / "many", "perlmutter", processes_per_node=1, by_frames=False, waits=True
    )
    requests = waits(result).axes[0]
    labels = [label.get_text() for label in requests.get_yticklabels()]
    assert len(labels) <= 8
    assert re.fullmatch(r"node 0-[1-9]\d*", labels[0])
    assert labels[-1].endswith("199")


def test_the_command_draws_waits_of_one_simulation(pieces: Path, tmp_path: Path) -> None:
    figure = tmp_path / "waits.svg"
    words = ["simulate", "cluster", pieces, "--waits", figure]
    several = forebay(*words)
    assert several.returncode == 2
    assert several.stderr == "forebay: --waits is of one simulation; these are 4\n"
    badly = forebay(*words[:-1], tmp_path / "waits.txt", "-o", "scope=none")
    assert "end it in .svg, .png or .pdf" in badly.stderr
    drawn = forebay(*words, "-o", "scope=none")
    assert drawn.returncode == 0, drawn.stderr
    assert "<svg" in figure.read_text()


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
