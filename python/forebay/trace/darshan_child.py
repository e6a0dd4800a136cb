"""Reads a Darshan log's DXT and counter records with pydarshan. It is a process of its own, because
the library is C code that an unusual log may crash, and reports errors only on standard error.

    python -m forebay.trace.darshan_child LOG

It writes a NumPy archive to standard output: `facts` (JSON), `records` and `segments` of DXT, and
the counter records of each module, under the module's name. After a failure the exit code is 3, and
the reason is a line on standard error.
"""

from __future__ import annotations

import io
import json
import os
import resource
import sys
from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np

RECORD = np.dtype([("id", "<u8"), ("rank", "<i8"), ("writes", "<i8"), ("reads", "<i8")])
SEGMENT = np.dtype([("offset", "<i8"), ("length", "<i8"), ("start", "<f8"), ("end", "<f8")])
TRACERS = ("DXT_MPIIO", "DXT_POSIX")
COUNTERS = {
    "MPI-IO": "struct darshan_mpiio_file *",
    "POSIX": "struct darshan_posix_file *",
    "H5F": "struct darshan_hdf5_file *",
    "H5D": "struct darshan_hdf5_dataset *",
}
"""Modules whose records consist of an array of integers and one of floating-point numbers."""
REFUSED = 3


def main(path: str) -> None:
    """Writes the archive."""
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # the library's output must not get into the archive
    _bound_memory()
    try:
        import darshan.backend.cffi_backend as backend
    except ImportError as error:
        _refuse(f"PyPI's darshan is needed to read Darshan logs: {error}")
    log = backend.log_open(path)
    if log["handle"] == backend.ffi.NULL:
        _refuse("PyPI's darshan cannot open it")
    modules = backend.log_get_modules(log)
    module = next((name for name in TRACERS if name in modules), None)
    if module is None and not {"MPI-IO", "POSIX"} & modules.keys():
        _refuse("it tells of no MPI-IO and of no POSIX calls")
    job = backend.log_get_job(log)
    names = backend.log_get_name_records(log)
    index = None if module is None else modules[module]["idx"]
    hosts, records, segments, complete = _traced(backend, log, index)
    counted = {
        name: _counted(backend, log, modules[name]["idx"], kind)
        for name, kind in COUNTERS.items()
        if name in modules
    }
    stripes, all_stripes = _stripes(backend, log, modules) if "LUSTRE" in modules else ([], True)
    if not complete and not records and not any(len(rows) for rows, _ in counted.values()):
        _refuse(f"PyPI's darshan cannot read its {module} records")
    damaged = [name for name, (_, whole) in counted.items() if not whole]
    facts = {
        "module": module or "",
        "ranks": job["nprocs"],
        "start_ns": _nanoseconds(job, "start"),
        "seconds": job.get("run_time", 0.0),
        "partial": [name for name, facts in modules.items() if facts["partial_flag"]],
        "complete": complete,
        "damaged": [*damaged, *([] if all_stripes else ["LUSTRE"])],
        "hosts": hosts,
        "names": {str(number): name for number, name in names.items()},
        "counters": {name: _names(backend, name) for name in counted},
        "stripes": stripes,
    }
    archive = io.BytesIO()
    np.savez(
        archive,
        facts=np.array(json.dumps(facts)),
        records=np.array(records, RECORD),
        segments=np.concatenate([np.empty(0, SEGMENT), *segments]),
        **{name: rows for name, (rows, _) in counted.items()},
    )
    output.write(archive.getbuffer())
    output.close()


def _nanoseconds(job: Any, which: str) -> int:
    """A time of the job in nanoseconds since 1970."""
    return int(job[f"{which}_time_sec"] * 1_000_000_000 + job.get(f"{which}_time_nsec", 0))


def counter_rows(integers: int, floats: int) -> np.dtype[Any]:
    """The type of a module's counter records. `owner`: for a data set the id of its file, otherwise
    0."""
    numbers = [("id", "<u8"), ("owner", "<u8"), ("rank", "<i8")]
    arrays = [("counters", "<i8", (integers,)), ("fcounters", "<f8", (floats,))]
    return np.dtype([*numbers, *arrays])


