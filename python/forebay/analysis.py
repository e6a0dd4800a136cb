"""What a job does with its files: sums, signatures and findings, from any trace.

    import forebay
    analysis = forebay.analyze(forebay.open_trace("run.trace"))
    for file in analysis.files:
        print(file.path, file.spatial, file.coverage)

One pass over the trace, a batch at a time: memory is bounded by the patterns, and by the four
million runs of bytes of a file among which conflicts are looked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple

from forebay import _core
from forebay.conflicts import MOST_RUNS, Conflicts, Sharing
from forebay.counters import Counters, FileCounters
from forebay.findings import Finding, findings_of
from forebay.folding import Fold, cores, fold
from forebay.known_calls import KnownCalls, known_calls
from forebay.phases import OutsidePhases, Phase, outside_phases, phases_of
from forebay.sums import Counts, Sums
from forebay.trace import Operation, Routine, Totals, Trace

__all__ = ["Analysis", "Counts", "FileAnalysis", "Finding", "LocalSignature", "analyze"]

PAGE_BYTES = 64 << 10


@dataclass(frozen=True, slots=True)
class LocalSignature:
    """What one thread of a process did to a file (Yin III.B)."""

    rank: int
    """Of the process; its number in the trace where that is unknown."""
    thread: int
    """Of the process, in the order in which they first did I/O."""
    accesses: int
    covered: int
    """Accesses in patterns of at least three repetitions."""
    lost: int
    pattern: str
    """The local pattern signature."""
    trace: tuple[str, ...]
    """The local trace signature, a part each."""
    signature: _core.Signature = field(repr=False, compare=False)
    """`expand()` gives back the accesses, one by one."""


@dataclass(frozen=True, slots=True)
class GlobalSignature:
    """What the processes of a job did to a file together (Yin III.B.3)."""

    processes: int
    ranks: str
    patterns: tuple[str, ...]
    """In Yin's notation, a pattern each, or what several have in common, that with the most
    accesses first; those of less than three are left out. Times are seconds after the first call's
    start."""
    accesses: int
    covered: int
    """In patterns of at least three repetitions or ranks."""
    spatial: str
    """Of nearly all bytes of all ranks: 19 in 20 accesses; else `combination` or `random`."""
    overlapping: bool
    """Ranks of some pattern touch the same bytes."""
    merged: _core.GlobalSignature = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class FileAnalysis:
    """One file."""

    path: str
    processes: int
    """That accessed it."""
    read: Counts
    write: Counts
    """Of the trace's accesses."""
    metadata_calls: int | None
    """Opens, closes, views, sizes, seeks; of Darshan logs opens and views. None, here and in the
    next three: the trace does not tell."""
    metadata_seconds: float | None
    syncs: int | None
    sync_seconds: float | None
    end: int
    """One past the last byte that was asked for."""
    unplaced: int
    """Accesses whose place in the file is unknown."""
    locals: tuple[LocalSignature, ...]
    signature: GlobalSignature
    conflicts: Conflicts
    sharing: Sharing
    counters: FileCounters | None
    """What was counted beside the accesses."""
    known_reads: KnownCalls
    known_writes: KnownCalls
    """From accesses and counters."""

    @property
    def accesses(self) -> int:
        return self.read.calls + self.write.calls

    @property
    def coverage(self) -> float:
        """Part of the accesses that lie in patterns of the threads; 1 where there are none."""
        accesses = sum(one.accesses for one in self.locals)
        return sum(one.covered for one in self.locals) / accesses if accesses else 1.0

    @property
    def spatial(self) -> str:
        return self.signature.spatial

    @property
    def left_out(self) -> int:
        """Accesses not looked at for conflicts and shared bytes, there being too many."""
        return self.conflicts.left_out if self.processes > 1 else 0


