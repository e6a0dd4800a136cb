"""The random tester in every configuration, and tests of the tester itself with deliberate
faults."""

from __future__ import annotations

import os
from pathlib import Path

import lives
import matrix
import pytest

from harness import forebay, mpi

OPERATIONS = int(os.environ.get("RANDOM_IO_OPERATIONS", "4000"))
LIVES = int(os.environ.get("RANDOM_IO_LIVES", "8"))
REGRESSIONS = sorted((Path(__file__).parent / "regressions").glob("*.log"))
FAULTS = ("drop", "swap", "stale", "pointer", "count")


def run(
    configuration: matrix.Configuration, folder: Path, options: list[str], patience: float
) -> None:
    """Checks that nothing is found to be wrong, and that with Forebay its cache serves files."""
    files, statistics = folder / "files", folder / "statistics.json"
    files.mkdir()
    if configuration.settings is not None:
        configuration = configuration.with_settings({"FOREBAY_STATS_JSON": str(statistics)})
    outcome = matrix.run(configuration, files, options, patience)
    assert outcome.code == 0, str(outcome)
    counted = forebay.read_statistics(statistics)
    if configuration.settings is None:
        assert counted is None
    else:
        forebay.assert_served(counted, outcome)


@pytest.mark.parametrize("configuration", list(matrix.configurations()), ids=lambda c: c.name)
def test_operations(configuration: matrix.Configuration, tmp_path: Path) -> None:
    """No operation's result differs from what the standard allows."""
    if not configuration.installation.available:
        pytest.skip(f"no {configuration.installation.name}")
    options = ["--operations", str(OPERATIONS)]
    run(configuration, tmp_path, options, 120 + OPERATIONS / 40)


@pytest.mark.parametrize("configuration", list(matrix.fault_configurations()), ids=lambda c: c.name)
def test_lives(configuration: matrix.Configuration, tmp_path: Path) -> None:
    """Storage fails and ranks are killed; in the next life what had been written is there."""
    if not configuration.installation.available:
        pytest.skip(f"no {configuration.installation.name}")
    job = lives.Job(configuration, tmp_path, seed=1, lives=LIVES, operations=1000)
    assert job.run(), job.failure
    assert job.killed > 0


@pytest.mark.parametrize("log", REGRESSIONS, ids=lambda log: log.stem)
def test_regression(log: Path, tmp_path: Path) -> None:
    """Schedules that once failed now pass. Their first line gives the ranks and Forebay's
    settings."""
    words = log.read_text().splitlines()[0].split()
    named = dict(word.split("=", 1) for word in words if "=" in word)
    ranks = int(named.pop("ranks"))
    options = tuple(word for word in words if word.startswith("--"))
    installation = mpi.WHEELS[0]
    configuration = matrix.Configuration(log.stem, installation, ranks, named, options)
    run(configuration, tmp_path, ["--replay", str(log)], 120)


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_is_found(fault: str, tmp_path: Path) -> None:
    """A library that damages one call in 40 does not survive 10,000 operations unnoticed."""
    installation = mpi.WHEELS[0]
    program = [str(matrix.build(installation)), "--files", str(tmp_path)]
    spoiled = [f"LD_PRELOAD={matrix.build_faults(installation)}", f"RANDOM_IO_FAULT={fault}"]
    command = mpi.launch_command(installation, 1, ["env", *spoiled, *program])
    outcome = mpi.run(command, installation.environment)
    assert outcome.code not in (0, None), str(outcome)
    assert "random_io: FAILED" in outcome.errors, str(outcome)
