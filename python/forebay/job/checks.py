"""The checks of `forebay doctor`. A check is a function and a line in CHECKS."""

from __future__ import annotations

import enum
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from forebay import _core
from forebay.job.environment import MPI_ABIS, inside_launcher, preload_value
from forebay.mounts import mounted_kind
from forebay.paths import library_directory, preload_library
from forebay.sizes import shown_size

_SECONDS = 30
"""The longest time for a program that is asked something."""
_SHARE_OF_GROUP = 4
"""A node's cache may take 1/4 of its control group's limit."""
_LEFT_TO_OTHERS = 8
"""1/8 of /dev/shm, and of a control group's memory, is left to others."""
_SCRIPT = b"#!"
_ELF = b"\x7fELF"


class State(enum.Enum):
    """The result of a check. NOTE: it works, but the user should know something."""

    FIT = "fit"
    NOTE = "note"
    UNFIT = "unfit"


@dataclass(frozen=True)
class Check:
    """A check's subject, its state, what it found (a sentence), and what to do, or ""."""

    subject: str
    state: State
    found: str
    advice: str = ""


@dataclass(frozen=True)
class Place:
    """What is checked: a program or None, the directory of its files, the ranks on the node."""

    program: str | None
    directory: Path
    ranks: int

    @cached_property
    def options(self) -> dict[str, str]:
        """The options of a job started here, as text."""
        given = {o.name: os.environ.get(f"FOREBAY_{o.name.upper()}") for o in _core.options()}
        return {o.name: given[o.name] or o.fallback for o in _core.options()}


def examine(place: Place) -> list[Check]:
    """The results of all checks, in the order of CHECKS."""
    return [result for check in CHECKS for result in check(place)]


def _installation(_: Place) -> Iterator[Check]:
    folder = library_directory()
    wanted = [preload_library(), *(folder / f"libforebay_{abi}.so" for abi in MPI_ABIS)]
    missing = [path.name for path in wanted if not path.exists()]
    if missing:
        yield Check(
            "installation",
            State.UNFIT,
            f"{', '.join(missing)} of {folder} missing",
            "install Forebay again",
        )
        return
    loaded = _run(["true"], {"LD_PRELOAD": preload_value({})})
    if loaded.returncode != 0 or loaded.stderr:
        yield Check(
            "installation",
            State.UNFIT,
            f"{preload_library()} cannot be preloaded: {_first_line(loaded.stderr)}",
            "build Forebay on a machine with this C library and processor",
        )
        return
    committer = folder / "forebay-committer"
    if not os.access(committer, os.X_OK):
        yield Check(
            "installation",
            State.NOTE,
            f"{committer} cannot be run: the bytes of killed ranks wait for `forebay recover`",
            "install Forebay again",
        )
    yield Check("installation", State.FIT, f"libraries for {', '.join(MPI_ABIS)} in {folder}")


def _program(place: Place) -> Iterator[Check]:
    if place.program is None:
        return
    found = shutil.which(place.program)
    if found is None:
        yield Check(
            "program", State.UNFIT, f"{place.program}: no such command", "name the MPI program"
        )
        return
    path = Path(found)
    if path.stat().st_mode & (stat.S_ISUID | stat.S_ISGID):
        yield Check(
            "program",
            State.UNFIT,
            f"{path} has other rights than its user (setuid or setgid): nothing can be preloaded",
        )
    elif _begins(path, _SCRIPT):
        yield Check(
            "program",
            State.NOTE,
            f"{path} is a script: its MPI is known only when it runs",
            "name the compiled program to check its MPI",
        )
    elif _begins(path, _ELF) and _is_static(path):
        yield Check(
            "program",
            State.UNFIT,
            f"{path} is linked statically: nothing can be preloaded",
            "link it dynamically, or with Forebay's interposer (docs/user-guide.md)",
        )
    else:
        yield Check("program", State.FIT, f"{path} is linked dynamically")