@dataclass(frozen=True)
class Analysis:
    """A job, as its trace tells. Seconds, wherever they are a time and no duration, count from the
    first call's start."""

    path: str
    kind: str
    processes: int
    problems: tuple[str, ...]
    operations: tuple[tuple[str, bool], ...]
    """Name of each routine, as signatures number and print them, and whether it writes."""
    totals: Totals
    """Of the program's calls."""
    steps: int
    """Of caches, recorded with the option `deterministic`; they stand in no other number."""
    orders: int
    """Collectives that order ranks, a call of a process each; they stand in no other number."""
    tells_order: bool
    """Whether the trace tells what the program orders; else conflicts can be told apart by the
    times of this run alone."""
    unplaced: int
    first_ns: int
    """When the first call began, by the trace's clock."""
    last_ns: int
    """When the last call ended; `first_ns` where no time is known."""
    io_seconds: float
    """In MPI-IO, mean of the processes."""
    phases: tuple[Phase, ...]
    outside_phases: OutsidePhases
    files: tuple[FileAnalysis, ...]
    findings: tuple[Finding, ...]
    counters: Counters | None
    """Of a Darshan log."""

    @property
    def traced(self) -> bool:
        """Whether there are accesses, not counters only."""
        return self.counters is None or self.counters.traced

    @property
    def layer(self) -> str:
        """Whose calls these are: `MPI-IO`, or `POSIX`."""
        return self.counters.layer if self.counters is not None else "MPI-IO"

    @property
    def seconds(self) -> float:
        """From the first call's start to the last one's end; the job's where neither is known."""
        if self.counters is not None and not self.counters.traced:
            return self.counters.seconds
        return (self.last_ns - self.first_ns) / 1e9

    @property
    def needs(self) -> str:
        """The consistency without which the job's processes may not see each other's bytes.

        `any`: they share none that any of them writes. `mpi`: these are handed over by sync or
        close, in an order that the program makes sure of. `posix`: in such an order, but not
        handed over. `unknown`: nothing recorded orders them, and in this run they were not accessed
        at once; or nothing tells which bytes were accessed (not `traced`). `none`: they were
        accessed at once, and no consistency helps. All without the accesses that were `left_out`.
        """
        if not self.traced:
            return "unknown"
        conflicts = [file.conflicts for file in self.files]
        if any(one.concurrent.pairs for one in conflicts):
            return "none"
        if any(one.unordered.pairs for one in conflicts):
            return "unknown"
        if any(one.ordered.pairs for one in conflicts):
            return "posix"
        return "mpi" if any(one.synced.pairs or one.reopened.pairs for one in conflicts) else "any"

    @property
    def left_out(self) -> int:
        """Of all files."""
        return sum(file.left_out for file in self.files)

    @property
    def covered(self) -> int:
        """Accesses in patterns of their thread."""
        return sum(one.covered for file in self.files for one in file.locals)

    def _repr_html_(self) -> str:
        """For notebooks: what `forebay analyze` prints."""
        from forebay.analyzing import as_html

        return as_html(self)

    def to_json(self) -> dict[str, Any]:
        """Plain values. `accesses` are the calls that were read, without `steps` and
        `orders`; of these
        `covered` lie in patterns, and `left_out` were not looked at for conflicts (`needs`) and
        shared bytes. `first_ns` is the trace's time from which all others are counted."""
        return {
            "trace": self.path,
            "kind": self.kind,
            "counters": _job_json(self.counters),
            "processes": self.processes,
            "problems": list(self.problems),
            "accesses": self.totals.accesses,
            "covered": self.covered,
            "steps": self.steps,
            "orders": self.orders,
            "tells_order": self.tells_order,
            "unplaced": self.unplaced,
            "lost": self.totals.lost,
            "folded": self.totals.folded,
            "damaged": self.totals.damaged,
            "left_out": self.left_out,
            "first_ns": self.first_ns,
            "seconds": self.seconds,
            "io_seconds": self.io_seconds,
            "needs": self.needs,
            "unknown": unknown_of(self.counters),
            "phases": [asdict(phase) for phase in self.phases],
            "outside_phases": asdict(self.outside_phases),
            "files": [_file_json(file) for file in self.files],
            "findings": [asdict(finding) for finding in self.findings],
        }


def _job_json(job: Counters | None) -> dict[str, Any] | None:
    return _without(asdict(job), "files") if job is not None else None


