"""What a job could do better, with the evidence.

Each rule in RULES is a function of what is known of a file. If a function needs a fact that the
input does not contain, it says so or finds nothing. docs/report.md has the table of rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from forebay.analysis.known_calls import KnownCalls
from forebay.analysis.result import FileAnalysis, Finding
from forebay.trace import Trace
from forebay.trace.counters import Counters, FileCounters, Hdf5, Mpiio, Posix, Stripes

MANY_CALLS = 1000
MUCH_BYTES = 1 << 20
LONG = 0.1
"""A fraction of the job's time, per process on average."""
MANY_PROCESSES = 8


class Found(NamedTuple):
    """A finding of a rule. `seconds`: its cost, summed over the processes."""

    seconds: float
    title: str
    evidence: str
    advice: str


@dataclass(frozen=True, slots=True)
class Subject:
    """A file, and what is known of the job. Counters of incomplete modules are left out."""

    file: FileAnalysis
    job: Counters | None
    span: float
    """Seconds that the job took, or its I/O if that is all that is known."""
    cached: bool
    """Whether Forebay cached the file in the traced run."""
    tells_order: bool
    """Whether the order in which the program makes its ranks act is known."""
    layer: str
    """The interface that the accesses belong to: `MPI-IO` or `POSIX`."""

    @property
    def mpiio(self) -> Mpiio | None:
        return self._counted("MPI-IO").mpiio

    @property
    def posix(self) -> Posix | None:
        return self._counted("POSIX").posix

    @property
    def hdf5(self) -> Hdf5 | None:
        return None if self._lacks("H5D") else self._counted("H5F").hdf5

    @property
    def stripes(self) -> Stripes | None:
        return self._counted("LUSTRE").stripes

    @property
    def storage(self) -> Posix | None:
        """Requests of POSIX that hold all bytes MPI-IO wrote. None: some bytes went another way, or
        nothing is known."""
        mpiio, posix = self.mpiio, self.posix
        if mpiio is None or posix is None or posix.write.bytes < mpiio.write.bytes:
            return None
        return posix

    @property
    def in_mpiio(self) -> bool:
        """Whether the program calls MPI-IO, not only POSIX."""
        return self.layer == "MPI-IO" or self.mpiio is not None

    @property
    def kinds(self) -> tuple[tuple[str, KnownCalls], tuple[str, KnownCalls]]:
        return ("writes", self.file.known_writes), ("reads", self.file.known_reads)

    @property
    def bytes(self) -> int:
        return self.file.known_writes.bytes + self.file.known_reads.bytes

    @property
    def seconds(self) -> float:
        """Seconds in calls on the file, summed over the processes."""
        metadata, syncs = self.file.metadata_seconds or 0, self.file.sync_seconds or 0
        return self.file.known_reads.seconds + self.file.known_writes.seconds + metadata + syncs

    def long(self, seconds: float) -> bool:
        """Whether `seconds`, summed over the processes, justify a change."""
        return seconds >= 1 and seconds >= LONG * self.span * max(1, self.file.processes)

    def each(self, seconds: float) -> str:
        """`seconds`, summed over the processes, as text: the mean per process."""
        mean = seconds / max(1, self.file.processes)
        share = f" ({mean / self.span:.0%} of {self.span:,.1f} s)" if self.span else ""
        return f"{mean:,.3g} s a process{share}"

    def _counted(self, module: str) -> FileCounters:
        if self.file.counters is None or self._lacks(module):
            return _NOTHING
        return self.file.counters

    def _lacks(self, module: str) -> bool:
        return self.job is not None and module in self.job.incomplete


_NOTHING = FileCounters("", None, None, None, None, 0)


