"""The counts of the runtime's caches in an MPI program, and the simulator's counts from the trace
of that run: equal to the last one, whatever the ranks did at the same time."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import cycle
from pathlib import Path

import pytest
from click.testing import CliRunner

import forebay as package
from forebay import _core
from forebay.commands.simulate import simulate
from forebay.plots.bins import count_into_bins
from forebay.trace import TraceError
from harness import forebay, mpi

FOLDER = Path(__file__).resolve().parent
COUNTERS = (
    "hits",
    "misses",
    "evictions",
    "committed_bytes",
    "fetched_bytes",
    "bypass_bytes",
)
PAGE_SIZES = (4096, 512, 16384, 1024)
KINDS = [kind.name for kind in _core.page_kinds()]
POLICIES = [policy.name for policy in _core.policies()]


def configurations() -> list[tuple[str, str, int, str, int]]:
    """Policy, page kind, page size, scope and ranks: all policies and kinds, the rest in turn."""
    sizes, scopes, ranks = cycle(PAGE_SIZES), cycle(("node", "process")), cycle((3, 2, 1, 3, 2))
    return [
        (policy, kind, next(sizes), next(scopes), next(ranks))
        for policy in POLICIES
        for kind in KINDS
    ]


@pytest.mark.parametrize(
    ("policy", "kind", "page_size", "scope", "ranks"),
    configurations(),
    ids=lambda value: str(value),
)
@pytest.mark.parametrize("installation", [mpi.WHEELS[0], mpi.WHEELS[-1]], ids=lambda m: m.name)
def test_the_simulator_counts_what_the_runtime_counted(
    installation: mpi.Mpi,
    policy: str,
    kind: str,
    page_size: int,
    scope: str,
    ranks: int,
    tmp_path: Path,
) -> None:
    program = mpi.compile_program(installation, FOLDER / "many_ways.c", [])
    capacity = 64 << 10  # per process
    settings = {
        "FOREBAY_DETERMINISTIC": "1",
        "FOREBAY_POLICY": policy,
        "FOREBAY_PAGE_KIND": kind,
        "FOREBAY_PAGE_SIZE": str(page_size),
        "FOREBAY_CACHE_SIZE": str(capacity),
        "FOREBAY_SCOPE": scope,
        "FOREBAY_SHARDS": "2",
        "FOREBAY_BYPASS": "20000",
        "FOREBAY_READ_AHEAD": "16384",
        "FOREBAY_STATS_JSON": str(tmp_path / "statistics.json"),
        "FOREBAY_TRACE": str(tmp_path / "trace"),
    }
    seed = str(POLICIES.index(policy) * len(KINDS) + KINDS.index(kind) + 1)
    command = [str(program), str(tmp_path / "file"), seed, "25", "shared"]
    launch = mpi.launch_command(installation, ranks, forebay.preloaded(command, settings))
    outcome = mpi.run(launch, installation.environment, tmp_path)
    assert outcome.code == 0, str(outcome)
    statistics = forebay.read_statistics(tmp_path / "statistics.json")
    assert statistics is not None, str(outcome)
    counted = statistics["total"]

    (result,) = package.simulate_runtime(tmp_path / "trace")
    assert (result.policy, result.page_kind, result.page_size) == (policy, kind, page_size)
    assert result.caches == (1 if scope == "node" else ranks)
    found = {name: getattr(result, name) for name in COUNTERS}
    assert found == {name: counted[name] for name in COUNTERS}
    # On a machine with a network, a file system and disks the processes take other times, and the
    # caches count the same.
    (result,) = package.simulate_cluster(
        tmp_path / "trace", "perlmutter", [{"scope": scope, "deterministic": "true"}]
    )
    assert result.caches == (1 if scope == "node" else ranks)
    found = {name: getattr(result, name) for name in COUNTERS}
    assert found == {name: counted[name] for name in COUNTERS}
    assert result.cache_requests == counted["read_requests"] + counted["write_requests"]
    assert result.run_s > 0
    assert counted["evictions"] > 20
    assert counted["hits"] > 20


SMALL = {
    "FOREBAY_DETERMINISTIC": "1",
    "FOREBAY_PAGE_SIZE": "4096",
    "FOREBAY_CACHE_SIZE": "65536",
    "FOREBAY_BYPASS": "20000",
    "FOREBAY_READ_AHEAD": "16384",
}


def recorded(
    folder: Path,
    ranks: int,
    nodes: int,
    source: str,
    *words: str,
    installation: mpi.Mpi = mpi.WHEELS[0],
    options: Mapping[str, str] | None = None,
) -> dict[str, int]:
    """Runs a program of which the folder then has the trace; returns its counts."""
    program = mpi.compile_program(installation, FOLDER / source, [])
    settings = SMALL | {
        "FOREBAY_STATS_JSON": str(folder / "statistics.json"),
        "FOREBAY_TRACE": str(folder / "trace"),
        **(options or {}),
    }
    command = forebay.on_nodes([str(program), str(folder / "file"), *words], nodes)
    launch = mpi.launch_command(installation, ranks, forebay.preloaded(command, settings))
    outcome = mpi.run(launch, installation.environment, folder)
    assert outcome.code == 0, str(outcome)
    counted: dict[str, int] = json.loads((folder / "statistics.json").read_text())["total"]
    return counted


NODE = {"FOREBAY_SCOPE": "node"}
OWNERS = (
    # Option domain, its size, consistency, ranks, nodes.
    ("region", "4MiB", "posix", 4, 2),
    ("cyclic", "4KiB", "posix", 3, 3),
    ("dynamic", "16KiB", "posix", 4, 2),
    ("first-touch", "16KiB", "posix", 4, 3),
    ("file", "4MiB", "posix", 2, 2),
    ("region", "4MiB", "mpi", 4, 2),
)


@pytest.mark.parametrize(
    ("domain", "domain_size", "consistency", "ranks", "nodes"),
    OWNERS,
    ids=lambda value: str(value),
)
@pytest.mark.parametrize("installation", [mpi.WHEELS[0], mpi.WHEELS[-1]], ids=lambda m: m.name)
def test_what_owners_did_for_each_other_is_done_again(
    installation: mpi.Mpi,
    domain: str,
    domain_size: str,
    consistency: str,
    ranks: int,
    nodes: int,
    tmp_path: Path,
) -> None:
    """The counts of all nodes' caches, which answered other nodes' ranks, too."""
    options = {
        "FOREBAY_DOMAIN": domain,
        "FOREBAY_DOMAIN_SIZE": domain_size,
        "FOREBAY_CONSISTENCY": consistency,
        "FOREBAY_POLICY": POLICIES[ranks % len(POLICIES)],
    }
    seed = str(len(domain))
    counted = recorded(
        tmp_path,
        ranks,
        nodes,
        "many_ways.c",
        seed,
        "25",
        "shared",
        installation=installation,
        options=options,
    )
    wanted = {name: counted[name] for name in COUNTERS}
    assert wanted["hits"] > 20 and wanted["misses"] > 20
    assert (counted["asked_questions"] > 20) == (consistency == "posix")
    (result,) = package.simulate_runtime(tmp_path / "trace")
    assert result.caches == nodes
    assert {name: getattr(result, name) for name in COUNTERS} == wanted
    changes = {"scope": "job", "deterministic": "true"}
    many, one = package.simulate_cluster(
        tmp_path / "trace",
        "palmetto-gige",
        [changes, changes | {"machine.servers": "1"}],
        waits=True,
    )
    asked = any(wait.reason == "owner" for wait in many.waits)
    assert asked == (consistency == "posix")
    for result in (many, one):
        assert {name: getattr(result, name) for name in COUNTERS} == wanted
        assert result.cache_requests == counted["read_requests"] + counted["write_requests"]
    assert one.run_s > many.run_s


def test_the_caches_of_several_nodes_are_played_again(tmp_path: Path) -> None:
    counted = recorded(tmp_path, 4, 2, "many_ways.c", "5", "25", "own", options=NODE)
    changes = {"scope": "node", "deterministic": "true"}
    results = package.simulate_cluster(
        tmp_path / "trace",
        "palmetto-gige",
        [changes, changes | {"machine.servers": "1"}, changes | {"cache_size": "1MiB"}],
    )
    (runtime,) = package.simulate_runtime(tmp_path / "trace")
    for result in results[:2]:
        assert (result.nodes, result.caches) == (2, 2)
        found = {name: getattr(result, name) for name in COUNTERS}
        assert found == {name: counted[name] for name in COUNTERS}
        assert found == {name: getattr(runtime, name) for name in COUNTERS}
        assert result.cache_requests == counted["read_requests"] + counted["write_requests"]
    assert results[0].run_s < results[1].run_s  # another machine: the same counts, other times
    assert results[2].evictions < counted["evictions"]


def test_accesses_past_the_caches_are_made_again(tmp_path: Path) -> None:
    """With scope=node a run does not cache files of several nodes."""
    counted = recorded(tmp_path, 2, 2, "own_and_shared.c", options=NODE)
    changes = {"scope": "node", "deterministic": "true"}
    (result,) = package.simulate_cluster(tmp_path / "trace", "palmetto-gige", [changes])
    found = {name: getattr(result, name) for name in COUNTERS}
    assert found == {name: counted[name] for name in COUNTERS}
    assert counted["hits"] > 20
    assert result.written_bytes == 2 * 2 * 40 * 3000
    # Each record of the shared file takes a request at least: strips have 64 KiB.
    assert result.requests >= result.cache_requests + 2 * 40


def test_a_run_past_its_caches_has_no_steps(tmp_path: Path) -> None:
    counted = recorded(tmp_path, 2, 2, "many_ways.c", "5", "25", "shared", options=NODE)
    assert counted["hits"] == 0
    changes = {"scope": "node", "deterministic": "true"}
    with pytest.raises(TraceError, match="no numbers of what was done to caches"):
        package.simulate_cluster(tmp_path / "trace", "palmetto-gige", [changes])


def test_steps_that_cannot_be_taken_again_are_refused_with_one_line(tmp_path: Path) -> None:
    recorded(tmp_path, 4, 2, "many_ways.c", "5", "25", "own", options=NODE)
    log = FOLDER.parents[2] / "shared" / "data" / "darshan" / "ior_hdf5_4ranks.darshan"
    trace = str(tmp_path / "trace")
    steps = ["-o", "deterministic=true"]
    for words, complaint in (
        ([str(log), "-o", "scope=node"], "only traces that Forebay recorded"),
        ([trace, "-o", "scope=job"], "those of caches of scope=node; give scope=node"),
        ([trace, "-o", "scope=process"], "those of caches of scope=node; give scope=node"),
        ([trace], "give scope=job, node or process"),
        ([trace, "-o", "scope=node", "--processes", "8"], "no process but the trace's"),
        ([trace, "-o", "scope=node", "--processes-per-node", "4"], "shared by other processes"),
        ([trace, "-o", "scope=node", "--processes-per-node", "1"], "shared by other processes"),
    ):
        shown = CliRunner().invoke(simulate, ["cluster", *words, *steps])
        assert shown.exit_code != 0, words
        assert complaint in shown.output
        assert [line for line in shown.output.splitlines() if "Error" in line] == [
            shown.output.splitlines()[-1]
        ]
        assert "Traceback" not in shown.output
    shown = CliRunner().invoke(simulate, ["cluster", trace, "-o", "scope=none", *steps])
    assert shown.exit_code == 0, shown.output


def test_other_options_are_tried_without_running_again(tmp_path: Path) -> None:
    """The simulator's counts for another policy and size are those of a run with them."""
    installation = mpi.WHEELS[0]
    program = mpi.compile_program(installation, FOLDER / "many_ways.c", [])

    def run(name: str, policy: str, capacity: str) -> dict[str, int]:
        folder = tmp_path / name
        folder.mkdir()
        settings = {
            "FOREBAY_DETERMINISTIC": "1",
            "FOREBAY_POLICY": policy,
            "FOREBAY_PAGE_SIZE": "4KiB",
            "FOREBAY_CACHE_SIZE": capacity,
            "FOREBAY_STATS_JSON": str(folder / "statistics.json"),
            "FOREBAY_TRACE": str(folder / "trace"),
        }
        # A single rank, so that the other run makes the same accesses.
        command = [str(program), str(folder / "file"), "7", "25", "shared"]
        launch = mpi.launch_command(installation, 1, forebay.preloaded(command, settings))
        outcome = mpi.run(launch, installation.environment, folder)
        assert outcome.code == 0, str(outcome)
        counted: dict[str, int] = json.loads((folder / "statistics.json").read_text())["total"]
        return counted

    lru = run("lru", "lru", "64KiB")
    arc = run("arc", "arc", "96KiB")
    assert lru["hits"] != arc["hits"]
    words = ["runtime", str(tmp_path / "lru" / "trace"), "--json"]
    shown = CliRunner().invoke(
        simulate, [*words, "--policy", "lru,arc", "--cache-size", "64KiB,96KiB"]
    )
    assert shown.exit_code == 0, shown.output
    results = json.loads(shown.stdout)["results"]
    assert [(one["policy"], one["cache_size"]) for one in results] == [
        ("lru", 64 << 10),
        ("lru", 96 << 10),
        ("arc", 64 << 10),
        ("arc", 96 << 10),
    ]
    for result, counted in ((results[0], lru), (results[3], arc)):
        assert {name: result[name] for name in COUNTERS} == {
            name: counted[name] for name in COUNTERS
        }


