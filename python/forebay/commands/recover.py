"""`forebay recover`: commits the bytes that killed jobs left on this node, or drops them. As an MPI
job it does so on several nodes."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import click

from forebay import _core
from forebay.job.nodes import Nodes
from forebay.text import one_line

_MOST_NAMES = 5
"""Jobs or files named in one message."""
_WHOLE_CACHE = b""
"""Stands for all files of a cache, in place of a path."""

_SHARED_MEMORY = Path("/dev/shm")


@dataclass(frozen=True)
class _File:
    """_core.LeftFile, which cannot be sent between processes."""

    path: bytes
    bytes: int
    problem: str


@dataclass(frozen=True)
class _Cache:
    """_core.LeftCache, and the number and name of its node. "": there is only one."""

    number: int
    node: str
    registry: bytes
    job: str
    in_use: bool
    cared_for: bool
    problem: str
    files: tuple[_File, ...]


_Left: TypeAlias = tuple[_Cache, _File]
_Choice: TypeAlias = list[tuple[bytes, bytes]]
"""What one node drops: files, by registry and path."""


@click.command(short_help="Commit the bytes that killed ranks left, or drop them.")
@click.argument("directory", required=False, type=click.Path(path_type=Path))
@click.option("--list", "list_only", is_flag=True, help="Only list the bytes to recover.")
@click.option("--force", is_flag=True, help="Commit even to files that changed since.")
@click.option(
    "--discard",
    is_flag=True,
    help="Drop the bytes for good and free the memory: all bytes that --list shows, or those of"
    " --job and --file. Asks first.",
)
@click.option(
    "--job", "jobs", multiple=True, metavar="NAME", help="Drop the bytes of this job.  [repeatable]"
)
@click.option(
    "--file",
    "files",
    multiple=True,
    metavar="PATH",
    help="Drop the bytes of this file.  [repeatable]",
)
@click.option("--yes", is_flag=True, help="Drop without asking.")
def recover(
    directory: Path | None,
    list_only: bool,
    force: bool,
    discard: bool,
    jobs: Sequence[str],
    files: Sequence[str],
    yes: bool,
) -> None:
    """Commit the bytes that killed ranks had written and that Forebay still holds.

    DIRECTORY is the directory of the job's caches (the option arena_dir), /dev/shm by default. The
    command is safe to interrupt and to repeat. It does not touch a file that was replaced, or
    changed after the job last wrote to it, unless --force is given. The exit code is 1 if bytes
    are left.

    After a job on several nodes, run `mpiexec -n NODES forebay recover`, one process a node: each
    recovers its node, and knows what the job wrote on the others. Process 0 prints. This needs
    mpi4py.
    """
    if discard and (list_only or force):
        raise click.UsageError("--discard goes with neither --list nor --force")
    if not discard and (jobs or files or yes):
        raise click.UsageError("--job, --file and --yes go with --discard")
    request = (list_only, force, discard, jobs, files, yes)
    nodes = Nodes("to recover several nodes", directory or _SHARED_MEMORY, request)
    arena_dir = os.fsencode(directory or "")
    commit = not (list_only or discard)
    with nodes.ending_together():
        exchange = nodes.exchange if nodes.several else None
        caches = _gathered(nodes, _core.recover(arena_dir, b"", commit, force, exchange))
        if discard:
            _discard(nodes, arena_dir, caches, jobs, files, yes)
            return
    if not nodes.speaks:
        return
    lines = [_cache_line(cache) for cache in caches if cache.problem or _state(cache)]
    lines += _file_lines(_files_of(caches), _to_recover if list_only else _recovered)
    click.echo("\n".join(lines) or "nothing to recover")
    left = any(cache.problem or any(file.problem for file in cache.files) for cache in caches)
    sys.exit(1 if left else 0)


def _gathered(nodes: Nodes, found: Sequence[_core.LeftCache]) -> list[_Cache]:
    """The caches of all nodes, on the process that speaks; nothing on the others."""
    return nodes.gather(
        [
            _Cache(
                nodes.number,
                nodes.names[nodes.number] if nodes.several else "",
                cache.registry,
                os.fsdecode(cache.job),
                cache.in_use,
                cache.cared_for,
                cache.problem,
                tuple(_File(file.path, file.bytes, file.problem) for file in cache.files),
            )
            for cache in found
        ]
    )


def _discard(
    nodes: Nodes,
    arena_dir: bytes,
    caches: Sequence[_Cache],
    jobs: Sequence[str],
    files: Sequence[str],
    yes: bool,
) -> None:
    """Drops the chosen files of `caches`, and says how many bytes of each file were dropped."""
    unread: list[str] = []
    choices: list[_Choice] = []
    try:
        if nodes.speaks:
            unread, choices = _chosen(nodes, caches, jobs, files, yes)
    except BaseException:
        nodes.dismiss()
        raise
    mine = nodes.scatter(choices)
    dropped = _files_of(_gathered(nodes, _core.discard(arena_dir, mine)))
    if nodes.speaks:
        lines = [f"{line}: dropped" for line in unread] + _file_lines(dropped, lambda _: "dropped")
        click.echo("\n".join(lines) or "nothing to recover")


def _chosen(
    nodes: Nodes, caches: Sequence[_Cache], jobs: Sequence[str], files: Sequence[str], yes: bool
) -> tuple[list[str], list[_Choice]]:
    """Lines on the chosen caches that cannot be read, and what each node drops."""
    chosen = _of_jobs(caches, jobs)
    there = _files_of(chosen)
    left = _of_files(there, files)
    unread = [] if files else [_cache_line(cache) for cache in chosen if cache.problem]
    if not yes and (left or unread):
        _ask([*unread, *_file_lines(left, lambda _: "to drop")])
    kept = {cache.job for cache, file in there if (cache, file) not in left}
    emptied = {cache.job for cache, _ in left} - kept
    choices: list[_Choice] = [[] for _ in nodes.names]
    for cache, file in left:
        choices[cache.number].append((cache.registry, file.path))
    for cache in chosen:
        if not files or cache.job in emptied:
            choices[cache.number].append((cache.registry, _WHOLE_CACHE))
    return unread, choices


def _ask(to_drop: Sequence[str]) -> None:
    """Ends the command unless the user agrees."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise click.UsageError(
            "--discard drops bytes for good, and asks only on a terminal: check with --list, then"
            " give --yes"
        )
    click.echo("\n".join(to_drop))
    if not click.confirm("Drop these bytes for good?"):
        click.echo("nothing was dropped")
        sys.exit(1)


