"""The library that makes Forebay's calls fail, or kills the process at one (inject.h)."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from harness import forebay, mpi

SOURCE = mpi.HEADERS / "inject.c"

# As in inject.h.
STORAGE = 63
KILLS = {"before": 3, "after": 4, "half-way": 5}
NEVER = 1 << 60


def library() -> Path:
    """The compiled injector."""
    command = ["cc", "-g", "-O1", "-Wall", "-Wextra", "-shared", "-fPIC", "-fvisibility=hidden"]
    command += [f"-I{mpi.HEADERS}", str(SOURCE)]
    return mpi.make(mpi.PROGRAMS / "inject.so", [SOURCE, mpi.HEADERS / "inject.h"], command)


def preloaded(program: Sequence[str], settings: Mapping[str, str]) -> list[str]:
    """The program with Forebay and the injector preloaded into it."""
    both = f"{library()}:{forebay.LIBRARIES / 'libforebay_preload.so'}"
    return forebay.preloaded(program, {"LD_PRELOAD": both, **settings})


def kill(file: Path, nth: int, how: str, rank: int | None = None) -> dict[str, str]:
    """Variables that kill the process, or that rank, at its nth storage call on the file."""
    variables = {"INJECT": f"{STORAGE} {nth} 1 0 {KILLS[how]}", "INJECT_FILE": str(file)}
    return variables if rank is None else {**variables, "INJECT_RANK": str(rank)}