def test_steps_of_the_cache_are_no_calls_of_the_program(tmp_path: Path) -> None:
    """With and without steps in the trace, the program made the same calls."""
    installation = mpi.WHEELS[0]
    program = mpi.compile_program(installation, FOLDER / "many_ways.c", [])
    told = []
    for deterministic in ("1", "0"):
        folder = tmp_path / deterministic
        folder.mkdir()
        settings = {
            "FOREBAY_DETERMINISTIC": deterministic,
            "FOREBAY_STEP_ASIDE": "never",
            "FOREBAY_TRACE": str(folder / "trace"),
        }
        command = [str(program), str(tmp_path / "file"), "7", "25", "shared"]
        launch = mpi.launch_command(installation, 1, forebay.preloaded(command, settings))
        outcome = mpi.run(launch, installation.environment, folder)
        assert outcome.code == 0, str(outcome)
        trace = package.open_trace(folder / "trace")
        analysis = package.analyze(trace)
        files = [
            (
                one.path,
                one.read.calls,
                one.write.calls,
                one.metadata_calls,
                one.syncs,
                one.processes,
            )
            for one in analysis.files
        ]
        bins = count_into_bins(trace, analysis.first_ns, analysis.last_ns, [], [])
        routines = {one.routine: one.calls for one in bins.latencies}
        told.append((analysis.totals.accesses, files, routines))
        assert (analysis.steps > 0) == (deterministic == "1")
        assert analysis.totals.accesses + analysis.steps == len(trace)
    assert told[0] == told[1]
    assert not any(name.startswith("forebay") for name in told[0][2])