def _names(backend: Any, module: str) -> list[str]:
    """Names of a module's counters, integers first."""
    return [*backend.counter_names(module), *backend.fcounter_names(module)]


def _counted(backend: Any, log: Any, index: int, kind: str) -> tuple[Any, bool]:
    """A module's counter records, and whether all could be read."""
    ffi = backend.ffi
    fields = dict(ffi.typeof(kind).item.fields)
    row = counter_rows(fields["counters"].type.length, fields["fcounters"].type.length)
    rows = []
    records = _Records(backend, log, index)
    for record in records:
        one = ffi.cast(kind, record)
        base = one.base_rec
        rows.append(
            (
                base.id,
                one.file_rec_id if "file_rec_id" in fields else 0,
                base.rank,
                np.frombuffer(bytes(ffi.buffer(one.counters)), "<i8"),
                np.frombuffer(bytes(ffi.buffer(one.fcounters)), "<f8"),
            )
        )
    return np.array(rows, row), records.all_read


def _stripes(backend: Any, log: Any, modules: Any) -> tuple[list[Any], bool]:
    """Record id, stripe size, stripe count and targets of each file, and whether all could be
    read."""
    ffi = backend.ffi
    found = []
    records = _Records(backend, log, modules["LUSTRE"]["idx"])
    for record in records:
        one = ffi.cast("struct darshan_lustre_record *", record)
        if one.num_comps < 1:
            continue
        counters = one.comps[one.num_comps - 1].counters  # the first two are size and count
        count = max(0, min(counters[1], one.num_stripes))
        targets = ffi.unpack(one.ost_ids + (one.num_stripes - count), count)
        found.append((str(one.base_rec.id), counters[0], counters[1], list(targets)))
    return found, records.all_read


class _Records:
    """The records of a module, as far as the library can read them."""

    def __init__(self, backend: Any, log: Any, index: int):
        self._backend, self._log, self._index = backend, log, index
        self.all_read = False
        """After the last record: whether all were read."""

    def __iter__(self) -> Iterator[Any]:
        library = self._backend.libdutil
        while True:
            buffer = self._backend.ffi.new("void **")
            status = library.darshan_log_get_record(self._log["handle"], self._index, buffer)
            if status < 1:
                self.all_read = status == 0
                return
            yield buffer[0]
            library.darshan_free(buffer[0])


def _traced(
    backend: Any, log: Any, index: int | None
) -> tuple[list[str], list[tuple[int, ...]], list[Any], bool]:
    """Hosts, DXT records, their segments (writes, then reads), and whether all could be read; empty
    if the log has no such module.

    Follows backend.log_get_dxt_record, which makes an object per segment (0.4 million per second)
    and takes an error for the end.
    """
    ffi = backend.ffi
    hosts: list[str] = []
    records: list[tuple[int, ...]] = []
    segments: list[Any] = []
    if index is None:
        return hosts, records, segments, True
    found = _Records(backend, log, index)
    for buffer in found:
        record = ffi.cast("struct dxt_file_record *", buffer)
        count = record.write_count + record.read_count
        begin = ffi.cast("char *", buffer) + ffi.sizeof("struct dxt_file_record")
        data = bytes(ffi.buffer(begin, count * SEGMENT.itemsize))
        host = bytes(ffi.buffer(record.hostname)).split(b"\0")[0]
        hosts.append(host.decode("utf-8", "backslashreplace"))
        base = record.base_rec
        records.append((base.id, base.rank, record.write_count, record.read_count))
        segments.append(np.frombuffer(data, SEGMENT))
    return hosts, records, segments, found.all_read


def _bound_memory() -> None:
    """Limits memory to half of the machine's, whatever the log says."""
    half = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    resource.setrlimit(resource.RLIMIT_AS, (half, half))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _refuse(reason: str) -> NoReturn:
    print(reason, file=sys.stderr)
    sys.exit(REFUSED)


if __name__ == "__main__":
    main(sys.argv[1])