def _mpi(place: Place) -> Iterator[Check]:
    library, why = _mpi_library(place.program)
    if library is None:
        yield Check("MPI", State.NOTE, why, "put mpiexec into PATH, or name the program")
        return
    with tempfile.TemporaryDirectory(prefix="forebay-doctor-") as folder:
        # Asks the preload itself, in a process that loads the library and looks up one of its
        # routines.
        loads = (
            "import ctypes, sys;"
            "getattr(ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL), 'PMPI_Init');"
            "print(open('/proc/self/maps').read())"
        )
        told = _run(
            [sys.executable, "-c", loads, str(library)],
            {"LD_PRELOAD": preload_value({}), "FOREBAY_RUN_DIR": folder},
        )
        bound = (Path(folder) / "mpi").exists()
        unloadable = Path(folder) / "unloadable"
        reason = unloadable.read_text().strip() if unloadable.exists() else ""
    abi = next((a for a in MPI_ABIS if f"/libforebay_{a}.so" in told.stdout), None)
    if bound and abi is not None:
        yield Check("MPI", State.FIT, f"{library} ({why}): served as {abi}")
    elif told.returncode != 0:
        yield Check(
            "MPI",
            State.UNFIT,
            f"{library} ({why}) cannot be loaded: {_first_line(told.stderr)}",
            "load the modules of the job first",
        )
    elif reason:
        yield Check("MPI", State.UNFIT, f"{library} ({why}): {reason}", "install Forebay again")
    else:
        yield Check(
            "MPI",
            State.UNFIT,
            f"{library} ({why}) has no ABI that Forebay knows ({', '.join(MPI_ABIS)})",
            "if you know the ABI, give it to `forebay run --mpi`",
        )


def _launcher(place: Place) -> Iterator[Check]:
    if inside_launcher(os.environ):
        nodes = os.environ.get("SLURM_NNODES", "1")
        yield Check(
            "launcher",
            State.FIT,
            f"this is a rank, one of {place.ranks} on its node"
            + (f", of {nodes} nodes" if nodes != "1" else ""),
        )
        return
    found = [name for name in ("srun", "mpiexec", "mpirun") if shutil.which(name)]
    if not found:
        yield Check("launcher", State.NOTE, "neither srun nor mpiexec is in PATH")
        return
    told = _run([found[-1], "--version"], {}).stdout if "srun" not in found else ""
    if "Open MPI" in told or "open-mpi" in told:
        yield Check(
            "launcher",
            State.FIT,
            f"{shutil.which(found[-1])} (Open MPI): passes only named variables to other nodes",
            "use `forebay run -- mpiexec ...` without -x, or `mpiexec ... forebay run -- ./app`",
        )
    else:
        yield Check("launcher", State.FIT, f"{', '.join(str(shutil.which(n)) for n in found)}")


def _preloads(_: Place) -> Iterator[Check]:
    others = [
        word
        for word in os.environ.get("LD_PRELOAD", "").replace(":", " ").split()
        if Path(word).name != preload_library().name
    ]
    if others:
        yield Check(
            "LD_PRELOAD",
            State.NOTE,
            f"{', '.join(others)} {'is' if len(others) == 1 else 'are'} preloaded, too; Forebay"
            " works beside tools such as Darshan",
        )


def _options(place: Place) -> Iterator[Check]:
    mistakes = _core.environment_mistakes()
    for mistake in mistakes:
        yield Check("options", State.UNFIT, mistake)
    given = [o.name for o in _core.options() if f"FOREBAY_{o.name.upper()}" in os.environ]
    if place.options["enable"] == "false":
        yield Check("options", State.NOTE, "enable=false: every call passes through")
    elif place.options["step_aside"] == "always":
        yield Check("options", State.NOTE, "step_aside=always: every call passes through")
    elif given and not mistakes:
        said = ", ".join(f"{name}={place.options[name]}" for name in given)
        yield Check("options", State.FIT, f"from the environment: {said}")
    nodes = os.environ.get("SLURM_NNODES", "1")
    several = nodes not in ("", "1")
    needed = {"scope": "job", "storage": "posix", "committer": "true"}
    unfit = [f"{name}={value}" for name, value in needed.items() if place.options[name] != value]
    if several and place.options["consistency"] != "mpi" and unfit:
        yield Check(
            "several nodes",
            State.NOTE,
            f"the job has {nodes} nodes: files that ranks of several nodes open are not cached",
            f"{', '.join(unfit)}, the default, caches them"
            if len(unfit) == 1
            else f"{', '.join(unfit)}, the defaults, cache them",
        )


