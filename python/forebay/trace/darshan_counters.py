"""Combines a Darshan log's counter records, as forebay.trace.darshan_child reads them, per file
(forebay.trace.counters)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from forebay.trace.counters import (
    SIZE_LIMITS,
    Calls,
    Counters,
    FileCounters,
    Hdf5,
    Mpiio,
    Posix,
    RankTime,
    Requests,
    SizeCount,
    Stripes,
)

_SIZES = (
    *("0_100", "100_1K", "1K_10K", "10K_100K", "100K_1M", "1M_4M", "4M_10M", "10M_100M"),
    *("100M_1G", "1G_PLUS"),
)
assert len(_SIZES) == len(SIZE_LIMITS)
_COMMON = 4
"""The number of frequent sizes in a record."""
_MOST = 1 << 62
_LAYERS = ("MPI-IO", "POSIX")

Kind = TypeVar("Kind")


@dataclass(frozen=True, slots=True)
class Records:
    """Some records of a module: a row per record, a column per counter."""

    rows: Any
    """As forebay.trace.darshan_child writes them."""
    names: Sequence[str]
    """Names of the counters, those of integers first."""
    prefix: str
    """Prefix of these names; column() takes names without it."""

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def ids(self) -> Any:
        return self.rows["id"]

    @property
    def owners(self) -> Any:
        """For records of a part of a file, the file's id; otherwise 0."""
        return self.rows["owner"]

    @property
    def ranks(self) -> Any:
        """Rank of each record; -1: the sum over all ranks."""
        return self.rows["rank"]

    def where(self, chosen: Any) -> Records:
        """Only these rows."""
        return replace(self, rows=self.rows[chosen])

    def column(self, name: str) -> Any:
        """The values of a counter. Zero if Darshan did not count (-1), or if the value makes no
        sense."""
        full, integers = f"{self.prefix}_{name}", self.rows["counters"]
        if full not in self.names:
            return np.zeros(len(self.rows), np.int64)
        number = self.names.index(full)
        if number < integers.shape[1]:
            column = integers[:, number]
            return np.where((column > 0) & (column < _MOST), column, 0)
        column = self.rows["fcounters"][:, number - integers.shape[1]]
        return np.where(np.isfinite(column) & (column > 0) & (column < 1e12), column, 0.0)

    def count(self, name: str) -> int:
        """The sum, in Python's integers, which cannot overflow."""
        return min(sum(int(value) for value in self.column(name)), _MOST)

    def most(self, name: str) -> int:
        return int(self.column(name).max(initial=0))

    def seconds(self, *names: str) -> float:
        return float(sum(self.column(name).sum() for name in names))

    def sizes(self, name: str) -> tuple[int, ...]:
        return tuple(self.count(f"SIZE_{name}_{size}") for size in _SIZES)

    def common_sizes(self) -> tuple[SizeCount, ...]:
        met: Counter[int] = Counter()
        for i in range(1, _COMMON + 1):
            sizes, counts = self.column(f"ACCESS{i}_ACCESS"), self.column(f"ACCESS{i}_COUNT")
            for size, count in zip(sizes.tolist(), counts.tolist(), strict=True):
                met[size] += count
        return tuple(SizeCount(size, count) for size, count in met.most_common(_COMMON) if count)

    def processes(self, of_job: int) -> int:
        """The number of processes that the records describe."""
        return of_job if np.any(self.ranks < 0) else len(np.unique(self.ranks))

    def extreme(self, which: str) -> RankTime | None:
        """The `SLOWEST` or `FASTEST` rank, if there are several."""
        if np.any(self.ranks < 0):
            return RankTime(
                rank=self.count(f"{which}_RANK"),
                seconds=self.seconds(f"F_{which}_RANK_TIME"),
                bytes=self.count(f"{which}_RANK_BYTES"),
            )
        if len(self) < 2:
            return None
        took = self.column("F_READ_TIME") + self.column("F_WRITE_TIME")
        took = took + self.column("F_META_TIME")
        at = int(took.argmax() if which == "SLOWEST" else took.argmin())
        moved = self.column("BYTES_READ")[at], self.column("BYTES_WRITTEN")[at]
        return RankTime(int(self.ranks[at]), float(took[at]), sum(int(part) for part in moved))


@dataclass(frozen=True, slots=True)
class Job:
    """Facts about the job from the log, beside its records."""

    layer: str
    traced: bool
    processes: int
    seconds: float
    incomplete: tuple[str, ...]
    names: Mapping[int, str]
    """Names of records, by record id."""
    stripes: Mapping[int, Stripes]
    """Stripes of files, by record id."""


def files_of(tables: Mapping[str, Records]) -> list[int]:
    """The ids of the files whose counters are wanted: those that MPI-IO used, or if there are none,
    those that POSIX calls used."""
    for module in _LAYERS:
        if module in tables and len(tables[module]):
            return [int(number) for number in np.unique(tables[module].ids)]
    return []


