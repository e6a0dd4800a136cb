"""Findings by log: those that must be found, and no others.

The logs are real ones, and made-up ones whose counters and accesses just fulfil a rule, or just do
not.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console

from darshan_logs import SHARED, Log
from forebay.analysis import Analysis, analyze
from forebay.analysis.findings import RULES
from forebay.commands.analyze import analyze as command
from forebay.notebook import parts_of, write
from forebay.reports.job import render
from forebay.trace import open_trace
from traces import CLOSE, LOGS, OPEN, READ_AT_ALL, ROOT, WRITE_AT, Call, block, process, write_trace

OUT = "/scratch/out"
RANKS = 4
MIB = 1 << 20


def prefixed(prefix: str, counters: Mapping[str, float]) -> dict[str, float]:
    return {f"{prefix}_{name}": value for name, value in counters.items()}


def mpiio(log: Log, path: str = OUT, rank: int = SHARED, **counters: float) -> None:
    log.count("MPI-IO", path, rank, prefixed("MPIIO", {"COLL_OPENS": RANKS} | counters))


def posix(log: Log, path: str = OUT, rank: int = SHARED, **counters: float) -> None:
    log.count("POSIX", path, rank, prefixed("POSIX", {"FILE_ALIGNMENT": 4096} | counters))


def traced(
    log: Log, calls: int, size: int, seconds: float = 1e-3, module: str = "DXT_MPIIO"
) -> None:
    """Each rank writes blocks, alternating with the others."""
    for rank in range(RANKS):
        places = ((i * RANKS + rank) * size for i in range(calls // RANKS))
        writes = [(at, size, i * seconds, (i + 1) * seconds) for i, at in enumerate(places)]
        log.trace(OUT, rank, writes, module=module)


def small_writes(kind: str, calls: int = 4000, module: str = "DXT_MPIIO") -> Log:
    """Small writes, traced, and counted by MPI-IO's module as calls of `kind`."""
    log = Log(RANKS, 10)
    sizes = {"SIZE_WRITE_AGG_100_1K": calls, "BYTES_WRITTEN": calls * 300}
    mpiio(log, **{f"{kind}_WRITES": calls}, **sizes, F_WRITE_TIME=calls / 1000)
    traced(log, calls, 300, module=module)
    return log


def collective() -> Log:
    return small_writes("COLL")


def nearly_all_collective() -> Log:
    """99 of 100 calls are collective. (Once such a log was reported to have independent calls.)"""
    log = Log(RANKS, 10)
    sizes = {"SIZE_WRITE_AGG_100_1K": 4000, "BYTES_WRITTEN": 4000 * 300}
    mpiio(log, COLL_WRITES=3960, INDEP_WRITES=40, **sizes)
    traced(log, 4000, 300)
    return log


def independent() -> Log:
    return small_writes("INDEP")


def nonblocking() -> Log:
    return small_writes("NB")


def split() -> Log:
    return small_writes("SPLIT")


def united_by_a_cache() -> Log:
    """Small and independent, but storage received few requests."""
    log = independent()
    posix(log, WRITES=4, BYTES_WRITTEN=4000 * 300, SIZE_WRITE_100K_1M=4, F_WRITE_TIME=3)
    return log


def collective_in_pieces() -> Log:
    log = collective()
    posix(log, WRITES=4000, BYTES_WRITTEN=4000 * 300, SIZE_WRITE_100_1K=4000)
    return log


def collective_united() -> Log:
    log = collective()
    posix(log, WRITES=4, BYTES_WRITTEN=4000 * 300, SIZE_WRITE_100K_1M=4)
    return log


def without_mpiio_counters() -> Log:
    log = Log(RANKS, 10)
    traced(log, 4000, 300)
    return log


def with_half_of_the_mpiio_counters() -> Log:
    """The module's memory was full, so its counters are incomplete."""
    log = Log(RANKS, 10, full=["MPI-IO"])
    mpiio(log, rank=0, INDEP_WRITES=1000, BYTES_WRITTEN=300_000, SIZE_WRITE_AGG_100_1K=1000)
    traced(log, 4000, 300)
    return log


