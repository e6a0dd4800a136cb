"""Downloads the source distribution of zstandard from PyPI and keeps the sources of zstd in it.

    fetch_zstd.py DIRECTORY zstandard==0.25.0

leaves DIRECTORY/zstd.c, the whole library in one file, and its headers.
"""

from __future__ import annotations

import sys
import tarfile
import tempfile
from pathlib import Path, PurePosixPath

from pypi import download


def keep_sources(archive: Path, directory: Path) -> None:
    """Unpacks the C files and headers of the folder zstd."""
    directory.mkdir(parents=True, exist_ok=True)
    with tarfile.open(archive) as content:
        for member in content.getmembers():
            path = PurePosixPath(member.name)
            file = content.extractfile(member)
            if file is not None and path.parent.name == "zstd" and path.suffix in (".c", ".h"):
                (directory / path.name).write_bytes(file.read())


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        keep_sources(download(sys.argv[2], Path(folder), source=True), Path(sys.argv[1]))
