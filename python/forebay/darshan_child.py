"""Reads a Darshan log's DXT records with pydarshan, in a process of its own: its library is C code
that an odd log may crash, and it explains itself on standard error only.

    python -m forebay.darshan_child LOG

writes a NumPy archive to standard output: `facts` (JSON), `records` and `segments`. Ends with 3
after a line on standard error that says why not.
"""

from __future__ import annotations

import io
import json
import os
import resource
import sys
from typing import Any, NoReturn

import numpy as np

RECORD = np.dtype([("id", "<u8"), ("rank", "<i8"), ("writes", "<i8"), ("reads", "<i8")])
SEGMENT = np.dtype([("offset", "<i8"), ("length", "<i8"), ("start", "<f8"), ("end", "<f8")])
MODULES = ("DXT_MPIIO", "DXT_POSIX")
REFUSED = 3


def main(path: str) -> None:
    """Writes the archive."""
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what the library prints is no part of it
    _bound_memory()
    try:
        import darshan.backend.cffi_backend as backend
    except ImportError as error:
        _refuse(f"PyPI's darshan is needed to read Darshan logs: {error}")
    log = backend.log_open(path)
    if log["handle"] == backend.ffi.NULL:
        _refuse("PyPI's darshan cannot open it")
    modules = backend.log_get_modules(log)
    module = next((name for name in MODULES if name in modules), None)
    if module is None:
        _refuse("it has no DXT records; run the program with DXT_ENABLE_IO_TRACE=1")
    hosts, records, segments, complete = _read(backend, log, modules[module]["idx"])
    if not complete and not records:
        _refuse(f"PyPI's darshan cannot read its {module} records")
    job = backend.log_get_job(log)
    names = backend.log_get_name_records(log)
    facts = {
        "module": module,
        "ranks": job["nprocs"],
        "start_ns": job["start_time_sec"] * 1_000_000_000 + job.get("start_time_nsec", 0),
        "partial": bool(modules[module]["partial_flag"]),
        "complete": complete,
        "hosts": hosts,
        "names": {str(number): name for number, name in names.items()},
    }
    archive = io.BytesIO()
    np.savez(
        archive,
        facts=np.array(json.dumps(facts)),
        records=np.array(records, RECORD),
        segments=np.concatenate([np.empty(0, SEGMENT), *segments]),
    )
    output.write(archive.getbuffer())
    output.close()


def _read(
    backend: Any, log: Any, index: int
) -> tuple[list[str], list[tuple[int, ...]], list[Any], bool]:
    """Hosts, records, their segments (writes, then reads), and whether these are all.

    As backend.log_get_dxt_record does, which makes an object of each segment (0.4 million a second)
    and takes an error for the end.
    """
    ffi, library = backend.ffi, backend.libdutil
    hosts: list[str] = []
    records: list[tuple[int, ...]] = []
    segments: list[Any] = []
    while True:
        buffer = ffi.new("void **")
        status = library.darshan_log_get_record(log["handle"], index, buffer)
        if status < 1:
            return hosts, records, segments, status == 0
        record = ffi.cast("struct dxt_file_record *", buffer[0])
        count = record.write_count + record.read_count
        begin = ffi.cast("char *", buffer[0]) + ffi.sizeof("struct dxt_file_record")
        data = bytes(ffi.buffer(begin, count * SEGMENT.itemsize))
        host = bytes(ffi.buffer(record.hostname)).split(b"\0")[0]
        hosts.append(host.decode("utf-8", "backslashreplace"))
        base = record.base_rec
        records.append((base.id, base.rank, record.write_count, record.read_count))
        segments.append(np.frombuffer(data, SEGMENT))
        library.darshan_free(buffer[0])


def _bound_memory() -> None:
    """At most half of the machine's memory, whatever the log says."""
    half = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    resource.setrlimit(resource.RLIMIT_AS, (half, half))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _refuse(reason: str) -> NoReturn:
    print(reason, file=sys.stderr)
    sys.exit(REFUSED)


if __name__ == "__main__":
    main(sys.argv[1])