def _file_json(file: FileAnalysis) -> dict[str, Any]:
    return {
        "path": file.path,
        "processes": file.processes,
        "read": asdict(file.read),
        "write": asdict(file.write),
        "metadata_calls": file.metadata_calls,
        "metadata_seconds": file.metadata_seconds,
        "syncs": file.syncs,
        "sync_seconds": file.sync_seconds,
        "end": file.end,
        "unplaced": file.unplaced,
        "spatial": file.spatial,
        "coverage": file.coverage,
        "signature": {
            "processes": file.signature.processes,
            "ranks": file.signature.ranks,
            "patterns": list(file.signature.patterns),
            "accesses": file.signature.accesses,
            "covered": file.signature.covered,
            "spatial": file.signature.spatial,
            "overlapping": file.signature.overlapping,
        },
        "counters": asdict(file.counters) if file.counters is not None else None,
        "conflicts": asdict(file.conflicts),
        "sharing": {
            "bytes": file.sharing.bytes,
            "left_out": file.sharing.left_out,
            "sets": [_without(asdict(one), "numbers") for one in file.sharing.sets],
        },
        "local_signatures": [
            {
                "rank": one.rank,
                "thread": one.thread,
                "accesses": one.accesses,
                "covered": one.covered,
                "lost": one.lost,
                "pattern": one.pattern,
                "trace": list(one.trace),
            }
            for one in file.locals
        ],
    }


def unknown_of(job: Counters | None) -> list[str]:
    """What a Darshan log does not tell of its job, a line each."""
    if job is None:
        return []
    modules = set(job.modules) - set(job.incomplete)
    lines = []
    if not job.traced:
        lines.append("which bytes were accessed, when, and in which pattern (no DXT records)")
    if "MPI-IO" not in modules:
        lines.append(
            "how many calls were collective, opens, views and their time (no MPI-IO counters)"
        )
    if "POSIX" not in modules:
        lines.append("requests that storage saw, and how they are aligned (no POSIX counters)")
    if "LUSTRE" not in modules:
        lines.append("stripes (no LUSTRE records)")
    return lines


def _without(row: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key != name}


def analyze(
    trace: Trace,
    page_bytes: int = PAGE_BYTES,
    progress: Callable[[int], object] = lambda _: None,
    jobs: int | None = None,
    most_runs: int = MOST_RUNS,
) -> Analysis:
    """Reads the whole trace once.

    `page_bytes`: what request sizes are called small, medium or large against. `progress` is told
    how many accesses were read, again and again, by any thread. `jobs`: threads that read, each
    processes of its own; None: one for each core. `most_runs`: in how many runs of bytes of a file
    conflicts and shared bytes are looked for, with up to 100 bytes of memory for each. Raises
    TraceError as Trace.batches does.
    """
    everyone = range(len(trace.processes))
    folded = fold(trace, everyone, jobs or cores(), progress, most_runs)
    return analysis_of(trace, folded, page_bytes)


def analysis_of(trace: Trace, folded: Fold, page_bytes: int) -> Analysis:
    """Of a trace that was read."""
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
        findings=tuple(findings_of(files, cached, job, span, trace.tells_order)),
        counters=job,
    )


def _counted_seconds(file: FileAnalysis) -> float:
    return file.known_reads.seconds + file.known_writes.seconds + (file.metadata_seconds or 0)


class _Stream(NamedTuple):
    rank: int
    thread: int
    signature: _core.Signature


class _Describe:
    """Signatures as text."""

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
    """The spatial class of 19 in 20 accesses, or what they are without one."""
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
    """With what counters say of whether calls were collective."""
    return traced if known.counted else replace(traced, collective=known.collective)


def _counted_users(counters: FileCounters | None) -> int:
    """Processes that opened a file of whose accesses the trace lacks some."""
    parts = (counters.mpiio, counters.posix) if counters is not None and counters.untraced else ()
    return next((part.processes for part in parts if part is not None), 0)


def _setting_up(sums: Sums, number: int) -> dict[str, Any]:
    """What the accesses tell of opens and the like, and of syncs."""
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
    """The same of counters, as far as they tell: syncs are timed as writes."""
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
