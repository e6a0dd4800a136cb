"""`forebay bench` on nodes: its ranks are where the launcher's arguments say."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from harness import mpi
from harness.box import Box, why_not

pytestmark = pytest.mark.skipif(bool(why_not()), reason=f"no nodes in a box: {why_not()}")


@pytest.mark.parametrize("installation", [mpi.WHEELS[0], mpi.WHEELS[2]], ids=lambda m: m.name)
def test_nodes_are_found(installation: mpi.Mpi, tmp_path: Path) -> None:
    folder, files = tmp_path / "box", tmp_path / "files"
    folder.mkdir()
    files.mkdir()
    with Box(2, folder) as box:
        launch_with = [*installation.launcher[1:], *box.where(installation, 4)]
        command = [mpi.WHEELS[0].python, "-m", "forebay", "bench", "small-parts"]
        command += ["--dir", str(files), "--ranks", "4", "--repeat", "1", "--count", "50"]
        command += ["--mpi", installation.launcher[0], "--mpicc", installation.cc, "--json"]
        command += ["--launch-with", shlex.join(launch_with), "-o", "step_aside=never"]
        outcome = mpi.run(box.on(box.names[0], command), installation.environment)
    assert outcome.code == 0, str(outcome)
    report = json.loads(outcome.output)
    assert (report["nodes"], report["ranks"]) == (2, 4)
    assert list(files.iterdir()) == []
