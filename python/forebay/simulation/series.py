"""What the parts of a simulated cluster did over time, as a table: how busy each server, disk and
link was in each interval, and what waited at its end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from forebay import _core
from forebay.simulation.hosts import host_name

if TYPE_CHECKING:
    import pyarrow

_PS_PER_S = 1e12

Part = tuple[str, str, Any, Any, Any]
"""Its kind and name; by interval: how busy it was, seconds of work that wait, requests."""


def write_series(
    file: IO[bytes], runs: Sequence[tuple[Mapping[str, str], _core.ClusterResult]]
) -> None:
    """Writes a Parquet table with the series of simulations, each with its settings. Raises
    ImportError without pyarrow."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    tables = [_table(number, *run) for number, run in enumerate(runs)]
    pq.write_table(pa.concat_tables(tables), file, compression="zstd")


def _table(number: int, settings: Mapping[str, str], result: _core.ClusterResult) -> pyarrow.Table:
    """A row for each part and interval of a simulation."""
    import pyarrow as pa

    series = result.series()
    times = series["times_ps"] / _PS_PER_S
    parts = list(_parts(series))
    intervals = max(len(times) - 1, 0)
    rows = intervals * len(parts)

    def each(values: Sequence[Any]) -> Any:
        """A value of each part, in all its rows."""
        words = pa.array(values, pa.string()).dictionary_encode()
        return words.take(pa.array(np.repeat(np.arange(len(values)), intervals)))

    def joined(values: Sequence[Any], kind: Any) -> Any:
        nothing = pa.nulls(intervals, kind)
        return pa.concat_arrays(
            [nothing if one is None else pa.array(one, kind) for one in values]
            or [pa.nulls(0, kind)]
        )

    said = ", ".join(f"{name}={value}" for name, value in settings.items())
    kinds, names, busy, waiting, requests = zip(*parts, strict=True)
    return pa.table(
        {
            "simulation": pa.array(np.full(rows, number, np.int32)),
            "settings": each([said] * len(parts)),
            "start_s": pa.array(np.tile(times[:-1], len(parts))),
            "end_s": pa.array(np.tile(times[1:], len(parts))),
            "part": each(kinds),
            "name": each(names),
            "busy": joined(busy, pa.float64()),
            "waiting_s": joined(waiting, pa.float64()),
            "requests": joined(requests, pa.int64()),
        }
    )


def _parts(series: Mapping[str, Any]) -> Iterator[Part]:
    servers, hosts = series["servers"], series["hosts"]
    times = series["times_ps"]
    readings = series["readings"].reshape(len(times), 4 * servers + 2 * hosts)
    steps = np.maximum(np.diff(times), 1)

    def busy(column: int) -> Any:
        # A link that is reserved from later on has been counted a little too early.
        counted = np.maximum.accumulate(readings[:, column])
        return np.minimum(np.diff(counted) / steps, 1.0)

    for server in range(servers):
        waits = readings[1:, 2 * server + 1] / _PS_PER_S
        yield "server", f"server {server}", busy(2 * server), waits, None
    for server in range(servers):
        column = 2 * (servers + server)
        yield "disk", f"server {server}", busy(column), None, readings[1:, column + 1]
    for kind, first in (("sending", 4 * servers), ("receiving", 4 * servers + hosts)):
        for host in range(hosts):
            yield kind, host_name(host, servers, hosts), busy(first + host), None, None
