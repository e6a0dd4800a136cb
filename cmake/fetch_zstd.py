"""Downloads the source distribution of zstandard from PyPI and keeps the sources of zstd in it.

    fetch_zstd.py DIRECTORY zstandard==0.25.0

leaves DIRECTORY/zstd.c, the whole library in one file, and its headers.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path, PurePosixPath


def download(requirement: str, directory: Path) -> Path:
    """The source distribution of `requirement`, brought to `directory` by pip."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    command += ["--no-deps", "--no-binary=:all:", f"--dest={directory}", requirement]
    subprocess.run(command, check=True)
    (archive,) = directory.glob("*.tar.gz")
    return archive


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
        keep_sources(download(sys.argv[2], Path(folder)), Path(sys.argv[1]))