def counters_alone() -> Log:
    log = Log(RANKS, 10)
    for rank in range(RANKS):
        sizes = {"SIZE_WRITE_AGG_1K_10K": 1000, "BYTES_WRITTEN": 1000 * 5000}
        mpiio(log, rank=rank, INDEP_WRITES=1000, **sizes, F_WRITE_TIME=2, F_META_TIME=0.1)
    return log


def collective_counters_alone() -> Log:
    log = Log(RANKS, 10)
    mpiio(log, COLL_WRITES=4000, SIZE_WRITE_AGG_1K_10K=4000, BYTES_WRITTEN=4000 * 5000)
    return log


def cut_off() -> Log:
    """DXT's memory was full after a quarter of the calls, which were large; the others were
    small."""
    log = Log(RANKS, 10, full=["DXT_MPIIO"])
    sizes = {"SIZE_WRITE_AGG_1M_4M": 1000, "SIZE_WRITE_AGG_100_1K": 3000}
    mpiio(log, INDEP_WRITES=4000, BYTES_WRITTEN=1000 * 2 * MIB + 3000 * 500, **sizes)
    traced(log, 1000, 2 * MIB)
    return log


def posix_program() -> Log:
    log = Log(RANKS, 10)
    posix(log, WRITES=4000, BYTES_WRITTEN=4000 * 300, SIZE_WRITE_100_1K=4000)
    traced(log, 4000, 300, module="DXT_POSIX")
    return log


def posix_counters_alone() -> Log:
    log = Log(RANKS, 10)
    posix(log, WRITES=4000, BYTES_WRITTEN=4000 * 300, SIZE_WRITE_100_1K=4000)
    return log


def requests_traced_calls_counted() -> Log:
    """The traced accesses are large POSIX calls; the counted calls of the program are small and
    independent."""
    log = Log(RANKS, 10)
    sizes = {"SIZE_WRITE_AGG_100_1K": 4000, "BYTES_WRITTEN": 4000 * 300}
    mpiio(log, INDEP_WRITES=4000, **sizes)
    traced(log, 4000, 300, module="DXT_POSIX")
    posix(log, WRITES=4000, BYTES_WRITTEN=4000 * 300, SIZE_WRITE_100_1K=4000)
    return log


def large(seconds: int = 100, written: int = 400 * MIB, **more: float) -> Log:
    """400 independent writes of 1 MiB, 4 seconds in all."""
    log = Log(RANKS, seconds)
    sizes = {"SIZE_WRITE_AGG_100K_1M": 400, "BYTES_WRITTEN": 400 * MIB}
    mpiio(log, **({"INDEP_WRITES": 400, "F_WRITE_TIME": 4} | sizes | more))
    traced(log, 400, MIB, 0.01)
    posix(log, WRITES=400, BYTES_WRITTEN=written, SIZE_WRITE_100K_1M=400, F_WRITE_TIME=3)
    return log


def slow_opens() -> Log:
    return large(seconds=10, F_META_TIME=8)


def quick_opens() -> Log:
    return large(seconds=10, F_META_TIME=0.5)


def small_files() -> Log:
    """Files whose own time is mostly wasted, but that take none of the job's time."""
    log = Log(RANKS, 10)
    for number in range(20):
        posix(log, f"/etc/{number}", 0, READS=1, BYTES_READ=80, F_READ_TIME=1e-5, F_META_TIME=1e-3)
    return log


def syncs() -> Log:
    log = small_writes("COLL")
    mpiio(log, "/scratch/log", INDEP_WRITES=500, SYNCS=1500, SIZE_WRITE_AGG_1M_4M=500)
    return log