def _of_jobs(caches: Sequence[_Cache], names: Sequence[str]) -> list[_Cache]:
    """The caches of these jobs; without names, those of all jobs that have ended."""
    if not names:
        return [cache for cache in caches if not _state(cache)]
    known = dict.fromkeys(cache.job for cache in caches)
    for name in names:
        if name not in known:
            alike = [job for job in known if name and job.startswith(name)]
            raise click.UsageError(
                f"--job {one_line(name)}: no job of this name has left anything here"
                f"{_those_there(alike or known)}"
            )
    chosen = [cache for cache in caches if cache.job in names]
    for cache in chosen:
        if _state(cache):
            raise click.ClickException(f"{_cache_line(cache)}; nothing was dropped")
    return chosen


def _of_files(left: Sequence[_Left], names: Sequence[str]) -> list[_Left]:
    """The entries of these files; without names, all."""
    if not names:
        return list(left)
    chosen: list[_Left] = []
    for name in names:
        paths = {os.fsencode(Path(name).absolute()), os.path.realpath(os.fsencode(name))}
        found = [(cache, file) for cache, file in left if file.path in paths]
        jobs = {cache.job for cache, _ in found}
        if not found:
            known = dict.fromkeys(os.fsdecode(file.path) for _, file in left)
            raise click.UsageError(
                f"--file {one_line(name)}: nothing is left for this file{_those_there(known)}"
            )
        if len(jobs) > 1:
            raise click.UsageError(
                f"--file {one_line(name)}: choose one by --job{_those_there(sorted(jobs))}"
            )
        chosen += [one for one in found if one not in chosen]
    return chosen


def _those_there(names: Iterable[str]) -> str:
    """The end of a message: the names to choose from."""
    shown = [one_line(name) for name in names]
    more = f" and {len(shown) - _MOST_NAMES:,} more" if len(shown) > _MOST_NAMES else ""
    return f" (there is {', '.join(shown[:_MOST_NAMES])}{more})" if shown else ""


def _files_of(caches: Sequence[_Cache]) -> list[_Left]:
    return [(cache, file) for cache in caches for file in cache.files]


def _origin(cache: _Cache) -> str:
    on_node = f" on {one_line(cache.node)}" if cache.node else ""
    return f"(job {one_line(cache.job)}{on_node})"


def _state(cache: _Cache) -> str:
    """Why the cache cannot be changed now; "": it can."""
    if cache.in_use:
        return "in use by a running job"
    return "is being recovered" if cache.cared_for else ""


def _cache_line(cache: _Cache) -> str:
    """A line on a cache whose files are not shown."""
    registry = one_line(os.fsdecode(cache.registry))
    return f"{registry}: {cache.problem or _state(cache)} {_origin(cache)}"


def _to_recover(_: _File) -> str:
    return "to recover"


def _recovered(file: _File) -> str:
    return f"not recovered: {file.problem}" if file.problem else "recovered"


def _file_lines(left: Sequence[_Left], outcome: Callable[[_File], str]) -> list[str]:
    """A line for each file of a job, summed over its caches on a node."""
    sums: Counter[tuple[bytes, str, str]] = Counter()
    for cache, file in left:
        sums[file.path, outcome(file), _origin(cache)] += file.bytes
    return [
        f"{one_line(os.fsdecode(path)) or 'a file without a name'}: {count:,} bytes {what} {origin}"
        for (path, what, origin), count in sums.items()
    ]
