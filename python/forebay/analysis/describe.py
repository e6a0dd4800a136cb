"""Analyzes a trace in one pass, a batch at a time.

Memory is bounded by the patterns found, and by the runs of bytes per file that are compared for
conflicts (`most_runs`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from forebay import _core
from forebay.analysis.conflicts import MOST_RUNS, Conflicts, Sharing
from forebay.analysis.findings import findings_of
from forebay.analysis.folding import Fold, cores, fold
from forebay.analysis.known_calls import KnownCalls, known_calls
from forebay.analysis.phases import outside_phases, phases_of
from forebay.analysis.result import Analysis, FileAnalysis, GlobalSignature, LocalSignature
from forebay.analysis.sums import Counts, Sums
from forebay.kinds import check_callable, check_kind, check_number
from forebay.trace import Operation, Routine, Trace
from forebay.trace.counters import Counters, FileCounters

PAGE_BYTES = 64 << 10


def analyze(
    trace: Trace,
    page_bytes: int = PAGE_BYTES,
    progress: Callable[[int], object] = lambda _: None,
    jobs: int | None = None,
    most_runs: int = MOST_RUNS,
) -> Analysis:
    """Reads the whole trace once and returns its analysis.

    `page_bytes`: the size against which requests are small, medium or large. `progress` is called
    repeatedly, from any thread, with the number of accesses read so far. `jobs`: the number of
    threads, each of which reads its own processes; None: one per core. `most_runs`: the runs of
    bytes per file that are compared for conflicts and shared bytes, up to 100 bytes of memory each.
    Raises TraceError as Trace.batches does.
    """
    check_kind(trace, Trace, "analyze", "trace")
    check_callable(progress, "analyze", "progress")
    check_number(page_bytes, "analyze", "page_bytes")
    check_number(most_runs, "analyze", "most_runs")
    if jobs is not None:
        check_number(jobs, "analyze", "jobs")
    everyone = range(len(trace.processes))
    folded = fold(trace, everyone, jobs or cores(), progress, most_runs)
    return analysis_of(trace, folded, page_bytes)


def analysis_of(trace: Trace, folded: Fold, page_bytes: int) -> Analysis:
    """The analysis of a trace from `folded`, what was read of it."""
    sums = folded.sums
    shared = folded.conflicts.finish(trace, sums.first_ns)
    by_file: dict[int, list[_Stream]] = {}
    for process, thread, file, signature in folded.signatures:
        stream = _Stream(trace.rank_of(process), thread, signature)
        by_file.setdefault(file, []).append(stream)
    describe = _Describe(trace.routines, page_bytes, sums.first_ns)
    job = trace.counters
    counted = {file.path: file for file in job.files} if job is not None else {}
    files = tuple(
        _file(
            path,
            sums,
            number,
            by_file.get(number, []),
            describe,
            shared.get(number, (Conflicts(), Sharing())),
            job,
            counted.get(path),
        )
        for number, path in enumerate(trace.files)
    )
    totals = trace.totals
    traced = job is None or job.traced
    processes = len(trace.processes) if traced or job is None else job.processes
    in_calls = sums.process_ns.sum() / 1e9 if traced else sum(_counted_seconds(f) for f in files)
    cached = {trace.files[one.file] for one in trace.opens if one.cached}
    span = job.seconds if job is not None and job.seconds else (sums.last_ns - sums.first_ns) / 1e9
    return Analysis(
        path=str(trace.path),
        kind=trace.kind,
        layer=trace.layer,
        processes=processes,
        problems=tuple(trace.problems),
        operations=describe.operations,
        totals=replace(
            totals,
            accesses=totals.accesses - sums.steps - sums.orders,
            folded=totals.folded - sums.folded_asides,
        ),
        steps=sums.steps,
        orders=sums.orders,
        tells_order=trace.tells_order,
        unplaced=int(sums.unplaced.sum()),
        first_ns=sums.first_ns,
        last_ns=sums.last_ns,
        io_seconds=float(in_calls) / max(1, processes),
        phases=phases_of(folded.activity, trace.files, sums.first_ns, sums.last_ns),
        outside_phases=outside_phases(folded.activity),
        files=files,
        findings=tuple(findings_of(files, cached, job, span, trace)),
        counters=job,
    )


def _counted_seconds(file: FileAnalysis) -> float:
    return file.known_reads.seconds + file.known_writes.seconds + (file.metadata_seconds or 0)


class _Stream(NamedTuple):
    rank: int
    thread: int
    signature: _core.Signature


class _Describe:
    """Describes signatures as text."""

    def __init__(self, routines: Sequence[Routine], page_bytes: int, zero_ns: int):
        self._routines = [
            (routine.name.removeprefix("MPI_File_"), routine.operation == Operation.WRITE)
            for routine in routines
        ]
        self.operations = tuple(self._routines)
        self._page_bytes = page_bytes
        self._zero_ns = zero_ns

    def local(self, path: str, stream: _Stream) -> LocalSignature:
        signature = stream.signature
        return LocalSignature(
            rank=stream.rank,
            thread=stream.thread,
            accesses=signature.accesses,
            covered=signature.covered,
            lost=signature.lost,
            pattern=signature.pattern_signature(self._routines, self._page_bytes),
            trace=tuple(signature.trace_signature(path, self._routines).splitlines()),
            signature=signature,
        )

    def common(self, streams: list[_Stream]) -> GlobalSignature:
        merged = _core.merge_signatures([(one.rank, one.signature) for one in streams])
        lines = merged.lines(self._routines, self._page_bytes, self._zero_ns)
        lines.sort(key=lambda line: -line[1])
        return GlobalSignature(
            processes=merged.processes,
            ranks=merged.ranks,
            patterns=tuple(text for text, accesses in lines if accesses >= 3),
            accesses=merged.accesses,
            covered=merged.covered,
            spatial=_prevailing(merged),
            overlapping=any(pattern.overlapping for pattern in merged.patterns),
            merged=merged,
        )


def _prevailing(merged: _core.GlobalSignature) -> str:
    """The spatial class of at least 19 of 20 accesses. If no class has so many: `combination` if
    half of the accesses follow a pattern, otherwise `random`."""
    classes: dict[str, int] = {}
    for pattern in merged.patterns:
        of_all = pattern.accesses * pattern.processes
        classes[pattern.spatial] = classes.get(pattern.spatial, 0) + of_all
    if not merged.accesses:
        return "none"
    best = max(classes, key=lambda name: classes[name], default="random")
    if classes.get(best, 0) >= 0.95 * merged.accesses:
        return best
    return "combination" if 2 * merged.covered >= merged.accesses else "random"


def _file(
    path: str,
    sums: Sums,
    number: int,
    streams: list[_Stream],
    describe: _Describe,
    shared: tuple[Conflicts, Sharing],
    job: Counters | None,
    counters: FileCounters | None,
) -> FileAnalysis:
    reads, writes = sums.of(number, Operation.READ), sums.of(number, Operation.WRITE)
    known_reads = known_calls(reads, False, counters, job)
    known_writes = known_calls(writes, True, counters, job)
    return FileAnalysis(
        path=path,
        processes=max(sums.users(number), _counted_users(counters)),
        read=_told(reads, known_reads),
        write=_told(writes, known_writes),
        **(_setting_up(sums, number) if job is None else _counted_setting_up(counters)),
        end=sums.end(number),
        unplaced=int(sums.unplaced[number]),
        locals=tuple(describe.local(path, stream) for stream in streams),
        signature=describe.common(streams),
        conflicts=shared[0],
        sharing=shared[1],
        counters=counters,
        known_reads=known_reads,
        known_writes=known_writes,
    )


def _told(traced: Counts, known: KnownCalls) -> Counts:
    """`traced`, with the number of collective calls that counters give."""
    return traced if known.counted else replace(traced, collective=known.collective)


def _counted_users(counters: FileCounters | None) -> int:
    """Processes that opened the file, if its trace lacks accesses."""
    parts = (counters.mpiio, counters.posix) if counters is not None and counters.untraced else ()
    return next((part.processes for part in parts if part is not None), 0)


def _setting_up(sums: Sums, number: int) -> dict[str, Any]:
    """Calls and seconds of opens, closes, views, sizes, seeks, and of syncs, from the accesses."""
    metadata = [
        sums.of(number, operation)
        for operation in (
            Operation.OPEN,
            Operation.CLOSE,
            Operation.VIEW,
            Operation.SIZE,
            Operation.SEEK,
        )
    ]
    syncs = sums.of(number, Operation.SYNC)
    return {
        "metadata_calls": sum(one.calls for one in metadata),
        "metadata_seconds": sum(one.seconds for one in metadata),
        "syncs": syncs.calls,
        "sync_seconds": syncs.seconds,
    }


def _counted_setting_up(counters: FileCounters | None) -> dict[str, Any]:
    """The same from counters, as far as they tell: they time syncs as writes."""
    calls: int | None = None
    seconds: float | None = None
    syncs: int | None = None
    if counters is not None and counters.mpiio is not None:
        mpiio = counters.mpiio
        calls = mpiio.collective_opens + mpiio.independent_opens + mpiio.views
        seconds, syncs = mpiio.metadata_seconds, mpiio.syncs
    elif counters is not None and counters.posix is not None:
        posix = counters.posix
        calls = posix.opens + posix.stats + posix.seeks
        seconds, syncs = posix.metadata_seconds, posix.syncs
    return {
        "metadata_calls": calls,
        "metadata_seconds": seconds,
        "syncs": syncs,
        "sync_seconds": 0.0 if syncs == 0 else None,
    }
