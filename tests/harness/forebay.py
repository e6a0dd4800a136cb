"""Forebay around an MPI program: how tests preload it, and how they check that it was used."""

import json
import os
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from harness import mpi

RECOVER = [mpi.WHEELS[0].python, "-m", "forebay", "recover"]
_jobs = count()
# From an installation, a number of ranks and a program: the command line that starts them.
LaunchCommand = Callable[[mpi.Mpi, int, Sequence[str]], list[str]]
# As `forebay run` says to the ranks of a launch: those of several nodes have a directory of open
# files, if they have one job.
EVERY_RANK = {"FOREBAY_EVERY_RANK": "1"}
LIBRARIES = Path(os.environ.get("FOREBAY_LIB_DIR", mpi.ROOT / "build" / "gcc" / "lib"))


@dataclass(frozen=True)
class Run:
    """A finished program, the files in its folder, and Forebay's statistics."""

    outcome: mpi.Outcome
    files: Mapping[str, bytes]
    statistics: Mapping[str, Any] | None = None


def new_job() -> str:
    """A job's name that no other has."""
    return f"test-{os.getpid()}-{next(_jobs)}"


def preloaded(program: Sequence[str], settings: Mapping[str, str]) -> list[str]:
    """The program with Forebay preloaded, however its launcher treats variables."""
    variables = {"LD_PRELOAD": str(LIBRARIES / "libforebay_preload.so"), **settings}
    return ["env", *(f"{name}={value}" for name, value in variables.items()), *program]


def on_nodes(program: Sequence[str], nodes: int) -> list[str]:
    """The program on this many nodes, as far as Forebay can tell; ranks are assigned in turn."""
    rank = "${PMI_RANK:-$OMPI_COMM_WORLD_RANK}"
    script = f'FOREBAY_NODE=node-$(({rank} % {nodes})) exec "$0" "$@"'
    return ["sh", "-c", script, *program]


def read_files(folder: Path) -> dict[str, bytes]:
    """The contents of all files below `folder`, by relative path."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def launch(
    installation: mpi.Mpi,
    ranks: int,
    program: Sequence[str],
    folder: Path,
    settings: Mapping[str, str] | None = None,
    timeout_seconds: float = mpi.TIMEOUT_SECONDS,
    launch_command: LaunchCommand = mpi.launch_command,
) -> Run:
    """Runs the program in the empty `folder`: plain, or through Forebay with these settings."""
    folder.mkdir(parents=True)
    statistics = folder.with_name(folder.name + "-statistics.json")
    if settings is not None:
        as_run = {"FOREBAY_JOB": new_job(), **EVERY_RANK, "FOREBAY_STATS_JSON": str(statistics)}
        program = preloaded(program, {**as_run, **settings})
    command = launch_command(installation, ranks, program)
    outcome = mpi.run(command, installation.environment, folder, timeout_seconds)
    return Run(outcome, read_files(folder), read_statistics(statistics))


def read_statistics(path: Path) -> Mapping[str, Any] | None:
    """The statistics that Forebay wrote to the file in FOREBAY_STATS_JSON; None: Forebay was not
    used."""
    return json.loads(path.read_text()) if path.exists() else None


def output_lines(run: Run) -> list[str]:
    """The standard output, sorted, because the launcher merges the ranks' lines in any order."""
    return sorted(run.outcome.output.splitlines())


def assert_same(plain: Run, cached: Run) -> None:
    """Fails unless both runs ended, wrote and printed the same."""
    assert cached.outcome.code == plain.outcome.code, str(cached.outcome)
    assert output_lines(cached) == output_lines(plain), str(cached.outcome)
    assert cached.files.keys() == plain.files.keys()
    for name, content in plain.files.items():
        assert cached.files[name] == content, first_difference(plain, cached)


def assert_reached(run: Run, past: Collection[str] = ()) -> None:
    """Fails unless Forebay took writes to every file that the program left, except those in
    `past`."""
    assert run.statistics is not None, f"no statistics\n{run.outcome}"
    written = {
        Path(name).name for name, counts in run.statistics["files"].items() if counts["write_calls"]
    }
    assert {Path(name).name for name in run.files} - written == set(past), str(run.outcome)


def accessed_files(statistics: Mapping[str, Any]) -> set[str]:
    """Names of the files that had reads or writes, as far as Forebay counted."""
    return {
        Path(name).name
        for name, counts in statistics["files"].items()
        if counts["write_calls"] + counts["read_calls"] > 0
    }


def served_files(statistics: Mapping[str, Any]) -> set[str]:
    """Those of them that the cache served, in its own pages."""
    return {
        Path(name).name
        for name, counts in statistics["files"].items()
        if counts["hits"] + counts["misses"] > 0
        and counts["bypass_calls"] < counts["write_calls"] + counts["read_calls"]
    }


def local_files(statistics: Mapping[str, Any]) -> set[str]:
    """Names of the files all of whose accesses went past the cache, since their storage is local
    and the accesses were few or of middling size. Accesses of no bytes, and reads behind the end of
    the file, need neither the storage nor a page."""
    return {
        Path(name).name
        for name, counts in statistics["files"].items()
        if counts["local_calls"] > 0
        and (
            counts["hits"] + counts["misses"] == 0
            or counts["local_calls"] == counts["write_calls"] + counts["read_calls"]
        )
    }


def assert_served(statistics: Mapping[str, Any] | None, outcome: mpi.Outcome) -> None:
    """Fails unless the cache served all files that were accessed, but for those that are best
    accessed past it, and at least one."""
    assert statistics is not None, f"Forebay was not there\n{outcome}"
    served = served_files(statistics)
    assert served, f"Forebay served no call\n{outcome}"
    expected = accessed_files(statistics) - local_files(statistics)
    assert served == expected, f"{statistics}\n{outcome}"


def first_difference(plain: Run, cached: Run) -> str:
    """The first file that differs, and the place of the first difference."""
    for name, expected in plain.files.items():
        found = cached.files[name]
        if found == expected:
            continue
        pairs = enumerate(zip(expected, found, strict=False))
        place = next((i for i, (a, b) in pairs if a != b), min(len(expected), len(found)))
        return f"{name} at {place} (sizes {len(expected)} and {len(found)})"
    return "nowhere"


def segments(job: str) -> list[Path]:
    """The job's shared memory segments."""
    return sorted(Path(f"/dev/shm/forebay-{os.geteuid()}").glob(f"{job}*"))


def await_recovery(job: str, seconds: float, keeps_bytes: bool = False) -> list[Path]:
    """Waits until nothing of a dead job's caches is left. Returns what is left after so many
    seconds.

    Bytes are saved by the job's committer. A job without pages has no committer; `forebay recover`
    removes what it left, without bytes, as the user's next job would. It is asked to save bytes
    only if the job `keeps_bytes` that storage refused.
    """
    begin = time.monotonic()
    look = begin + 1
    while segments(job) and (now := time.monotonic()) < begin + seconds:
        if now >= look:
            look = now + 1
            listed = mpi.run([*RECOVER, "--list"], timeout_seconds=seconds)
            if keeps_bytes or "nothing to recover" in listed.output:
                mpi.run(RECOVER, timeout_seconds=seconds)
        time.sleep(0.01)
    return segments(job)
