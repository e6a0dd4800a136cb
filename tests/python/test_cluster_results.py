"""What `forebay simulate cluster` shows: tables, figures, time series, timelines, pages, waits."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as parquet
import pytest

import forebay.reports as forebay_reports
from cluster_jobs import simulated
from command import forebay
from forebay.plots import run_times, waits
from forebay.simulation import (
    CLUSTER_SCOPES,
    WAIT_REASONS,
    ClusterResult,
    ClusterResults,
    simulate_cluster,
    workload_traces,
)


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


def test_the_table_tells_of_locks(pieces: Path) -> None:
    words = ("--machine", "perlmutter", "--processes-per-node", "1", "-o", "scope=none")
    run = forebay("simulate", "cluster", str(pieces), *words, "-o", "collective=independent")
    assert run.returncode == 0, run.stderr
    assert "locks are asked for and" in " ".join(run.stdout.split())
    assert "time ms" in run.stdout


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


def test_all_outputs_at_once(pieces: Path, tmp_path: Path) -> None:
    """In one folder, and each a file of its own."""
    files = [tmp_path / name for name in ("a.svg", "b.json", "c.parquet", "d.svg", "e.html")]
    options = ("--plot", "--timeline", "--series", "--waits", "--report")
    words = ("simulate", "cluster", str(pieces), "-o", "scope=none")
    done = forebay(*words, *(word for pair in zip(options, files, strict=True) for word in pair))
    assert done.returncode == 0, done.stderr
    assert sorted(tmp_path.iterdir()) == files
    same = tmp_path / "same"
    (tmp_path / "folder").mkdir()
    other_name = tmp_path / "folder" / ".." / "same"
    done = forebay(*words, "--timeline", same, "--series", other_name)
    assert done.returncode == 2
    assert done.stderr == f"forebay: -o {other_name}: two outputs would be this file\n"
    assert not same.exists()


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
        # One more for each open and close, and for the file's creation.
        assert sums(result, "request")[0] == result.requests + (8 + 8 + 1)
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
