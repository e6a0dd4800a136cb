"""The bench: its arithmetic, the checks of its workloads, its request counter and its page."""

from __future__ import annotations

import importlib.util
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import click
import numpy as np
import pytest
from click.testing import CliRunner
from rich.console import Console

from command import forebay
from forebay.bench.mpi import Mpi, find_mpi
from forebay.bench.runs import WORKLOADS, Bench, Figure, Report, median_interval, run_command
from forebay.bench.table import report_table, times_computation
from forebay.bench.trace import TraceBench, trace_table
from forebay.commands.bench import bench as command
from forebay.simulation import workload_traces
from forebay.trace import Operation, Trace, open_trace

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def mpi() -> Mpi:
    return find_mpi()


def report(**changes: object) -> Report:
    figures = [Figure("write", "s", [0.4, 0.6, 0.9], [0.1, 0.2, 0.3])]
    requests = {
        "plain": {"write": 1000, "read": 0, "syscalls": 1010},
        "forebay": {"write": 4, "read": 0, "syscalls": 4},
    }
    fields = {
        "workload": "flash",
        "mpi": "mpich 5.0.2",
        "ranks": 2,
        "nodes": 1,
        "options": {},
        "baseline": {},
        "by_hand": False,
        "calls": {"write": 1000, "read": 0},
        "bytes": 300_000,
        "figures": figures,
        "requests": requests,
        "aside_calls": 0,
    }
    return Report(**(fields | changes))  # type: ignore[arg-type]


def test_the_speed_up_is_the_median_of_the_pairs_ratios() -> None:
    figure = report().figure("write")
    assert figure.ratios == pytest.approx([4, 3, 3])
    assert figure.speed_up == pytest.approx(3)
    entry = report().as_json()["figures"][0]
    assert entry["median"] == {"plain": 0.6, "forebay": 0.2}
    assert entry["speed_up_interval"] == pytest.approx([3, 4])


def test_the_interval_of_a_median_is_that_of_the_binomial_tables() -> None:
    assert median_interval(range(1, 4)) == (1, 3)  # too few: the whole range
    assert median_interval(range(1, 7)) == (1, 6)
    assert median_interval(range(1, 16)) == (4, 12)
    assert median_interval(range(1, 26)) == (8, 18)


def test_the_first_file_of_a_launch_counts_and_is_shown(mpi: Mpi, tmp_path: Path) -> None:
    bench = Bench(WORKLOADS["small"], mpi, tmp_path, 2, repeat=2, rounds=3, count=90)
    rows = [
        {"seconds": {"open": first, "write": 1.0, "close": 0.5, "read": 2.0}}
        for first in (4.0, 0.5, 0.5)
    ]
    found = bench.run()
    assert [(figure.name, figure.first_file) for figure in found.figures] == [
        ("write", False),
        ("write", True),
        ("read", False),
        ("read", True),
    ]
    assert bench.value(found.figure("write"), rows) == pytest.approx((5.5 + 2 + 2) / 3)
    assert bench.value(found.figure("write", first_file=True), rows) == pytest.approx(5.5)
    output = io.StringIO()
    Console(width=100, file=output).print(report_table(found))
    assert "write, first file" in output.getvalue()


def test_the_table_shows_both_sides_and_the_requests() -> None:
    output = io.StringIO()
    Console(width=100, file=output).print(report_table(report()))
    text = output.getvalue()
    assert "600.0 ms" in text
    assert "3.00x" in text
    assert "write requests: plain 1,000, Forebay 4" in text
    assert "read requests" not in text


def test_a_baseline_is_named() -> None:
    output = io.StringIO()
    Console(width=200, file=output).print(report_table(report(baseline={"recoverable": "false"})))
    text = output.getvalue()
    assert "Forebay with recoverable=false" in " ".join(text.split())
    assert "write requests: baseline 1,000, Forebay 4" in text
    assert "plain" not in text