def findings_of(
    files: Sequence[FileAnalysis],
    cached: set[str],
    job: Counters | None,
    span: float,
    trace: Trace,
) -> list[Finding]:
    """The findings of all files, the most expensive first. `cached`: paths; `span`: seconds of the
    job."""
    found: list[tuple[float, Finding]] = []
    for file in files:
        subject = Subject(file, job, span, file.path in cached, trace.tells_order, trace.layer)
        for rule in RULES:
            found += [
                (one.seconds, Finding(one.title, one.evidence, one.advice, rule.name, file.path))
                for one in rule.find(subject)
            ]
    found.sort(key=lambda weighed: -weighed[0])
    return [finding for _, finding in found]


def _shared_bytes(subject: Subject) -> Iterator[Found]:
    file, told = subject.file, subject.tells_order
    for apart, title, times, advice in (
        (
            file.conflicts.concurrent,
            "in this run processes accessed the same bytes at the same time",
            "; no recorded call orders them" if told else "",
            "the bytes that are read, or that stay in the file, depend on chance: order these"
            " accesses",
        ),
        (
            file.conflicts.unordered,
            "processes access bytes that other processes write, in an order that may be chance"
            if told
            else "processes access bytes that other processes write",
            ", in this run one after the other; "
            + (
                "no recorded call orders them"
                if told
                else "the trace does not record whether calls order them"
            ),
            "guarantee the order by MPI_Barrier or another collective in which each rank needs data"
            " of all ranks; messages and collective calls of MPI-IO are not counted"
            if told
            else "`forebay trace` records whether collectives of the program, such as MPI_Barrier,"
            " guarantee the order"
            if subject.in_mpiio
            else "let one process wait for the other",
        ),
        (
            file.conflicts.ordered,
            "processes access bytes that other processes wrote, with no sync in between",
            "",
            "correct if writes are visible at once (consistency=posix, on one node); for"
            " consistency=mpi and most file systems add MPI_File_sync, a barrier and MPI_File_sync,"
            " or close and open",
        ),
    ):
        if apart.pairs:
            one = apart.examples[0]
            left_out = f"; {file.left_out:,} accesses were not examined" if file.left_out else ""
            yield Found(
                subject.seconds,
                f"{file.path}: {title}",
                f"{apart.pairs:,} pair{'s' if apart.pairs > 1 else ''} of accesses,"
                f" {apart.bytes:,} bytes, such as bytes"
                f" {one.offset:,} to {one.end - 1:,}: {one.first} of rank {one.first_rank} at"
                f" {one.first_seconds[0]:.6f} s, {one.second} of rank {one.second_rank} at"
                f" {one.second_seconds[0]:.6f} s{times}{left_out}",
                advice,
            )


def _small_calls(subject: Subject) -> Iterator[Found]:
    """Small calls that each process makes independently."""
    file = subject.file
    for kind, calls in subject.kinds if subject.in_mpiio else ():
        if not _mostly_small(calls) or _merged(subject, kind, calls):
            continue
        if calls.alone is None:
            made = "the trace does not show whether they were collective"
            advice = "if each process makes them on its own: "
        elif calls.small - (calls.collective or 0) >= MANY_CALLS:
            made = f"{calls.alone:,} of {calls.calls:,} are independent"
            advice = ""
        else:
            continue
        interleaved = file.processes > 1 and file.spatial == "contiguous"
        yield Found(
            calls.seconds,
            f"{'small interleaved' if interleaved else 'small'} {kind} of {file.path}",
            f"{made}, {_half(calls)}, by {file.processes:,} processes{_reached(subject, kind)}",
            "the cache already merges them (see `forebay run --stats`)"
            if subject.cached
            else f"{advice}`forebay run` merges them into few large requests; in the program, use a"
            " file view and collective routines (MPI_File_write_all, MPI_File_read_all)",
        )


def _small_requests(subject: Subject) -> Iterator[Found]:
    """Small requests of programs that do not use MPI-IO."""
    for kind, calls in () if subject.in_mpiio else subject.kinds:
        if _mostly_small(calls):
            yield Found(
                calls.seconds,
                f"small {kind} of {subject.file.path} with POSIX calls",
                f"{calls.calls:,} {kind}, {_half(calls)}, by {subject.file.processes:,} processes",
                "make them larger in the program, or use MPI-IO or a library on top of it:"
                " `forebay run` serves MPI-IO only",
            )


