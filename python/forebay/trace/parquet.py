"""Parquet files of `forebay convert` as a source of `forebay.trace.Trace`."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from enum import IntEnum
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from forebay import _core
from forebay.text import one_line
from forebay.trace.arrow import column_types
from forebay.trace.columns import UNKNOWN, Array, Columns, Operation, Routine
from forebay.trace.counters import Counters, plain
from forebay.trace.types import Open, Process, TraceError, View

_ROWS_AT_ONCE = 1 << 18
_NAMES = ("file", "routine", "operation")


class ParquetTrace:
    """A Parquet file, whose accesses are read when they are needed."""

    reader = None

    def __init__(self, path: Path):
        self._path = path
        self._name = one_line(str(path))
        with self._told():
            self._metadata = pq.read_metadata(path)
            schema = self._metadata.schema.to_arrow_schema()
        about = (self._metadata.metadata or {}).get(b"forebay")
        if about is None:
            raise TraceError(f"{self._name}: no trace: `forebay convert` did not write it")
        types = column_types()
        self._types = types
        self._dtypes = {name: _dtype(name, kind) for name, kind in types.items()}
        for name, wanted in types.items():
            index = schema.get_field_index(name)
            if index < 0 or not _same_type(schema.field(index).type, wanted):
                raise TraceError(f"{self._name}: its column `{name}` is missing or not {wanted}")
        try:
            self._take(json.loads(about))
        except (ArithmeticError, LookupError, TypeError, ValueError, RecursionError) as error:
            raise TraceError(f"{self._name}: its metadata makes no sense") from error
        self._numbers = {
            "file": {name: number for number, name in enumerate(self.files)},
            "routine": {routine.name: number for number, routine in enumerate(self.routines)},
            "operation": {operation.name.lower(): int(operation) for operation in Operation},
        }
        self._limits = {
            "process": (0, len(self.processes)),
            "open": (-1, len(self.opens)),
            "view": (-1, len(self.views)),
        }

    def _take(self, about: Any) -> None:
        self.kind = _made(str, about["kind"])
        self.problems = [one_line(_made(str, problem)) for problem in about["problems"]]
        self.processes = [_made(Process, process) for process in about["processes"]]
        self.files = [_made(str, file) for file in about["files"]]
        self.opens = [_made(Open, one) for one in about["opens"]]
        self.routines = [_made(Routine, one) for one in about["routines"]]
        self.counters = _made(Counters | None, about.get("counters"))
        self.view_layouts = _core.Views([base64.b64decode(one) for one in about["views"]])
        facts = self.view_layouts.facts()
        self.views = [
            View(_made(int, process), *of_view)
            for process, of_view in zip(about["view_processes"], facts, strict=True)
        ]
        self.access_count = self._metadata.num_rows
        if self.access_count and not self.processes:
            raise ValueError("accesses without processes")

    def batches(
        self, rows: int, processes: range | None, columns: Sequence[str]
    ) -> Iterator[Columns]:
        """Source.batches."""
        if rows == 0:
            parts = list(self._batches(_ROWS_AT_ONCE, processes, columns))
            if parts:
                yield {name: np.concatenate([part[name] for part in parts]) for name in columns}
            else:
                yield {name: np.empty(0, self._dtypes[name]) for name in columns}
            return
        yield from self._batches(rows, processes, columns)

    def _batches(
        self, rows: int, processes: range | None, columns: Sequence[str]
    ) -> Iterator[Columns]:
        names = list(dict.fromkeys([*columns, "process"]))
        with self._told(), pq.ParquetFile(self._path) as file:
            for group in range(self._metadata.num_row_groups):
                least, most = self._processes_of(group)
                if processes is not None and _apart(processes, least, most):
                    continue
                same = self._constants(group, names)
                differing = [name for name in names if name not in same] or names[:1]
                batches = file.iter_batches(
                    min(rows, _ROWS_AT_ONCE),
                    row_groups=[group],
                    columns=differing,
                    use_threads=False,
                )
                for batch in batches:
                    read = {name: np.full(len(batch), value) for name, value in same.items()}
                    read |= {name: self._column(name, batch.column(name)) for name in differing}
                    process = read["process"]
                    if len(process) == 0:
                        continue
                    if process.min() < least or process.max() > most:
                        raise TraceError(f"{self._name}: row group {group}: its statistics lie")
                    if processes is not None:
                        wanted = (process >= processes.start) & (process < processes.stop)
                        if not wanted.all():
                            read = {name: column[wanted] for name, column in read.items()}
                    yield {name: read[name] for name in columns}

    def _processes_of(self, group: int) -> tuple[int, int]:
        """The smallest and the largest process number in a row group, by its statistics."""
        whole = self._metadata.row_group(group)
        statistics = whole.column(self._metadata.schema.names.index("process")).statistics
        if statistics is None or not statistics.has_min_max:
            return 0, len(self.processes)
        return statistics.min, statistics.max

    def _constants(self, group: int, names: Sequence[str]) -> dict[str, Any]:
        """The columns of a row group that have a single value, by its statistics, and that value.
        Decoding these columns would take half of the time."""
        whole = self._metadata.row_group(group)
        found = {}
        for name in names:
            statistics = whole.column(self._metadata.schema.names.index(name)).statistics
            if (
                statistics is None
                or not (statistics.has_min_max and statistics.has_null_count)
                or statistics.null_count
                or statistics.min != statistics.max
            ):
                continue
            kind = self._types[name]
            if name in _NAMES:
                value = pa.array([statistics.min], kind.value_type).dictionary_encode()
            else:
                value = pa.array([statistics.min], kind)
            found[name] = self._column(name, value)[0]
        return found

    def _column(self, name: str, column: Any) -> Array:
        if name in _NAMES:
            return self._numbers_of(name, column)
        if column.null_count:
            if name not in UNKNOWN:
                raise TraceError(f"{self._name}: its column `{name}` lacks values")
            if pa.types.is_boolean(column.type):
                column = column.cast(pa.int8())
            column = column.fill_null(UNKNOWN[name])
        array: Array = column.to_numpy(zero_copy_only=False)
        if array.dtype == bool:
            array = array.view(self._dtypes[name])
        if name in self._limits and len(array):
            least, end = self._limits[name]
            if array.min() < least or array.max() >= end:
                raise TraceError(
                    f"{self._name}: its column `{name}` names what the metadata does not have"
                )
        return array

    def _numbers_of(self, name: str, column: Any) -> Array:
        """The numbers for the names in a dictionary-encoded column."""
        known = self._numbers[name]
        numbers = []
        for one in column.dictionary.to_pylist():
            if one not in known:
                raise TraceError(
                    f"{self._name}: its column `{name}` names what the metadata does not have"
                )
            numbers.append(known[one])
        indices = column.indices
        if indices.null_count:
            if name not in UNKNOWN:
                raise TraceError(f"{self._name}: its column `{name}` lacks values")
            indices = indices.fill_null(len(numbers))
        numbers.append(UNKNOWN.get(name, 0))
        table = np.array(numbers, self._dtypes[name])
        if len(numbers) == 2 and not column.null_count:
            return np.full(len(column), table[0])
        array: Array = np.take(table, indices.to_numpy(zero_copy_only=False))
        return array

    def bad_blocks(self) -> Mapping[tuple[int, int], tuple[int, str]]:
        """Source.bad_blocks."""
        return {}

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Raises pyarrow's errors as TraceError."""
        try:
            yield
        except (pa.ArrowException, OSError, OverflowError, ValueError, MemoryError) as error:
            reason = one_line(str(error).strip().split("\n")[0]) or "not enough memory"
            raise TraceError(f"{self._name}: cannot be read as Parquet: {reason}") from error


