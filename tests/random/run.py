#!/usr/bin/env python3
"""Runs the random tester over the matrix of configurations and prints a table.

    python3 tests/random/run.py [--operations N] [--long] [--seed S] [--only TEXT] [--keep DIR]

Ends with 1 if a configuration failed. The log of the failure stays in the folder that is printed,
to be replayed (`random_io --replay LOG`) or shortened by minimise.py.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import matrix

LONG_OPERATIONS = 1_000_000
SLOWEST_RATE = 40  # operations per second, for the timeout only


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--operations", type=int, default=10_000, help="per configuration")
    parser.add_argument("--long", action="store_true", help=f"{LONG_OPERATIONS:,} of them")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="configurations whose name contains this")
    parser.add_argument("--keep", type=Path, help="where the files are made")
    arguments = parser.parse_args()
    operations = LONG_OPERATIONS if arguments.long else arguments.operations
    root = arguments.keep or Path(tempfile.mkdtemp(prefix="random_io-"))
    failures = 0
    print(f"{'configuration':40} {'result':8} {'operations/s':>12}")
    for configuration in matrix.configurations():
        if arguments.only not in configuration.name or not configuration.installation.available:
            continue
        matrix.build(configuration.installation)
        folder = root / configuration.name
        folder.mkdir(parents=True, exist_ok=True)
        options = ["--seed", str(arguments.seed), "--operations", str(operations)]
        begin = time.monotonic()
        outcome = matrix.run(configuration, folder, options, 120 + operations / SLOWEST_RATE)
        rate = operations / (time.monotonic() - begin)
        passed = outcome.code == 0
        failures += not passed
        result = "passed" if passed else "FAILED"
        print(f"{configuration.name:40} {result:8} {rate:12.0f}", flush=True)
        if not passed:
            text = outcome.output + outcome.errors
            found = re.search(r"random_io: FAILED.*(\n  .*){0,4}", text)
            print(found[0] if found else str(outcome)[-1500:], flush=True)
    print(f"{failures} failed; files in {root}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