@pytest.mark.parametrize("ranks", [3, 4])
def test_the_plain_side_by_hand(ranks: int, mpi: Mpi, tmp_path: Path) -> None:
    """Each rank writes and reads its part of the array with one request."""
    bench = Bench(WORKLOADS["lattice"], mpi, tmp_path, ranks, repeat=1, rounds=1, by_hand=True)
    found = bench.run()
    assert found.headings == ("by hand", "Forebay")
    assert (found.requests["plain"]["write"], found.requests["plain"]["read"]) == (ranks, ranks)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("small", "--by-hand"), "small has no variant by hand"),
        (("lattice", "--by-hand", "--baseline", "scope=node"), "exclude each other"),
    ],
)
def test_by_hand_is_refused(arguments: tuple[str, ...], message: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(command, [*arguments, "--dir", str(tmp_path)])
    assert result.exit_code == 2
    assert message in result.output


def test_a_baseline_runs_through_forebay(mpi: Mpi, tmp_path: Path) -> None:
    """Both sides cache. Otherwise the baseline would pass every write to the file system."""
    bench = Bench(WORKLOADS["small"], mpi, tmp_path, 2, repeat=1, rounds=1, count=900)
    bench.baseline = {"page_size": "8KiB"}
    requests = bench.run().requests
    assert 0 < requests["plain"]["write"] < 90
    assert 0 < requests["forebay"]["write"] < 90


def test_ranks_may_count_as_ranks_of_several_nodes(mpi: Mpi, tmp_path: Path) -> None:
    """Forebay leaves a file of several nodes to the MPI library, unless the nodes share it."""
    bench = Bench(WORKLOADS["small"], mpi, tmp_path, 4, repeat=1, rounds=1, count=900, nodes=2)
    bench.options = {"scope": "node"}
    assert bench.run().requests["forebay"]["write"] == 0
    bench.options = {}
    found = bench.run()
    assert 0 < found.requests["forebay"]["write"] < 90
    console = Console(file=io.StringIO(), width=120)
    console.print(report_table(found))
    assert "4 ranks on 2 nodes" in console.file.getvalue()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("words", "mistake"),
    [
        (["small", "--ranks", "2", "--nodes", "3"], "3 nodes are more than 2 ranks"),
        (["btio", "--ranks", "6"], "btio needs 1, 4, 16, 64, ... ranks"),
        (["trace", "--nodes", "2"], "`trace` takes no options of Forebay, and one node"),
        (["small", "--launch-with", "-hosts 'a"], "--launch-with -hosts 'a: No closing quotation"),
        (["small", "--launch-with", "-hosts a,b", "--nodes", "2"], "exclude each other"),
        (["trace", "--launch-with", "-hosts a,b"], "`trace` takes no options of Forebay"),
    ],
)
def test_impossible_ranks_are_refused(words: list[str], mistake: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(command, [*words, "--dir", str(tmp_path)])
    assert result.exit_code == 2
    assert mistake in result.output


def test_records_are_fetched_ahead_by_their_signature(mpi: Mpi, tmp_path: Path) -> None:
    """The sequential predictor finds no rule in these reads: nearly every read would be a
    request."""
    bench = Bench(WORKLOADS["record-read"], mpi, tmp_path, 2, repeat=1, rounds=1, count=1000)
    bench.options = {"deterministic": "true", "scope": "process"}
    bench.baseline = bench.options | {"predictor": "sequential"}
    requests = bench.run().requests
    assert requests["plain"]["read"] > 600
    assert 0 < requests["forebay"]["read"] < requests["plain"]["read"] / 8


def test_traces_are_measured(mpi: Mpi, tmp_path: Path) -> None:
    found = TraceBench(mpi, tmp_path, ranks=2, repeat=1, count=1280).run()
    assert [loop.loop for loop in found.loops] == ["strided", "nested", "random"]
    for loop in found.loops:
        assert loop.calls == 2 * (1280 + 2)
        assert 0 < loop.bytes_per_call["histogram"] < loop.bytes_per_call["exact"] < 10
        assert loop.finalize_ms["plain"] > 0
    console = Console(file=io.StringIO(), width=120)
    console.print(trace_table(found))
    assert "2,564" in console.file.getvalue()  # type: ignore[attr-defined]
    assert list(tmp_path.iterdir()) == []


def test_traces_take_no_options(tmp_path: Path) -> None:
    words = ["trace", "--dir", str(tmp_path), "-o", "scope=node"]
    result = CliRunner().invoke(command, words)
    assert result.exit_code == 2
    assert "`trace` takes no options of Forebay" in result.output


def test_computation_is_compared_pair_by_pair() -> None:
    figures = [
        Figure("read", "s", [0.4, 0.8], [0.15, 0.2]),
        Figure("compute", "s", [0.1, 0.1], [0.1, 0.2]),
    ]
    assert times_computation(report(figures=figures), "plain") == pytest.approx(6)
    assert times_computation(report(figures=figures), "forebay") == pytest.approx(1.25)
    assert times_computation(report(), "plain") is None


@pytest.mark.parametrize("name", WORKLOADS)
def test_workloads_verify_their_own_data(name: str, mpi: Mpi, tmp_path: Path) -> None:
    program = str(mpi.compile(name, tmp_path))
    files = tmp_path / "files"
    files.mkdir()
    arguments = [program, "--dir", str(files), "--count", "7", "--repeat", "2"]
    ranks = 4 if WORKLOADS[name].powers_of_four else 3
    output = run_command(mpi.command(ranks, arguments), mpi.environment(ranks), 60)
    lines = output.splitlines()
    assert sum(line.startswith("finalize ") for line in lines) == ranks
    rows = [json.loads(line) for line in lines if line.startswith("{")]
    assert [row["repetition"] for row in rows] == [0, 1]
    assert all(row["verified"] for row in rows)
    assert rows[0]["hash"] == rows[1]["hash"]
    for phases in WORKLOADS[name].figures.values():
        assert set(phases) <= set(rows[0]["seconds"])
    assert list(files.iterdir()) == []


GENERATED = {
    "flash": ("sets", 20),
    "small": ("count", 90),
    "small-parts": ("count", 30),
    "ior-easy": ("count", 3),
    "ior-hard": ("count", 21),
    "checkpoint": ("count", 2),
    "tile-io-small": ("count", 2),
    "lattice": ("count", 1),
    "btio": ("count", 2),
    "points": ("count", 50),
    "sliding-window": ("count", 3),
    "pio": ("count", 4),
    "pio-nested": ("count", 4),
}


@pytest.mark.parametrize("name", GENERATED)
def test_a_generated_workload_is_what_the_program_does(name: str, mpi: Mpi, tmp_path: Path) -> None:
    ranks = 4
    parameter, count = GENERATED[name]
    program = str(mpi.compile(name, tmp_path))
    files = tmp_path / "files"
    files.mkdir()
    arguments = [program, "--dir", str(files), "--count", str(count), "--no-file-check"]
    launch = mpi.command(ranks, arguments)
    run = forebay("trace", "-d", tmp_path / "run", "--", *launch, **mpi.environment(ranks))
    assert run.returncode == 0, run.stderr
    nested = {"nested": True} if name == "pio-nested" else {}
    make = getattr(workload_traces, name.removesuffix("-nested").replace("-", "_"))
    make(tmp_path / "made", ranks, **{parameter: count}, **nested)

    def calls(trace: Trace, rank: int) -> list[tuple[Any, ...]]:
        """Operation, file and extents of each."""
        accesses = trace.accesses
        moves = np.isin(accesses["operation"], [Operation.READ, Operation.WRITE])
        rows = np.flatnonzero(moves & (accesses["rank"] == rank))
        in_order = rows[np.argsort(accesses["start_ns"][rows], kind="stable")]
        made = []
        for row in in_order.tolist():
            one = {key: int(accesses[key][row]) for key in ("operation", "file", "offset", "end")}
            asked = (int(accesses[key][row]) for key in ("view", "position", "requested"))
            made.append((*one.values(), list(trace.extents(*asked))))
        return made

    recorded, made = open_trace(tmp_path / "run"), open_trace(tmp_path / "made")
    for rank in range(ranks):
        assert calls(made, rank) == calls(recorded, rank)
        assert calls(made, rank)


def test_the_counter_counts_one_request_a_plain_call(mpi: Mpi, tmp_path: Path) -> None:
    counts = tmp_path / "counts"
    files = tmp_path / "files"
    files.mkdir()
    export = {
        "LD_PRELOAD": str(mpi.compile_counter(tmp_path)),
        "FOREBAY_COUNT_DIR": str(files),
        "FOREBAY_COUNT_FILE": str(counts),
    }
    program = str(mpi.compile("small", tmp_path))
    arguments = [program, "--dir", str(files), "--count", "90", "--no-file-check"]
    run_command(mpi.command(2, arguments, export), mpi.environment(2), 60)
    rows = [json.loads(line) for line in counts.read_text().splitlines()]
    assert len(rows) == 2
    assert sum(row["write"] for row in rows) == 90
    assert sum(row["read"] for row in rows) == 90
    assert sum(row["written_bytes"] for row in rows) == 90 * 300
    assert sum(row["syscalls"] for row in rows) > 180


def test_a_launch_that_hangs_or_fails_is_ended_and_named() -> None:
    environment = dict(os.environ)
    with pytest.raises(click.ClickException, match="no end after"):
        run_command(["sleep", "60"], environment, 0.2)
    with pytest.raises(click.ClickException, match="no such thing"):
        run_command(["sh", "-c", "echo no such thing >&2; exit 3"], environment, 10)


def test_an_unknown_mpi_is_refused_with_advice() -> None:
    with pytest.raises(click.ClickException, match="say mpich, openmpi or the path"):
        find_mpi("lam")


def results() -> ModuleType:
    sys.path.append(str(ROOT / "bench"))  # as for a script there
    spec = importlib.util.spec_from_file_location("results", ROOT / "bench" / "results.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look up their module
    spec.loader.exec_module(module)
    return module


def test_the_page_says_which_targets_were_reached() -> None:
    module = results()
    case = module.Case("local", "flash", 2, {"write": 4.5, "requests": 50}, {})
    entry = report().as_json() | {"times_computation": {"plain": None, "forebay": None}}
    write, requests = module.rows(case, entry | {"version": "01234567"}, "A")
    assert write[-5:] == ["3.00x (3.00-4.00)", "4.5x", "**no**", "A", "01234567"]
    assert requests[-5:] == ["250x fewer", "50x", "yes", "A", "01234567"]


def test_a_target_is_missed_where_the_whole_interval_lies_below_it() -> None:
    module = results()
    case = module.Case("local", "flash", 2, {"write": 3.9}, {})
    entry = report().as_json() | {"times_computation": {"plain": None, "forebay": None}}
    (write,) = module.rows(case, entry, "A")
    assert write[-5:] == ["3.00x (3.00-4.00)", "3.9x", "yes", "A", "older"]


def test_each_machine_has_a_letter() -> None:
    entries = [{"machine": name} for name in ("one", "other", "other")]
    assert results().names_of_machines(entries) == {"other": "A", "one": "B"}


def test_what_an_open_takes_longer_is_shown() -> None:
    module = results()
    case = module.Case("local", "open", 1, {"us/open": 30}, {})
    figures = [Figure("write", "s", [0.020], [0.030])]
    entry = report(figures=figures, calls={"write": 400, "read": 0}).as_json()
    (write,) = module.rows(case, entry | {"times_computation": {}}, "A")
    assert write[-4:-2] == ["30 us more", "yes (25 us)"]


def test_the_plan_names_only_workloads_and_figures_there_are() -> None:
    special = {"requests", "times computation", "ns/call", "us/open", "first file"}
    for case in results().plan():
        figures = set(WORKLOADS[case.workload].figures)
        assert set(case.targets) <= figures | special


def test_a_box_has_the_nodes_that_its_place_names() -> None:
    module = results()
    of_places = {case.place: case for case in module.plan() if case.in_a_box}
    assert list(of_places) == list(module.BOXES)
    for place, case in of_places.items():
        nodes, _, ranks = place.split()[1].partition("x")
        assert (case.nodes, case.ranks) == (int(nodes), int(nodes) * int(ranks))


def test_the_gluster_harness_explains_itself() -> None:
    done = subprocess.run(
        [str(ROOT / "bench" / "gluster.sh")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "gluster.sh up DIR" in done.stderr
