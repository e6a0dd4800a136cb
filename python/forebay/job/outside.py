"""`forebay run` outside a launcher: begins a job, waits for the command, and says so if Forebay did
nothing."""

from __future__ import annotations

import os
import shlex
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import click

from forebay.job.environment import new_job
from forebay.job.launch import finish_like, run_command

# Files of the run directory. The preload makes the first when it is loaded into a process; the
# second, with the name of the process, if an argument changes LD_PRELOAD; the third when it finds
# an MPI library; the fourth, with the reason, if it cannot load the interposer. The interposer
# makes the others: a file was opened and not cached; a file was cached; a file was not, with the
# reason.
_LOADED = "loaded"
_OTHER_PRELOAD = "ld_preload"
_MPI = "mpi"
_UNLOADABLE = "unloadable"
_USED = "used"
_CACHED = "cached"
_UNCACHED = "uncached.*"
# The name of the job that its ranks agreed on, if it differs from the given one.
_JOB = "job"
# Made by the committer: bytes, path and problem of each file with bytes of killed processes, one
# line each.
_SAVED = "saved"
_COMMITTER_SECONDS = 60
_DYING_SECONDS = 2
_SCRIPT_BYTES = 1 << 20


def run_job(command: Sequence[str], environment: dict[str, str]) -> NoReturn:
    """Runs the command as a job of its own and ends as it ends. Changes `environment`."""
    environment["FOREBAY_JOB"] = new_job()
    if not _starts_several_programs(command):
        environment["FOREBAY_EVERY_RANK"] = "1"
    _forward_to_remote_ranks(command, environment)
    finish_like(_run_in_directory(command, environment))


def _starts_several_programs(command: Sequence[str]) -> bool:
    """Whether the launcher's arguments name several programs. Then some of their ranks may run
    without Forebay: a static program, for example."""
    several = {":", "--multi-prog", "-configfile", "--configfile", "--app", "-app"}
    return any(word.partition("=")[0] in several for word in command[1:])


def _forward_to_remote_ranks(command: Sequence[str], environment: dict[str, str]) -> None:
    """Lets Open MPI's mpiexec pass Forebay's variables to the ranks of other nodes.

    MPICH's mpiexec passes the whole environment, Open MPI's only named variables. Open MPI 4
    refuses this way of naming together with -x, so a user of -x must name them there.
    """
    launchers = {"mpiexec", "mpirun", "mpiexec.openmpi", "mpirun.openmpi", "prterun", "orterun"}
    if Path(command[0]).name not in launchers or {"-x", "--x"} & set(command):
        return
    names = [name for name in environment if name.startswith("FOREBAY_")]
    present = environment.get("OMPI_MCA_mca_base_env_list")
    listed = [present] if present else []
    environment["OMPI_MCA_mca_base_env_list"] = ";".join([*listed, "LD_PRELOAD", *names])


def _run_in_directory(command: Sequence[str], environment: dict[str, str]) -> int:
    """Runs the command with a private directory for messages of its processes."""
    directory = Path(tempfile.mkdtemp(prefix="forebay-run-", dir=_message_folder()))
    try:
        environment["FOREBAY_RUN_DIR"] = str(directory)
        status = run_command(command, environment)
        _report_if_in_vain(directory, command)
        _report_trace(environment)
        return status
    finally:
        _report_saved(directory, environment)
        shutil.rmtree(directory, ignore_errors=True)


def _message_folder() -> str | None:
    """Shared memory, where a process leaves a message in microseconds; else where temporary files
    are."""
    memory = "/dev/shm"
    return memory if os.access(memory, os.W_OK | os.X_OK) else None