def unaligned(size: int, not_aligned: int, targets: int = 0) -> Log:
    log = Log(RANKS, 1000)
    sizes = {"SIZE_WRITE_AGG_100K_1M": 2000, "BYTES_WRITTEN": 2000 * size}
    mpiio(log, COLL_WRITES=2000, **sizes)
    counts = {"BYTES_WRITTEN": 2000 * size, "SIZE_WRITE_100K_1M": 2000}
    posix(log, WRITES=2000, FILE_NOT_ALIGNED=not_aligned, FILE_ALIGNMENT=MIB, **counts)
    if targets:
        log.stripe(OUT, MIB, range(targets))
    return log


def many_ranks_one_target() -> Log:
    log = Log(64, 1000)
    mpiio(log, COLL_WRITES=1000, BYTES_WRITTEN=2000 * MIB, SIZE_WRITE_AGG_1M_4M=1000)
    log.stripe(OUT, MIB, [7])
    return log


def many_ranks_many_targets() -> Log:
    log = Log(64, 1000)
    mpiio(log, COLL_WRITES=1000, BYTES_WRITTEN=2000 * MIB, SIZE_WRITE_AGG_1M_4M=1000)
    log.stripe(OUT, MIB, range(8))
    return log


def read_to_write() -> Log:
    log = large(COLL_WRITES=400, INDEP_WRITES=0)
    posix(log, "/scratch/other")
    posix(log, rank=0, READS=200, BYTES_READ=200 * MIB, F_READ_TIME=1)
    return log


def posix_elsewhere() -> Log:
    """The library wrote by calls that Darshan's POSIX module does not see, so nothing can be
    concluded."""
    log = large(written=MIB)
    posix(log, rank=0, READS=200, BYTES_READ=200 * MIB, F_READ_TIME=1)
    return log


