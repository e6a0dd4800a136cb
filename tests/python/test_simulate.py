"""`forebay simulate` and `forebay generate`: answers computed by hand, real logs, and bad input."""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import forebay as package
from command import forebay
from forebay import _core
from forebay.simulation import (
    AWARENESS,
    BYPASS_BYTES,
    INFORMED,
    MIN,
    POLICIES,
    CacheResult,
    simulate_cache,
    workload_traces,
)
from forebay.simulation.text import conclusion
from forebay.sizes import parse_size
from forebay.trace import Operation, TraceError, open_trace
from traces import LOGS, OPEN, READ_AT_ALL, WRITE_AT, Call, block, process, write_trace

PAGE = 4096


def made(policy: str, size: int, hits: int, awareness: str = "original") -> CacheResult:
    """A result of a thousand touches, with pages of 4 KiB."""
    accesses = 1000
    return CacheResult(
        "t", policy, awareness, PAGE, size, None, accesses, 500, hits, accesses - hits, 0
    )


@pytest.mark.parametrize(
    ("results", "said"),
    [
        (
            [made("lru", 1 << 20, 300), made("lru", 2 << 20, 480), made("lru", 4 << 20, 500)],
            "lru with 2 MiB for all processes has 48.0% hits; a larger cache brings at most 2.0",
        ),
        (
            [made("lru", 1 << 20, 500), made("lru", 2 << 20, 500), made("min", 1 << 20, 625)],
            "lru with 1 MiB for all processes has 50.0% hits, 80% of MIN's; a larger cache brings"
            " nothing more.",
        ),
        # Another policy only if it is clearly better.
        (
            [made("lru", PAGE, 495), made("arc", PAGE, 500)],
            "lru with 4 KiB for all processes has 49.5% hits; no larger cache was simulated.",
        ),
        ([made("lru", PAGE, 400), made("arc", PAGE, 500)], "arc with 4 KiB"),
        # The hits of aggregated accesses are no advice for the runtime.
        ([made("lru", PAGE, 400), made("arc", PAGE, 500, "aggregated")], "lru with 4 KiB"),
        ([made("lru", PAGE, 0), made("min", PAGE, 9)], "No cache of these sizes has a hit."),
        ([made("min", PAGE, 9)], ""),
        (
            [replace(made("lru", 96 << 20, 380), scope="process"), made("min", 96 << 20, 400)],
            "lru with 96 MiB a process has 38.0% hits, 95% of MIN's; no larger cache",
        ),
        (
            [replace(made("lru", 96 << 20, 380), scope="node")],
            "lru with 96 MiB a process, shared on each node, has 38.0% hits; no larger cache",
        ),
        (
            [replace(made("lru", PAGE, 400), sample=0.1, error=0.004)],
            "lru with 4 KiB for all processes has 40.0% hits (± 0.4 points); no larger cache",
        ),
        (
            [replace(made("lru", PAGE, 0), accesses=0, misses=0)],
            "All accesses are so long that they go past caches of these sizes (--bypass).",
        ),
    ],
)
def test_what_the_results_come_to(results: list[CacheResult], said: str) -> None:
    told = conclusion(results)
    assert told.startswith(said)
    assert bool(told) == bool(said)


def simulated(*words: object) -> list[dict[str, Any]]:
    """The results of `forebay simulate cache --json`."""
    done = forebay("simulate", "cache", *words, "--json")
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout)["results"]
    assert isinstance(results, list)
    return results


def counts(result: dict[str, Any]) -> tuple[int, int, int]:
    return result["hits"], result["misses"], result["evictions"]


def collective_job(folder: Path) -> Path:
    """Two ranks, two files: a collective read of 16 alternating pages, then a write by each rank.

    Rank r collectively reads pages r, r+2, ... r+14 of file 0 through a view, then independently
    writes page 0 of file 1.
    """
    folder.mkdir()
    for rank in range(2):
        calls = [
            Call(OPEN, 0, end_ns=10),
            Call(OPEN, 1, end_ns=20),
            Call(READ_AT_ALL, 0, 1, 0, 8 * PAGE, 8 * PAGE, 100 + rank, 200),
            Call(WRITE_AT, 1, 0, 0, PAGE, PAGE, 300 + rank, 400),
        ]
        lines = process(rank, 2)
        lines += ["file 0 2 0 0 shared", "file 1 2 0 0 other"]
        lines += [f"view 1 {rank * PAGE} {16 * PAGE} 8 {2 * PAGE} {PAGE}"]
        lines += [*block(calls), f"end {len(calls)} 0"]
        write_trace(folder / f"{rank}-{rank}.trace", lines)
    return folder


