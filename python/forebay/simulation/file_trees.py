"""Trees of files whose extraction, listing and removal are simulated: made ones, and those of
folders. Only their shapes and sizes count."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from forebay.text import one_line

MADE_FILES, MADE_DIRECTORIES = 16_000, 1_000
"""As Linux 2.6.9 has them, about (Settlemyer 2009, section 3.3.6)."""

MADE_MEAN_BYTES = 12 << 10
"""Of a file; chosen, so that the tree has some 190 MiB."""

MOST_ENTRIES = 1 << 22
MOST_BYTES = 1 << 40

_DIRECTORY = -1
_BRANCHES = 8
"""Directories in a directory of a made tree."""
_OCTAVES = 7
_LEAST_BYTES = 512


@dataclass(frozen=True)
class FileTree:
    """Directories and files, each directory followed by what is in it. The first holds all."""

    name: str
    parents: list[int]
    """By entry: the directory's number; the first one's is not used."""
    sizes: list[int]
    """In bytes; of a directory -1."""

    @property
    def directories(self) -> int:
        return self.sizes.count(_DIRECTORY)

    @property
    def files(self) -> int:
        return len(self.sizes) - self.directories

    @property
    def bytes(self) -> int:
        return sum(self.sizes) + self.directories


def made_tree(files: int, directories: int, mean_bytes: int) -> FileTree:
    """A tree whose directories have up to 8 others and equal numbers of files each.

    Sizes are between 1/24 and 10 times the mean, about; half of them are less than a half or so of
    it. The same call makes the same tree everywhere.

    Raises ValueError for more than `MOST_ENTRIES` or `MOST_BYTES`.
    """
    name = f"{files:,} made files"
    if directories < 1:
        raise ValueError("a tree has at least one directory")
    if files + directories > MOST_ENTRIES:
        raise ValueError(_too_many(name))
    if files * mean_bytes > MOST_BYTES:
        raise ValueError(_too_large(name))
    file_sizes = iter(_sizes(files, mean_bytes))
    parents: list[int] = []
    sizes: list[int] = []
    left = [(0, 0)]  # directories by their own numbers, with the entry that holds them
    while left:
        directory, parent = left.pop()
        entry = len(sizes)
        parents.append(parent)
        sizes.append(_DIRECTORY)
        for _ in range(files // directories + (directory < files % directories)):
            parents.append(entry)
            sizes.append(next(file_sizes))
        first = directory * _BRANCHES + 1
        inner = range(first, min(first + _BRANCHES, directories))
        left.extend((one, entry) for one in reversed(inner))
    return FileTree(name, parents, sizes)


def _sizes(files: int, mean_bytes: int) -> list[int]:
    """Octaves follow a binomial distribution, sizes within an octave are equally likely. Whole
    numbers only, so that no machine rounds otherwise."""
    state = 1
    sizes = []
    for _ in range(files):
        state = (state * 6_364_136_223_846_793_005 + 1_442_695_040_888_963_407) % (1 << 64)
        octave = ((state >> 57) & ((1 << _OCTAVES) - 1)).bit_count()
        within = (state >> 40) % _LEAST_BYTES
        sizes.append((_LEAST_BYTES + within) << octave)
    whole = sum(sizes)
    return [size * mean_bytes * files // whole for size in sizes]


def tree_of(folder: str | os.PathLike[str], warn: Callable[[str], object]) -> FileTree:
    """The tree of a folder. Links and devices are files without bytes.

    Args:
        folder: its path.
        warn: called with a line if some of the folder is left out or taken for something else.

    Raises ValueError, one line with the path, if it is no folder, cannot be read, or has more than
    `MOST_ENTRIES` or `MOST_BYTES`.
    """
    name = one_line(os.fsdecode(folder))
    try:
        walk = [iter(_entries(folder))]
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ValueError(f"{name}: the tree cannot be read: {reason}") from None
    parents, sizes = [0], [_DIRECTORY]
    holders = [0]
    whole = unread = others = 0
    while walk:
        entry = next(walk[-1], None)
        if entry is None:
            walk.pop()
            holders.pop()
            continue
        try:
            is_directory = entry.is_dir(follow_symlinks=False)
            is_file = not is_directory and entry.is_file(follow_symlinks=False)
            size = entry.stat(follow_symlinks=False).st_size if is_file else 0
        except OSError:  # it is gone
            continue
        parents.append(holders[-1])
        sizes.append(_DIRECTORY if is_directory else size)
        whole += size
        if len(sizes) > MOST_ENTRIES:
            raise ValueError(_too_many(name))
        if whole > MOST_BYTES:
            raise ValueError(_too_large(name))
        if is_directory:
            try:
                walk.append(iter(_entries(entry.path)))
                holders.append(len(sizes) - 1)
            except OSError:
                unread += 1
        elif not is_file:
            others += 1
    if unread:
        warn(f"{name}: directories that cannot be read are empty here: {unread:,}")
    if others:
        warn(f"{name}: links and devices are files without bytes here: {others:,}")
    return FileTree(name, parents, sizes)


def _entries(folder: str | os.PathLike[str]) -> Iterator[os.DirEntry[str]]:
    with os.scandir(Path(folder)) as found:
        return iter(sorted(found, key=lambda entry: entry.name))


def _too_many(name: str) -> str:
    return f"{name}: a tree has at most {MOST_ENTRIES:,} files and directories"


def _too_large(name: str) -> str:
    return f"{name}: a tree has at most {MOST_BYTES >> 40} TiB"
