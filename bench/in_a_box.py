"""Workloads on the nodes of a cluster in a box (tests/harness/box.py), each of which has a client
of its own of one GlusterFS volume.

All of a comparison runs on the first node: so it sees the files as that node's client does. The
nodes share this machine's cores, so MPICH's ranks yield as they do with as many ranks on one node.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))

from forebay.bench.mpi import settings_to_yield
from harness import gluster, mpi
from harness.box import Box
from harness.box import why_not as why_no_box
from harness.gluster import Volume


def why_not() -> str:
    """The reason why there can be no such nodes here; "": there can."""
    return why_no_box() or gluster.why_not()


@dataclass(frozen=True)
class Nodes:
    """Nodes that run, and the volume that they mount."""

    box: Box
    directory: Path

    def compare(
        self,
        workload: str,
        family: str,
        ranks: int,
        repeat: int,
        options: Mapping[str, str],
        rounds: int = 2,
        count: int = 0,
        by_hand: bool = False,
    ) -> dict[str, Any]:
        """The report of `forebay bench`, as its option `--json` has it, for the MPI of the tests
        that is of this family. Raises subprocess.CalledProcessError if a side fails."""
        installation = next(one for one in mpi.WHEELS if one.abi == family)
        where = [*installation.launcher[1:], *self.box.where(installation, ranks)]
        command = [mpi.WHEELS[0].python, "-m", "forebay", "bench", workload, "--json"]
        command += ["--dir", str(self.directory), "--ranks", str(ranks)]
        command += ["--repeat", str(repeat), "--rounds", str(rounds), "--count", str(count)]
        command += ["--mpi", installation.launcher[0], "--mpicc", installation.cc]
        command += ["--launch-with", shlex.join(where)]
        for name, value in options.items():
            command += ["-o", f"{name}={value}"]
        if by_hand:
            command.append("--by-hand")
        done = subprocess.run(
            self.box.on(self.box.names[0], [str(word) for word in command]),
            stdout=subprocess.PIPE,
            env={**os.environ, **settings_to_yield(family, ranks)},
            check=True,
        )
        report: dict[str, Any] = json.loads(done.stdout)
        return report


@contextmanager
def nodes_in_a_box(count: int, close_to_open: bool) -> Iterator[Nodes]:
    """So many nodes, as long as they are used. `close_to_open`: their clients keep bytes."""
    with tempfile.TemporaryDirectory(prefix="forebay-box-", dir="/var/tmp") as folder:
        names = Path(folder) / "names"
        names.mkdir()
        volume = Volume(Path(folder) / "volume", close_to_open)
        with volume, Box(count, names, volume) as box:
            directory = volume.mount / "files"
            directory.mkdir()
            yield Nodes(box, directory)
