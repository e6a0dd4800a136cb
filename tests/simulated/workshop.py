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
BUILT = ROOT / "build" / "gcc"
# The engine's templates are instantiated in these files alone, most of them in each, so they are
# compiled as one.
INSTANTIATING = [
    "simulated/accesses.cpp",
    "simulated/looks.cpp",
    "simulated/run.cpp",
    "sim/virtual_node.cpp",
]
OTHERS = ["byte_model", "faulty_storage", "program", "nodes_test"]  # of the test; as built
COMPILE = [os.environ.get("CXX", "clang++"), "-std=c++20"]  # sooner done than g++
# What a changed engine instantiates stands before the library, which has it once more.
LINK = ["-Wl,-z,muldefs", "-lgtest", "-lgtest_main", "-lzstd", "-lpthread"]
SECONDS = 600  # of a core, that a run may take, however wrong the engine is
MOST_BYTES = 2 << 30  # of memory, likewise


class CompileError(Exception):
    """The engine's headers, as changed, are no C++."""


@dataclass(frozen=True)
class Verdict:
    passed: bool
    printed: str


class Workshop:
    """Compiles what a changed header of the engine changes; everything else is in build/gcc.

    folder: where objects and programs go; must exist.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.together = folder / "together.cpp"
        self.together.write_text("".join(f'#include "{source}"\n' for source in INSTANTIATING))
        built = BUILT / "tests" / "CMakeFiles" / "forebay_simulated.dir" / "simulated"
        self.objects = [built / f"{name}.cpp.o" for name in OTHERS]
        self.objects += [BUILT / "src" / "libforebay_core.a"]

    def build(self, changed: Mapping[str, str], program: Path, optimize: str = "-O1") -> None:
        """Builds the test on an engine some of whose headers read otherwise.

        changed: text by file name in src/engine. Raises CompileError.
        """
        with tempfile.TemporaryDirectory(dir=self.folder) as name:
            folder = Path(name)
            shutil.copytree(ROOT / "src", folder / "src")
            for file, text in changed.items():
                (folder / "src" / "engine" / file).write_text(text)
            headers = [f"-I{folder / 'src'}", f"-I{ROOT / 'tests'}"]
            made = folder / "together.o"
            command = [*COMPILE, optimize, *headers, "-c", self.together, "-o", made]
            result = subprocess.run(command, capture_output=True, text=True, check=False)
            if result.returncode != 0:
                raise CompileError(result.stderr)
            subprocess.run([COMPILE[0], made, *self.objects, *LINK, "-o", program], check=True)

    @staticmethod
    def run(
        program: Path,
        programs: int,
        seconds: int = SECONDS,
        first: int = 1,
        variables: Mapping[str, str] = MappingProxyType({}),
    ) -> Verdict:
        """Runs `programs` random programs, from seed `first` on. One that takes more seconds of a
        core has failed."""

        def limit() -> None:
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
            resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

        environment = {
            "FOREBAY_SEED": str(first),
            "FOREBAY_SEEDS": str(programs),
            "FOREBAY_SHRINKS": "0",
            **variables,
        }
        result = subprocess.run(
            [program, "--gtest_filter=Nodes.LoseNoByte"],
            env=os.environ | environment,
            capture_output=True,
            text=True,
            check=False,
            preexec_fn=limit,
        )
        return Verdict(result.returncode == 0, result.stdout + result.stderr)
