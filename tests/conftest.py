"""Setup for all Python tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from harness import namespace


def pytest_configure() -> None:
    """Gives each worker its own shared memory, because a job recovers bytes that dead jobs left
    there, and reports that."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        namespace.own_shared_memory()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts tests that take long in front, so that none of them is left for a single worker."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


@pytest.fixture(scope="session")
def library_directory() -> Path:
    """The folder of the preload and the interposers: FOREBAY_LIB_DIR, or the installed
    package's."""
    named = os.environ.get("FOREBAY_LIB_DIR")
    if named:
        return Path(named)
    from forebay import paths

    return paths.library_directory()