def _unmerged(subject: Subject) -> Iterator[Found]:
    """Collective calls that collective buffering did not merge."""
    storage = subject.storage
    for kind, calls in subject.kinds if storage is not None else ():
        requests, moved = _requests(subject, kind)
        if (
            calls.collective is None
            or calls.small - (calls.alone or 0) < MANY_CALLS
            or not _mostly_small(calls)
            or 2 * requests < calls.small
        ):
            continue
        yield Found(
            calls.seconds,
            f"collective {kind} of {subject.file.path} reach storage in small pieces",
            f"{calls.collective:,} of {calls.calls:,} are collective, {_half(calls)}; storage saw"
            f" {requests:,} requests of {moved // max(1, requests):,} bytes on average",
            "collective buffering merged few of them: enable it (hint"
            f" romio_cb_{kind[:-1]}=enable for ROMIO), or let `forebay run` merge them",
        )


def _slow_small_calls(subject: Subject) -> Iterator[Found]:
    """Small calls that take much of the time."""
    for kind, calls in subject.kinds:
        took = calls.small_seconds
        if took is None or not subject.long(took) or took < 0.2 * calls.seconds:
            continue
        if calls.small * calls.small_bytes > 0.01 * calls.bytes:
            continue
        of_hdf5 = subject.hdf5 is not None
        yield Found(
            took,
            f"a few small {kind} of {subject.file.path} take {took / calls.seconds:.0%} of the time"
            f" of all {kind}",
            f"{calls.small:,} of {calls.calls:,} {kind} are smaller than"
            f" {calls.small_bytes:,} bytes and take {took:,.1f} of {calls.seconds:,.1f} s:"
            f" {subject.each(took)}; {_collective(calls)}",
            "such small calls write the metadata of HDF5 beside the data: let HDF5 gather it"
            " (H5Pset_meta_block_size, or H5Pset_file_space_strategy with pages), and create"
            " less of it (larger chunks, or contiguous data sets)"
            if of_hdf5
            else "gather them into few larger calls, or let one process make them",
        )


def _hdf5_metadata(subject: Subject) -> Iterator[Found]:
    hdf5 = subject.hdf5
    if hdf5 is None:
        return
    whole = hdf5.metadata_seconds + hdf5.dataset_metadata_seconds
    if not subject.long(whole):
        return
    together = subject.mpiio is not None and subject.mpiio.write.alone == 0
    of_file = (
        "for the file: gather its metadata (H5Pset_meta_block_size, H5Pset_file_space_strategy with"
        f" pages),{'' if together else ' write it collectively (H5Pset_coll_metadata_write),'}"
        " flush and open the file seldom"
    )
    of_sets = (
        "for data sets: use larger chunks or none, and no fill values if the program writes all"
        " elements anyway"
    )
    parts = ((hdf5.metadata_seconds, of_file), (hdf5.dataset_metadata_seconds, of_sets))
    yield Found(
        whole,
        f"HDF5 takes {subject.each(whole)} to open, create, flush and close"
        f" {subject.file.path} and its data sets",
        f"opening, flushing and closing the file, {hdf5.opens:,} times by {hdf5.processes:,}"
        f" processes: {subject.each(hdf5.metadata_seconds)}; creating, opening and closing data"
        f" sets ({hdf5.datasets:,} names): {subject.each(hdf5.dataset_metadata_seconds)}; reading"
        f" and writing them: {subject.each(hdf5.dataset_seconds)}",
        "; ".join(advice for seconds, advice in parts if seconds >= 0.2 * whole),
    )