def hdf5(
    file_seconds: float, set_seconds: float, written: int = 400 * MIB, processes: int = RANKS
) -> Log:
    log = large(seconds=10, COLL_WRITES=400, INDEP_WRITES=0)
    for rank in range(RANKS):
        log.count("H5F", OUT, rank, {"H5F_OPENS": 1, "H5F_F_META_TIME": file_seconds})
    for rank in range(processes):
        counters = {"WRITES": 100, "BYTES_WRITTEN": written // RANKS, "F_META_TIME": set_seconds}
        log.count("H5D", f"{OUT}:/a", rank, prefixed("H5D", counters), of=OUT)
    return log


def inside_the_library() -> Log:
    return large(seconds=10, F_WRITE_TIME=30)


def slow_independent(seconds: float) -> Log:
    """Each access takes long, but the operating system's part is short."""
    log = Log(RANKS, 10)
    sizes = {"SIZE_WRITE_AGG_100K_1M": 40, "BYTES_WRITTEN": 40 * MIB}
    mpiio(log, INDEP_WRITES=40, F_WRITE_TIME=40 * seconds, **sizes)
    traced(log, 40, MIB, seconds)
    posix(log, WRITES=40, BYTES_WRITTEN=40 * MIB, SIZE_WRITE_100K_1M=40, F_WRITE_TIME=0.1)
    return log


def uneven(slowest: float, fastest: float) -> Log:
    log = Log(RANKS, 10)
    for rank, seconds in enumerate((slowest, fastest, fastest, fastest)):
        sizes = {"SIZE_WRITE_AGG_1M_4M": 10, "BYTES_WRITTEN": 10 * MIB}
        mpiio(log, rank=rank, COLL_WRITES=10, F_WRITE_TIME=seconds, **sizes)
    return log


def uneven_in_a_shared_record() -> Log:
    log = Log(RANKS, 10)
    times = {"F_SLOWEST_RANK_TIME": 9, "F_FASTEST_RANK_TIME": 1, "SLOWEST_RANK": 3}
    mpiio(log, COLL_WRITES=40, SIZE_WRITE_AGG_1M_4M=40, BYTES_WRITTEN=40 * MIB, **times)
    return log


def header_at_the_end() -> Log:
    """A few large writes, then a small one of each rank that all ranks wait for."""
    log = Log(RANKS, 10)
    for rank in range(RANKS):
        data = [(rank * 64 * MIB, 64 * MIB, 0.0, 1.0)]
        log.trace(OUT, rank, [*data, (256 * MIB + 100 * rank, 100, 2.0, 8.0)])
    sizes = {"SIZE_WRITE_AGG_10M_100M": 4, "SIZE_WRITE_AGG_0_100": 4}
    mpiio(log, COLL_WRITES=8, F_WRITE_TIME=28, BYTES_WRITTEN=256 * MIB + 400, **sizes)
    return log


MADE: dict[str, tuple[Callable[[], Log], set[str]]] = {
    "collective": (collective, set()),
    "nearly all collective": (nearly_all_collective, set()),
    "split collective": (split, set()),
    "independent": (independent, {"small-calls"}),
    "nonblocking": (nonblocking, {"small-calls"}),
    "few independent": (lambda: small_writes("INDEP", 900), set()),
    "united by a cache": (united_by_a_cache, set()),
    "collective, in pieces": (collective_in_pieces, {"unmerged"}),
    "collective, united": (collective_united, set()),
    "no counters": (without_mpiio_counters, {"small-calls"}),
    "incomplete counters": (with_half_of_the_mpiio_counters, {"small-calls"}),
    "counters alone": (counters_alone, {"small-calls"}),
    "collective, counters alone": (collective_counters_alone, set()),
    "cut off": (cut_off, {"small-calls"}),
    "POSIX program": (posix_program, {"small-requests"}),
    "POSIX counters alone": (posix_counters_alone, {"small-requests"}),
    "requests traced": (requests_traced_calls_counted, {"small-calls"}),
    "large": (large, set()),
    "slow opens": (slow_opens, {"metadata"}),
    "quick opens": (quick_opens, set()),
    "small files": (small_files, set()),
    "syncs": (syncs, {"syncs"}),
    "unaligned": (lambda: unaligned(300 << 10, 1900), {"unaligned"}),
    "unaligned stripes": (lambda: unaligned(300 << 10, 1900, 8), {"unaligned"}),
    "aligned": (lambda: unaligned(MIB, 900), set()),
    "long unaligned": (lambda: unaligned(64 * MIB, 1900), set()),
    "one target": (many_ranks_one_target, {"one-stripe"}),
    "eight targets": (many_ranks_many_targets, set()),
    "read to write": (read_to_write, {"unasked-reads"}),
    "POSIX elsewhere": (posix_elsewhere, set()),
    "HDF5, slow to close": (lambda: hdf5(5, 0.1), {"hdf5-metadata"}),
    "HDF5, slow to create": (lambda: hdf5(0.1, 5), {"hdf5-metadata"}),
    "HDF5, quick": (lambda: hdf5(0.1, 0.1), set()),
    "HDF5, fill values": (lambda: hdf5(0.1, 0.1, 200 * MIB), {"hdf5-own-writes"}),
    "HDF5, a rank uncounted": (lambda: hdf5(0.1, 0.1, 200 * MIB, RANKS - 1), set()),
    "inside the library": (lambda: slow_independent(0.9), {"inside-library"}),
    "not inside the library": (lambda: slow_independent(0.004), set()),
    "uneven": (lambda: uneven(9, 1), {"uneven"}),
    "even": (lambda: uneven(3, 2), set()),
    "uneven, shared record": (uneven_in_a_shared_record, {"uneven"}),
    "header at the end": (header_at_the_end, {"slow-small-calls"}),
}

REAL = {
    "benchmark_write_parallel_384ranks": {
        *("hdf5-metadata", "hdf5-own-writes", "slow-small-calls", "unasked-reads"),
        "shared-bytes",
    },
    "mpi-io-test_32ranks": {"inside-library", "uneven"},
    "ior_hdf5_4ranks": {"shared-bytes"},
}


def rules_of(analysis: Analysis) -> set[str]:
    return {finding.rule for finding in analysis.findings}


def text_of(analysis: Analysis) -> str:
    """The output of `forebay analyze`."""
    console = Console(file=io.StringIO(), width=200)
    write(parts_of(analysis, local=True), console)
    return console.file.getvalue()  # type: ignore[attr-defined]


def made(name: str, folder: Path) -> Path:
    return MADE[name][0]().write(folder / f"{re.sub('[^a-zA-Z]', '-', name)}.darshan")


@pytest.mark.parametrize("name", MADE)
def test_a_made_log_has_the_findings_of_its_making(name: str, tmp_path: Path) -> None:
    """No text may call calls independent that were not."""
    analysis = analyze(open_trace(made(name, tmp_path)))
    assert rules_of(analysis) == MADE[name][1], analysis.findings
    printed = text_of(analysis)
    alone = [one.alone for file in analysis.files for one in (file.known_reads, file.known_writes)]
    assert any(alone) or not re.search(r"are independent|all independent", printed)
    for line in analysis.to_json()["unknown"]:
        assert f"Not known: {line}" in printed


@pytest.mark.parametrize("name", REAL)
def test_a_real_log_has_the_findings_of_its_counters(name: str) -> None:
    analysis = analyze(open_trace(LOGS / f"{name}.darshan"))
    assert rules_of(analysis) == REAL[name], analysis.findings


def test_every_rule_is_met_and_in_the_document(tmp_path: Path) -> None:
    met = {rule for _, rules in MADE.values() for rule in rules}
    met |= {rule for rules in REAL.values() for rule in rules}
    names = [rule.name for rule in RULES]
    assert met == set(names)
    document = (ROOT / "docs" / "report.md").read_text()
    assert re.findall(r"^\| `([a-z0-9-]+)` \|", document, re.M) == names


@pytest.mark.parametrize(
    ("times", "advice"), [(1, "look for processes that come late"), (9, "keep")]
)
def test_a_file_opened_once_is_not_advised_to_be_opened_once(
    times: int, advice: str, tmp_path: Path
) -> None:
    """The second process opens and closes it late: the first one waits in these calls."""
    calls = []
    for turn in range(times):
        start = turn * 10**9
        calls.append(Call(OPEN, start_ns=start, end_ns=start + 400_000_000))
        calls.append(Call(WRITE_AT, 0, 0, turn, 1, 1, start + 400_000_000, start + 400_001_000))
        calls.append(Call(CLOSE, start_ns=start + 400_001_000, end_ns=start + 800_000_000))
    lines = [*process(0, 1), "file 0 1 0 5 /scratch/out", *block(calls), f"end {len(calls)} 0"]
    write_trace(tmp_path / "0-0.trace", lines)
    (finding,) = analyze(open_trace(tmp_path)).findings
    assert finding.rule == "metadata" and finding.advice.startswith(("each process", "keep"))
    assert advice in finding.advice


def test_384_ranks_suffer_from_metadata() -> None:
    """The numbers are sums of the log's own counters; docs/report.md has the same numbers."""
    analysis = analyze(open_trace(LOGS / "benchmark_write_parallel_384ranks.darshan"))
    told = {finding.rule: finding for finding in analysis.findings}
    metadata = told["hdf5-metadata"]
    assert "9.81 s a process (82% of 12.0 s)" in metadata.title
    assert "5.19 s a process (43% of 12.0 s)" in metadata.evidence  # H5F_F_META_TIME
    assert "384 times by 384 processes" in metadata.evidence
    assert "4.62 s a process (39% of 12.0 s)" in metadata.evidence  # H5D_F_META_TIME
    assert "1.62 s a process" in metadata.evidence  # H5D_F_WRITE_TIME
    assert "120 GiB more" in told["hdf5-own-writes"].evidence
    small = told["slow-small-calls"].evidence
    assert "385 of 8,448" in small and "all are collective" in small and "5.04 s" in small
    assert "read nothing; storage read 24.1 GiB in 1,602 requests" in told["unasked-reads"].evidence
    (file,) = analysis.files
    assert file.write.collective == file.write.calls == 8448


@pytest.mark.parametrize("name", ["collective", "counters alone", "POSIX counters alone"])
def test_a_page_shows_what_was_counted(name: str, tmp_path: Path) -> None:
    trace = open_trace(made(name, tmp_path))
    page = render(trace)
    assert "<h2>Calls and requests</h2>" in page and "<h2>What was counted</h2>" in page
    assert ("How long calls take" in page) == (name == "collective")
    assert (
        f"<td>{'100%' if name == 'collective' else '?' if 'POSIX' in name else '0%'}</td>" in page
    )
    for line in analyze(trace).to_json()["unknown"]:
        assert f"Not known: {line}" in page


def test_what_nothing_tells_is_said(tmp_path: Path) -> None:
    unsure = analyze(open_trace(made("no counters", tmp_path)))
    (finding,) = unsure.findings
    assert "the trace does not show whether they were collective" in finding.evidence
    assert finding.advice.startswith("if each process makes them on its own: ")
    assert unsure.files[0].write.collective is None
    assert (unsure.files[0].metadata_seconds, unsure.files[0].syncs) == (None, None)
    assert any("no MPI-IO counters" in line for line in unsure.to_json()["unknown"])

    alone = analyze(open_trace(made("counters alone", tmp_path)))
    assert alone.needs == "unknown"
    printed = CliRunner().invoke(command, [str(tmp_path / "counters-alone.darshan")]).output
    assert "it has no DXT records" in printed
    assert "4,000 calls in 10.000 s; in MPI-IO 2.100 s a process (21%)" in printed
    assert "or which consistency they need" in printed
    assert "every consistency" not in printed
    assert "half of them have at most 10,240 bytes, by 4 processes" in printed

    requests = CliRunner().invoke(command, [str(made("POSIX program", tmp_path))]).output
    assert "in POSIX calls" in requests and "in MPI-IO" not in requests
    assert "`forebay run` serves MPI-IO only" in requests


def test_a_log_that_was_cut_off_is_judged_by_its_counters(tmp_path: Path) -> None:
    path = made("cut off", tmp_path)
    trace = open_trace(path)
    assert (len(trace), trace.lost) == (1000, 3000)
    assert trace.problems == [
        f"{path}: Darshan's memory was full: 3,000 accesses are not in its DXT_MPIIO records;"
        " raise DARSHAN_MODMEM"
    ]
    printed = CliRunner().invoke(command, [str(path)]).output
    assert "Among the examined accesses: No process touches" in printed
    assert "1,000 recorded calls in 0.250 s" in printed
    assert "4,000 of 4,000 are independent, half of them have at most 1,024 bytes" in printed


def own_trace(folder: Path, collective_calls: bool) -> Path:
    """Small interleaved accesses of four ranks, traced by Forebay."""
    folder.mkdir()
    routine = READ_AT_ALL if collective_calls else WRITE_AT
    for rank in range(RANKS):
        calls = [Call(OPEN, end_ns=1000)]
        for i in range(500):
            place, start = (i * RANKS + rank) * 300, 10_000 * (i + 1)
            calls.append(Call(routine, 0, 0, place, 300, 300, start, start + 1000))
        lines = [*process(rank, RANKS), f"file 0 {RANKS} 0 5 {OUT}", *block(calls)]
        write_trace(folder / f"{rank}-{rank}.trace", [*lines, f"end {len(calls)} 0"])
    return folder


@pytest.mark.parametrize("collective_calls", [True, False])
def test_a_trace_of_forebay_knows_its_routines(collective_calls: bool, tmp_path: Path) -> None:
    analysis = analyze(open_trace(own_trace(tmp_path / "t", collective_calls)))
    assert rules_of(analysis) == (set() if collective_calls else {"small-calls"})
    assert (analysis.counters, analysis.to_json()["unknown"]) == (None, [])
