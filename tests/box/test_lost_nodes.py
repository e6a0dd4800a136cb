"""A node that is there no more, or cannot be reached, and of which nobody is told: accesses of its
bytes fail in time, and others go on (docs/reliability.md)."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from harness import forebay, mpi
from harness.box import Box, why_not

SOURCE = Path(__file__).parent.parent / "mpi" / "handles" / "node_lost.c"
LIMIT_SECONDS = 30  # without a sign of a node
SLACK_SECONDS = 15  # of a busy machine

pytestmark = pytest.mark.skipif(bool(why_not()), reason=f"no nodes in a box: {why_not()}")


def wait_for(path: Path, content: str, process: subprocess.Popen[str], seconds: float) -> None:
    end = time.monotonic() + seconds
    while not (path.exists() and content in path.read_text()):
        if process.poll() is not None or time.monotonic() > end:
            process.kill()
            pytest.fail(f"{path.name} is not there: {process.communicate()}")
        time.sleep(0.05)


@pytest.mark.parametrize("loss", ["cut-off", "power-off"])
@pytest.mark.parametrize("transport", ["tcp", "libfabric"])
def test_lost_node(loss: str, transport: str, tmp_path: Path) -> None:
    installation = mpi.WHEELS[0]
    program = [str(mpi.compile_program(installation, SOURCE)), str(tmp_path / "file")]
    settings = {
        "FOREBAY_JOB": forebay.new_job(),
        **forebay.EVERY_RANK,
        "FOREBAY_DOMAIN": "cyclic",
        "FOREBAY_DOMAIN_SIZE": "64KiB",
        "FOREBAY_STEP_ASIDE": "never",
        "FOREBAY_TRANSPORT": transport,
    }
    folder = tmp_path / "box"
    folder.mkdir()
    with Box(2, folder) as box:
        launch = box.launch_command(
            installation, 2, forebay.preloaded([*program, str(tmp_path)], settings)
        )
        with subprocess.Popen(
            launch,
            env={**os.environ, **installation.environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            wait_for(tmp_path / "ready", "", process, 60)
            if loss == "cut-off":
                box.cut_off("node1")
            else:
                box.power_off("node1")
            (tmp_path / "lost").touch()
            wait_for(tmp_path / "result", "end", process, 4 * (LIMIT_SECONDS + SLACK_SECONDS))
            process.kill()
    lines = [line.split() for line in (tmp_path / "result").read_text().splitlines()]
    outcomes = [(line[0], line[1]) for line in lines[:4]]
    assert outcomes == [
        ("write", "failed"),
        ("write", "failed"),
        ("read", "failed"),
        ("own", "done"),
    ], lines
    assert all(float(line[2]) < LIMIT_SECONDS + SLACK_SECONDS for line in lines[:4]), lines
