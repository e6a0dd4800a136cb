"""If one rank is refused something, no rank hangs and no rank's results change.

Each program checks MPI-IO's semantics by itself. Here rank 0 or the last rank has another
environment than the others: no place for shared memory, few descriptors, another node.
"""

from collections.abc import Mapping
from pathlib import Path

import pytest

from harness import forebay, mpi

FOLDER = Path(__file__).parent
# The programs, with the files that ranks open alone: these are cached whatever other ranks have.
PROGRAMS: dict[str, set[str]] = {
    "semantics_opens": {"opens", "opens-link"},
    "semantics_pointers": set(),
    "semantics_sizes": set(),
    "semantics_views": set(),
}
RANKS = 2

# With these, all files are cached nevertheless.
HARMLESS = ("descriptors", "page-size", "node")

# The environment of the one rank: variables, and a shell command before the program.
REFUSALS: dict[str, tuple[dict[str, str], str]] = {
    "shared-memory": ({"FOREBAY_ARENA_DIR": "/nonexistent"}, ""),
    "descriptors": ({}, "ulimit -n 40;"),
    "cache": ({"FOREBAY_ENABLE": "false"}, ""),
    "page-size": ({"FOREBAY_PAGE_SIZE": "8KiB"}, ""),
    "node": ({"FOREBAY_NODE": "elsewhere"}, ""),
    "scope": ({"FOREBAY_SCOPE": "process"}, ""),
}


def rank_command(executable: Path, settings: Mapping[str, str], before: str) -> list[str]:
    """The command of one rank: its program with Forebay preloaded, its settings, and a shell
    command before it."""
    script = f'{before} exec "$0" .'
    return forebay.preloaded(["sh", "-c", script, str(executable)], settings)


@pytest.mark.parametrize("odd_rank", [0, RANKS - 1])
@pytest.mark.parametrize("refusal", REFUSALS)
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("installation", (mpi.WHEELS[0], mpi.WHEELS[2]), ids=lambda m: m.name)
def test_one_rank_is_refused(
    installation: mpi.Mpi, program: str, refusal: str, odd_rank: int, tmp_path: Path
) -> None:
    executable = mpi.compile_program(installation, FOLDER / f"{program}.c")
    command: list[str] = [*installation.launcher]
    counted, folder = tmp_path / "statistics.json", tmp_path / "files"
    folder.mkdir()
    for rank in range(RANKS):
        settings, before = REFUSALS[refusal] if rank == odd_rank else ({}, "")
        command += [*([":"] if rank else []), "-n", "1"]
        settings = {"FOREBAY_STEP_ASIDE": "never", **settings, "FOREBAY_STATS_JSON": str(counted)}
        command += rank_command(executable, settings, before)
    outcome = mpi.run(command, installation.environment, folder)
    assert outcome.code == 0, str(outcome)
    statistics = forebay.read_statistics(counted)
    assert statistics is not None, str(outcome)
    if refusal in HARMLESS:
        forebay.assert_served(statistics, outcome)
    else:
        assert forebay.served_files(statistics) == PROGRAMS[program], f"{statistics}\n{outcome}"
    told = outcome.errors.count(" goes past the cache: ")
    assert told == (1 if refusal == "shared-memory" else 0), outcome.errors