def counters_of(
    job: Job, tables: Mapping[str, Records], files: Mapping[int, str], accesses: Mapping[int, int]
) -> Counters:
    """The counters of a job. `files`: ids and paths of the files; `accesses`: number of accesses in
    the trace, by id."""
    sets = _by_file(tables["H5D"], job, files) if "H5D" in tables else {}

    def part(module: str, number: int, make: Callable[[Records, int], Kind]) -> Kind | None:
        if module not in tables:
            return None
        rows = tables[module].where(tables[module].ids == number)
        return make(rows, job.processes) if len(rows) else None

    def of_file(number: int, path: str) -> FileCounters:
        mpiio = part("MPI-IO", number, _mpiio)
        posix = part("POSIX", number, _posix)
        return FileCounters(
            path=path,
            mpiio=mpiio,
            posix=posix,
            hdf5=part("H5F", number, lambda rows, ranks: _hdf5(rows, sets.get(number), ranks)),
            stripes=job.stripes.get(number),
            untraced=max(0, _counted(job.layer, mpiio, posix) - accesses.get(number, 0)),
        )

    return Counters(
        layer=job.layer,
        traced=job.traced,
        processes=job.processes,
        seconds=job.seconds,
        modules=(*tables, *(["LUSTRE"] if job.stripes else [])),
        incomplete=job.incomplete,
        files=tuple(of_file(number, path) for number, path in files.items()),
    )


def _counted(layer: str, mpiio: Mpiio | None, posix: Posix | None) -> int:
    if layer == "MPI-IO":
        return mpiio.read.calls + mpiio.write.calls if mpiio is not None else 0
    return posix.requests if posix is not None else 0


def _mpiio(rows: Records, of_job: int) -> Mpiio:
    def calls(kind: str, name: str, moved: str) -> Calls:
        return Calls(
            independent=rows.count(f"INDEP_{kind}S"),
            collective=rows.count(f"COLL_{kind}S"),
            split=rows.count(f"SPLIT_{kind}S"),
            nonblocking=rows.count(f"NB_{kind}S"),
            bytes=rows.count(moved),
            seconds=rows.seconds(f"F_{kind}_TIME"),
            sizes=rows.sizes(name),
        )

    return Mpiio(
        processes=rows.processes(of_job),
        independent_opens=rows.count("INDEP_OPENS"),
        collective_opens=rows.count("COLL_OPENS"),
        read=calls("READ", "READ_AGG", "BYTES_READ"),
        write=calls("WRITE", "WRITE_AGG", "BYTES_WRITTEN"),
        syncs=rows.count("SYNCS"),
        views=rows.count("VIEWS"),
        hints=rows.count("HINTS"),
        mode=rows.most("MODE"),
        metadata_seconds=rows.seconds("F_META_TIME"),
        common_sizes=rows.common_sizes(),
        slowest=rows.extreme("SLOWEST"),
        fastest=rows.extreme("FASTEST"),
    )


def _posix(rows: Records, of_job: int) -> Posix:
    def requests(kind: str, moved: str) -> Requests:
        return Requests(
            requests=rows.count(f"{kind}S"),
            bytes=rows.count(moved),
            seconds=rows.seconds(f"F_{kind}_TIME"),
            sizes=rows.sizes(kind),
            consecutive=rows.count(f"CONSEC_{kind}S"),
            sequential=rows.count(f"SEQ_{kind}S"),
        )

    return Posix(
        processes=rows.processes(of_job),
        opens=rows.count("OPENS"),
        stats=rows.count("STATS"),
        seeks=rows.count("SEEKS"),
        syncs=rows.count("FSYNCS") + rows.count("FDSYNCS"),
        read=requests("READ", "BYTES_READ"),
        write=requests("WRITE", "BYTES_WRITTEN"),
        unaligned=rows.count("FILE_NOT_ALIGNED"),
        alignment=rows.most("FILE_ALIGNMENT"),
        unaligned_in_memory=rows.count("MEM_NOT_ALIGNED"),
        memory_alignment=rows.most("MEM_ALIGNMENT"),
        mode=rows.most("MODE"),
        metadata_seconds=rows.seconds("F_META_TIME"),
        common_sizes=rows.common_sizes(),
        slowest=rows.extreme("SLOWEST"),
        fastest=rows.extreme("FASTEST"),
    )


def _hdf5(rows: Records, sets: Records | None, of_job: int) -> Hdf5:
    used = sets is not None
    sets = sets if sets is not None else rows.where(np.zeros(len(rows), bool))
    return Hdf5(
        processes=rows.processes(of_job),
        opens=rows.count("OPENS"),
        flushes=rows.count("FLUSHES"),
        metadata_seconds=rows.seconds("F_META_TIME"),
        datasets=len(np.unique(sets.ids)) if used else 0,
        dataset_processes=sets.processes(of_job) if used else 0,
        dataset_reads=sets.count("READS"),
        dataset_writes=sets.count("WRITES"),
        bytes_read=sets.count("BYTES_READ"),
        bytes_written=sets.count("BYTES_WRITTEN"),
        dataset_seconds=sets.seconds("F_READ_TIME", "F_WRITE_TIME"),
        dataset_metadata_seconds=sets.seconds("F_META_TIME"),
    )


def _by_file(sets: Records, job: Job, files: Mapping[int, str]) -> dict[int, Records]:
    """The data sets of each file. In older logs, which have no owner, a set is named FILE:SET."""
    owner_of: dict[int, int] = {}
    for number, owner in zip(sets.ids.tolist(), sets.owners.tolist(), strict=True):
        if number not in owner_of:
            name = job.names.get(number, "")
            owner_of[number] = owner or _owner(name, files.items())
    owners = np.array([owner_of[number] for number in sets.ids.tolist()], np.uint64)
    return {number: sets.where(owners == number) for number in files if np.any(owners == number)}


def _owner(name: str, files: Iterable[tuple[int, str]]) -> int:
    return next((number for number, path in files if name.startswith(f"{path}:")), 0)
