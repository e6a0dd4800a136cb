"""mpi4py's own tests of files, from its source distribution: each ends as it does without
Forebay."""

import json
import os
import tempfile
from pathlib import Path

import pytest

from harness import forebay, mpi

DRIVER = Path(__file__).parent / "programs" / "mpi4py_tests.py"
MODULES = ("test_io", "test_file")
pytestmark = pytest.mark.long
PATIENCE = 600  # seconds: with more ranks than cores MPICH needs time for many collectives
FEWEST_TESTS = 80  # a rank runs more tests; fewer mean that the suite was not found


def unpacked_tests() -> Path:
    """The folder where tests/environment.py unpacked the tests of the installed mpi4py."""
    return next((mpi.ROOT / "build" / "mpi4py-tests").glob("mpi4py-*")) / "test"


# With more ranks than cores the suite takes minutes: only once, on two nodes, below.
CASES = [(mpi.WHEELS[0], 1), *((installation, 2) for installation in mpi.WHEELS)]


@pytest.mark.parametrize(
    ("installation", "ranks"), CASES, ids=[f"{case[0].name}-{case[1]}" for case in CASES]
)
def test_mpi4py(installation: mpi.Mpi, ranks: int, tmp_path: Path) -> None:
    # Makes thousands of small files, each with a sync; on a disk this would take minutes.
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as temporary:
        program = ["env", f"TMPDIR={temporary}", installation.python, str(DRIVER)]
        program += [str(unpacked_tests()), *MODULES]
        plain = forebay.launch(installation, ranks, program, tmp_path / "plain", None, PATIENCE)
        assert plain.outcome.code == 0, str(plain.outcome)
        cached = forebay.launch(installation, ranks, program, tmp_path / "cached", {}, PATIENCE)
        forebay.assert_same(plain, cached)
        assert not list(Path(temporary).iterdir())
    forebay.assert_served(cached.statistics, cached.outcome)
    outcomes = [json.loads(content) for content in plain.files.values()]
    assert len(outcomes) == ranks
    assert all(len(tests) > FEWEST_TESTS for tests in outcomes)


def test_mpi4py_with_owners_on_two_nodes(tmp_path: Path) -> None:
    """The suite needs no more than on one node."""
    installation = mpi.WHEELS[0]
    settings = {"FOREBAY_DOMAIN_SIZE": "64KiB", "FOREBAY_STEP_ASIDE": "never"}
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as temporary:
        program = ["env", f"TMPDIR={temporary}", installation.python, str(DRIVER)]
        program = forebay.on_nodes([*program, str(unpacked_tests()), *MODULES], 2)
        plain = forebay.launch(installation, 2, program, tmp_path / "plain", None, PATIENCE)
        cached = forebay.launch(installation, 2, program, tmp_path / "cached", settings, PATIENCE)
        forebay.assert_same(plain, cached)
    forebay.assert_served(cached.statistics, cached.outcome)
