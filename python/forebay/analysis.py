"""What a job does with its files: sums, signatures and findings, from any trace.

    import forebay
    analysis = forebay.analyze(forebay.open_trace("run.trace"))
    for file in analysis.files:
        print(file.path, file.spatial, file.coverage)

One pass over the trace, a batch at a time: memory is bounded by the patterns, not by the accesses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forebay import _core
from forebay.trace import NO_TIME, Accesses, Operation, Routine, Totals, Trace

__all__ = ["Analysis", "Counts", "FileAnalysis", "Finding", "LocalSignature", "analyze"]

PAGE_BYTES = 64 << 10
_SIZE_CLASSES = 64  # powers of two
_MOST_CONFLICTING = 4_000_000  # accesses of a file
_OPERATIONS = len(Operation)


@dataclass(frozen=True, slots=True)
class Counts:
    """Of the calls of one kind."""

    calls: int = 0
    collective: int = 0
    """Of these, how many were of collective routines."""
    requested: int = 0
    """Bytes."""
    transferred: int = 0
    """Bytes."""
    seconds: float = 0.0
    """Spent in them, summed over the processes; calls with folded times are left out."""
    size_classes: tuple[int, ...] = ()
    """Calls that asked for less than 1, 2, 4, 8 ... bytes and no less than half of it."""

    @property
    def median_size(self) -> int:
        """Half of the calls ask for less bytes than this power of two, and none of them for less
        than half of the others' least."""
        seen = 0
        for power, calls in enumerate(self.size_classes):
            seen += calls
            if 2 * seen >= self.calls and seen:
                return 1 << power
        return 0


@dataclass(frozen=True, slots=True)
class LocalSignature:
    """What one process did to a file (Yin III.B)."""

    rank: int
    """Of the process; its number in the trace where that is unknown."""
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
    """In Yin's notation, a pattern each, that with the most accesses first. Those of less than
    three repetitions or ranks are left out."""
    accesses: int
    covered: int
    """In patterns of at least three repetitions or ranks."""
    spatial: str
    """Of nearly all bytes of all ranks: 19 in 20 accesses; else `combination` or `random`."""
    overlapping: bool
    """Ranks of some pattern touch the same bytes."""
    merged: _core.GlobalSignature = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two accesses of different processes to the same bytes, one of them a write."""

    offset: int
    end: int
    """Of the bytes that both touch."""
    first_rank: int
    first: str
    """`read` or `write`."""
    first_seconds: tuple[float, float]
    """From when to when, after the first call's start."""
    second_rank: int
    second: str
    second_seconds: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Apart:
    """Conflicts of one kind: pairs of accesses, the bytes that they have in common, and some."""

    pairs: int = 0
    bytes: int = 0
    examples: tuple[Conflict, ...] = ()


@dataclass(frozen=True, slots=True)
class Conflicts:
    """What keeps conflicting accesses of a file apart, in this run (MPI 4.1, 14.6)."""

    concurrent: Apart = Apart()
    """Nothing: they overlap in time."""
    ordered: Apart = Apart()
    """The first had ended. Enough where writes are visible at once (POSIX)."""
    synced: Apart = Apart()
    """A sync or close of the first's process, and after it a sync or open of the second's. Enough
    for MPI's nonatomic mode."""
    reopened: Apart = Apart()
    """The same by closing and opening. Enough for close-to-open consistency."""
    left_out: int = 0
    """Accesses that were not looked at, there being too many."""


@dataclass(frozen=True, slots=True)
class FileAnalysis:
    """One file."""

    path: str
    processes: int
    """That accessed it."""
    read: Counts
    write: Counts
    metadata_calls: int
    """Opens, closes, views, sizes, seeks."""
    metadata_seconds: float
    syncs: int
    sync_seconds: float
    end: int
    """One past the last byte that was asked for."""
    unplaced: int
    """Accesses whose place in the file is unknown."""
    locals: tuple[LocalSignature, ...]
    signature: GlobalSignature
    conflicts: Conflicts

    @property
    def accesses(self) -> int:
        return self.read.calls + self.write.calls

    @property
    def coverage(self) -> float:
        """Part of the accesses that lie in patterns of the processes; 1 where there are none."""
        accesses = sum(one.accesses for one in self.locals)
        return sum(one.covered for one in self.locals) / accesses if accesses else 1.0

    @property
    def spatial(self) -> str:
        return self.signature.spatial


