"""Runs the command `forebay` of the installed package."""

from __future__ import annotations

import os
import subprocess
import sys

FOREBAY = [sys.executable, "-m", "forebay"]


def forebay(*words: object, **env: str) -> subprocess.CompletedProcess[str]:
    """Runs the command to its end, outside any job, with `env` added to the environment."""
    return subprocess.run(
        [*FOREBAY, *(str(word) for word in words)],
        env=outside(**env),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def outside(**env: str) -> dict[str, str]:
    """The environment without variables of a surrounding job."""
    job = ("FOREBAY_", "PMI", "OMPI_COMM_WORLD", "SLURM_", "LD_PRELOAD")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(job)}
    return {**kept, **env}