def test_original_and_aggregated_streams_of_a_job(tmp_path: Path) -> None:
    trace = collective_job(tmp_path / "job")
    options = ("--page-size", "4KiB", "--cache-size", "64KiB", "--policy", "lru,min")
    original, best, united, united_best = simulated(trace, *options, "--aggregators", 2)
    # Each rank touches its 8 pages, then both touch one page of the other file: the second touch is
    # a hit.
    assert (original["awareness"], original["accesses"], original["pages"]) == ("original", 18, 17)
    assert counts(original) == (1, 17, 1)
    assert counts(best) == (1, 17, 1)
    assert original["aggregators"] is None
    # Two domains of 8 pages, each in one round; the writes stay the same.
    assert (united["awareness"], united["accesses"], united["pages"]) == ("aggregated", 18, 17)
    assert counts(united) == counts(united_best) == (1, 17, 1)
    assert united["aggregators"] == 2


def test_rounds_of_the_collective_buffer_touch_shared_pages_again(tmp_path: Path) -> None:
    trace = collective_job(tmp_path / "job")
    # Larger pages: each rank touches all 8 of them. United, each is touched once.
    options = ("--page-size", "8KiB", "--cache-size", "16KiB", "--policy", "lru", "--bypass", "off")
    original, united = simulated(trace, *options)
    assert original["accesses"] == 8 + 8 + 2
    assert counts(original) == (1, 17, 15)
    assert united["accesses"] == 8 + 2
    assert counts(united) == (1, 9, 7)
    # Buffers of 6 KiB: rounds end within pages, but the same aggregator continues there.
    (rounds,) = simulated(
        trace, *options, "--awareness", "aggregated", "--collective-buffer", "6KiB"
    )
    assert counts(rounds) == counts(united)
    # Two aggregators with one page per round alternate.
    (turns,) = simulated(
        trace, *options, "--awareness", "aggregated", "--collective-buffer", 8192,
        "--aggregators", 2,
    )  # fmt: skip
    assert turns["accesses"] == 10


def test_a_converted_trace_is_simulated_like_its_original(tmp_path: Path) -> None:
    trace = collective_job(tmp_path / "job")
    converted = tmp_path / "job.parquet"
    assert forebay("convert", trace, "-o", converted).returncode == 0
    options = ("--page-size", "4KiB,8KiB", "--cache-size", "16KiB", "--policy", "lru,arc")
    expected = [{**one, "trace": str(converted)} for one in simulated(trace, *options)]
    assert simulated(converted, *options) == expected