def _hdf5_own_writes(subject: Subject) -> Iterator[Found]:
    """Bytes that MPI-IO wrote without an H5Dwrite: HDF5's own."""
    hdf5, mpiio = subject.hdf5, subject.mpiio
    if hdf5 is None or mpiio is None or hdf5.dataset_processes < mpiio.processes:
        return
    own = mpiio.write.bytes - hdf5.bytes_written
    if own < MUCH_BYTES or own < 0.1 * mpiio.write.bytes or not hdf5.dataset_writes:
        return
    yield Found(
        mpiio.write.seconds * own / mpiio.write.bytes,
        f"HDF5 itself writes {own / mpiio.write.bytes:.0%} of the bytes of {subject.file.path}",
        f"the program wrote {_amount(hdf5.bytes_written)} to data sets; MPI-IO"
        f" wrote {_amount(mpiio.write.bytes)}: {_amount(own)} more, as fill values and metadata",
        "if the program writes all elements, switch fill values off: H5Pset_fill_time with"
        " H5D_FILL_TIME_NEVER (netCDF: NC_NOFILL)",
    )


def _unasked_reads(subject: Subject) -> Iterator[Found]:
    """Bytes read without a request of the program: read-modify-write, and data sieving."""
    storage, mpiio = subject.storage, subject.mpiio
    if storage is None or mpiio is None:
        return
    unasked = storage.read.bytes - mpiio.read.bytes
    if unasked < MUCH_BYTES or unasked < 0.01 * (mpiio.read.bytes + mpiio.write.bytes):
        return
    asked = f"asked for {_amount(mpiio.read.bytes)}" if mpiio.read.calls else "read nothing"
    writes = mpiio.write.calls > 0
    yield Found(
        storage.read.seconds * unasked / storage.read.bytes,
        f"{_amount(unasked)} of {subject.file.path} are read although the program did not ask for"
        " them",
        f"the program {asked}; storage read {_amount(storage.read.bytes)} in"
        f" {storage.read.requests:,} requests, {storage.read.seconds:,.1f} s over all processes"
        + (f", while it wrote {_amount(mpiio.write.bytes)}" if writes else ""),
        "the MPI library also reads the gaps between the pieces, to write or read them in one"
        " request (data sieving, or collective buffering with gaps): leave no gaps, or try the"
        " hints romio_ds_write=disable and romio_ds_read=disable; `forebay run` never reads in"
        " order to write",
    )


def _unaligned(subject: Subject) -> Iterator[Found]:
    posix, stripes = subject.posix, subject.stripes
    if posix is None or posix.alignment <= 1 or posix.unaligned < MANY_CALLS:
        return
    moved = posix.read.bytes + posix.write.bytes
    if 2 * posix.unaligned < posix.requests or moved > 4 * posix.alignment * posix.requests:
        return
    known_stripes = (
        f"Lustre's stripes: {stripes.count:,} of {stripes.size:,} bytes"
        if stripes is not None
        else "stripes: not in the log"
    )
    yield Found(
        posix.read.seconds + posix.write.seconds,
        f"requests for {subject.file.path} are not aligned to the file system's blocks",
        f"{posix.unaligned:,} of {posix.requests:,} do not begin at a multiple of"
        f" {posix.alignment:,} bytes; requests have {moved // max(1, posix.requests):,} bytes on"
        " average"
        f" ({known_stripes})",
        "align the writes to blocks or stripes (hint striping_unit, H5Pset_alignment), or let"
        " `forebay run` write whole pages"
        if subject.in_mpiio
        else "align the writes to blocks or stripes",
    )


def _metadata(subject: Subject) -> Iterator[Found]:
    file, seconds = subject.file, subject.file.metadata_seconds
    calls = subject.file.known_reads.calls + subject.file.known_writes.calls
    if not calls or seconds is None or not subject.seconds:
        return
    most = seconds > 0.5 * subject.seconds
    if not subject.long(seconds) and (subject.job is not None or not most):
        return
    yield Found(
        seconds,
        f"{'most' if most else 'much'} of the time on {file.path} goes"
        " into opening, closing and setting it up",
        f"{_setting_up(subject)}, {seconds:.3f} s of {subject.seconds:.3f} s, for {calls:,}"
        " accesses",
        "each process opened the file once or so; opens and closes are collective, so this time"
        " also waits for the slowest process: look for processes that come late, and for slow"
        " metadata of the file system"
        if _opened_once(subject)
        else "keep the file open between phases; open it once, by all processes together",
    )


