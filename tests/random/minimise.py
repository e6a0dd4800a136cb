#!/usr/bin/env python3
"""Drop operations from a failing schedule while it still fails.

usage: minimise.py LOG -- COMMAND...

COMMAND runs random_io with whatever launcher, preloads and options it needs, without --replay;
`--replay SCHEDULE` is appended. The minimal schedule is written to LOG.minimal and printed. With
--repeat N a schedule counts as failing when one of N runs fails (for races); with --match TEXT only
when its output contains TEXT.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path


def read_schedule(log: Path) -> list[str]:
    """The operations of a log, one per line, without comments."""
    return [line for line in log.read_text().splitlines() if line and not line.startswith("#")]


def fails(
    command: Sequence[str],
    operations: Sequence[str],
    scratch: Path,
    *,
    repeat: int,
    timeout_s: float,
    match: str,
) -> bool:
    """Whether replaying the operations fails (a crash or no end counts as failing)."""
    scratch.write_text("\n".join(operations) + "\n")
    output = scratch.with_suffix(".output")
    for _ in range(repeat):
        with output.open("w") as sink:
            run = subprocess.Popen(
                [*command, "--replay", str(scratch)], stdout=sink, stderr=subprocess.STDOUT
            )
        try:
            failed = run.wait(timeout_s) != 0
        except subprocess.TimeoutExpired:
            failed = True
            run.terminate()
            try:
                run.wait(5)
            except subprocess.TimeoutExpired:
                run.kill()
                run.wait()
        if failed and match in output.read_text(errors="replace"):
            return True
    return False


def minimise(operations: list[str], still_fails: Callable[[Sequence[str]], bool]) -> list[str]:
    """Zeller's delta debugging: drops ever smaller chunks until no single operation can go."""
    chunk = max(1, len(operations) // 2)
    while True:
        dropped = False
        start = len(operations)
        while start > 0:
            first = max(0, start - chunk)
            candidate = operations[:first] + operations[start:]
            if candidate and still_fails(candidate):
                operations = candidate
                dropped = True
            start = first
        if chunk == 1 and not dropped:
            return operations
        if not dropped or chunk > 1:
            chunk = max(1, chunk // 2)


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("log", type=Path)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=30.0, help="seconds for one replay")
    parser.add_argument("--match", default="", help="what the output of a failing run contains")
    parser.add_argument("command", nargs="+")
    arguments = parser.parse_args()
    scratch = arguments.log.with_suffix(".candidate")

    def still_fails(operations: Sequence[str]) -> bool:
        return fails(
            arguments.command,
            operations,
            scratch,
            repeat=arguments.repeat,
            timeout_s=arguments.timeout,
            match=arguments.match,
        )

    operations = read_schedule(arguments.log)
    if not still_fails(operations):
        print(f"{arguments.log} passes; nothing to minimise", file=sys.stderr)
        return 1
    operations = minimise(operations, still_fails)
    result = arguments.log.with_suffix(".minimal")
    result.write_text("\n".join(operations) + "\n")
    print(f"{len(operations)} operations, in {result}:")
    print("\n".join(operations))
    return 0


if __name__ == "__main__":
    sys.exit(main())