def test_independent_calls_are_united_only_when_asked(tmp_path: Path) -> None:
    """Two ranks write neighbouring halves of pages at the same time, independently."""
    folder = tmp_path / "job"
    folder.mkdir()
    for rank in range(2):
        calls = [Call(OPEN, 0, end_ns=10)]
        for page in range(4):
            place = page * PAGE + rank * PAGE // 2
            start = 1000 * page + 100
            calls.append(Call(WRITE_AT, 0, 0, place, PAGE // 2, PAGE // 2, start, start + 50))
        lines = [*process(rank, 2), "file 0 2 0 0 shared", *block(calls), f"end {len(calls)} 0"]
        write_trace(folder / f"{rank}-{rank}.trace", lines)
    options = ("--page-size", "4KiB", "--cache-size", "64KiB", "--policy", "lru")
    original, as_it_was = simulated(folder, *options)
    assert original["accesses"] == as_it_was["accesses"] == 8
    united_alone = ("--awareness", "aggregated", "--union-window", "0.000001", "--aggregators", 1)
    (united,) = simulated(folder, *options, *united_alone)
    assert united["accesses"] == 4


def test_results_have_every_combination_in_order(tmp_path: Path) -> None:
    trace = collective_job(tmp_path / "job")
    results = simulated(
        trace,
        trace,
        "--policy",
        "lru,arc",
        "--cache-size",
        "8KiB,64KiB",
        "--page-size",
        "4KiB,8KiB",
    )
    asked = [
        (page, awareness, policy, size)
        for page in (4096, 8192)
        for awareness in AWARENESS
        for policy in ("lru", "arc")
        for size in (8192, 65536)
    ]
    keys = ("page_size", "awareness", "policy", "cache_size")
    assert [tuple(one[key] for key in keys) for one in results] == asked * 2
    for one in results:
        assert one["trace"] == str(trace)
        assert one["hits"] + one["misses"] == one["accesses"]
        assert math.isclose(one["hit_rate"], one["hits"] / one["accesses"])


def test_defaults_are_all_policies_and_nine_sizes_up_to_the_footprint(tmp_path: Path) -> None:
    workload_traces.mpi_io_test(tmp_path / "test", 4, size=1 << 20, iterations=2)
    results = simulate_cache(tmp_path / "test", bypass=None)
    names = {*(p.name for p in _core.policies()), MIN} - {INFORMED}
    assert {one.policy for one in results} == names
    sizes = sorted({one.cache_size for one in results})
    assert sizes == [1 << power for power in range(16, 24)]  # 8 MiB in pages of 64 KiB
    assert all(one.hit_rate == 0.5 for one in results if one.cache_size == sizes[-1])
    for one in results:
        bound = next(
            other.hits
            for other in results
            if (other.policy, other.awareness, other.cache_size)
            == (MIN, one.awareness, one.cache_size)
        )
        assert one.hits <= bound


def in_rounds(trace: Path, rounds: int = 100) -> None:
    """Two processes that go through 100 records each of 9,000 bytes, side by side, in rounds."""
    lines = [
        f"{time},{process},read,{(2 * record + process) * 9000},9000"
        for time, (_, record, process) in enumerate(
            itertools.product(range(rounds), range(100), range(2))
        )
    ]
    trace.write_text("\n".join(["time,process,operation,offset,length", *lines]))


def test_informed_replacement_is_nearly_the_optimum_where_accesses_repeat(tmp_path: Path) -> None:
    trace = tmp_path / "rounds.csv"
    in_rounds(trace)
    sizes = [100 << 12, 300 << 12]
    results = simulate_cache(
        trace, policies=["lru", "arc", INFORMED, MIN], cache_sizes=sizes, page_size=4096
    )
    hits = {(one.policy, one.awareness, one.cache_size): one.hits for one in results}
    for size in sizes:
        bound = hits[MIN, "original", size]
        assert 0.95 * bound <= hits[INFORMED, "original", size] <= bound
        assert hits["arc", "original", size] < 0.9 * bound
        assert hits[INFORMED, "aggregated", size] <= hits[MIN, "aggregated", size]
    conclusion = forebay("simulate", "cache", trace, "--policy", "arc,informed").stdout
    assert "informed" in conclusion
    assert "\n    arc with" in conclusion or "\narc with" in conclusion  # programs have no other


def test_informed_replacement_takes_no_sample(tmp_path: Path) -> None:
    trace = tmp_path / "rounds.csv"
    in_rounds(trace, 4)
    few = ("--page-size", "512", "--cache-size", "100KiB", "--sample", "0.5", "--csv")
    both = forebay("simulate", "cache", trace, "--policy", "lru,informed", *few)
    assert both.returncode == 0
    assert "informed is left out: it follows the order of all accesses" in both.stderr
    assert {one["policy"] for one in csv.DictReader(io.StringIO(both.stdout))} == {"lru"}
    alone = forebay("simulate", "cache", trace, "--policy", "informed", *few)
    assert alone.returncode == 1
    assert "informed follows the order of all accesses, and takes no sample" in alone.stderr


@pytest.mark.parametrize("scope", ["job", "process", "node"])
def test_more_processes_do_what_those_of_the_trace_do(tmp_path: Path, scope: str) -> None:
    """A job of 4 extended to 12 is the job of 12."""
    few, many = tmp_path / "few", tmp_path / "many"
    for trace, processes in ((few, 4), (many, 12)):
        workload_traces.ior(trace, processes, transfer=1 << 16, piece=4096, segments=4)
    said: list[str] = []
    settings: dict[str, Any] = {"policies": ["lru", INFORMED, MIN], "cache_sizes": [1 << 18]}
    if scope != "job":
        settings["scope"] = scope
    extended = simulate_cache(few, processes=12, warn=said.append, **settings)
    plain = simulate_cache(many, **settings)
    assert [replace(one, trace="") for one in extended] == [replace(one, trace="") for one in plain]
    assert said[0].startswith("few: 12 processes are simulated; it has 4, and the others do")
    assert simulate_cache(few, processes=4, **settings) == simulate_cache(few, **settings)


def test_more_processes_than_can_be(tmp_path: Path) -> None:
    trace, ids = tmp_path / "ior", tmp_path / "ids.txt"
    workload_traces.ior(trace, 4, transfer=1 << 16, segments=4)
    ids.write_text("1\n2\n")
    fewer = forebay("simulate", "cache", trace, "--processes", 3)
    assert fewer.returncode == 1
    assert "ior has 4 processes; 3 cannot be simulated, but 4 to 65,536" in fewer.stderr
    blocks = forebay("simulate", "cache", ids, "--processes", 3)
    assert (blocks.returncode, blocks.stderr.count("\n")) == (1, 1)
    assert "block ids know no processes to add to" in blocks.stderr


def test_ids_count_blocks(tmp_path: Path) -> None:
    trace = tmp_path / "ids.txt"
    trace.write_text("1\n2\n3\n1\n4\n1\n2\n")
    lru, fifo, best = simulated(
        trace, "--policy", "lru,fifo,min", "--cache-size", 3, "--page-size", 1
    )
    assert counts(lru) == (2, 5, 2)  # page 1 is a hit twice; 2 was evicted for 4
    assert counts(fifo) == (1, 6, 3)
    assert counts(best) == (3, 4, 1)
    assert lru["awareness"] == "original"
    pages = simulated(trace, "--policy", "lru", "--cache-size", "12KiB", "--page-size", "4KiB")
    assert counts(pages[0]) == counts(lru)


@pytest.mark.parametrize("name", ["w.oracleGeneral", "w.oracleGeneral.bin", "w.bin"])
def test_oracle_general(tmp_path: Path, name: str) -> None:
    record = np.dtype([("time", "<u4"), ("id", "<u8"), ("size", "<u4"), ("next", "<i8")])
    rows = np.zeros(7, record)
    rows["time"], rows["id"], rows["next"] = range(7), [1, 2, 3, 1, 4, 1, 2], -1
    (tmp_path / name).write_bytes(rows.tobytes())
    options = ["--policy", "lru", "--cache-size", 3]
    if name == "w.bin":
        refused = forebay("simulate", "cache", tmp_path / name, *options)
        assert refused.returncode == 1
        assert "--format" in refused.stderr
        options += ["--format", "oracleGeneral"]
    assert counts(simulated(tmp_path / name, *options)[0]) == (2, 5, 2)
    (tmp_path / name).write_bytes(rows.tobytes()[:-1])
    cut = forebay("simulate", "cache", tmp_path / name, *options)
    assert cut.returncode == 1
    assert cut.stderr == f"forebay: {tmp_path / name}: byte 144: the last record is cut off:" \
        " 23 of 24 bytes\n"  # fmt: skip


def test_accesses_as_text(tmp_path: Path) -> None:
    trace = tmp_path / "job.csv"
    trace.write_text(
        "time,rank,op,offset,length\n0,0,write,0,4096\n0.01,1,write,8192,4096\n5,0,read,0,8192\n"
    )
    original, united = simulated(
        trace, "--policy", "lru", "--page-size", "4KiB", "--cache-size", "1MiB"
    )
    assert counts(original) == (0, 3, 0)  # 0, 2, then 1: the last touch of process 0 was 0
    assert counts(united) == (2, 3, 0)  # 0, 1, 2, then 0 and 1


def accesses_of(folder: Path, *lines: str) -> Path:
    """A trace as text: process, operation, offset and length per line, one second apart."""
    trace = folder / "accesses.csv"
    rows = [f"{time},{line}" for time, line in enumerate(lines)]
    trace.write_text("\n".join(("time,rank,op,offset,length", *rows)) + "\n")
    return trace


def test_long_accesses_go_past_the_cache_as_in_the_runtime(tmp_path: Path) -> None:
    lines = ("0,w,0,4096", "0,w,8192,65536", "0,r,0,4096", "0,r,8192,65536")
    trace = accesses_of(tmp_path, *lines)
    options = ("--policy", "lru,min", "--awareness", "original", "--page-size", "4KiB")
    sizes = ("--cache-size", "64KiB,1MiB")

    # By their length with both caches, by half of the smaller cache only with that one.
    for bypass, past in (("64KiB", [131072] * 2), ("65537", [131072, 0]), ("off", [0, 0])):
        results = simulated(trace, *options, *sizes, "--bypass", bypass)
        assert [one["bypassed_bytes"] for one in results] == past * 2
        assert [one["bypassed_accesses"] for one in results] == [2 * (p > 0) for p in past] * 2
        for one in results:
            few = one["bypassed_bytes"] > 0
            # Without the long accesses everything is on one page, and counts once.
            assert (one["accesses"], one["pages"]) == ((1, 1) if few else (34, 17))
            assert one["hits"] == 0 or not few
    shown = forebay("simulate", "cache", trace, *options, *sizes, "--bypass", 65537).stdout
    assert [line.split() for line in shown.splitlines() if "bypassed" in line] == [
        ["bypassed", "128", "KiB", "0"]
    ]
    whole = forebay("simulate", "cache", trace, *options, "--bypass", 1).stdout
    assert "All accesses are so long that they go past caches" in whole


def test_the_bypass_is_the_option_of_the_runtime() -> None:
    (option,) = [one for one in _core.options() if one.name == "bypass"]
    assert parse_size(option.fallback) == BYPASS_BYTES


def test_each_process_has_a_cache(tmp_path: Path) -> None:
    lines = ("0,w,0,4096", "5,w,4096,4096", "5,r,0,4096", "0,r,4096,4096", "0,r,0,4096")
    trace = accesses_of(tmp_path, *lines)
    options = ("--policy", "lru,min", "--page-size", "4KiB", "--cache-size", "4KiB,8KiB")
    options += ("--bypass", "off")
    alone = simulated(trace, *options, "--scope", "process")
    assert {(one["awareness"], one["scope"], one["caches"]) for one in alone} == {
        ("original", "process", 2)
    }
    assert [counts(one) for one in alone] == [(0, 5, 3), (1, 4, 0)] * 2
    assert {one["pages"] for one in alone} == {4}
    together = simulated(trace, *options, "--awareness", "original")
    assert [counts(one) for one in together if one["policy"] == "lru"] == [(0, 5, 4), (3, 2, 0)]
    shown = forebay("simulate", "cache", trace, *options, "--scope", "process").stdout
    assert ", in 2 caches, one for each process" in shown
    assert "lru with 8 KiB a process has 20.0% hits, 100% of MIN's" in shown


def test_a_nodes_cache_is_as_large_as_its_processes_bring(tmp_path: Path) -> None:
    """Four ranks on two nodes. Each rank writes two pages of its node's file, and reads the other
    rank's."""
    folder = tmp_path / "job"
    folder.mkdir()
    for rank in range(4):
        mine, other = 2 * (rank % 2) * PAGE, 2 * ((rank + 1) % 2) * PAGE
        calls = [
            Call(OPEN, 0, end_ns=10),
            Call(WRITE_AT, 0, 0, mine, 2 * PAGE, 2 * PAGE, 100 + rank, 200),
            Call(WRITE_AT, 0, 0, other, 2 * PAGE, 2 * PAGE, 300 + rank, 400),
        ]
        lines = process(rank, 4, host=f"node{rank // 2}")
        lines += [f"file 0 4 0 0 of{rank // 2}", *block(calls), f"end {len(calls)} 0"]
        write_trace(folder / f"{rank}-{rank}.trace", lines)
    options = ("--policy", "lru", "--page-size", "4KiB", "--cache-size", "8KiB", "--bypass", "off")
    (nodes,) = simulated(folder, *options, "--scope", "node")
    assert (nodes["caches"], nodes["accesses"], nodes["pages"]) == (2, 16, 8)
    assert counts(nodes) == (8, 8, 0)  # 16 KiB hold both ranks' pages
    (alone,) = simulated(folder, *options, "--scope", "process")
    assert (alone["caches"], counts(alone)) == (4, (0, 16, 8))


@pytest.mark.parametrize(
    ("text", "scope", "said"),
    [
        ("1\n2\n", "process", "block ids know no processes; they have scope job"),
        ("0,0,w,0,9\n", "node", "it names no nodes; use --scope process or job"),
        ("0,2000000,w,0,9\n", "process", "numbers up to 2,000,000"),
    ],
)
def test_scopes_that_a_trace_does_not_have(
    tmp_path: Path, text: str, scope: str, said: str
) -> None:
    trace = tmp_path / "t.txt"
    trace.write_text(text)
    done = forebay("simulate", "cache", trace, "--scope", scope)
    assert done.returncode == 1
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


def made_ids(path: Path, ids: Any) -> Path:
    """Writes a trace of block ids."""
    record = np.dtype([("time", "<u4"), ("id", "<u8"), ("size", "<u4"), ("next", "<i8")])
    rows = np.zeros(len(ids), record)
    rows["id"] = ids
    path.write_bytes(rows.tobytes())
    return path


@pytest.mark.parametrize("policy", ["s3fifo", MIN])
def test_one_long_simulation_moves_the_progress(tmp_path: Path, policy: str) -> None:
    ids = np.random.default_rng(1).integers(0, 400_000, 3_000_000)
    trace = made_ids(tmp_path / "ids.oracleGeneral", ids)
    told: list[tuple[str, float]] = []
    simulate_cache(
        trace,
        policies=[policy],
        cache_sizes=[100_000],
        progress=lambda stage, part: told.append((stage, part)),
    )
    parts = [part for stage, part in told if "original" in stage]
    assert parts == sorted(parts)
    assert parts[0] == 0 and parts[-1] == 1
    assert any(0 < part < 1 for part in parts)


def apart_in_errors(trace: Path, rate: float, **settings: Any) -> list[float]:
    """The distance of the estimated rates from the exact ones, as multiples of the stated
    errors."""
    exact = simulate_cache(trace, **settings)
    sampled = simulate_cache(trace, **settings, sample=rate)
    apart = []
    for truth, estimate in zip(exact, sampled, strict=True):
        assert (truth.sample, truth.error) == (None, 0.0)
        assert estimate.accesses == truth.accesses == estimate.hits + estimate.misses
        if estimate.sample is None:  # the cache is too small for an estimate
            assert estimate == truth
            continue
        assert estimate.sample == rate
        assert 0 < estimate.error < 0.06
        apart.append(abs(estimate.hit_rate - truth.hit_rate) / estimate.error)
    assert len(apart) >= len(exact) // 2
    return apart


def assert_covered(apart: list[float]) -> None:
    """Nearly all rates are within their error, and none is far off."""
    assert sum(one <= 1 for one in apart) >= 0.9 * len(apart), apart
    assert max(apart) < 2, apart


def test_a_sample_states_its_error(tmp_path: Path) -> None:
    weights = 1 / np.arange(1, 50_001) ** 0.7
    apart = []
    for seed in (7, 8, 9):
        random = np.random.default_rng(seed)
        often = random.choice(50_000, 300_000, p=weights / weights.sum())
        scan = np.arange(300_000) % 40_000 + 100_000
        ids = np.where(random.random(300_000) < 0.7, often, scan)
        trace = made_ids(tmp_path / "ids.oracleGeneral", ids)
        sizes = [100, 2000, 8000, 32_000]
        apart += apart_in_errors(trace, 0.1, policies=("lru", "arc", MIN), cache_sizes=sizes)
    assert_covered(apart)
    whole = ["--cache-size", 8000, "--policy", "lru"]
    assert simulated(trace, *whole, "--sample", 1) == simulated(trace, *whole)
    shown = forebay("simulate", "cache", trace, *whole, "--sample", "0.1").stdout
    assert "10.00% of the pages were simulated" in shown
    assert " ± " in next(line for line in shown.splitlines() if line.startswith("  lru"))


@pytest.mark.skipif(not LOGS.is_dir(), reason="there are no Darshan logs")
def test_a_sample_of_a_real_log_states_its_error() -> None:
    for name in ("mpi-io-test_32ranks", "benchmark_write_parallel_384ranks"):
        log = LOGS / f"{name}.darshan"
        assert_covered(apart_in_errors(log, 0.1, policies=("lru", "arc", MIN), bypass=None))


def test_files_and_figures_are_written(tmp_path: Path) -> None:
    trace = collective_job(tmp_path / "job")
    outputs = {ending: tmp_path / f"out.{ending}" for ending in ("csv", "parquet", "svg", "png")}
    words = ["simulate", "cache", trace, "--policy", "lru,min", "--csv", outputs["csv"]]
    words += ["--parquet", outputs["parquet"]]
    done = forebay(*words, "--plot", outputs["svg"])
    assert done.returncode == 0, done.stderr
    shown = done.stdout.splitlines()
    assert shown[-1].startswith("lru with ")
    assert [line.split()[0] for line in shown[4:-1]] == [
        "original",
        "lru",
        "min",
        "aggregated",
        *("lru", "min"),
    ]
    rows = outputs["csv"].read_text().splitlines()
    assert rows[0].startswith("trace,policy,awareness,page_size,cache_size")
    import pyarrow.parquet as pq

    assert pq.read_table(outputs["parquet"]).num_rows == len(rows) - 1
    drawing = outputs["svg"].read_text()
    for text in ("lru, original", "min, aggregated", "hit rate", "cache size"):
        assert text in drawing
    again = forebay(*words)
    assert again.returncode == 2
    assert "--force" in again.stderr
    assert forebay(*words, "--force", "--plot", outputs["png"]).returncode == 0
    assert outputs["png"].read_bytes().startswith(b"\x89PNG")
    plain = forebay("simulate", "cache", trace, "--policy", "lru", "--csv")
    assert plain.stdout.startswith("trace,policy")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--policy", "lru,best"), "'best' is not one of"),
        (("--cache-size", "12 parsecs"), "is no size"),
        (("--policy", ","), "',' names nothing"),
        (("--awareness", "total"), "'total' is not one of original, aggregated"),
        (("--aggregators", "0"), "0 is not in the range"),
        (("--plot", "figure.doc"), "end it in .svg"),
        (("--bypass", "on"), "'on' is no size; write it as 4096, 64KiB or 1.5GiB, or off"),
        (("--scope", "rank"), "'rank' is not one of 'process', 'node', 'job'"),
        (("--scope", "node", "--awareness", "aggregated"), "they have one cache, of scope job"),
        (("--sample", "0"), "is not in the range 0<x<=1"),
        (("--sample", "nan"), "a sample is a part of the pages: above 0, at most 1"),
        (("--memory", "64KiB", "--page-size", "1"), "raise --memory"),
    ],
)
def test_mistakes_are_answered_by_one_line(
    tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    trace = collective_job(tmp_path / "job")
    done = forebay("simulate", "cache", trace, *words)
    assert done.returncode in (1, 2)
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.txt", b"1\nx\n", "line 2: 'x' is no block number"),
        ("a.csv", b"2,1,1\n1,1,1\n", "line 2: time 1 lies before"),
        ("a.csv", b"0,0,w,0,9223372036854775807\n", "it touches more than"),
        ("a.txt", b"", "it holds no access"),
        ("a.oracleGeneral", b"\0" * 23, "byte 0: the last record is cut off"),
        ("a.oracleGeneral.zst", b"\x28\xb5\x2f\xfd\xff\xff\xff", "compressed data"),
        ("a.trace", b"FOREBAYT", "a.trace: "),
        ("a.what", b"??", "neither its beginning nor its name"),
    ],
)
def test_bad_files_are_answered_by_one_line(
    tmp_path: Path, name: str, content: bytes, said: str
) -> None:
    trace = tmp_path / name
    trace.write_bytes(content)
    done = forebay(
        "simulate", "cache", trace, "--policy", "lru", "--page-size", 1, "--bypass", "off"
    )
    assert done.returncode == 1
    assert said in done.stderr
    assert str(trace) in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_what_is_absent_is_said(tmp_path: Path) -> None:
    done = forebay("simulate", "cache", tmp_path / "none.csv")
    assert done.returncode == 1
    assert done.stderr == f"forebay: {tmp_path / 'none.csv'}: No such file or directory\n"
    ids = tmp_path / "ids.txt"
    ids.write_text("1\n")
    with pytest.raises(TraceError, match="no processes to aggregate"):
        simulate_cache(ids, awareness=["aggregated"])
    with pytest.raises(ValueError, match="there is no policy"):
        package.simulate_cache(ids, policies=["none"])


