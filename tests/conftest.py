"""What all Python tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def library_directory() -> Path:
    """Where the preload and the interposers are: FOREBAY_LIB_DIR, else the installed package."""
    named = os.environ.get("FOREBAY_LIB_DIR")
    if named:
        return Path(named)
    from forebay import paths

    return paths.library_directory()
