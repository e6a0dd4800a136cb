"""Simulates a job on a cluster: what its accesses would take on another machine, or with a cache.

    import forebay
    for result in forebay.simulate_cluster("run.trace", "palmetto-gige",
                                           [{"scope": "none"}, {"scope": "node"}]):
        print(result.settings["scope"], result.run_s)

docs/cluster.md says what is simulated, and what is not.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from importlib import import_module
from pathlib import Path
from statistics import fmean
from typing import IO, Any

from forebay import _core
from forebay.kinds import check_callable, check_number, check_path, check_real
from forebay.memory import available_bytes
from forebay.results import Results
from forebay.simulation.block_traces import Input, read_input
from forebay.simulation.cache import COLLECTIVE_BUFFER_BYTES, UNION_WINDOW_S, Progress
from forebay.simulation.hosts import host_name
from forebay.simulation.machine_parts import Lustre, Measured, Pvfs, RotatingDisk
from forebay.simulation.machines import Machine, machine
from forebay.simulation.more_processes import MOST_PROCESSES, with_processes
from forebay.simulation.runtime import recorded_run
from forebay.simulation.series import write_series
from forebay.simulation.timeline import write_timeline
from forebay.sizes import parse_size, shown_size
from forebay.text import one_line
from forebay.trace import TraceError

CLUSTER_SCOPES = ("none", "process", "node", "job")
"""Whose caches are simulated; none: the program runs without Forebay."""

COLLECTIVE = ("two-phase", "independent")
"""How collective calls are made: together (without a cache in two phases, as ROMIO and OMPIO do),
or as independent calls."""

CALL_S = 1e-6
"""The time of the MPI library and Forebay for a call, besides what the call waits for."""

_POLL_S = 0.1
_MOST_THINK = 1000.0
_MOST_WINDOW_S = 1_000_000
_MOST_STRIP_BYTES = 1 << 40
BYTES_PER_SERVER = 24 << 10
_BYTES_PER_PROCESS = 64 << 10
"""Memory of the simulation, about; a cache takes some only for the pages that are used."""
_MOST_MASK_BYTES = 1 << 30
"""For the states of pages, of one simulation."""
_NETWORK = {
    "bits_per_second": "network.bits_per_second",
    "host_delay_s": "network.host_delay_s",
    "serial_hosts": "network.serial_hosts",
    "switch_delay_s": "network.switch_delay_s",
    "mtu": "network.mtu",
    "mss": "network.mss",
    "window": "network.window",
    "segments_an_acknowledgement": "network.segments_an_acknowledgement",
    "buffer_per_port": "network.switch_buffer_per_port",
    "least_buffer": "network.least_switch_buffer",
    "most_buffer": "network.most_switch_buffer",
    "nic_queue_frames": "network.nic_queue_frames",
    "nic_transmit_limit_frames": "network.nic_transmit_limit_frames",
    "copy_bytes_per_second": "memory.copy_bytes_per_second",
}
_PVFS = {
    "strip_bytes": "file_system.strip_bytes",
    "group_servers": "file_system.group_servers",
    "unit_bytes": "file_system.unit_bytes",
    "flow_buffer_bytes": "file_system.flow_buffer_bytes",
    "flow_buffers": "file_system.flow_buffers",
    "extents_a_request": "file_system.extents_a_request",
    "extent_bytes": "file_system.extent_bytes",
    "request_s": "file_system.request_s",
    "open_s": "file_system.client.open_s",
    "stat_s": "file_system.client.stat_s",
    "utime_s": "file_system.client.utime_s",
    "mkdir_s": "file_system.client.mkdir_s",
    "client_readdir_s": "file_system.client.readdir_s",
    "unlink_s": "file_system.client.unlink_s",
    "create_directory_entry_s": "file_system.metadata.create_directory_entry_s",
    "create_data_file_s": "file_system.metadata.create_data_file_s",
    "create_metadata_s": "file_system.metadata.create_metadata_s",
    "get_attributes_s": "file_system.metadata.get_attributes_s",
    "set_attributes_s": "file_system.metadata.set_attributes_s",
    "lookup_s": "file_system.metadata.lookup_s",
    "readdir_s": "file_system.metadata.readdir_s",
    "remove_directory_entry_s": "file_system.metadata.remove_directory_entry_s",
    "remove_metadata_s": "file_system.metadata.remove_metadata_s",
    "remove_object_s": "file_system.metadata.remove_object_s",
    "entries_a_readdir": "file_system.metadata.entries_a_readdir",
}
_PAGED = {
    "page_bytes": "file_system.client.page_bytes",
    "cache_bytes": "file_system.client.cache_bytes",
    "dirty_bytes": "file_system.client.dirty_bytes",
    "read_ahead_bytes": "file_system.client.read_ahead_bytes",
    "rpc_bytes": "file_system.client.rpc_bytes",
    "extents_an_rpc": "file_system.client.extents_an_rpc",
    "rpcs_in_flight": "file_system.client.rpcs_in_flight",
    "carried_bytes": "file_system.client.carried_bytes",
    "call_s": "file_system.client.call_s",
    "commits_at_close": "file_system.client.commits_at_close",
    "copy_bytes_per_second": "memory.copy_bytes_per_second",
    "request_s": "file_system.request_s",
    "create_s": "file_system.metadata.create_s",
    "open_s": "file_system.metadata.open_s",
    "close_s": "file_system.metadata.close_s",
    "get_attributes_s": "file_system.metadata.get_attributes_s",
    "set_attributes_s": "file_system.metadata.set_attributes_s",
    "readdir_s": "file_system.metadata.readdir_s",
    "remove_s": "file_system.metadata.remove_s",
    "entries_a_readdir": "file_system.metadata.entries_a_readdir",
}
_NFS = {**_PAGED, "library_lock_s": "file_system.library_lock_s"}
_LUSTRE = {
    **_PAGED,
    "stripe_bytes": "file_system.stripe_bytes",
    "stripe_count": "file_system.stripe_count",
    "lock_s": "file_system.lock_s",
}
_MEASURED = {
    "create_s": "file_system.create_s",
    "open_s": "file_system.open_s",
    "close_s": "file_system.close_s",
    "close_bytes_per_second": "file_system.close_bytes_per_second",
    "full_speed_nodes": "file_system.full_speed_nodes",
    "requests_at_once": "file_system.requests_at_once",
    "library_lock_s": "file_system.library_lock_s",
}
_WAYS = ("write", "read", "read_written", "read_reopened")
_REQUESTS = ("alone_s", "alone_bytes_per_second", "together_s", "together_bytes_per_second")
_FLASH = {
    "bytes": "disk.bytes",
    "page_bytes": "disk.page_bytes",
    "read_latency_s": "disk.read_latency_s",
    "write_latency_s": "disk.write_latency_s",
    "channels": "disk.channels",
    "channel_bytes_per_second": "disk.channel_bytes_per_second",
    "interface_bytes_per_second": "disk.interface_bytes_per_second",
    "queue_depth": "disk.queue_depth",
}
_SERVER = {
    "block_bytes": "server.block_bytes",
    "cache_bytes": "server.cache_bytes",
    "dirty_threshold": "server.dirty_threshold",
    "system_call_s": "server.system_call_s",
    "read_ahead_bytes": "server.read_ahead_bytes",
    "copy_bytes_per_second": "server.copy_bytes_per_second",
}


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


def simulate_cluster(
    trace: str | os.PathLike[str],
    on: str | os.PathLike[str] | Machine,
    changes: Iterable[Mapping[str, str]] = ({},),
    *,
    processes: int | None = None,
    processes_per_node: int | None = None,
    think: float = 0.0,
    by_frames: bool | None = None,
    memory: int | None = None,
    jobs: int | None = None,
    timeline: IO[bytes] | None = None,
    series: IO[bytes] | None = None,
    waits: bool = False,
    progress: Progress = lambda _stage, _part: None,
    warn: Callable[[str], object] = lambda _: None,
) -> ClusterResults:
    """Simulates the job of a trace on a machine, once for each of `changes`.

    Args:
        trace: a path for `forebay.open_trace`, or a text trace with processes and offsets.
        on: a machine's name, the path of a profile, or a Machine.
        changes: what differs, by name: `scope` (none, process, node or job; default none), options
            of the cache as for `forebay run -o`, and values of the machine, whose names have a dot.
            `collective`: two-phase or independent. `union_window`: seconds within which accesses
            of different processes to a file are taken for one collective call, if the trace marks
            none (default 0.1 if its counters say that most calls were collective, otherwise 0:
            none). `deterministic`: with true, for a trace of a run with this option, each cache
            does what the run's did, in the recorded order, and options that are not given are those
            of the run; its counts are then the run's own. `strips`: PATTERN:SIZE, or several joined
            by +, for files whose strips have another size than the machine's, of kind pvfs. For
            scope none, `cb_nodes` (most aggregators of a call; default one a node) and
            `cb_buffer_size` (default 16 MiB).
        processes: simulate so many, if the trace has fewer: the others do what those of the trace
            do, at the places that follow. Default: those of the trace.
        processes_per_node: default: the trace's own nodes, or the machine's; with more processes
            than the trace has, the most that one of its nodes has.
        think: the part of the time between a process's accesses that it computes for; 0: none.
        by_frames: whether each frame of the network is simulated, else messages only, which is
            faster and loses no frames. Default: frames for up to 64 processes.
        memory: rough limit in bytes for the accesses. Default: half of the available memory.
        jobs: simulations at a time. Default: one per core.
        timeline: a file to which is written what each process did when, for ui.perfetto.dev; then
            there is one of `changes`.
        series: a file to which a Parquet table is written: how busy servers, disks and links were
            over time, and what waited.
        waits: whether the results say who waited for whom.
        progress: called with the current stage and the fraction of it that is done.
        warn: called with a line for each thing that is missing from the trace or simulated
            otherwise than it was.

    Raises TraceError, one line with the file, if the trace cannot be read or tells no places in
    files; ValueError (MachineError) for changes and machines that make no sense; ImportError for
    `series` without pyarrow.
    """
    check_path(trace, "simulate_cluster", "trace")
    check_callable(progress, "simulate_cluster", "progress")
    check_callable(warn, "simulate_cluster", "warn")
    for name, number in (
        ("processes", processes),
        ("processes_per_node", processes_per_node),
        ("memory", memory),
        ("jobs", jobs),
    ):
        if number is not None:
            check_number(number, "simulate_cluster", name)
    check_real(think, "simulate_cluster", "think")
    if not 0 <= think <= _MOST_THINK:
        raise ValueError(f"forebay.simulate_cluster: think is from 0 to {_MOST_THINK:g}")
    base = on if isinstance(on, Machine) else machine(on)
    prepared = [_Settings(base, dict(change)) for change in changes]
    if timeline is not None and len(prepared) != 1:
        raise ValueError(f"a timeline is of one simulation; these are {len(prepared):,}")
    if series is not None:
        import_module("pyarrow")  # rather now than after the work
    name = one_line(Path(trace).name)
    most_bytes = available_bytes() // 2 if memory is None else memory
    source = read_input(
        Path(trace),
        "auto",
        most_bytes,
        lambda part: progress(f"reading {name}", part),
    )
    log = _log_of(source)
    for problem in source.problems:
        warn(problem)
    traced = log.processes
    source = with_processes(source, log, processes, most_bytes, warn)
    log = _log_of(source)
    window_s = 0.0
    if not log.has_collective and source.counted_collective:
        if 2 * source.counted_collective > source.counted_calls:
            window_s = UNION_WINDOW_S
            warn(
                f"{name}: it does not tell which calls were collective{source.collective};"
                f" accesses within {UNION_WINDOW_S:g} s are taken for one call (union_window)"
            )
        else:
            warn(
                f"{name}: its collective calls are simulated as independent ones"
                f"{source.collective}; union_window unites them, and other accesses"
            )
    recorded = _recorded(trace, prepared, log.processes > traced)
    runs = [
        (one, *_placed(source, log, one, processes_per_node, think, by_frames)) for one in prepared
    ]
    at_once = min(len(runs), jobs or len(os.sched_getaffinity(0)))
    as_trees: list[str] = []
    for one, settings, nodes in runs:
        if one.strips:
            profile = _pvfs_of(one.machine)
            profile.strips = _strips_of(source.files, one.strips)
            settings.file_system = profile
        settings.set_caching(one.scope, one.options)
        if one.takes_turns and recorded is not None:
            _take_turns(settings, one, recorded, nodes, name)
        elif one.scope != "none" and "page_kind" not in one.options:
            most_masks = min(_MOST_MASK_BYTES, most_bytes // 2 // at_once)
            if settings.mask_bytes(log) > most_masks:
                settings.set_caching(one.scope, one.options | {"page_kind": "tree"})
                as_trees.append(one.scope)
        settings.timeline = timeline is not None
        settings.series = series is not None
        settings.waits = waits
        if one.collective == COLLECTIVE[0]:
            message_s = _short_message_s(one.machine)
            united_s = window_s if one.union_window_s is None else one.union_window_s
            settings.set_collective(
                one.aggregators, one.buffer_bytes, message_s, united_s if united_s > 0 else -1.0
            )
        needed = BYTES_PER_SERVER * settings.servers + _BYTES_PER_PROCESS * log.processes
        if at_once * needed > most_bytes:
            raise ValueError(
                f"{at_once:,} simulations at a time of {settings.servers:,} servers and"
                f" {log.processes:,} processes take {shown_size(at_once * needed)}, more than the"
                f" {shown_size(most_bytes)} allowed; ask for fewer, or change memory or jobs"
            )
    if as_trees:
        warn(
            f"{name}: with scope {', '.join(dict.fromkeys(as_trees))} pages are simulated as"
            " page_kind=tree, since masks as in a program would not fit into memory; pages with"
            " many small pieces then cost more"
        )
    done = _core.Progress()
    whole = len(log) * len(runs)
    stage = f"simulating {name}"
    results = ClusterResults()
    with ThreadPoolExecutor(max(1, at_once)) as pool:
        futures = [
            pool.submit(_core.simulate_cluster, log, settings, done) for _, settings, _ in runs
        ]
        try:
            left = set(futures)
            while left:
                progress(stage, min(1.0, done.done / max(1, whole)))
                _, left = wait(left, _POLL_S)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    progress(stage, 1.0)
    for (one, settings, nodes), future in zip(runs, futures, strict=True):
        results.append(_result(source.path, one, traced, nodes, future.result()))
        if timeline is not None:
            write_timeline(timeline, future.result(), settings.node_of_process, source.files)
    if series is not None:
        write_series(
            series,
            [
                (one.changes, future.result())
                for (one, *_), future in zip(runs, futures, strict=True)
            ],
        )
    return results


class _Settings:
    """One of the changes, checked."""

    def __init__(self, base: Machine, changes: dict[str, str]) -> None:
        self.changes = changes
        self.machine = base.with_changes({key: changes[key] for key in changes if "." in key})
        options = {key: changes[key] for key in changes if "." not in key}
        self.scope = options.pop("scope", "none")
        if self.scope not in CLUSTER_SCOPES:
            raise ValueError(
                f"scope is {', '.join(CLUSTER_SCOPES[:-1])} or {CLUSTER_SCOPES[-1]}, not"
                f" '{one_line(self.scope)}'"
            )
        self.collective = options.pop("collective", COLLECTIVE[0])
        if self.collective not in COLLECTIVE:
            raise ValueError(
                f"collective is {' or '.join(COLLECTIVE)}, not '{one_line(self.collective)}'"
            )
        self.buffer_bytes = _buffer_bytes(options.pop("cb_buffer_size", None))
        self.union_window_s = _window_s(options.pop("union_window", None))
        self.strips = _strips(options.pop("strips", None))
        if self.strips and not isinstance(self.machine.file_system, Pvfs):
            raise ValueError(
                f"strips are of a file system of kind 'pvfs', not"
                f" '{self.machine.file_system.kind}' as {self.machine.name} has"
            )
        self.options = options
        if self.scope == "job" and options.get("consistency", "posix") != "posix":
            raise ValueError("scope=job is simulated with consistency=posix only")
        settings = _core.ClusterSettings()
        settings.set_caching(self.scope, self.options)
        self.takes_turns = self.scope != "none" and settings.deterministic
        """Its caches do what those of the recorded run did."""

    @property
    def aggregators(self) -> int:
        """The most of a call; 0: one on each node."""
        return int(self.options.get("cb_nodes", 0))


def _recorded(
    trace: str | os.PathLike[str], prepared: Sequence[_Settings], has_more: bool
) -> _core.RecordedRun | None:
    """The steps of the run's caches, if one of the simulations takes them."""
    if not any(one.takes_turns for one in prepared):
        return None
    if has_more:
        raise ValueError("deterministic=true: no process but the trace's took a step")
    return recorded_run(trace)[1]