@pytest.mark.skipif(not LOGS.is_dir(), reason="there are no Darshan logs")
def test_real_logs() -> None:
    log = LOGS / "mpi-io-test_32ranks.darshan"
    done = forebay("simulate", "cache", log, "--policy", "lru,min", "--bypass", "off")
    assert done.returncode == 0
    assert "marks no collective calls" in done.stderr
    # 32 processes write 64 MiB each, then read it: a page is touched again after all others were
    # touched.
    assert "original: 65,536 touches of 32,768 pages of 64 KiB, 2 GiB" in done.stdout
    for name in ("ior_hdf5_4ranks", "benchmark_write_parallel_384ranks"):
        results = simulate_cache(
            LOGS / f"{name}.darshan",
            policies=["lru", MIN],
            cache_sizes=[1 << 30],
            page_size=1 << 20,
            bypass=None,
        )
        assert [one.awareness for one in results] == ["original"] * 2 + ["aggregated"] * 2
        assert results[0].hits <= results[1].hits


def test_the_darshan_log_and_the_generated_workload_agree(tmp_path: Path) -> None:
    log = LOGS / "mpi-io-test_32ranks.darshan"
    if not log.exists():
        pytest.skip("there is no such log")
    workload_traces.mpi_io_test(tmp_path / "made", 32)
    real, made = open_trace(log).accesses, open_trace(tmp_path / "made").accesses
    data = made["operation"] <= Operation.WRITE
    data &= made["operation"] != Operation.OTHER

    def accesses(of: Any, rows: Any) -> set[tuple[int, ...]]:
        columns = ("rank", "operation", "offset", "end")
        return set(zip(*(of[name][rows].tolist() for name in columns), strict=True))

    assert accesses(made, data) == accesses(real, slice(None))


