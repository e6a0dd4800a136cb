"""The program that measures the cluster simulator's speed measures what it says."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner

from forebay.simulation import workload_traces

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def speed(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / "bench")
    return importlib.import_module("cluster_speed")


def test_the_made_log_is_what_the_table_says(speed: ModuleType, tmp_path: Path) -> None:
    log = tmp_path / "records.darshan"
    speed.darshan_log(log, 8, 5)
    found = speed.simulated(speed.Job("", log, changes={"machine.servers": "3"}))
    assert (found.result.processes, found.result.servers) == (8, 3)
    assert (found.result.accesses, found.result.written_bytes) == (40, 40 * 47_008)
    assert found.result.events > 40 and found.memory > 1 << 20


def test_cells_are_those_of_a_heat_map(
    speed: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(speed, "PAGES", ("4KiB", "1MiB"))
    workload_traces.flash(tmp_path / "flash", 2, sets=2)
    assert len(speed.cell_seconds(tmp_path / "flash")) == 2 * len(speed.CACHES)


@pytest.mark.parametrize(("text", "reason"), [(None, "does not exist"), ("no trace", "log.txt")])
def test_a_log_that_is_none_ends_with_a_line(
    text: str | None, reason: str, speed: ModuleType, tmp_path: Path
) -> None:
    log = tmp_path / "log.txt"
    if text is not None:
        log.write_text(text)
    ran = CliRunner().invoke(speed.main, ["--log", str(log)])
    assert ran.exit_code != 0 and reason in str(ran.exception) + ran.output
