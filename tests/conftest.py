"""What all Python tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from harness import namespace


def pytest_configure() -> None:
    """Of several workers each has shared memory of its own: a job recovers what others that died
    have left there, and says so."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        namespace.own_shared_memory()


@pytest.fixture(scope="session")
def library_directory() -> Path:
    """Where the preload and the interposers are: FOREBAY_LIB_DIR, else the installed package."""
    named = os.environ.get("FOREBAY_LIB_DIR")
    if named:
        return Path(named)
    from forebay import paths

    return paths.library_directory()