def test_what_cannot_be_replayed_is_refused_with_one_line(tmp_path: Path) -> None:
    installation = mpi.WHEELS[0]
    program = mpi.compile_program(installation, FOLDER / "many_ways.c", [])
    settings = {"FOREBAY_TRACE": str(tmp_path / "trace")}
    command = [str(program), str(tmp_path / "file"), "1", "2", "shared"]
    launch = mpi.launch_command(installation, 2, forebay.preloaded(command, settings))
    outcome = mpi.run(launch, installation.environment, tmp_path)
    assert outcome.code == 0, str(outcome)
    log = FOLDER.parents[2] / "shared" / "data" / "darshan" / "ior_hdf5_4ranks.darshan"
    trace = tmp_path / "trace"
    for words, complaint in (
        ([str(trace)], "FOREBAY_DETERMINISTIC=1"),
        ([str(log)], "only traces that Forebay recorded"),
        ([str(tmp_path / "absent")], "absent"),
        ([str(trace), "--policy", "best"], "best"),
        ([str(trace), "-o", "cache_size=1TiB", "-o", "page_size=512"], "memory"),
        ([str(trace), "-o", "page_size=1000"], "in steps of 64"),
        ([str(trace), "--cache-size", "16KiB"], "holds no page of page_size=64KiB"),
    ):
        shown = CliRunner().invoke(simulate, ["runtime", *words])
        assert shown.exit_code != 0
        assert complaint in shown.output
        assert "Traceback" not in shown.output