@dataclass(frozen=True, slots=True)
class Finding:
    """Something worth changing."""

    title: str
    evidence: str
    advice: str


@dataclass(frozen=True)
class Analysis:
    """A job, as its trace tells."""

    path: str
    kind: str
    processes: int
    problems: tuple[str, ...]
    operations: tuple[tuple[str, bool], ...]
    """Name of each routine, as signatures number and print them, and whether it writes."""
    totals: Totals
    unplaced: int
    first_ns: int
    """When the first call began."""
    last_ns: int
    """When the last call ended; `first_ns` where no time is known."""
    io_seconds: float
    """In MPI-IO, mean of the processes."""
    files: tuple[FileAnalysis, ...]
    findings: tuple[Finding, ...]

    @property
    def seconds(self) -> float:
        """From the first call's start to the last one's end."""
        return (self.last_ns - self.first_ns) / 1e9

    @property
    def needs(self) -> str:
        """The consistency without which the job's processes may not see each other's bytes.

        `any`: they share none that any of them writes. `mpi`: these are handed over by sync or
        close. `posix`: they are not. `none`: no consistency helps, they are accessed at once. All
        as far as this run shows.
        """
        conflicts = [file.conflicts for file in self.files]
        if any(one.concurrent.pairs for one in conflicts):
            return "none"
        if any(one.ordered.pairs for one in conflicts):
            return "posix"
        return "mpi" if any(one.synced.pairs or one.reopened.pairs for one in conflicts) else "any"

    @property
    def covered(self) -> int:
        """Accesses in patterns of their process."""
        return sum(one.covered for file in self.files for one in file.locals)

    def _repr_html_(self) -> str:
        """For notebooks: what `forebay analyze` prints."""
        from forebay.analyzing import as_html

        return as_html(self)

    def to_json(self) -> dict[str, Any]:
        """Plain values. `accesses` are those read; of these `covered` lie in patterns."""
        return {
            "trace": self.path,
            "kind": self.kind,
            "processes": self.processes,
            "problems": list(self.problems),
            "accesses": self.totals.accesses,
            "covered": self.covered,
            "unplaced": self.unplaced,
            "lost": self.totals.lost,
            "folded": self.totals.folded,
            "damaged": self.totals.damaged,
            "seconds": self.seconds,
            "io_seconds": self.io_seconds,
            "needs": self.needs,
            "files": [_file_json(file) for file in self.files],
            "findings": [asdict(finding) for finding in self.findings],
        }


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
        "conflicts": asdict(file.conflicts),
        "local_signatures": [
            {
                "rank": one.rank,
                "accesses": one.accesses,
                "covered": one.covered,
                "lost": one.lost,
                "pattern": one.pattern,
                "trace": list(one.trace),
            }
            for one in file.locals
        ],
    }