def _take_turns(
    settings: _core.ClusterSettings,
    one: _Settings,
    recorded: _core.RecordedRun,
    nodes: int,
    name: str,
) -> None:
    """Options that are not given are those of the recorded run."""
    of_run = recorded.options()
    scope = "node" if one.scope == "job" and nodes == 1 else one.scope
    recorded_scope = "process" if of_run.get("scope") == "process" else "node"
    if scope != recorded_scope:
        raise TraceError(
            f"{name}: the steps of deterministic=true are those of caches of"
            f" {'processes' if recorded_scope == 'process' else 'nodes'}; give"
            f" scope={recorded_scope}"
        )
    options = of_run | one.options
    settings.set_caching(scope, options)
    try:
        settings.set_steps(recorded, options)
    except ValueError as error:
        raise TraceError(f"{name}: {error}") from error


def _strips(text: str | None) -> list[tuple[str, int]]:
    """Patterns of names, and the strips of files that match them."""
    found = []
    for part in [] if text is None else text.split("+"):
        pattern, colon, size = part.rpartition(":")
        try:
            if not (pattern and colon):
                raise ValueError("give PATTERN:SIZE, or several joined by +")
            found.append((pattern, parse_size(size)))
        except ValueError as error:
            raise ValueError(f"strips: '{one_line(part)}': {error}") from error
        if not 0 < found[-1][1] <= _MOST_STRIP_BYTES:
            raise ValueError(f"strips: '{one_line(part)}': a strip has 1 byte to 1 TiB")
    return found


