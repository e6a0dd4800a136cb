"""A job with more processes than its trace has: what the trace's processes do follows a rule, and
the rule gives what further ones would do. docs/cluster.md says which rules are known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from forebay import _core
from forebay.simulation.block_traces import Input
from forebay.sizes import shown_size
from forebay.text import one_line
from forebay.trace import TraceError

MOST_PROCESSES = 1 << 16

_MOST_NAMED = 3


def with_processes(
    source: Input,
    log: _core.AccessLog,
    processes: int | None,
    most_bytes: int,
    warn: Callable[[str], object],
) -> Input:
    """The input with processes 0 to `processes` - 1; None: as it is. `log` is its log. If it names
    several nodes, further nodes have as many processes as its largest.

    `warn` is called with a line that says what was done, and one for each file that keeps its
    processes. Raises ValueError if the log has more processes, or nothing has a rule, and
    TraceError if the accesses take more memory than `most_bytes`.
    """
    if processes is None or processes == log.processes:
        return source
    name = one_line(Path(source.path).name)
    if not log.processes < processes <= MOST_PROCESSES:
        raise ValueError(
            f"{name} has {log.processes:,} processes; {processes:,} cannot be simulated, but"
            f" {log.processes:,} to {MOST_PROCESSES:,}"
        )
    made = _core.more_processes(log, processes, most_bytes)
    if made is None:
        raise TraceError(
            f"{name}: there is no memory for the accesses of {processes:,} processes; raise"
            " --memory"
        )
    left = [f"{one_line(_name_of(source, number))}: {why}" for number, why in made.left]
    if not made.shared and not made.own:
        reason = left[0] if left else "only some processes have files"
        raise ValueError(f"{name}: what more processes would do is not known: {reason}")
    alike = [
        f"{count:,} {what}"
        for count, what in (
            (made.shared, "shared file" if made.shared == 1 else "shared files"),
            (len(made.own), "file of its own" if len(made.own) == 1 else "files of their own"),
        )
        if count
    ]
    warn(
        f"{name}: {processes:,} processes are simulated; it has {log.processes:,}, and the others"
        f" do what these do, at the places that follow ({', '.join(alike)})"
    )
    if made.unequal:
        files = "1 file has" if made.unequal == 1 else f"{made.unequal:,} files have"
        warn(
            f"{name}: {files} parts of unequal sizes; those of the other processes are as large as"
            " its own, in turn"
        )
    if made.kept_accesses:
        warn(
            f"{name}: {made.kept_accesses:,} of its accesses ({shown_size(made.kept_bytes)}) are of"
            " some processes only, or at places without a rule; the others do not make them"
        )
    for line in left[:_MOST_NAMED]:
        warn(f"{name}: {line}; it keeps its processes")
    if len(left) > _MOST_NAMED:
        warn(f"{name}: {len(left) - _MOST_NAMED:,} more files keep their processes")
    names = [_name_of(source, number) for number in range(made.first_own)]
    names += [f"{names[of]} (of process {process})" for of, process in made.own]
    nodes = source.nodes
    if nodes is not None:
        each = max(Counter(nodes).values()) if source.hosts > 1 else processes
        nodes = tuple(process // each for process in range(processes))
    return replace(
        source,
        log=made.log,
        owner=(source.owner, made),
        files=tuple(names),
        nodes=nodes,
        hosts=source.hosts if nodes is None else max(nodes) + 1,
    )


def _name_of(source: Input, number: int) -> str:
    return source.files[number] if number < len(source.files) else f"file {number}"
