#!/usr/bin/env python3
"""Runs jobs of random_io through several lives: killed, recovered, checked, and continued.

    python3 tests/random/lives.py [--only TEXT] [--seed S] [--jobs N] [--lives N] [--operations N]
    python3 tests/random/lives.py --only CONFIGURATION --seed S --replay LOG

A life ends when its schedule comes to a `kill`, when an armed kill happens, or after a number of
operations. Then the job's committer writes the ranks' bytes to the files; in one of three lives
there is no committer, and `forebay recover` does so, sometimes after it was killed half-way. The
next life of the job begins with a check of the files (aftermath.cpp). Ends with 1 after a failure.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import matrix

from harness import forebay, mpi

LIFE_SECONDS = 240
RECOVERY_SECONDS = 120
# A failure reported by the program, or by a launcher for a rank that ended by a signal of no
# schedule.
FAILED = re.compile(r"random_io: FAILED.*(\n  .*){0,4}|.*\bsignal:? (4|6|7|8|11)\b.*")


@dataclass
class Job:
    """A job, its outcome, and how to repeat its schedule."""

    configuration: matrix.Configuration
    folder: Path
    seed: int
    lives: int
    operations: int
    replay: Path | None = None
    killed: int = 0
    failure: str = field(default="", init=False)

    def run(self) -> bool:
        """Runs all lives and checks what the last one left. False: something is wrong."""
        return all(self._live(life) for life in range(1, self.lives + 2))

    def _live(self, life: int) -> bool:
        draw = random.Random(f"{self.seed} {life}")
        name = f"random-{os.getpid()}-{self.configuration.name}-{self.seed}-{life}"
        options = ["--seed", str(self.seed), "--life", str(life)]
        options += ["--operations", str(self.operations if life <= self.lives else 0)]
        if self.replay is not None:
            options += ["--replay", str(self.replay)]
        settings = {"FOREBAY_JOB": name}
        arenas = None
        # Without committers there are no agents, and the bytes of a file have no owners.
        if draw.random() < 1 / 3 and "-owners-" not in self.configuration.name:
            arenas = self.folder / "arenas"
            arenas.mkdir(exist_ok=True)
            settings |= {"FOREBAY_COMMITTER": "false", "FOREBAY_ARENA_DIR": str(arenas)}
            # Committing over a change by others would need --force.
            options += ["--disable", "external"]
        configuration = self.configuration.with_settings(settings)
        outcome = matrix.run(configuration, self.folder, options, LIFE_SECONDS)
        (self.folder / f"life{life}.output").write_text(str(outcome))
        found = FAILED.search(outcome.errors + outcome.output)
        if found or (life > self.lives and outcome.code != 0):
            self.failure = f"{found[0]}\n{outcome}" if found else str(outcome)
            return False
        self.killed += outcome.code != 0
        if arenas is None:
            left = forebay.await_recovery(name, RECOVERY_SECONDS, self._keeps_bytes(life))
            self.failure = f"the committer has left {left}" if left else ""
        else:
            self.failure = recover(arenas, draw)
        return not self.failure

    def _keeps_bytes(self, life: int) -> bool:
        """Whether a close has failed, so that bytes wait for `forebay recover`."""
        journals = self.folder.glob(f"life{life}.journal*")
        return any("# kept" in journal.read_text() for journal in journals)


def recover(arenas: Path, draw: random.Random) -> str:
    """Recovers by the command. In half of the cases it is killed first, once or twice."""
    command = [*forebay.RECOVER, str(arenas)]
    for _ in range(draw.choice((0, 0, 1, 2))):
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as first:
            with suppress(subprocess.TimeoutExpired):
                first.wait(draw.uniform(0.02, 0.3))
            first.kill()
    outcome = mpi.run(command, timeout_seconds=RECOVERY_SECONDS)
    left = [path.name for path in arenas.glob("*/*")]
    return "" if outcome.code == 0 and not left else f"{outcome}\nleft: {left}"


def run_all(arguments: argparse.Namespace, root: Path) -> int:
    """Runs the jobs one after the other. Returns the number of failed jobs."""
    failures = 0
    print(f"{'configuration':40} {'seed':>6} {'result':8} {'killed':>6} {'seconds':>8}")
    for seed in range(arguments.seed, arguments.seed + arguments.jobs):
        for configuration in matrix.fault_configurations():
            installation = configuration.installation
            if arguments.only not in configuration.name or not installation.available:
                continue
            folder = root / configuration.name / str(seed)
            folder.mkdir(parents=True)
            job = Job(configuration, folder, seed, arguments.lives, arguments.operations)
            if arguments.replay is not None:
                job.replay = arguments.replay
                job.lives = lives_of(arguments.replay)
            begin = time.monotonic()
            passed = job.run()
            failures += not passed
            seconds = time.monotonic() - begin
            result = "passed" if passed else "FAILED"
            line = f"{configuration.name:40} {seed:6} {result:8} {job.killed:6} {seconds:8.1f}"
            print(line, job.failure, flush=True)
    return failures


def lives_of(log: Path) -> int:
    """The number of lives in a schedule: each but the last ends with a kill."""
    return 1 + sum(" kill" in line for line in log.read_text().splitlines())


def main(words: Sequence[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default="", help="configurations whose name contains this")
    parser.add_argument("--seed", type=int, default=1, help="of the first job")
    parser.add_argument("--jobs", type=int, default=1, help="in each configuration")
    parser.add_argument("--lives", type=int, default=10, help="of a job")
    parser.add_argument("--operations", type=int, default=1000, help="of a life, at most")
    parser.add_argument("--replay", type=Path, help="a failure's log")
    parser.add_argument("--keep", type=Path, help="where the files are made")
    arguments = parser.parse_args(words)
    root = arguments.keep or Path(tempfile.mkdtemp(prefix="random_io-"))
    failures = run_all(arguments, root)
    print(f"{failures} failed; files in {root}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
