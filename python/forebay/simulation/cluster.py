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
from fnmatch import fnmatchcase
from importlib import import_module
from pathlib import Path
from typing import IO

from forebay import _core
from forebay.kinds import check_callable, check_number, check_path, check_real
from forebay.memory import available_bytes
from forebay.simulation.block_traces import Input, read_input
from forebay.simulation.cache import COLLECTIVE_BUFFER_BYTES, UNION_WINDOW_S, Progress
from forebay.simulation.cluster_results import ClusterResults, result_of
from forebay.simulation.machine_parts import Pvfs
from forebay.simulation.machine_profiles import (
    BYTES_PER_SERVER,
    pvfs_of,
    settings_of,
    short_message_s,
)
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
_BYTES_PER_PROCESS = 64 << 10
"""Memory of the simulation, about; a cache takes some only for the pages that are used."""
_MOST_MASK_BYTES = 1 << 30
"""For the states of pages, of one simulation."""


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
            profile = pvfs_of(one.machine)
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
            message_s = short_message_s(one.machine)
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
        results.append(
            result_of(
                future.result(),
                source.path,
                one.machine,
                one.changes,
                traced_processes=traced,
                nodes=nodes,
            )
        )
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
    recorded_scope = of_run.get("scope", "job")
    # On one node both are the same.
    same = {one.scope, recorded_scope} <= {"node", "job"} and nodes == 1
    if one.scope != recorded_scope and not same:
        raise TraceError(
            f"{name}: the steps of deterministic=true are those of caches of"
            f" scope={recorded_scope}; give scope={recorded_scope}"
        )
    options = of_run | one.options
    # The steps tell what owners did for other nodes.
    settings.set_caching("process" if one.scope == "process" else "node", options)
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