def _strips_of(files: Sequence[str], strips: list[tuple[str, int]]) -> list[int]:
    """The strips of each file; 0: the machine's. The first pattern that matches counts."""
    left = {pattern for pattern, _ in strips}
    of_files = []
    for file in files:
        known = [
            (pattern, size)
            for pattern, size in strips
            if fnmatchcase(file, pattern) or fnmatchcase(Path(file).name, pattern)
        ]
        left -= {pattern for pattern, _ in known}
        of_files.append(known[0][1] if known else 0)
    if left:
        names = ", ".join(sorted({one_line(Path(file).name) for file in files})[:5])
        raise ValueError(
            f"strips: no file's name matches '{one_line(min(left))}'; there are {names}"
            + (", ..." if len(files) > 5 else "")
        )
    return of_files


def _window_s(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= _MOST_WINDOW_S:
        raise ValueError(
            f"union_window is a number of seconds from 0 to {_MOST_WINDOW_S:,}, not"
            f" '{one_line(text)}'"
        )
    return seconds


def _buffer_bytes(text: str | None) -> int:
    if text is None:
        return COLLECTIVE_BUFFER_BYTES
    try:
        return parse_size(text)
    except ValueError as error:
        raise ValueError(f"cb_buffer_size: {error}") from error


def _log_of(source: Input) -> _core.AccessLog:
    name = one_line(Path(source.path).name)
    log = source.log
    if log is None:
        raise TraceError(f"{name}: it names blocks, not places in files; a cluster has files")
    if len(log) == 0:
        raise TraceError(f"{name}: no process reads or writes in it")
    if log.processes > MOST_PROCESSES:
        raise TraceError(f"{name}: {log.processes:,} processes; {MOST_PROCESSES:,} is the most")
    return log


def _placed(
    source: Input,
    log: _core.AccessLog,
    one: _Settings,
    processes_per_node: int | None,
    think: float,
    by_frames: bool | None,
) -> tuple[_core.ClusterSettings, int]:
    """The settings for the core, and the number of nodes."""
    machine = one.machine
    known = None
    if processes_per_node is None and (source.hosts > 1 or one.takes_turns):
        known = source.nodes
    if known is not None and len(known) >= log.processes:
        of_process = list(known if one.takes_turns else known[: log.processes])
    else:
        each = processes_per_node or machine.processes_per_node
        if known is not None:
            each = max(Counter(known).values())
        of_process = [process // each for process in range(log.processes)]
    nodes = max(of_process) + 1
    if nodes > machine.nodes:
        raise ValueError(
            f"{machine.name} has {machine.nodes:,} nodes (machine.nodes); the job takes {nodes:,}"
        )
    settings = settings_of(machine, log.processes <= 64 if by_frames is None else by_frames)
    settings.node_of_process = of_process
    settings.copy_bytes_per_second = machine.memory.copy_bytes_per_second
    settings.call_s = CALL_S
    settings.think = float(think)
    return settings, nodes


def settings_of(machine: Machine, by_frames: bool) -> _core.ClusterSettings:
    """A machine for the core, without a job."""
    settings = _core.ClusterSettings()
    settings.servers = machine.servers
    values = machine.flat()
    network = _filled(_core.NetworkProfile(), _NETWORK, values)
    network.by_frames = by_frames
    settings.network = network
    settings.file_system = _file_system_of(machine)
    settings.server = _filled(_core.ServerProfile(), _SERVER, values)
    if isinstance(machine.disk, RotatingDisk):
        settings.set_disk(machine.disk.model, machine.disk.scheduler)
    else:
        settings.set_flash(_filled(_core.FlashProfile(), _FLASH, values))
    settings.set_raid(machine.server.raid, machine.server.disks, machine.server.raid_unit_bytes)
    return settings


def _pvfs_of(machine: Machine) -> _core.PvfsProfile:
    values = machine.flat()
    pvfs: _core.PvfsProfile = _filled(_core.PvfsProfile(), _PVFS, values)
    pvfs.driven_by_servers = values["file_system.metadata.driven_by"] == "servers"
    return pvfs


def _file_system_of(
    machine: Machine,
) -> _core.PvfsProfile | _core.PagedProfile | _core.MeasuredProfile:
    values = machine.flat()
    if isinstance(machine.file_system, Pvfs):
        return _pvfs_of(machine)
    if isinstance(machine.file_system, Measured):
        measured: _core.MeasuredProfile = _filled(_core.MeasuredProfile(), _MEASURED, values)
        for way in _WAYS:
            names = {name: f"file_system.{way}.{name}" for name in _REQUESTS}
            setattr(measured, way, _filled(_core.MeasuredTimes(), names, values))
        return measured
    locks = isinstance(machine.file_system, Lustre)
    paged: _core.PagedProfile = _filled(_core.PagedProfile(), _LUSTRE if locks else _NFS, values)
    paged.locks = locks
    return paged


def _filled(profile: Any, names: Mapping[str, str], values: Mapping[str, object]) -> Any:
    """The profile with those of the machine's values whose names are given."""
    for attribute, key in names.items():
        setattr(profile, attribute, values[key])
    return profile


_SHORT_MESSAGE_BYTES = 128


def _short_message_s(machine: Machine) -> float:
    """The time from one process to another: in both hosts, on both links, in the switch."""
    network = machine.network
    on_links = 2 * 8 * _SHORT_MESSAGE_BYTES / network.bits_per_second
    return 2 * network.host_delay_s + on_links + network.switch_delay_s


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


def _result(
    path: str, one: _Settings, traced: int, nodes: int, of: _core.ClusterResult
) -> ClusterResult:
    def busiest(times: Sequence[float]) -> float:
        return max(times, default=0.0) / of.run_s if of.run_s else 0.0

    return ClusterResult(
        trace=path,
        machine=one.machine.name,
        settings=one.changes,
        processes=len(of.end_s),
        traced_processes=traced,
        nodes=nodes,
        servers=one.machine.servers,
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
        waits=_waits(of, one.machine.servers),
    )
