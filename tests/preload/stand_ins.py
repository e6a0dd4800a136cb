"""Builds small stand-ins for an MPI library, a tool, an interposer and programs, to test the
preload without an MPI library."""

from __future__ import annotations

import os
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

SOURCES = Path(__file__).parent
COMPILER = os.environ.get("CC", "cc")
# To test a cross-compiled preload: CC=aarch64-linux-gnu-gcc, FOREBAY_LIB_DIR, and
# FOREBAY_EMULATOR="qemu-aarch64 -L /usr/aarch64-linux-gnu".
EMULATOR = shlex.split(os.environ.get("FOREBAY_EMULATOR", ""))
_MACHINE = subprocess.run(
    [COMPILER, "-dumpmachine"], capture_output=True, text=True, check=True
).stdout
# Indirect branches may only lead to marked instructions.
BRANCH_PROTECTION = (
    "-mbranch-protection=standard" if "aarch64" in _MACHINE else "-fcf-protection=full"
)


@dataclass
class Bench:
    """A directory with the preload, stand-in interposers and further builds."""

    directory: Path

    @property
    def preload(self) -> Path:
        return self.directory / "libforebay_preload.so"

    def build(self, output: str, source: str, *flags: str) -> Path:
        """Compiles one source of this folder; if the name ends in .so, to a shared library."""
        path = self.directory / output
        shared = ["-shared", "-fPIC"] if ".so" in output else []
        command = [COMPILER, "-g", "-O1", *shared, "-o", path, SOURCES / source]
        command += [f"-I{SOURCES.parent.parent / 'src'}", f"-L{self.directory}"]
        command += [f"-Wl,-rpath,{self.directory}", *flags]
        subprocess.run(command, check=True)
        return path

    def run(self, *command: str | Path, preload: list[Path] | None = None, **env: str) -> str:
        """The output of a command, which must succeed, with this preload by default."""
        libraries = [self.preload] if preload is None else preload
        environment = {**os.environ, **env}
        environment["LD_PRELOAD"] = ":".join(str(library) for library in libraries)
        done = subprocess.run(
            [*EMULATOR, *(str(word) for word in command)],
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def answers(self, *command: str | Path, **options: object) -> dict[str, str]:
        """The "name=value" words printed by a program."""
        output = self.run(*command, **options)  # type: ignore[arg-type]
        return dict(word.split("=", 1) for word in output.split())