def test_generated_tiles_cover_the_array_and_overlap(tmp_path: Path) -> None:
    workload_traces.tile_io(tmp_path / "t", 6, tile=(8, 4), element=2, overlap=(2, 1))
    trace = open_trace(tmp_path / "t")
    assert not trace.problems
    covered: dict[int, int] = {}
    for row in np.flatnonzero(trace.accesses["operation"] == Operation.WRITE):
        one = {name: int(trace.accesses[name][row]) for name in ("view", "position", "requested")}
        assert one["requested"] == 8 * 4 * 2
        for offset, length in trace.extents(one["view"], one["position"], one["requested"]):
            assert length == 8 * 2
            for byte in range(offset, offset + length):
                covered[byte] = covered.get(byte, 0) + 1
    # 3 by 2 tiles: 20 elements across, 7 down.
    assert sorted(covered) == list(range(20 * 7 * 2))
    assert sum(covered.values()) == 6 * 8 * 4 * 2
    assert max(covered.values()) == 4  # at a corner of four tiles
    reads = np.count_nonzero(trace.accesses["operation"] == Operation.READ)
    assert reads == 6


def test_generated_ior_interleaves_pieces(tmp_path: Path) -> None:
    workload_traces.ior(tmp_path / "i", 3, transfer=64, piece=16, segments=2)
    trace = open_trace(tmp_path / "i")
    rows = np.flatnonzero(
        (trace.accesses["operation"] == Operation.READ) & (trace.accesses["rank"] == 1)
    )
    places = [
        list(
            trace.extents(
                int(trace.accesses["view"][row]),
                int(trace.accesses["position"][row]),
                int(trace.accesses["requested"][row]),
            )
        )
        for row in rows
    ]
    assert places == [
        [(16, 16), (64, 16), (112, 16), (160, 16)],
        [(208, 16), (256, 16), (304, 16), (352, 16)],
    ]