def _syncs(subject: Subject) -> Iterator[Found]:
    file, whole = subject.file, subject.seconds
    if not file.syncs:
        return
    advice = (
        "sync only where other processes must see the bytes, or where a crash must not lose them"
    )
    if file.sync_seconds is not None:
        if file.sync_seconds > 0.5 * whole:
            yield Found(
                file.sync_seconds,
                f"most of the time on {file.path} goes into MPI_File_sync",
                f"{file.syncs:,} calls, {file.sync_seconds:.3f} s of {whole:.3f} s",
                advice,
            )
    elif subject.mpiio and file.syncs >= MANY_CALLS and 10 * file.syncs >= file.known_writes.calls:
        yield Found(
            0,
            f"many syncs of {file.path}",
            f"{file.syncs:,} calls of MPI_File_sync for {file.known_writes.calls:,} writes; the log"
            " counts their time as time of writes",
            advice,
        )


def _inside_library(subject: Subject) -> Iterator[Found]:
    """Time within the MPI library: neither in the operating system nor spent waiting in
    collectives."""
    storage = subject.storage
    for kind, calls in subject.kinds if storage is not None else ():
        assert storage is not None
        of = storage.write if kind == "writes" else storage.read
        rest = calls.seconds - of.seconds
        if calls.collective != 0 or of.bytes < calls.bytes or not subject.long(rest):
            continue
        if calls.seconds < 2 * of.seconds:
            continue
        yield Found(
            rest,
            f"{kind} of {subject.file.path} take {subject.each(rest)} inside the MPI library",
            f"{calls.calls:,} {kind}, all independent, took {calls.seconds:,.1f} s; their"
            f" {of.requests:,} requests to the operating system took {of.seconds:,.1f} s of it",
            "the log does not show the cause of the rest: file locks are the usual reason (NFS,"
            " atomic mode, data sieving); collective routines need no locks",
        )


def _uneven(subject: Subject) -> Iterator[Found]:
    mpiio = subject.mpiio
    if mpiio is None or mpiio.slowest is None or mpiio.fastest is None:
        return
    slow, fast = mpiio.slowest, mpiio.fastest
    apart = slow.seconds - fast.seconds
    if apart < 1 or slow.seconds < 2 * fast.seconds or apart < 0.25 * subject.span:
        return
    more = slow.bytes >= 2 * fast.bytes
    yield Found(
        apart,
        f"processes take unequal time for {subject.file.path}",
        f"rank {slow.rank} spent {slow.seconds:,.1f} s on {_amount(slow.bytes)}, rank {fast.rank}"
        f" {fast.seconds:,.1f} s on {_amount(fast.bytes)}, of the job's {subject.span:,.1f} s",
        "divide the bytes evenly among the processes"
        if more
        else "they move similar amounts: look for a process that others wait for, and for a slow"
        " node or storage target",
    )


def _one_stripe(subject: Subject) -> Iterator[Found]:
    stripes = subject.stripes
    if stripes is None or stripes.count != 1 or subject.file.processes < MANY_PROCESSES:
        return
    if subject.bytes < 1 << 30:
        return
    yield Found(
        subject.file.known_reads.seconds + subject.file.known_writes.seconds,
        f"{subject.file.path} lies on a single storage target",
        f"Lustre stripe count 1 (OST {', '.join(map(str, stripes.targets)) or 'unknown'}), for"
        f" {_amount(subject.bytes)} of {subject.file.processes:,} processes",
        "stripe the file over more targets: lfs setstripe -c, or the hint striping_factor",
    )


