"""The manual pages and the completion of shells: generated from the help, installed, and
working."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from command import FOREBAY, forebay, outside

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    subprocess.run([sys.executable, ROOT / "man" / "write.py", folder], check=True, env=outside())
    return folder


@pytest.mark.parametrize(("kind", "pattern"), [("man", "*.1"), ("completion", "forebay.*")])
def test_they_say_what_the_help_says(kind: str, pattern: str, made: Path) -> None:
    """If not, run: python man/write.py . in an environment with click-man."""
    new = {path.name: path.read_text() for path in (made / kind).glob(pattern)}
    kept = {path.name: path.read_text() for path in (ROOT / kind).glob(pattern)}
    assert len(new) >= 3
    assert kept == new


def test_every_command_has_a_page() -> None:
    listed = forebay("--help").stdout.split("Commands:\n", 1)[1]
    commands = [line.split()[0] for line in listed.splitlines() if line.startswith("  ")]
    assert "doctor" in commands
    for name in commands:
        assert (ROOT / "man" / f"forebay-{name}.1").exists(), name


def test_they_are_installed() -> None:
    share = Path(sys.prefix) / "share"
    page = (share / "man" / "man1" / "forebay-run.1").read_text()
    assert page == (ROOT / "man" / "forebay-run.1").read_text()
    for place in (
        "bash-completion/completions/forebay",
        "zsh/site-functions/_forebay",
        "fish/vendor_completions.d/forebay.fish",
    ):
        assert (share / place).exists(), place


def completed(words: str) -> set[str]:
    """The shell's completions of the last of these words."""
    asked = {
        "_FOREBAY_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
    }
    program = "import sys; sys.argv[0] = 'forebay'; from forebay.commands.cli import main; main()"
    command = [sys.executable, "-c", program]
    done = subprocess.run(
        command, env=outside(**asked), capture_output=True, text=True, check=False
    )
    return {line.split(",", 1)[1] for line in done.stdout.splitlines()}


def test_commands_and_options_are_completed() -> None:
    assert completed("forebay re") == {"report", "recover"}
    assert "--stats-json" in completed("forebay run --st")
    assert completed("forebay run -o poli") == {f"policy={p}" for p in policies()}
    assert completed("forebay run --mpi mp") == {"mpich", "mpiabi"}
    assert completed("forebay simulate ca") == {"cache"}


def test_the_command_to_run_is_completed_by_the_shell() -> None:
    assert completed("forebay run -- mpi") == {"mpi"}


def policies() -> list[str]:
    from forebay import _core

    return [policy.name for policy in _core.policies()]


def test_in_a_shell() -> None:
    bash = shutil.which("bash")
    assert bash is not None
    script = """
        source completion/forebay.bash
        COMP_WORDS=(forebay rec) COMP_CWORD=1
        _forebay_completion forebay
        echo "${COMPREPLY[@]}"
    """
    path = f"{Path(FOREBAY[0]).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        [bash, "-c", script], cwd=ROOT, env=outside(PATH=path), capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("recover\n", "")
