"""`forebay recover`: commits the bytes that killed jobs left on this node, or drops them."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeAlias

import click

from forebay import _core
from forebay.text import one_line

_MOST_NAMES = 5
"""Jobs or files named in one message."""
_WHOLE_CACHE = b""
"""Stands for all files of a cache, in place of a path."""

_Left: TypeAlias = tuple[_core.LeftCache, _core.LeftFile]


@click.command(short_help="Commit the bytes that killed ranks left, or drop them.")
@click.argument(
    "directory", required=False, type=click.Path(exists=True, file_okay=False, path_type=Path)
)
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
    """
    if discard and (list_only or force):
        raise click.UsageError("--discard goes with neither --list nor --force")
    if not discard and (jobs or files or yes):
        raise click.UsageError("--job, --file and --yes go with --discard")
    arena_dir = os.fsencode(directory or "")
    caches = _core.recover(arena_dir, b"", not (list_only or discard), force)
    if discard:
        _discard(arena_dir, caches, jobs, files, yes)
        return
    lines = [_cache_line(cache) for cache in caches if cache.problem or _state(cache)]
    lines += _file_lines(_files_of(caches), _to_recover if list_only else _recovered)
    click.echo("\n".join(lines) or "nothing to recover")
    left = any(cache.problem or any(file.problem for file in cache.files) for cache in caches)
    sys.exit(1 if left else 0)


def _discard(
    arena_dir: bytes,
    caches: Sequence[_core.LeftCache],
    jobs: Sequence[str],
    files: Sequence[str],
    yes: bool,
) -> None:
    """Drops the chosen files of `caches`, and says how many bytes of each file were dropped."""
    chosen = _of_jobs(caches, jobs)
    there = _files_of(chosen)
    left = _of_files(there, files)
    unread = [] if files else [_cache_line(cache) for cache in chosen if cache.problem]
    if not yes and (left or unread):
        _ask([*unread, *_file_lines(left, lambda _: "to drop")])
    kept = {_job(cache) for cache, file in there if (cache, file) not in left}
    emptied = {_job(cache) for cache, _ in left} - kept
    whole = [cache for cache in chosen if not files or _job(cache) in emptied]
    pairs = [(cache.registry, file.path) for cache, file in left]
    pairs += [(cache.registry, _WHOLE_CACHE) for cache in whole]
    dropped = _files_of(_core.discard(arena_dir, pairs))
    lines = [f"{line}: dropped" for line in unread] + _file_lines(dropped, lambda _: "dropped")
    click.echo("\n".join(lines) or "nothing to recover")


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


def _of_jobs(caches: Sequence[_core.LeftCache], names: Sequence[str]) -> list[_core.LeftCache]:
    """The caches of these jobs; without names, those of all jobs that have ended."""
    if not names:
        return [cache for cache in caches if not _state(cache)]
    known = dict.fromkeys(_job(cache) for cache in caches)
    for name in names:
        if name not in known:
            alike = [job for job in known if name and job.startswith(name)]
            raise click.UsageError(
                f"--job {one_line(name)}: no job of this name has left anything here"
                f"{_those_there(alike or known)}"
            )
    chosen = [cache for cache in caches if _job(cache) in names]
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
        jobs = {_job(cache) for cache, _ in found}
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


def _files_of(caches: Sequence[_core.LeftCache]) -> list[_Left]:
    return [(cache, file) for cache in caches for file in cache.files]


def _job(cache: _core.LeftCache) -> str:
    return os.fsdecode(cache.job)


def _state(cache: _core.LeftCache) -> str:
    """Why the cache cannot be changed now; "": it can."""
    if cache.in_use:
        return "in use by a running job"
    return "is being recovered" if cache.cared_for else ""


def _cache_line(cache: _core.LeftCache) -> str:
    """A line on a cache whose files are not shown."""
    registry = one_line(os.fsdecode(cache.registry))
    return f"{registry}: {cache.problem or _state(cache)} (job {one_line(_job(cache))})"


def _to_recover(_: _core.LeftFile) -> str:
    return "to recover"


def _recovered(file: _core.LeftFile) -> str:
    return f"not recovered: {file.problem}" if file.problem else "recovered"


def _file_lines(left: Sequence[_Left], outcome: Callable[[_core.LeftFile], str]) -> list[str]:
    """A line for each file of a job, summed over its caches."""
    sums: Counter[tuple[bytes, str, str]] = Counter()
    for cache, file in left:
        sums[file.path, outcome(file), _job(cache)] += file.bytes
    return [
        f"{one_line(os.fsdecode(path)) or 'a file without a name'}: {count:,} bytes {what}"
        f" (job {one_line(job)})"
        for (path, what, job), count in sums.items()
    ]
