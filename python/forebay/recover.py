"""`forebay recover`: brings into their files what killed jobs left on this node."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from forebay import _core


@click.command()
@click.argument(
    "directory", required=False, type=click.Path(exists=True, file_okay=False, path_type=Path)
)
@click.option("--list", "list_only", is_flag=True, help="Only say what is there.")
@click.option("--force", is_flag=True, help="Commit even to files that others changed since.")
@click.option("--discard", is_flag=True, help="Forget the bytes instead, and free the memory.")
def recover(directory: Path | None, list_only: bool, force: bool, discard: bool) -> None:
    """Commit the bytes that killed ranks had written and Forebay still holds.

    DIRECTORY is where the job kept its caches (the option arena_dir), /dev/shm by default. Safe to
    interrupt and to repeat. A file that was replaced, or changed after the job last wrote to it, is
    left alone unless --force is given. Ends with 1 when bytes are left.
    """
    if discard and (list_only or force):
        raise click.UsageError("--discard goes with neither --list nor --force")
    caches = _core.recover(str(directory or ""), "", not (list_only or discard), force)
    if discard:
        for cache in caches:
            _discard(cache)
    lines = [line for cache in caches for line in _report(cache, list_only, discard)]
    click.echo("\n".join(lines) if lines else "nothing to recover")
    left = any(cache.problem or any(file.problem for file in cache.files) for cache in caches)
    sys.exit(1 if left and not discard else 0)


def _discard(cache: _core.LeftCache) -> None:
    """Removes the cache's segments, unless somebody uses them."""
    if cache.in_use or cache.cared_for:
        return
    registry = Path(cache.registry)
    for path in registry.parent.glob(f"{registry.stem}.*"):
        path.unlink(missing_ok=True)


def _report(cache: _core.LeftCache, list_only: bool, discarded: bool) -> list[str]:
    """What the user is told of a cache, a line a file."""
    if cache.problem and not discarded:
        return [f"{cache.registry}: {cache.problem}"]
    if cache.in_use:
        return [f"{cache.registry}: in use by a running job"]
    if cache.cared_for:
        return [f"{cache.registry}: is being recovered"]
    lines = []
    for file in cache.files:
        if list_only:
            outcome = "to recover"
        elif discarded:
            outcome = "discarded"
        else:
            outcome = f"not recovered: {file.problem}" if file.problem else "recovered"
        lines.append(f"{file.path}: {file.bytes:,} bytes {outcome}")
    return lines
