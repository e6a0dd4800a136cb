"""What the runtime's caches count in an MPI program, and what the simulator counts from the trace
of that run: the same, to the last one, whatever the ranks did at the same time."""

from __future__ import annotations

import json
from itertools import cycle
from pathlib import Path

import pytest

import forebay as package
from forebay import _core
from harness import forebay, mpi

FOLDER = Path(__file__).resolve().parent
COUNTERS = ("hits", "misses", "evictions", "committed_bytes", "bypass_bytes")
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
    capacity = 64 << 10  # of a process
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
    # How far a file reaches is known to a cache from all who write to it.
    files = "shared" if scope == "node" else "own"
    command = [str(program), str(tmp_path / "file"), seed, "25", files]
    launch = mpi.launch_command(installation, ranks, forebay.preloaded(command, settings))
    outcome = mpi.run(launch, installation.environment, tmp_path)
    assert outcome.code == 0, str(outcome)
    counted = json.loads((tmp_path / "statistics.json").read_text())["total"]

    trace = package.open_trace(tmp_path / "trace")
    assert trace.problems == []
    replay = _core.Replay(trace.reader)
    caches = replay.run(replay.options())  # those of the run
    assert len(caches) == (1 if scope == "node" else ranks)
    found = {name: sum(getattr(cache, name) for cache in caches) for name in COUNTERS}
    assert found == {name: counted[name] for name in COUNTERS}
    assert counted["evictions"] > 20
    assert counted["hits"] > 20
