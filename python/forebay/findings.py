"""What a job could do better, with the evidence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from forebay.sums import Counts
from forebay.trace import Trace

if TYPE_CHECKING:
    from forebay.analysis import FileAnalysis

_SMALL_BYTES = 1 << 16
_MANY_CALLS = 1000


@dataclass(frozen=True, slots=True)
class Finding:
    """Something worth changing."""

    title: str
    evidence: str
    advice: str


def findings_of(files: Sequence[FileAnalysis], trace: Trace) -> list[Finding]:
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
    if file.left_out:
        untold += f"; {file.left_out:,} accesses were not looked at"
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