def analyze(
    trace: Trace,
    page_bytes: int = PAGE_BYTES,
    progress: Callable[[int], object] = lambda _: None,
) -> Analysis:
    """Reads the whole trace once.

    `page_bytes`: what request sizes are called small, medium or large against. `progress` is told
    how many accesses were read, again and again. Raises TraceError as Trace.batches does.
    """
    sums = _Sums(len(trace.files), len(trace.processes))
    streams = _core.Streams()
    conflicts = _core.JobConflicts(_MOST_CONFLICTING)
    for batch in trace.batches():
        sums.add(batch)
        streams.add(
            *(batch[name] for name in ("process", "file", "routine", "operation", "offset")),
            *(batch[name] for name in ("requested", "start_ns", "end_ns")),
        )
        conflicts.add(
            trace.reader,
            batch["file"],
            batch["process"],
            batch["operation"],
            batch["offset"],
            batch["end"],
            batch["contiguous"].view(np.uint8),
            batch["view"],
            batch["position"],
            batch["transferred"],
            batch["start_ns"],
            batch["end_ns"],
        )
        progress(len(batch))
    in_conflict = dict(conflicts.finish())
    by_file: dict[int, list[tuple[int, _core.Signature]]] = {}
    for process, file, signature in streams.finish():
        rank = trace.processes[process].rank
        by_file.setdefault(file, []).append((rank if rank >= 0 else process, signature))
    describe = _Describe(trace.routines, page_bytes)
    files = tuple(
        _file(
            trace.files[number],
            sums,
            number,
            by_file.get(number, []),
            describe,
            _conflicts(trace, in_conflict.get(number), sums.first_ns),
        )
        for number in range(len(trace.files))
    )
    return Analysis(
        path=str(trace.path),
        kind=trace.kind,
        processes=len(trace.processes),
        problems=tuple(trace.problems),
        operations=describe.operations,
        totals=trace.totals,
        unplaced=int(sums.unplaced.sum()),
        first_ns=sums.first_ns if sums.timed else 0,
        last_ns=sums.last_ns if sums.timed else 0,
        io_seconds=float(sums.process_ns.sum()) / max(1, len(trace.processes)) / 1e9,
        files=files,
        findings=tuple(_findings(files, trace)),
    )


class _Sums:
    """Counts by file and operation."""

    def __init__(self, files: int, processes: int):
        self._rows = files * _OPERATIONS
        self.calls = np.zeros(self._rows, np.int64)
        self.collective = np.zeros(self._rows, np.int64)
        self.requested = np.zeros(self._rows, np.int64)
        self.transferred = np.zeros(self._rows, np.int64)
        self.ns = np.zeros(self._rows, np.int64)
        self.sizes = np.zeros((self._rows, _SIZE_CLASSES), np.int64)
        self.unplaced = np.zeros(files, np.int64)
        self.process_ns = np.zeros(processes, np.int64)
        self._users = np.zeros((files, processes), bool)
        self._ends = np.zeros(files, np.int64)
        self.timed = False
        self.first_ns, self.last_ns = int(np.iinfo(np.int64).max), int(np.iinfo(np.int64).min)

    def add(self, batch: Accesses) -> None:
        known = batch["file"] >= 0
        rows = batch["file"][known].astype(np.int64) * _OPERATIONS + batch["operation"][known]
        requested = batch["requested"][known]
        self._count(self.calls, rows)
        self._count(self.collective, rows[batch["collective"][known]])
        np.add.at(self.requested, rows, requested)
        np.add.at(self.transferred, rows, batch["transferred"][known])
        classes = np.frexp(np.maximum(requested, 0).astype(np.float64))[1]
        np.add.at(self.sizes, (rows, np.minimum(classes, _SIZE_CLASSES - 1)), 1)
        moves = np.isin(batch["operation"], (Operation.READ, Operation.WRITE))
        nowhere = known & moves & (batch["requested"] > 0) & (batch["offset"] < 0)
        np.add.at(self.unplaced, batch["file"][nowhere], 1)
        self._users[batch["file"][known & moves], batch["process"][known & moves]] = True
        timed = (batch["start_ns"] != NO_TIME) & (batch["end_ns"] != NO_TIME) & ~batch["folded"]
        took = batch["end_ns"][timed] - batch["start_ns"][timed]
        np.add.at(self.process_ns, batch["process"][timed], took)
        np.add.at(self.ns, rows[timed[known]], took[known[timed]])
        if timed.any():
            self.timed = True
            self.first_ns = min(self.first_ns, int(batch["start_ns"][timed].min()))
            self.last_ns = max(self.last_ns, int(batch["end_ns"][timed].max()))
        np.maximum.at(self._ends, batch["file"][known], batch["end"][known])

    def _count(self, counts: NDArray[np.int64], rows: NDArray[np.int64]) -> None:
        counts += np.bincount(rows, minlength=self._rows)

    def end(self, file: int) -> int:
        """One past the last byte that was asked for."""
        return int(self._ends[file])

    def users(self, file: int) -> int:
        """How many processes accessed the file."""
        return int(self._users[file].sum())

    def of(self, file: int, operation: Operation) -> Counts:
        row = file * _OPERATIONS + operation
        return Counts(
            calls=int(self.calls[row]),
            collective=int(self.collective[row]),
            requested=int(self.requested[row]),
            transferred=int(self.transferred[row]),
            seconds=float(self.ns[row]) / 1e9,
            size_classes=tuple(np.trim_zeros(self.sizes[row], "b").tolist()),
        )


