"""What the replacement policy sees of collective accesses: the ranks' own, or one of them all."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

import forebay as package
from harness import forebay, mpi

PROGRAM = Path(__file__).parent / "handles" / "rows.c"
RANKS = 4
PAGE = 4096
AWARENESS = ("original", "aggregated")
# Nothing but the accesses touches a page.
ALONE = {
    "FOREBAY_STEP_ASIDE": "never",
    "FOREBAY_READ_AHEAD": "0",
    "FOREBAY_WRITE_BEHIND": "false",
    "FOREBAY_BYPASS": "1GiB",
    "FOREBAY_SHARDS": "1",
    "FOREBAY_PAGE_SIZE": str(PAGE),
}


def run(
    installation: mpi.Mpi, folder: Path, shape: tuple[int, ...], settings: Mapping[str, str]
) -> forebay.Run:
    command = [str(mpi.compile_program(installation, PROGRAM)), ".", *map(str, shape)]
    done = forebay.launch(installation, RANKS, command, folder, settings)
    assert done.outcome.code == 0, str(done.outcome)
    forebay.assert_served(done.statistics, done.outcome)
    return done


# Pieces of a part of a page, of some pages, and rows of several rounds: a round has half the cache.
@pytest.mark.parametrize("shape", [(8, 40, 300), (8, 3, 9000), (3, 100, 1300)], ids=str)
@pytest.mark.parametrize("policy", ["lru", "arc"])
@pytest.mark.parametrize("installation", mpi.WHEELS, ids=lambda m: m.name)
def test_the_policy_sees_what_the_simulator_shows_it(
    installation: mpi.Mpi, policy: str, shape: tuple[int, ...], tmp_path: Path
) -> None:
    """Hits and misses of both kinds are those of `forebay simulate cache`, page by page."""
    share = 64 << 10
    counted = {}
    for awareness in AWARENESS:
        settings = ALONE | {
            "FOREBAY_POLICY": policy,
            "FOREBAY_CACHE_SIZE": str(share),
            "FOREBAY_AWARENESS": awareness,
            "FOREBAY_TRACE": str(tmp_path / awareness / "trace"),
        }
        done = run(installation, tmp_path / awareness, shape, settings)
        assert done.statistics is not None
        total = done.statistics["total"]
        counted[awareness] = total["hits"], total["misses"]
        assert total["bypass_bytes"] == 0
        if awareness == "aggregated":
            assert total["pace_waits"] == 0  # nobody is far behind
    (aggregated,) = package.simulate_cache(
        str(tmp_path / "aggregated" / "trace"),
        policies=[policy],
        awareness=["aggregated"],
        cache_sizes=[RANKS * share],
        page_size=PAGE,
        bypass=1 << 30,
        aggregators=1,
        collective_buffer=RANKS * share // 2,
    )
    assert counted["aggregated"] == (aggregated.hits, aggregated.misses)
    assert counted["original"] != counted["aggregated"]


@pytest.mark.parametrize(
    "settings",
    [{"FOREBAY_SCOPE": "process"}, {"FOREBAY_DETERMINISTIC": "true"}, {"FOREBAY_NODE": ""}],
    ids=["process", "deterministic", "nodes"],
)
def test_without_one_cache_the_accesses_stay_the_ranks_own(
    settings: Mapping[str, str], tmp_path: Path
) -> None:
    installation = mpi.WHEELS[0]
    command = [str(mpi.compile_program(installation, PROGRAM)), ".", "8", "40", "300"]
    if "FOREBAY_NODE" in settings:
        command = forebay.on_nodes(command, 2)
    asked = {"FOREBAY_AWARENESS": "aggregated", "FOREBAY_STEP_ASIDE": "never"}
    done = forebay.launch(installation, RANKS, command, tmp_path / "run", asked | settings)
    assert done.outcome.code == 0, str(done.outcome)
    lines = [line for line in done.outcome.errors.splitlines() if "awareness" in line]
    assert len(lines) == 1
    assert lines[0].endswith(
        "awareness=aggregated needs ranks that share a cache; awareness=original is used; give no "
        "scope=process, deterministic=true or step_aside=always, and one node to the job"
    )