def _report_saved(directory: Path, environment: dict[str, str]) -> None:
    """Commits the bytes that killed processes left on this node, and says what was saved.

    The node's committer does so while the job runs. It gets time to finish, and so do processes
    that the launcher has told to end.
    """
    from forebay import _core

    arena_dir = os.fsencode(environment.get("FOREBAY_ARENA_DIR", ""))
    agreed = directory / _JOB
    job = agreed.read_bytes() if agreed.exists() else os.fsencode(environment["FOREBAY_JOB"])
    began = time.monotonic()
    while True:
        caches = _core.recover(arena_dir, job, True, False)
        waited = time.monotonic() - began
        dying = waited < _DYING_SECONDS and any(c.in_use for c in caches)
        committing = waited < _COMMITTER_SECONDS and any(c.cared_for for c in caches)
        if not dying and not committing:
            break
        time.sleep(0.05)
    saved: Counter[str] = Counter()
    report = directory / _SAVED
    for line in report.read_text(errors="surrogateescape").splitlines() if report.exists() else []:
        amount, path, problem = line.split("\t", 2)
        if not problem:
            saved[path] += int(amount)
    for cache in caches:
        for file in cache.files:
            path = os.fsdecode(file.path)
            if file.problem:
                click.echo(
                    f"forebay: {file.bytes:,} bytes that ended processes had written to "
                    f"{path} could not be saved: {file.problem}; see forebay recover --list",
                    err=True,
                )
            else:
                saved[path] += file.bytes
    for path, count in saved.items():
        click.echo(
            f"forebay: processes ended without closing {path}; "
            f"{count:,} bytes that they had written were saved",
            err=True,
        )


def _report_trace(environment: dict[str, str]) -> None:
    if "FOREBAY_TRACE" not in environment:
        return
    trace = Path(environment["FOREBAY_TRACE"])
    processes = sum(1 for _ in trace.glob("*.trace"))
    if processes:
        click.echo(
            f"forebay: {processes:,} {'process' if processes == 1 else 'processes'} traced;"
            f" look at it with: forebay analyze {shlex.quote(os.path.relpath(trace))}",
            err=True,
        )
    else:
        click.echo("forebay: no process of this node was traced", err=True)


def _report_if_in_vain(directory: Path, command: Sequence[str]) -> None:
    """Prints one line if no file was cached, unless the user wanted that or was told already."""
    if (directory / _CACHED).exists():
        return
    if not (directory / _USED).exists():
        reason = _why_unused(directory, command)
        said = f"no process on this node used MPI-IO through Forebay; {reason}"
    else:
        reasons = [mark.read_text().strip() for mark in sorted(directory.glob(_UNCACHED))]
        if not reasons:
            return
        said = "no file was cached on this node; " + "; ".join(reasons)
    click.echo(f"forebay: {said}", err=True)


def _why_unused(directory: Path, command: Sequence[str]) -> str:
    """The reason, from the messages of the processes; a guess only if there are none."""
    unloadable = directory / _UNLOADABLE
    if unloadable.exists():
        return f"the interposer could not be loaded ({unloadable.read_text().strip()})"
    if (directory / _MPI).exists():
        return (
            "MPI was found, but no file was opened by MPI_File_open: perhaps the program writes by "
            "POSIX I/O, or by PnetCDF's GIO driver (PNETCDF_HINTS=nc_driver=mpiio changes that)"
        )
    setter = _who_sets_preload(directory, command)
    if setter:
        return (
            f"{setter} changes LD_PRELOAD, which drops Forebay: put `forebay run --` right before "
            "the program, or keep $LD_PRELOAD in the new value"
        )
    if not (directory / _LOADED).exists():
        return "it was loaded into no process: perhaps the command is linked statically"
    return "no process loaded an MPI library: perhaps the program's MPI is linked statically"


def _who_sets_preload(directory: Path, command: Sequence[str]) -> str | None:
    """The command whose arguments change LD_PRELOAD, or the script that does."""
    mark = directory / _OTHER_PRELOAD
    if mark.exists():
        return f"the command line of {Path(mark.read_text()).name}"
    return next((word for word in command if _is_script_with_preload(Path(word))), None)


def _is_script_with_preload(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            start = file.read(_SCRIPT_BYTES)
    except OSError:
        return False
    return b"LD_PRELOAD=" in start and b"\0" not in start