class Rule(NamedTuple):
    """A rule; docs/report.md lists it by its `name`."""

    name: str
    find: Callable[[Subject], Iterator[Found]]


RULES = (
    Rule("shared-bytes", _shared_bytes),
    Rule("small-calls", _small_calls),
    Rule("small-requests", _small_requests),
    Rule("unmerged", _unmerged),
    Rule("slow-small-calls", _slow_small_calls),
    Rule("hdf5-metadata", _hdf5_metadata),
    Rule("hdf5-own-writes", _hdf5_own_writes),
    Rule("unasked-reads", _unasked_reads),
    Rule("unaligned", _unaligned),
    Rule("metadata", _metadata),
    Rule("syncs", _syncs),
    Rule("inside-library", _inside_library),
    Rule("uneven", _uneven),
    Rule("one-stripe", _one_stripe),
)
"""A new rule needs a function, a line here, a line in the table of docs/report.md, and a row of
tests/python/test_findings.py."""


def _mostly_small(calls: KnownCalls) -> bool:
    return calls.small >= MANY_CALLS and 2 * calls.small >= calls.calls


def _merged(subject: Subject, kind: str, calls: KnownCalls) -> bool:
    """Whether storage received few requests for the calls."""
    requests, moved = _requests(subject, kind)
    return subject.storage is not None and moved >= calls.bytes and 10 * requests < calls.small


def _requests(subject: Subject, kind: str) -> tuple[int, int]:
    """The number of storage requests and their bytes; zeros if unknown."""
    storage = subject.storage
    if storage is None:
        return 0, 0
    of = storage.write if kind == "writes" else storage.read
    return of.requests, of.bytes


def _reached(subject: Subject, kind: str) -> str:
    """A sentence on the storage requests that the calls became."""
    if subject.job is None:
        return ""
    if subject.storage is None:
        return "; the log does not show their requests to storage"
    requests, moved = _requests(subject, kind)
    return f"; storage saw {requests:,} requests of {moved // max(1, requests):,} bytes on average"


def _half(calls: KnownCalls) -> str:
    if calls.counted:
        return f"half of them have at most {calls.typical_bytes:,} bytes"
    return f"half of them have less than {calls.typical_bytes:,} bytes"


def _collective(calls: KnownCalls) -> str:
    if calls.collective is None:
        return "the log does not show whether they were collective"
    if calls.collective in (0, calls.calls):
        return "all are collective" if calls.collective else "none is collective"
    return f"{calls.collective:,} of all {calls.calls:,} calls are collective"


def _opened_once(subject: Subject) -> bool:
    """Whether no process can have opened the file much more often than once, all together."""
    if subject.job is None:
        # An open, a close, and perhaps a view and a size or a position.
        return (subject.file.metadata_calls or 0) <= 4 * subject.file.processes
    mpiio = subject.mpiio
    return (
        mpiio is not None
        and mpiio.independent_opens == 0
        and mpiio.collective_opens <= mpiio.processes
    )


def _setting_up(subject: Subject) -> str:
    """The number of calls that open the file and set it up, as text."""
    mpiio, posix = subject.mpiio, subject.posix
    if subject.job is None:
        return f"{subject.file.metadata_calls:,} calls"
    if mpiio is not None:
        return (
            f"{mpiio.collective_opens + mpiio.independent_opens:,} opens by {mpiio.processes:,}"
            f" processes ({mpiio.independent_opens:,} each on its own), {mpiio.views:,} views"
        )
    if posix is not None:
        return f"{posix.opens:,} opens, {posix.stats:,} stats, {posix.seeks:,} seeks"
    return "an unknown number of calls"


def _amount(size: float) -> str:
    for unit in ("bytes", "KiB", "MiB", "GiB", "TiB"):
        if size < 1024 or unit == "TiB":
            break
        size /= 1024
    return f"{size:,.0f} {unit}" if unit == "bytes" or size >= 100 else f"{size:,.3g} {unit}"