def _transport(place: Place) -> Iterator[Check]:
    if place.options["transport"] != "libfabric":
        return
    told = _run([str(library_directory() / "forebay-committer"), "--fabric"], {})
    if told.returncode == 0:
        found = f"libfabric reaches other nodes by its provider {_first_line(told.stdout)}"
        yield Check("transport", State.FIT, found)
    else:
        yield Check(
            "transport",
            State.NOTE,
            f"{_first_line(told.stdout + told.stderr)}: agents of nodes use TCP",
            "fi_info -t FI_EP_RDM lists what libfabric finds",
        )


def _file_system(place: Place) -> Iterator[Check]:
    kind = mounted_kind(place.directory)
    try:
        with tempfile.NamedTemporaryFile(dir=place.directory, prefix=".forebay-doctor-") as file:
            file.write(b"\0")
            file.flush()
            os.fsync(file.fileno())
            local = _core.is_local(file.fileno())
    except OSError as error:
        yield Check(
            "file system",
            State.UNFIT,
            f"{place.directory} ({kind}): a file could not be written: {error.strerror}",
            "name the directory of the program's files with --dir",
        )
        return
    if local:
        yield Check(
            "file system",
            State.NOTE,
            f"{place.directory} ({kind}) is local and the kernel caches it: only small records"
            " gain; accesses of 8 KiB and more go straight to the file",
        )
    else:
        yield Check("file system", State.FIT, f"{place.directory} ({kind}) is not local")


def _shared_memory(place: Place) -> Iterator[Check]:
    folder = Path(place.options["arena_dir"] or "/dev/shm")
    advice = "FOREBAY_ARENA_DIR names another directory, best a tmpfs"
    own = folder / f"forebay-{os.geteuid()}"
    try:
        free = shutil.disk_usage(folder)
        usable = os.access(folder, os.W_OK | os.X_OK)
        wrong = own.is_symlink() or (
            own.exists() and (own.stat().st_uid != os.geteuid() or own.stat().st_mode & 0o077 != 0)
        )
    except OSError as error:
        yield Check("shared memory", State.UNFIT, f"{folder}: {error.strerror}", advice)
        return
    if not usable:
        yield Check("shared memory", State.UNFIT, f"{folder} cannot be written to", advice)
        return
    if wrong:
        yield Check(
            "shared memory",
            State.UNFIT,
            f"other users have access to {own}: Forebay does not use it",
            f"have it removed; {advice}",
        )
        return
    wanted = (_core.parse_bytes(place.options["cache_size"]) or 0) * place.ranks
    found = (
        f"{folder} has {shown_size(free.free)} free of {shown_size(free.total)}; the cache of"
        f" {place.ranks} ranks takes up to {shown_size(wanted)}"
    )
    if free.free - free.total // _LEFT_TO_OTHERS >= wanted:
        yield Check("shared memory", State.FIT, found)
    else:
        container = " In a container: docker run --shm-size=2g." if _in_container() else ""
        yield Check(
            "shared memory",
            State.NOTE,
            f"{found}: the cache stays smaller and leaves an eighth to others",
            f"set a smaller cache_size; {advice}.{container}",
        )


