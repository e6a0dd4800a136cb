"""Downloads files from PyPI by pip."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def download(requirement: str, directory: Path, source: bool) -> Path:
    """Puts the wheel of `requirement`, or its source distribution, into the empty `directory`, and
    returns its path."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    command += ["--no-deps", "--no-binary=:all:" if source else "--only-binary=:all:"]
    subprocess.run([*command, f"--dest={directory}", requirement], check=True)
    (archive,) = directory.glob("*.tar.gz" if source else "*.whl")
    return archive
