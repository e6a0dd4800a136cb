"""The results of an analysis: of the job, and of each file."""

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
    """What one thread of a process did to one file (Yin III.B)."""

    rank: int
    """Rank of the process; if that is unknown, its number in the trace."""
    thread: int
    """Number of the thread in its process, in the order of their first I/O."""
    accesses: int
    covered: int
    """Accesses in patterns of at least three repetitions."""
    lost: int
    pattern: str
    """The local pattern signature."""
    trace: tuple[str, ...]
    """The local trace signature, one part per text."""
    signature: _core.Signature = field(repr=False, compare=False)
    """`expand()` returns the accesses, one by one."""


@dataclass(frozen=True, slots=True)
class GlobalSignature:
    """What all processes of a job did to one file (Yin III.B.3)."""

    processes: int
    ranks: str
    patterns: tuple[str, ...]
    """Lines in Yin's notation: a pattern, or what several patterns have in common, the one with the
    most accesses first. Patterns of fewer than three accesses are left out. Times are seconds after
    the start of the first call."""
    accesses: int
    covered: int
    """Accesses in patterns of at least three repetitions or ranks."""
    spatial: str
    """The class of at least 19 of 20 accesses, judged by the bytes of all ranks; otherwise
    `combination` or `random`."""
    overlapping: bool
    """Whether ranks of a pattern access the same bytes."""
    merged: _core.GlobalSignature = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class FileAnalysis:
    """The analysis of one file."""

    path: str
    processes: int
    """The number of processes that accessed the file."""
    read: Counts
    write: Counts
    """Writes; like `read` counted from the trace's accesses."""
    metadata_calls: int | None
    """Opens, closes, views, sizes, seeks; for Darshan logs opens and views. None, also in the next
    three members: unknown."""
    metadata_seconds: float | None
    syncs: int | None
    sync_seconds: float | None
    end: int
    """One past the last requested byte."""
    unplaced: int
    """Accesses at an unknown place of the file."""
    locals: tuple[LocalSignature, ...]
    signature: GlobalSignature
    conflicts: Conflicts
    sharing: Sharing
    counters: FileCounters | None
    """Counters of the file, beside its accesses."""
    known_reads: KnownCalls
    known_writes: KnownCalls
    """Writes; like `known_reads` from accesses and counters together."""

    @property
    def accesses(self) -> int:
        return self.read.calls + self.write.calls

    @property
    def coverage(self) -> float:
        """The fraction of accesses in patterns of the threads; 1 without accesses."""
        accesses = sum(one.accesses for one in self.locals)
        return sum(one.covered for one in self.locals) / accesses if accesses else 1.0

    @property
    def spatial(self) -> str:
        return self.signature.spatial

    @property
    def left_out(self) -> int:
        """Accesses that were not compared for conflicts and shared bytes, because there are too
        many."""
        return self.conflicts.left_out if self.processes > 1 else 0


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is worth changing."""

    title: str
    evidence: str
    advice: str
    rule: str = ""
    """The name of its rule in RULES."""
    path: str = ""
    """Of the file that it is about, as in the title."""


@dataclass(frozen=True)
class Analysis(Shown):
    """The analysis of a job from its trace. Points in time are seconds after the start of the first
    call."""

    path: str
    kind: str
    layer: str
    """The interface that the calls belong to: `MPI-IO` or `POSIX`."""
    processes: int
    problems: tuple[str, ...]
    operations: tuple[tuple[str, bool], ...]
    """Name of each routine, by the number it has in signatures, and whether it writes."""
    totals: Totals
    """Totals of the program's calls."""
    steps: int
    """Steps of caches, recorded with the option `deterministic`. No other member counts them."""
    orders: int
    """Collectives that order ranks, one call per process. No other member counts them."""
    tells_order: bool
    """Whether the trace contains the order that the program ensures. Otherwise only the times of
    this run tell conflicts apart."""
    unplaced: int
    first_ns: int
    """Start of the first call, by the trace's clock."""
    last_ns: int
    """End of the last call; `first_ns` if no time is known."""
    io_seconds: float
    """Seconds in MPI-IO, mean of the processes."""
    phases: tuple[Phase, ...]
    outside_phases: OutsidePhases
    files: tuple[FileAnalysis, ...]
    findings: tuple[Finding, ...]
    counters: Counters | None
    """Counters of a Darshan log."""

    @property
    def traced(self) -> bool:
        """Whether the trace has accesses, not only counters."""
        return self.counters is None or self.counters.traced

    @property
    def seconds(self) -> float:
        """Seconds from the start of the first call to the end of the last; without accesses, those
        of the job."""
        if self.counters is not None and not self.counters.traced:
            return self.counters.seconds
        return (self.last_ns - self.first_ns) / 1e9

    @property
    def needs(self) -> str:
        """The consistency that the job's processes need to see each other's bytes.

        `any`: no process accesses bytes that another one writes. `mpi`: such bytes are handed over
        by sync or close, in an order that the program ensures. `posix`: they are accessed in such
        an order, without a hand-over. `unknown`: no recorded order, and in this run the accesses
        did not overlap; or the accessed bytes are unknown (not `traced`). `none`: the accesses
        overlapped, and no consistency helps. Accesses that were `left_out` are not considered.
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
        """Accesses of all files that were left out (FileAnalysis.left_out)."""
        return sum(file.left_out for file in self.files)

    @property
    def covered(self) -> int:
        """Accesses in patterns of their thread."""
        return sum(one.covered for file in self.files for one in file.locals)

    def to_pandas(self) -> pandas.DataFrame:
        """A row per file: its path, its sums, and its signature. Unknown values are missing. Raises
        ImportError without pandas."""
        import pandas as pd

        return pd.DataFrame([_row(file) for file in self.files])

    def to_json(self) -> dict[str, Any]:
        """Plain values. `accesses` counts the calls that were read, without `steps` and `orders`.
        Of these, `covered` lie in patterns, and `left_out` were not compared for conflicts
        (`needs`) and shared bytes. All other times count from `first_ns`, a time of the trace's
        clock."""
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
    """What a Darshan log does not tell about its job, one line each."""
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
