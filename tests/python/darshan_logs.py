"""Writes Darshan logs for tests, with the library that PyPI's darshan uses to read them."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import cffi
import darshan
import darshan.backend.cffi_backend as backend
import numpy as np

from forebay.trace.darshan_child import SEGMENT

# Number and version of each module in the library, and the type of its records.
MODULES = {
    "POSIX": (1, 4, "struct darshan_posix_file"),
    "MPI-IO": (2, 3, "struct darshan_mpiio_file"),
    "H5F": (3, 3, "struct darshan_hdf5_file"),
    "H5D": (4, 2, "struct darshan_hdf5_dataset"),
    "LUSTRE": (8, 2, ""),
    "DXT_POSIX": (10, 1, ""),
    "DXT_MPIIO": (11, 2, ""),
}
SHARED = -1  # rank of a record that sums up all ranks

_ZLIB = 0
_ffi = cffi.FFI()
_ffi.cdef(
    """
    struct job { int64_t uid, start_s, start_ns, end_s, end_ns, ranks, id; char metadata[1024]; };
    struct name { uint64_t id; char name[4096]; };
    struct name_ref {  // with uthash's links, of which the library follows `next`
      struct name *name; void *table, *previous; struct name_ref *next;
      void *rest[3]; unsigned length, hash;
    };
    void *darshan_log_create(const char *path, int compression, int partial);
    int darshan_log_put_job(void *log, struct job *job);
    int darshan_log_put_exe(void *log, char *name);
    int darshan_log_put_mounts(void *log, void *mounts, int count);
    int darshan_log_put_namehash(void *log, struct name_ref *names);
    int darshan_log_put_mod(void *log, int module, void *records, int bytes, int version);
    void darshan_log_close(void *log);
    """
)


def _library() -> Any:
    folder = Path(darshan.__file__).parent.parent / "darshan.libs"
    (path,) = folder.glob("libdarshan-util*.so*")
    return _ffi.dlopen(str(path))


class Log:
    """A made-up log: its counters, its traced accesses, and the modules whose memory was full."""

    def __init__(self, ranks: int, seconds: int, full: Iterable[str] = ()):
        self._ranks, self._seconds, self._full = ranks, seconds, tuple(full)
        self._names: dict[int, str] = {}
        self._records: dict[str, list[bytes]] = {}

    def count(
        self, module: str, path: str, rank: int, counters: Mapping[str, float], of: str = ""
    ) -> None:
        """Adds a counter record. `of`: for a data set, the path of its file."""
        record = backend.ffi.new(MODULES[module][2] + " *")
        record.base_rec.id, record.base_rec.rank = self._id(path), rank
        if of:
            record.file_rec_id = self._id(of)
        integers = backend.counter_names(module)
        floats = backend.fcounter_names(module)
        for name, value in counters.items():
            if name in integers:
                record.counters[integers.index(name)] = int(value)
            else:
                record.fcounters[floats.index(name)] = value
        self._add(module, bytes(backend.ffi.buffer(record)))

    def stripe(self, path: str, size: int, targets: Sequence[int]) -> None:
        """Puts a file on Lustre."""
        numbers = [self._id(path), SHARED, 1, len(targets), size, len(targets), *(-1,) * 5]
        raw = b"".join(
            np.array(one).astype("<u8" if one > 1 << 62 else "<i8").tobytes() for one in numbers
        )
        self._add("LUSTRE", raw + bytes(16) + np.array(targets, "<i8").tobytes())

    def trace(
        self,
        path: str,
        rank: int,
        writes: Sequence[tuple[int, int, float, float]] = (),
        reads: Sequence[tuple[int, int, float, float]] = (),
        module: str = "DXT_MPIIO",
    ) -> None:
        """Adds accesses: offset, length, start and end of each."""
        record = backend.ffi.new("struct dxt_file_record *")
        record.base_rec.id, record.base_rec.rank = self._id(path), rank
        record.hostname = f"node{rank // 2}".encode()
        record.write_count, record.read_count = len(writes), len(reads)
        segments = np.array([*writes, *reads], SEGMENT).tobytes()
        self._add(module, bytes(backend.ffi.buffer(record)) + segments)

    def write(self, path: Path) -> Path:
        """Writes the file."""
        library = _library()
        partial = sum(1 << MODULES[module][0] for module in self._full)
        log = library.darshan_log_create(str(path).encode(), _ZLIB, partial)
        start = 1_700_000_000
        job = {"start_s": start, "end_s": start + self._seconds, "ranks": self._ranks}
        done = [
            library.darshan_log_put_job(log, _ffi.new("struct job *", job)),
            library.darshan_log_put_exe(log, _ffi.new("char[]", b"./made")),
            library.darshan_log_put_mounts(log, _ffi.NULL, 0),
        ]
        names = [
            _ffi.new("struct name *", {"id": n, "name": name.encode()})
            for n, name in self._names.items()
        ]
        refs = [_ffi.new("struct name_ref *", {"name": name}) for name in names]
        for first, second in pairwise(refs):
            first.next = second
        done.append(library.darshan_log_put_namehash(log, refs[0]))
        for module in sorted(self._records, key=lambda name: MODULES[name][0]):
            raw = b"".join(self._records[module])
            number, version, _ = MODULES[module]
            done.append(
                library.darshan_log_put_mod(log, number, _ffi.from_buffer(raw), len(raw), version)
            )
        library.darshan_log_close(log)
        assert all(code >= 0 for code in done), done
        return path

    def _add(self, module: str, record: bytes) -> None:
        self._records.setdefault(module, []).append(record)

    def _id(self, path: str) -> int:
        number = zlib.crc32(path.encode()) + (1 << 63)
        self._names[number] = path
        return number
