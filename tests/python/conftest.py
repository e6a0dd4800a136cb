"""Fixtures of several test files."""

from __future__ import annotations

from pathlib import Path

import pytest

from forebay.simulation import workload_traces


@pytest.fixture(scope="session")
def pieces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """8 processes, each with two transfers of 256 KiB in interleaved pieces of 1 KiB."""
    folder = tmp_path_factory.mktemp("traces") / "pieces"
    workload_traces.ior(folder, 8, transfer=256 << 10, piece=1 << 10, segments=2)
    return folder
