"""Runs a command as if its caller had started it: with the same standard streams and process group.
Signals are forwarded; the exit code, or the signal it died of, is passed on."""

from __future__ import annotations

import os
import resource
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NoReturn

import click

# si_code of signals that the kernel sends to the terminal's foreground process group; the command
# receives its own.
_SENT_BY_KERNEL = 0x80
_FORWARDED = {
    signal.SIGHUP,
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGTERM,
    signal.SIGUSR1,
    signal.SIGUSR2,
}
# Python ignores these signals. The command must get the default action, as from a shell.
_IGNORED_BY_PYTHON = {signal.SIGPIPE, signal.SIGXFSZ}


def replace_process(command: Sequence[str], environment: Mapping[str, str]) -> NoReturn:
    """Replaces this process by the command (exec)."""
    for number in _IGNORED_BY_PYTHON:
        signal.signal(number, signal.SIG_DFL)
    sys.stdout.flush()
    try:
        os.execvpe(command[0], list(command), dict(environment))
    except OSError as error:
        _refuse(command[0], error)


def run_command(command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Runs the command to its end and returns its wait status."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    watched = _FORWARDED | {signal.SIGCHLD}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, watched)
    try:
        process = os.posix_spawnp(
            command[0],
            list(command),
            dict(environment),
            setsigmask=before,
            setsigdef=_IGNORED_BY_PYTHON,
        )
    except OSError as error:
        _refuse(command[0], error)
    return _wait_and_forward(process, watched)


def finish_like(status: int) -> NoReturn:
    """Ends this process in the way the process with this wait status ended."""
    sys.stdout.flush()
    sys.stderr.flush()
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        # The command has written its core file, if any; one of this process would replace it.
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
        os.kill(os.getpid(), number)
    os._exit(os.waitstatus_to_exitcode(status))


def _wait_and_forward(process: int, watched: set[signal.Signals]) -> int:
    while True:
        received = signal.sigwaitinfo(watched)
        if received.si_signo != signal.SIGCHLD:
            if received.si_code != _SENT_BY_KERNEL:
                with suppress(ProcessLookupError):
                    os.kill(process, received.si_signo)
            continue
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended == process:
            return status


def _refuse(name: str, error: OSError) -> NoReturn:
    """Ends like a shell: with 127 if there is no such command, 126 if it cannot be run."""
    click.echo(f"forebay: {name}: {error.strerror}", err=True)
    raise SystemExit(127 if isinstance(error, FileNotFoundError) else 126)