class _Describe:
    """Signatures as text."""

    def __init__(self, routines: Sequence[Routine], page_bytes: int):
        self._routines = [
            (routine.name.removeprefix("MPI_File_"), routine.operation == Operation.WRITE)
            for routine in routines
        ]
        self.operations = tuple(self._routines)
        self._page_bytes = page_bytes

    def local(self, path: str, rank: int, signature: _core.Signature) -> LocalSignature:
        return LocalSignature(
            rank=rank,
            accesses=signature.accesses,
            covered=signature.covered,
            lost=signature.lost,
            pattern=signature.pattern_signature(self._routines, self._page_bytes),
            trace=tuple(signature.trace_signature(path, self._routines).splitlines()),
            signature=signature,
        )

    def common(self, signatures: list[tuple[int, _core.Signature]]) -> GlobalSignature:
        merged = _core.merge_signatures(signatures)
        lines = merged.text(self._routines, self._page_bytes).splitlines()
        accesses = [pattern.accesses * pattern.processes for pattern in merged.patterns]
        ordered = sorted(zip(accesses, lines, strict=True), key=lambda pair: -pair[0])
        return GlobalSignature(
            processes=merged.processes,
            ranks=merged.ranks,
            patterns=tuple(line for count, line in ordered if count >= 3),
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
    sums: _Sums,
    number: int,
    signatures: list[tuple[int, _core.Signature]],
    describe: _Describe,
    conflicts: Conflicts,
) -> FileAnalysis:
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
    return FileAnalysis(
        path=path,
        processes=sums.users(number),
        read=sums.of(number, Operation.READ),
        write=sums.of(number, Operation.WRITE),
        metadata_calls=sum(one.calls for one in metadata),
        metadata_seconds=sum(one.seconds for one in metadata),
        syncs=syncs.calls,
        sync_seconds=syncs.seconds,
        end=sums.end(number),
        unplaced=int(sums.unplaced[number]),
        locals=tuple(describe.local(path, rank, signature) for rank, signature in signatures),
        signature=describe.common(signatures),
        conflicts=conflicts,
    )


def _conflicts(trace: Trace, found: _core.Conflicts | None, first_ns: int) -> Conflicts:
    if found is None:
        return Conflicts()

    def rank(one: _core.FileAccess) -> int:
        known = trace.processes[one.process].rank
        return known if known >= 0 else one.process

    def seconds(one: _core.FileAccess) -> tuple[float, float]:
        return (one.start_ns - first_ns) / 1e9, (one.end_ns - first_ns) / 1e9

    def apart(kind: int) -> Apart:
        examples = (
            Conflict(
                offset=one.offset,
                end=one.end,
                first_rank=rank(one.first),
                first="write" if one.first.writes else "read",
                first_seconds=seconds(one.first),
                second_rank=rank(one.second),
                second="write" if one.second.writes else "read",
                second_seconds=seconds(one.second),
            )
            for one in found.examples
            if one.separation == kind
        )
        return Apart(found.counts[kind], found.bytes[kind], tuple(examples))

    concurrent, ordered, synced, reopened = (apart(kind) for kind in range(4))
    return Conflicts(concurrent, ordered, synced, reopened, left_out=found.accesses_left_out)