@pytest.mark.parametrize(("sets", "pieces"), [(20, 1), (5, 4)])
def test_generated_flash_fills_three_files(tmp_path: Path, sets: int, pieces: int) -> None:
    """Independent writes without a hole or an overlap, but for the superblock, written twice; the
    pieces of a process's part lie behind each other."""
    workload_traces.flash(tmp_path / "f", 4, sets=sets, pieces=pieces)
    trace = open_trace(tmp_path / "f")
    assert not trace.problems
    assert [Path(path).name for path in trace.files] == [
        *("flash_checkpoint", "flash_plot_centered", "flash_plot_corner"),
    ]
    accesses = trace.accesses
    for file in range(3):
        rows = np.flatnonzero(
            (accesses["operation"] == Operation.WRITE) & (accesses["file"] == file)
        )
        places = sorted(
            zip(accesses["offset"][rows].tolist(), accesses["end"][rows].tolist(), strict=True)
        )
        assert len(places) == 2 + sets * (1 + 4 * pieces)
        assert places.pop(0) == places[0] == (0, 96)
        assert all(before[1] == after[0] for before, after in itertools.pairwise(places))
        own = rows[accesses["rank"][rows] == 3]
        sizes = accesses["end"][own] - accesses["offset"][own]
        ends = accesses["end"][own].reshape(sets, pieces)
        begins = accesses["offset"][own].reshape(sets, pieces)
        assert (ends[:, :-1] == begins[:, 1:]).all()
        assert len(sizes) == 20 and all(sizes % 2 == 1)
        assert sizes.min() >= 1000 and sizes.max() <= 50_000
    assert not any(one.collective for one in trace.routines if one.name == "MPI_File_write_at")