def _apart(processes: range, least: int, most: int) -> bool:
    return least >= processes.stop or most < processes.start


def about(trace: Any) -> dict[str, Any]:
    """Everything but the accesses, as plain values, after all accesses were read."""
    from dataclasses import asdict

    processes = [asdict(process) for process in trace.processes]
    for (process, _), (accesses, _) in trace.bad_blocks().items():
        processes[process]["damaged"] += accesses
    return {
        "kind": trace.kind,
        "totals": asdict(trace.totals),
        "problems": trace.problems,
        "processes": processes,
        "files": list(trace.files),
        "opens": [asdict(one) for one in trace.opens],
        "routines": [asdict(one) for one in trace.routines],
        "counters": plain(trace.counters),
        "view_processes": [view.process for view in trace.views],
        "views": [base64.b64encode(one).decode() for one in trace.view_layouts.encoded()],
    }


def _same_type(found: Any, wanted: Any) -> bool:
    if pa.types.is_dictionary(wanted):
        return bool(pa.types.is_dictionary(found) and pa.types.is_string(found.value_type))
    return bool(found == wanted)


def _dtype(name: str, kind: Any) -> Any:
    if name in _NAMES:
        return kind.index_type.to_pandas_dtype()
    if pa.types.is_boolean(kind):
        return np.int8 if name in UNKNOWN else np.uint8
    return kind.to_pandas_dtype()


def _made(kind: Any, value: Any) -> Any:
    """A value of the type `kind` from plain values as `about` makes them. Numbers must fit into 64
    bits, and members of a dataclass must have their declared types."""
    if get_origin(kind) is UnionType:
        (wanted,) = (one for one in get_args(kind) if one is not NoneType)
        return None if value is None else _made(wanted, value)
    if get_origin(kind) is tuple:
        return tuple(_made(get_args(kind)[0], one) for one in _made(list, value))
    if isinstance(kind, type) and is_dataclass(kind):
        members = _members(kind)
        return kind(**{name: _made(members[name], one) for name, one in _made(dict, value).items()})
    if issubclass(kind, IntEnum):
        return kind(_made(int, value))
    if type(value) is not kind:
        raise TypeError(kind)
    if type(value) is int and value.bit_length() > 63:
        raise ValueError(value)
    return value


@cache
def _members(kind: Any) -> dict[str, Any]:
    """The members of a dataclass: names and types."""
    types = get_type_hints(kind)
    return {one.name: types[one.name] for one in fields(kind)}
