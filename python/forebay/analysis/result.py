"""What an analysis comes to: of the job, and of each file."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from forebay import _core
from forebay.analysis.conflicts import Conflicts, Sharing
from forebay.analysis.known_calls import KnownCalls
from forebay.analysis.phases import OutsidePhases, Phase
from forebay.analysis.sums import Counts
from forebay.notebook import Shown
from forebay.trace import Totals
from forebay.trace.counters import Counters, FileCounters

if TYPE_CHECKING:
    import pandas


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


@dataclass(frozen=True, slots=True)
class Finding:
    """Something worth changing."""

    title: str
    evidence: str
    advice: str
    rule: str = ""
    """Its name in RULES."""


@dataclass(frozen=True)
class Analysis(Shown):
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

    def to_pandas(self) -> pandas.DataFrame:
        """A row for each file: its path, sums, and what its signature says. Missing values are what
        the trace does not tell. Raises ImportError without pandas."""
        import pandas as pd

        return pd.DataFrame([_row(file) for file in self.files])

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


def _row(file: FileAnalysis) -> dict[str, Any]:
    row: dict[str, Any] = {"path": file.path, "processes": file.processes}
    for kind, known in (("write", file.known_writes), ("read", file.known_reads)):
        row |= {
            f"{kind}_calls": known.calls,
            f"{kind}_collective": known.collective,
            f"{kind}_bytes": known.bytes,
            f"{kind}_seconds": known.seconds,
        }
    return row | {
        "metadata_calls": file.metadata_calls,
        "metadata_seconds": file.metadata_seconds,
        "syncs": file.syncs,
        "sync_seconds": file.sync_seconds,
        "end": file.end,
        "spatial": file.spatial,
        "coverage": file.coverage,
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
        lines.append("offset, time and pattern of each access (no DXT records)")
    if "MPI-IO" not in modules:
        lines.append(
            "number of collective calls, opens and views, and their time (no MPI-IO counters)"
        )
    if "POSIX" not in modules:
        lines.append("requests to storage and their alignment (no POSIX counters)")
    if "LUSTRE" not in modules:
        lines.append("stripes (no LUSTRE records)")
    return lines


def _without(row: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key != name}
