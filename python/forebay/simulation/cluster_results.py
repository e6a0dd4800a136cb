"""What a simulated job took, and what it did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from forebay import _core
from forebay.results import Results
from forebay.simulation.hosts import host_name
from forebay.simulation.machines import Machine


@dataclass(frozen=True, slots=True)
class Wait:
    """How long a part of the cluster waited for another, for one reason."""

    who: str
    """As `node 3`."""
    for_whom: str
    """As `server 0`, `metadata` or `node 1`."""
    reason: str
    """One of `WAIT_REASONS`."""
    times: int
    seconds: float
    """Of waits at the same time, each counts."""


WAIT_REASONS = ("request", "lock", "owner", "collective")
"""A request of bytes or metadata, until its answer comes; a lock that the other node returns, after
it has sent what it wrote; bytes that the other node owns (scope job); the last process to come to a
collective call."""


@dataclass(frozen=True, slots=True)
class ClusterResult:
    """What a job took on a machine with some settings. Times of processes are means over them."""

    trace: str
    machine: str
    settings: dict[str, str]
    """What was changed: scope, options of Forebay, and values of the machine by dotted name."""
    processes: int
    traced_processes: int
    """Those of the trace; fewer than `processes` if others were added."""
    nodes: int
    servers: int
    run_s: float
    """Until the last process has closed its files, in seconds."""
    computing_s: float
    opening_s: float
    reading_s: float
    writing_s: float
    closing_s: float
    waiting_s: float
    """For the slowest process, at the end."""
    accesses: int
    read_bytes: int
    written_bytes: int
    requests: int
    """To the servers, for bytes."""
    agent_questions: int
    """Of processes to the agents of other nodes (scope job)."""
    agent_bytes: int
    """Of files, in these questions and their answers."""
    lock_requests: int
    """Of the clients of a file system with locks."""
    locks_called_back: int
    """From clients, because others asked for them."""
    dropped_frames: int
    timeouts: int
    """Of the network: after a timeout a sender sends again."""
    server_busy: float
    """The part of the time for which the busiest server worked at requests, disks aside."""
    disk_busy: float
    """The part of the time for which the busiest disk worked."""
    caches: int
    hits: int
    misses: int
    evictions: int
    committed_bytes: int
    """Of the caches, to the file system; likewise the next two."""
    fetched_bytes: int
    bypass_bytes: int
    cache_requests: int
    """Of the caches, before the file system divides them."""
    collective_calls: int
    """That processes made together in two phases; 0 with a cache."""
    incomplete_calls: int
    """Collective calls that some processes made at other times than the rest could wait for."""
    exchanged_bytes: int
    """Between processes and aggregators in these calls."""
    events: int
    waits: tuple[Wait, ...] = ()
    """Who waited for whom, if that was asked for."""

    @property
    def bytes_per_second(self) -> float:
        """Of the whole job."""
        return (self.read_bytes + self.written_bytes) / self.run_s if self.run_s else 0.0

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        values = {**asdict(self), "bytes_per_second": self.bytes_per_second}
        if not self.waits:
            del values["waits"]
        return values


class ClusterResults(Results[ClusterResult]):
    """The result of `simulate_cluster`: a list; `to_pandas()` makes a table of it."""

    __slots__ = ()


def _waits(of: _core.ClusterResult, servers: int) -> tuple[Wait, ...]:
    """The longest first."""
    columns = of.waits()
    names = [host_name(number, servers, columns["hosts"]) for number in range(columns["hosts"])]
    rows = zip(
        *(columns[key].tolist() for key in ("host", "other", "reason", "times", "seconds")),
        strict=True,
    )
    made = [
        Wait(names[host], names[other], WAIT_REASONS[reason], times, seconds)
        for host, other, reason, times, seconds in rows
    ]
    return tuple(sorted(made, key=lambda wait: -wait.seconds))


def result_of(
    of: _core.ClusterResult,
    trace: str,
    machine: Machine,
    settings: dict[str, str],
    *,
    traced_processes: int,
    nodes: int,
) -> ClusterResult:
    """What the core counted of the job that `trace` recorded with so many processes."""

    def busiest(times: Sequence[float]) -> float:
        return max(times, default=0.0) / of.run_s if of.run_s else 0.0

    return ClusterResult(
        trace=trace,
        machine=machine.name,
        settings=settings,
        processes=len(of.end_s),
        traced_processes=traced_processes,
        nodes=nodes,
        servers=machine.servers,
        run_s=of.run_s,
        computing_s=fmean(of.computing_s),
        opening_s=fmean(of.opening_s),
        reading_s=fmean(of.reading_s),
        writing_s=fmean(of.writing_s),
        closing_s=fmean(of.closing_s),
        waiting_s=of.run_s - fmean(of.end_s),
        accesses=of.accesses,
        read_bytes=of.read_bytes,
        written_bytes=of.written_bytes,
        requests=of.requests,
        agent_questions=of.agent_questions,
        agent_bytes=of.agent_bytes,
        lock_requests=of.lock_requests,
        locks_called_back=of.locks_called_back,
        dropped_frames=of.dropped_frames,
        timeouts=of.timeouts,
        server_busy=busiest(of.server_busy_s),
        disk_busy=busiest(of.disk_busy_s),
        caches=of.caches,
        hits=of.hits,
        misses=of.misses,
        evictions=of.evictions,
        committed_bytes=of.committed_bytes,
        fetched_bytes=of.fetched_bytes,
        bypass_bytes=of.bypass_bytes,
        cache_requests=of.cache_requests,
        collective_calls=of.collective_calls,
        incomplete_calls=of.incomplete_calls,
        exchanged_bytes=of.exchanged_bytes,
        events=of.events,
        waits=_waits(of, machine.servers),
    )
