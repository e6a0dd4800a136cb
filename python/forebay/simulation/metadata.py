"""Simulates what the metadata of a file system takes: a tree of files is extracted, listed and
removed.

    from forebay.simulation import simulate_metadata
    for result in simulate_metadata("palmetto-gige", [{"machine.servers": "4"},
                                                      {"machine.servers": "64"}]):
        print(result.servers, result.extract_s, result.list_s, result.remove_s)

docs/cluster.md says what is simulated, and what is not.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass
from typing import Any

from forebay import _core
from forebay.kinds import check_callable, check_number, check_path
from forebay.memory import available_bytes
from forebay.results import Results
from forebay.simulation.cache import Progress
from forebay.simulation.file_trees import (
    MADE_DIRECTORIES,
    MADE_FILES,
    MADE_MEAN_BYTES,
    FileTree,
    made_tree,
    tree_of,
)
from forebay.simulation.machine_parts import Measured
from forebay.simulation.machine_profiles import BYTES_PER_SERVER, settings_of
from forebay.simulation.machines import Machine, MachineError, machine
from forebay.sizes import shown_size
from forebay.text import one_line

METADATA_TASKS = ("extract", "list", "remove")
"""As tar, ls -lR and rm -r do them, in this order."""

METADATA_OPERATIONS = (
    "make_directory",
    "create_file",
    "write",
    "set_attributes",
    "read_directory",
    "get_attributes",
    "get_directory_attributes",
    "remove_file",
    "remove_directory",
)
"""What tasks consist of. A write is of all bytes of a file, with its close; `get_attributes` is of
a file, with its size."""

_POLL_S = 0.1


@dataclass(frozen=True, slots=True)
class Operations:
    """The operations of a kind in a task."""

    task: str
    """One of `METADATA_TASKS`."""
    operation: str
    """One of `METADATA_OPERATIONS`."""
    times: int
    seconds: float
    """Of all of them."""


@dataclass(frozen=True, slots=True)
class MetadataResult:
    """What a tree of files took on a machine."""

    tree: str
    machine: str
    settings: dict[str, str]
    """Values of the machine that were changed, by dotted name."""
    servers: int
    files: int
    directories: int
    bytes: int
    """Of all files."""
    extract_s: float
    """As the program sees it: what a client or server still has to write is not waited for."""
    list_s: float
    remove_s: float
    extract_messages: int
    """Between any two hosts."""
    list_messages: int
    remove_messages: int
    requests: int
    """That servers worked at, for metadata and bytes, in all tasks."""
    message_bytes: int
    dropped_frames: int
    timeouts: int
    events: int
    operations: tuple[Operations, ...]
    """Kinds that a task does not have are left out."""

    def seconds_each(self, task: str, operation: str) -> float:
        """The mean time of an operation in a task; 0 if there is none."""
        for one in self.operations:
            if (one.task, one.operation) == (task, operation):
                return one.seconds / one.times
        return 0.0

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


class MetadataResults(Results[MetadataResult]):
    """The result of `simulate_metadata`: a list; `to_pandas()` makes a table of it."""

    __slots__ = ()


def simulate_metadata(
    on: str | os.PathLike[str] | Machine,
    changes: Iterable[Mapping[str, str]] = ({},),
    *,
    tree: str | os.PathLike[str] | None = None,
    files: int = MADE_FILES,
    directories: int = MADE_DIRECTORIES,
    mean_bytes: int = MADE_MEAN_BYTES,
    by_frames: bool = True,
    jobs: int | None = None,
    progress: Progress = lambda _stage, _part: None,
    warn: Callable[[str], object] = lambda _: None,
) -> MetadataResults:
    """Simulates the extraction, listing and removal of a tree of files by one process, once for
    each of `changes`.

    Args:
        on: a machine's name, the path of a profile, or a Machine.
        changes: values of the machine that differ, by dotted name, such as `machine.servers` or
            `file_system.metadata.driven_by` (client or servers; of PVFS).
        tree: a folder, whose tree is taken; else one is made.
        files: of the made tree.
        directories: of the made tree, with the one that holds all.
        mean_bytes: of the made tree's files, in bytes.
        by_frames: whether each frame of the network is simulated, else messages only, which is
            faster but leaves out what hosts spend on a small message.
        jobs: simulations at a time. Default: one per core.
        progress: called with the current stage and the fraction of it that is done.
        warn: called with a line for what of `tree` is left out or taken for something else.

    Raises ValueError (MachineError), one line, for trees, changes and machines that make no sense,
    and for a machine whose file system is `measured`, of which no times of metadata are known.

    Source: Settlemyer 2009, section 3.3.
    """
    check_callable(progress, "simulate_metadata", "progress")
    check_callable(warn, "simulate_metadata", "warn")
    check_number(files, "simulate_metadata", "files", 0)
    check_number(directories, "simulate_metadata", "directories")
    check_number(mean_bytes, "simulate_metadata", "mean_bytes", 0)
    if jobs is not None:
        check_number(jobs, "simulate_metadata", "jobs")
    base = on if isinstance(on, Machine) else machine(on)
    made = [dict(change) for change in changes]
    last_words = {name.rpartition(".")[2] for name in base.flat()}
    for key in (key for change in made for key in change):
        if "." not in key and key not in last_words:
            raise ValueError(
                f"{one_line(key)} is no value of a machine: these have a dot in their names, such"
                " as machine.servers"
            )
    machines = [base.with_changes(change) for change in made]
    for one in machines:
        if isinstance(one.file_system, Measured):
            raise MachineError(
                f"{one.name}: no times of metadata are known where file_system.kind is 'measured';"
                " give a machine of kind pvfs, lustre or nfs"
            )
    at_once = max(1, min(len(machines), jobs or len(os.sched_getaffinity(0))))
    servers = max((one.servers for one in machines), default=1)
    most_bytes = available_bytes() // 2
    if at_once * BYTES_PER_SERVER * servers > most_bytes:
        raise ValueError(
            f"{at_once:,} simulation{'s' * (at_once > 1)} at a time of {servers:,} servers take"
            f" {shown_size(at_once * BYTES_PER_SERVER * servers)}, more than half of the free"
            " memory; ask for fewer, or change jobs"
        )
    if tree is None:
        used = made_tree(files, directories, mean_bytes)
    else:
        check_path(tree, "simulate_metadata", "tree")
        used = tree_of(tree, warn)
    settings = [settings_of(one, by_frames) for one in machines]
    done = _core.Progress()
    whole = len(METADATA_TASKS) * len(used.sizes) * max(1, len(settings))
    with ThreadPoolExecutor(at_once) as pool:
        futures = [
            pool.submit(_core.simulate_metadata, used.parents, used.sizes, each, done)
            for each in settings
        ]
        try:
            left = set(futures)
            while left:
                progress("simulating", min(1.0, done.done / whole))
                _, left = wait(left, _POLL_S)
        except BaseException:
            done.stop()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    progress("simulating", 1.0)
    return MetadataResults(
        _result(used, one, change, future.result())
        for one, change, future in zip(machines, made, futures, strict=True)
    )


def _result(
    tree: FileTree, on: Machine, changes: dict[str, str], of: _core.MetadataResult
) -> MetadataResult:
    tasks = of.tasks
    extract, listing, remove = tasks
    operations = tuple(
        Operations(task, operation, times, seconds)
        for task, sums in zip(METADATA_TASKS, tasks, strict=True)
        for operation, (times, seconds) in zip(METADATA_OPERATIONS, sums.operations, strict=True)
        if times
    )
    return MetadataResult(
        tree=tree.name,
        machine=on.name,
        settings=changes,
        servers=on.servers,
        files=tree.files,
        directories=tree.directories,
        bytes=tree.bytes,
        extract_s=extract.seconds,
        list_s=listing.seconds,
        remove_s=remove.seconds,
        extract_messages=extract.messages,
        list_messages=listing.messages,
        remove_messages=remove.messages,
        requests=sum(task.served for task in tasks),
        message_bytes=sum(task.message_bytes for task in tasks),
        dropped_frames=of.dropped_frames,
        timeouts=of.timeouts,
        events=of.events,
        operations=operations,
    )