def _control_group(place: Place) -> Iterator[Check]:
    limit = _core.memory_limit()
    if limit is None:
        yield Check("control group", State.FIT, "no limit of memory")
        return
    wanted = (_core.parse_bytes(place.options["cache_size"]) or 0) * place.ranks
    bound = limit // _SHARE_OF_GROUP
    found = f"the memory limit is {shown_size(limit)}: a cache takes at most {shown_size(bound)}"
    if bound >= wanted:
        yield Check("control group", State.FIT, found)
    else:
        yield Check(
            "control group",
            State.NOTE,
            f"{found}, not the {shown_size(wanted)} of {place.ranks} ranks",
            "if the statistics show many evictions, ask the batch system for more memory",
        )


def _container(_: Place) -> Iterator[Check]:
    if _in_container():
        yield Check(
            "container",
            State.NOTE,
            "this is a container: ranks of one node share a cache if they share its /dev/shm and"
            " process numbers",
            "start all ranks of a node in one container, or with --ipc=host and --pid=host",
        )


def _recovery(place: Place) -> Iterator[Check]:
    try:
        os.close(os.pidfd_open(os.getpid()))
    except OSError:
        yield Check(
            "recovery",
            State.NOTE,
            "the kernel does not report the end of processes (no pidfd_open): the committer checks"
            " 5 times a second",
        )
    arena_dir = place.options["arena_dir"]
    left = _core.recover(os.fsencode(arena_dir), b"", False, False)
    files = {os.fsdecode(f.path): f for cache in left if not cache.in_use for f in cache.files}
    total = sum(file.bytes for file in files.values())
    if total:
        yield Check(
            "recovery",
            State.NOTE,
            f"earlier jobs left {shown_size(total)} of {len(files)} files to recover, such as"
            f" {next(iter(files))}",
            "forebay recover --list",
        )


CHECKS: tuple[Callable[[Place], Iterator[Check]], ...] = (
    _installation,
    _program,
    _mpi,
    _launcher,
    _preloads,
    _options,
    _transport,
    _file_system,
    _shared_memory,
    _control_group,
    _container,
    _recovery,
)


def _mpi_library(program: str | None) -> tuple[Path | None, str]:
    """The MPI library of the program, or of the mpiexec in PATH, and how it was found."""
    path = None if program is None else shutil.which(program)
    if path is not None:
        for name, library in _linked(Path(path)):
            if name.startswith("libmpi"):
                return library, f"linked by {path}"
        return None, f"{path} is linked with no MPI library: it may load one when it runs"
    mpiexec = shutil.which("mpiexec") or shutil.which("mpirun")
    if mpiexec is None:
        return None, "no mpiexec is in PATH"
    prefix = Path(mpiexec).resolve().parent.parent
    for pattern in ("libmpi.so.*", "libmpich.so.*", "libmpi_abi.so.*", "libmpi.so"):
        for folder in ("lib64", "lib", "lib/*-linux-gnu"):
            for library in sorted(prefix.glob(f"{folder}/{pattern}")):
                if _begins(library, _ELF):
                    return library.resolve(), f"of {mpiexec}"
    return None, f"no libmpi beside {mpiexec}"


def _begins(path: Path, start: bytes) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(start)) == start
    except OSError:
        return False


def _linked(program: Path) -> Iterator[tuple[str, Path]]:
    for line in _run(["ldd", str(program)], {}).stdout.splitlines():
        name, arrow, place = line.strip().partition(" => ")
        if arrow and place.startswith("/"):
            yield name, Path(place.rsplit(" (", 1)[0])


def _is_static(program: Path) -> bool:
    told = _run(["ldd", str(program)], {})
    return "statically linked" in told.stdout or "not a dynamic executable" in (
        told.stdout + told.stderr
    )


def _in_container() -> bool:
    marks = ("/.dockerenv", "/run/.containerenv", "/.singularity.d")
    return any(Path(mark).exists() for mark in marks) or "container" in os.environ


def _run(command: list[str], settings: dict[str, str]) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"} | settings
    try:
        return subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return subprocess.CompletedProcess(command, 1, "", str(error))


def _first_line(text: str) -> str:
    return text.strip().splitlines()[-1] if text.strip() else "no reason given"
