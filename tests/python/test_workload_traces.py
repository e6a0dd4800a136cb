"""`forebay generate`: workloads whose calls no program is compared with (tests/python/test_bench.py
compares the others), bad counts, and what simulators make of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from command import forebay
from forebay.simulation import simulate_cluster, workload_traces
from forebay.trace import Operation, open_trace

OF_BENCH = (
    *("small", "small-parts", "ior-easy", "ior-hard", "checkpoint", "tile-io-small"),
    *("lattice", "btio", "points", "sliding-window"),
)


def reads(trace: Path, rank: int) -> list[tuple[int, int]]:
    accesses = open_trace(trace).accesses
    rows = np.flatnonzero((accesses["operation"] == Operation.READ) & (accesses["rank"] == rank))
    starts = accesses["offset"][rows].tolist()
    return list(zip(starts, accesses["end"][rows].tolist(), strict=True))


def test_pio_reads_blocks_in_turn_with_one_stride_or_two(tmp_path: Path) -> None:
    workload_traces.pio(tmp_path / "one", 4, size=100, count=3)
    assert reads(tmp_path / "one", 1) == [(100, 200), (500, 600), (900, 1000)]
    workload_traces.pio(tmp_path / "two", 2, size=10, nested=True, count=5)
    assert [start for start, _ in reads(tmp_path / "two", 0)] == [0, 20, 80, 100, 160]


def test_pio_computes_between_its_reads(tmp_path: Path) -> None:
    workload_traces.pio(tmp_path / "pio", 4, size=1 << 16, count=20, compute=0.02, independent=True)
    options = {"scope": "none"}
    (at_once,) = simulate_cluster(tmp_path / "pio", "perlmutter", [options])
    (thinking,) = simulate_cluster(tmp_path / "pio", "perlmutter", [options], think=1)
    assert at_once.computing_s == 0 and at_once.collective_calls == 0
    assert thinking.computing_s == pytest.approx(19 * 0.02, rel=0.02)
    assert thinking.run_s > thinking.computing_s
    # Reads ahead take place while the program computes.
    ahead, none = simulate_cluster(
        tmp_path / "pio", "perlmutter", [{"scope": "node"}, {"scope": "node", "read_ahead": "0"}],
        think=1,
    )  # fmt: skip
    assert ahead.reading_s < 0.8 * none.reading_s


@pytest.mark.parametrize("name", OF_BENCH)
def test_the_command_makes_a_trace(name: str, tmp_path: Path) -> None:
    trace = tmp_path / "made"
    run = forebay("generate", name, "-n", "4", "--count", "2", "-o", trace)
    assert run.returncode == 0, run.stderr
    accesses = open_trace(trace).accesses
    assert set(accesses["rank"].tolist()) == set(range(4)) or name in ("small", "ior-hard")
    assert np.any(accesses["operation"] == Operation.WRITE)
    assert np.any(accesses["operation"] == Operation.READ)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["btio", "-n", "8"], "btio needs 1, 4, 16, 64, ... up to 4,096 processes, not 8"),
        (["btio", "-n", "9"], "not 9"),
        (["pio", "--size", "1TiB", "--count", "1048576"], "no file has"),
        (["pio", "--compute", "-1"], "-1.0 is not in the range"),
        (["small", "--count", "0"], "0 is not in the range"),
        (["lattice", "-n", "1048576", "--count", "1048576"], "no file has"),
    ],
)
def test_workloads_that_cannot_be_get_a_line(
    words: list[str], expected: str, tmp_path: Path
) -> None:
    run = forebay("generate", *words, "-o", tmp_path / "made")
    assert run.returncode == 2
    assert expected in run.stderr
    assert len(run.stderr.splitlines()) == 1
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    ("processes", "count", "grid"),
    [
        (1, 4, [1, 1, 1, 1]),
        (6, 2, [3, 2]),
        (7, 3, [7, 1, 1]),
        (12, 3, [3, 2, 2]),
        (24, 3, [4, 3, 2]),
        (16, 4, [2, 2, 2, 2]),
        (1 << 20, 4, [32, 32, 32, 32]),
    ],
)
def test_grids_are_as_square_as_possible(processes: int, count: int, grid: list[int]) -> None:
    assert workload_traces._dimensions(processes, count) == grid


def test_pages_are_masks_as_in_programs_unless_memory_is_short(tmp_path: Path) -> None:
    """Trees of many small pieces would make a cache look a thousand times slower than it is."""
    workload_traces.points(tmp_path / "points", 8, count=10_000)
    said: list[str] = []
    changes = [
        {"scope": "node", "machine.servers": "8"} | kind
        for kind in ({}, {"page_kind": "mask"}, {"page_kind": "tree"})
    ]
    default, mask, tree = simulate_cluster(
        tmp_path / "points", "perlmutter", changes, warn=said.append
    )
    assert default.run_s == mask.run_s < tree.run_s / 10
    assert said == []
    # A page counts once in each cache that has it: in one, and in 8.
    shared, own = (
        simulate_cluster(
            tmp_path / "points",
            "perlmutter",
            [changes[0] | {"scope": scope} | kind for kind in ({}, {"page_kind": "tree"})],
            memory=800_000,
            jobs=1,
            warn=said.append,
        )
        for scope in ("node", "process")
    )
    assert shared[0].run_s == mask.run_s
    assert own[0].run_s == own[1].run_s
    assert ["page_kind=tree" in line for line in said] == [True]
