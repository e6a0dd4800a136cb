"""Runs test modules of mpi4py's own suite on each rank and records their outcomes.

usage: mpi4py_tests.py FOLDER_OF_MPI4PY_TESTS MODULE ...

Each rank writes rank<N>.json into the current folder: the outcome of each test by its name.
"""

import json
import sys
import unittest
from pathlib import Path


class Outcomes(unittest.TestResult):
    """Keeps one word per test. A test with failing subtests counts as failed."""

    def __init__(self) -> None:
        super().__init__()
        self.outcomes: dict[str, str] = {}

    def addSuccess(self, test: unittest.TestCase) -> None:  # noqa: N802
        self.outcomes.setdefault(test.id(), "passed")

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:  # noqa: N802
        self.outcomes[test.id()] = f"skipped: {reason}"

    def addFailure(self, test: unittest.TestCase, err: object) -> None:  # noqa: N802
        self.outcomes[test.id()] = "failed"
        print(f"{test.id()}: {self._exc_info_to_string(err, test)}", file=sys.stderr)

    addError = addFailure  # noqa: N815

    def addSubTest(self, test: unittest.TestCase, _subtest: object, err: object) -> None:  # noqa: N802
        if err is not None:
            self.addFailure(test, err)


def main() -> None:
    sys.path.insert(0, sys.argv[1])
    from mpi4py import MPI

    result = Outcomes()
    unittest.defaultTestLoader.loadTestsFromNames(sys.argv[2:]).run(result)
    Path(f"rank{MPI.COMM_WORLD.Get_rank()}.json").write_text(
        json.dumps(result.outcomes, indent=1, sort_keys=True)
    )


if __name__ == "__main__":
    main()