def test_generate_by_command(tmp_path: Path) -> None:
    for name in ("tile-io", "ior", "mpi-io-test", "flash"):
        assert forebay("generate", name, "-n", 2, "-o", tmp_path / name).returncode == 0
        assert len(open_trace(tmp_path / name).processes) == 2
        again = forebay("generate", name, "-n", 2, "-o", tmp_path / name)
        assert again.returncode == 2
        assert "it exists" in again.stderr
    bad = forebay("generate", "tile-io", "-n", 3, "--grid", "2x2", "-o", tmp_path / "bad")
    assert bad.returncode == 2
    assert "a grid of 2x2 has no 3 tiles" in bad.stderr
    assert not (tmp_path / "bad").exists()


def test_lu_gains_with_tiles_and_not_where_nothing_is_shared() -> None:
    done = forebay("simulate", "lu", "-n", 4, "--json")
    assert done.returncode == 0, done.stderr
    workloads = {one["workload"]: one for one in json.loads(done.stdout)["workloads"]}
    tile = workloads["MPI-Tile-IO"]
    assert len({one["cache_size"] for one in tile["results"]}) == 9
    assert all(tile["gains"][policy]["gain"] > 0.5 for policy in ("lru", "lfu", "arc"))
    assert all(abs(gain["gain"]) < 0.05 for gain in workloads["mpi-io-test"]["gains"].values())
    assert "Lu's gain" in forebay("simulate", "lu", "-n", 2).stdout


def test_help_names_every_policy() -> None:
    text = forebay("simulate", "cache", "--help").stdout
    assert all(f"\n  {name} " in text for name in POLICIES)