_SMALL_BYTES = 1 << 16
_MANY_CALLS = 1000


def _findings(files: Sequence[FileAnalysis], trace: Trace) -> list[Finding]:
    """What costs the most time comes first."""
    findings: list[tuple[float, Finding]] = []
    cached = {trace.files[one.file] for one in trace.opens if one.cached}
    for file in files:
        findings += [(_seconds(file), finding) for finding in _shared_bytes(file, trace.kind)]
        for kind, counts in (("writes", file.write), ("reads", file.read)):
            alone = counts.calls - counts.collective
            if alone >= _MANY_CALLS and counts.median_size <= _SMALL_BYTES:
                finding = _small_calls(file, kind, counts, alone, file.path in cached)
                findings.append((counts.seconds, finding))
        whole = _seconds(file)
        if file.syncs > 0 and file.sync_seconds > 0.5 * whole:
            findings.append((file.sync_seconds, _syncs(file, whole)))
        if file.accesses and file.metadata_seconds > 0.5 * whole:
            findings.append((file.metadata_seconds, _metadata(file, whole)))
    findings.sort(key=lambda weighed: -weighed[0])
    return [finding for _, finding in findings]


def _shared_bytes(file: FileAnalysis, kind: str) -> Iterator[Finding]:
    untold = "; Darshan logs do not tell of syncs" if kind == "darshan" else ""
    for apart, title, advice in (
        (
            file.conflicts.concurrent,
            "processes access the same bytes at the same time",
            "what is read or stays in the file depends on chance: order these accesses",
        ),
        (
            file.conflicts.ordered,
            "processes access bytes that others wrote, with no sync in between",
            "right where writes are visible at once (consistency=posix, on one node); for"
            " consistency=mpi and most file systems add MPI_File_sync, a barrier and MPI_File_sync,"
            " or close and open",
        ),
    ):
        if apart.pairs:
            one = apart.examples[0]
            yield Finding(
                f"{file.path}: {title}",
                f"{apart.pairs:,} pairs of accesses, {apart.bytes:,} bytes, such as bytes"
                f" {one.offset:,} to {one.end - 1:,}: {one.first} of rank {one.first_rank} at"
                f" {one.first_seconds[0]:.6f} s, {one.second} of rank {one.second_rank} at"
                f" {one.second_seconds[0]:.6f} s{untold}",
                advice,
            )


def _syncs(file: FileAnalysis, whole: float) -> Finding:
    return Finding(
        f"most of the time on {file.path} goes into MPI_File_sync",
        f"{file.syncs:,} calls, {file.sync_seconds:.3f} s of {whole:.3f} s",
        "sync where other processes must see the bytes, or a crash must not lose them,"
        " and nowhere else",
    )


def _metadata(file: FileAnalysis, whole: float) -> Finding:
    return Finding(
        f"most of the time on {file.path} goes into opening, closing and setting it up",
        f"{file.metadata_calls:,} calls, {file.metadata_seconds:.3f} s of {whole:.3f} s,"
        f" for {file.accesses:,} accesses",
        "keep the file open between phases; open it once, by all processes together",
    )


def _seconds(file: FileAnalysis) -> float:
    return file.read.seconds + file.write.seconds + file.metadata_seconds + file.sync_seconds


def _small_calls(
    file: FileAnalysis, kind: str, counts: Counts, alone: int, cached: bool
) -> Finding:
    interleaved = file.processes > 1 and file.spatial == "contiguous"
    return Finding(
        f"{'small interleaved' if interleaved else 'small'} {kind} of {file.path}",
        f"{alone:,} of {counts.calls:,} are independent, half of them below"
        f" {counts.median_size:,} bytes, by {file.processes:,} processes",
        "the cache takes them already (see `forebay run --stats`)"
        if cached
        else "`forebay run` makes them few and large; in the program, a file view and collective"
        " routines (MPI_File_write_all, MPI_File_read_all) do",
    )
