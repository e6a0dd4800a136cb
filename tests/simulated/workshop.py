"""Builds the seeded test of whole nodes for other versions of the engine's headers, and runs it."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

ROOT = Path(__file__).resolve().parents[2]
ENGINE = ROOT / "src" / "engine"
# The engine's templates are instantiated in these files alone. Those of the test share most of
# them, and are compiled as one.
INSTANTIATING = ["src/sim/virtual_node.cpp"]
TOGETHER = ["accesses", "looks", "run"]
OTHERS = [
    *(
        f"tests/simulated/{name}.cpp"
        for name in ("byte_model", "faulty_storage", "program", "nodes_test")
    ),
    "src/sim/fibers.cpp",
    "src/sim/virtual_transport.cpp",
    "src/storage/transfer.cpp",
]
CORE = ["extent", "arena", "page", "policy", "domain", "pattern", "predict", "engine", "channel"]
COMPILE = [os.environ.get("CXX", "g++"), "-std=c++20", "-O1"]
LIBRARIES = ["-lgtest", "-lgtest_main", "-lpthread"]
SECONDS = 600  # of a core, that a run may take, however wrong the engine is
MOST_BYTES = 2 << 30  # of memory, likewise


class CompileError(Exception):
    """The engine's headers, as changed, are no C++."""


@dataclass(frozen=True)
class Verdict:
    passed: bool
    printed: str


class Workshop:
    """Keeps the objects that no header of the engine changes.

    folder: where objects and programs go; must exist.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        sources = [path for part in CORE for path in sorted((ROOT / "src" / part).glob("*.cpp"))]
        sources += [ROOT / other for other in OTHERS]
        self.ranks = folder / "ranks.cpp"
        self.ranks.write_text("".join(f'#include "simulated/{name}.cpp"\n' for name in TOGETHER))
        self.objects = [self._compile(source, ROOT / "src", folder) for source in sources]

    @staticmethod
    def _compile(source: Path, headers: Path, folder: Path) -> Path:
        target = folder / f"{source.parent.name}_{source.stem}.o"
        command = [*COMPILE, f"-I{headers}", f"-I{ROOT / 'tests'}", "-c", source, "-o", target]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode != 0:
            raise CompileError(result.stderr)
        return target

    def build(self, changed: Mapping[str, str], program: Path) -> None:
        """Builds the test on an engine some of whose headers read otherwise.

        changed: text by file name in src/engine. Raises CompileError.
        """
        with tempfile.TemporaryDirectory(dir=self.folder) as name:
            folder = Path(name)
            shutil.copytree(ROOT / "src", folder / "src")
            for file, text in changed.items():
                (folder / "src" / "engine" / file).write_text(text)
            sources = [self.ranks, *(folder / source for source in INSTANTIATING)]
            objects = [self._compile(source, folder / "src", folder) for source in sources]
            command = [COMPILE[0], *objects, *self.objects, *LIBRARIES, "-o", program]
            subprocess.run(command, check=True)

    @staticmethod
    def run(
        program: Path,
        programs: int,
        seconds: int = SECONDS,
        variables: Mapping[str, str] = MappingProxyType({}),
    ) -> Verdict:
        """Runs `programs` random programs. One that takes more seconds of a core has failed."""

        def limit() -> None:
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
            resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

        environment = {"FOREBAY_SEEDS": str(programs), "FOREBAY_SHRINKS": "0", **variables}
        result = subprocess.run(
            [program, "--gtest_filter=Nodes.LoseNoByte"],
            env=os.environ | environment,
            capture_output=True,
            text=True,
            check=False,
            preexec_fn=limit,
        )
        return Verdict(result.returncode == 0, result.stdout + result.stderr)

    def seeded_test(self, changed: Mapping[str, str], programs: int) -> Verdict:
        """Builds a test as build() does, and runs it."""
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            program = Path(folder) / "nodes"
            self.build(changed, program)
            return self.run(program, programs)
