"""The file systems that are mounted."""

from __future__ import annotations

from pathlib import Path


def mounted_kind(directory: Path) -> str:
    """The type of the file system that contains the directory, such as ext4 or nfs4."""
    path = directory.resolve()
    best, kind = -1, "unknown"
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        top = Path(before.split()[4].encode().decode("unicode_escape"))
        if len(top.parts) >= best and path.is_relative_to(top):
            best, kind = len(top.parts), after.split()[0]
    return kind
