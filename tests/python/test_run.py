"""`forebay run` without MPI: the variables it sets, and that the command runs as if it were not
there."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from command import FOREBAY, forebay, outside
from forebay import _core
from forebay.job import outside as outside_launcher

SHOW = [sys.executable, "-c", "import json, os; print(json.dumps(dict(os.environ)))"]
UNUSED = "no process on this node used MPI-IO through Forebay"


def shown(*words: object, **env: str) -> dict[str, str]:
    """The environment of a command under `forebay run`."""
    done = forebay("run", *words, "--", *SHOW, **env)
    assert done.returncode == 0, done.stderr
    environment: dict[str, str] = json.loads(done.stdout)
    return environment


def test_outside_a_launcher_a_job_begins():
    first, second = shown(), shown()
    assert first["LD_PRELOAD"].endswith("/libforebay_preload.so")
    assert len(first["FOREBAY_JOB"]) == 32
    assert first["FOREBAY_JOB"] != second["FOREBAY_JOB"]
    assert not Path(first["FOREBAY_RUN_DIR"]).exists()


@pytest.mark.parametrize(
    "rank",
    [
        {"PMI_RANK": "0"},
        {"PMIX_RANK": "0"},
        {"OMPI_COMM_WORLD_RANK": "0"},
        {"SLURM_PROCID": "0", "SLURM_STEP_ID": "0"},
    ],
    ids=lambda rank: next(iter(rank)),
)
def test_inside_a_launcher_the_process_is_replaced(rank):
    environment = shown(**rank)
    assert environment["LD_PRELOAD"].endswith("/libforebay_preload.so")
    assert "FOREBAY_RUN_DIR" not in environment
    done = forebay("run", "--", "sh", "-c", "echo $PPID", **rank)
    assert (done.stdout.strip(), done.stderr) == (str(os.getpid()), "")


def test_a_batch_script_is_outside():
    assert "FOREBAY_RUN_DIR" in shown(SLURM_PROCID="0")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-n", "2", "./one"], True),
        (["-n", "2", "./one", ":", "-n", "2", "./two"], False),
        (["--multi-prog", "programs.conf"], False),
        (["-configfile=programs.conf"], False),
    ],
    ids=["one", "two", "multi-prog", "configfile"],
)
def test_ranks_know_whether_all_of_them_run_with_forebay(arguments, said):
    """Where the launcher starts several programs, one may be static."""
    done = forebay("run", "--", *SHOW, *arguments)
    assert ("FOREBAY_EVERY_RANK" in json.loads(done.stdout)) == said


def test_inside_a_job_the_job_is_kept():
    assert shown(FOREBAY_JOB="secret")["FOREBAY_JOB"] == "secret"
    assert shown(FOREBAY_JOB="secret", PMI_RANK="1")["FOREBAY_JOB"] == "secret"


def test_what_was_preloaded_stays(tmp_path):
    other = tmp_path / "libother.so"
    subprocess.run(["cc", "-shared", "-o", other, "-x", "c", os.devnull], check=True)
    preload = shown(LD_PRELOAD=str(other))["LD_PRELOAD"].split(":")
    assert preload[0].endswith("/libforebay_preload.so")
    assert preload[1:] == [str(other)]
    again = shown(LD_PRELOAD=":".join(preload))["LD_PRELOAD"].split(":")
    assert again == preload


def test_options_become_variables(tmp_path):
    config = tmp_path / "forebay.toml"
    config.write_text('page_size = "32KiB"\nwrite_behind = false\ndirty_bound = 0.25\n')
    environment = shown(
        "--mpi=openmpi", "--stats", "--stats-json=out.json", "--config", config, "-o", "shards=2"
    )
    assert environment["FOREBAY_MPI"] == "openmpi"
    assert environment["FOREBAY_STATS"] == "true"
    assert environment["FOREBAY_STATS_JSON"] == str(Path.cwd() / "out.json")
    assert environment["FOREBAY_SHARDS"] == "2"
    lines = environment["FOREBAY_CONFIG"].splitlines()
    assert lines == ["page_size=32KiB", "write_behind=false", "dirty_bound=0.25"]


def test_open_mpi_is_told_what_to_hand_to_other_nodes(tmp_path):
    launcher = tmp_path / "mpiexec"
    launcher.write_text("#!/bin/sh\necho $OMPI_MCA_mca_base_env_list\n")
    launcher.chmod(0o755)
    named = forebay("run", "--", launcher, "-n", "2", "app", OMPI_MCA_mca_base_env_list="MINE")
    assert named.stdout.strip() == "MINE;LD_PRELOAD;FOREBAY_JOB;FOREBAY_EVERY_RANK"
    assert forebay("run", "--", launcher, "-x", "MINE", "app").stdout.strip() == ""


def test_streams_and_exit_code_are_the_commands_own():
    done = subprocess.run(
        [*FOREBAY, "run", "--", "sh", "-c", "cat; echo error >&2; exit 7"],
        input="input",
        env=outside(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (7, "input")
    assert done.stderr.splitlines()[0] == "error"


def test_it_is_said_once_that_nothing_was_used():
    done = forebay("run", "--", "sh", "-c", "true; sh -c true")
    assert done.stderr.count(UNUSED) == len(done.stderr.splitlines()) == 1


def test_nothing_is_said_when_it_was_used():
    assert forebay("run", "--", "sh", "-c", "touch $FOREBAY_RUN_DIR/used").stderr == ""


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["true"], "no process loaded an MPI library: perhaps the program's MPI is linked"),
        (["sh", "-c", "rm $FOREBAY_RUN_DIR/loaded"], "it was loaded into no process"),
        (["sh", "-c", "touch $FOREBAY_RUN_DIR/mpi"], "MPI was found, but no file was opened"),
        (["env", "LD_PRELOAD=libm.so.6", "true"], "the command line of env changes LD_PRELOAD"),
        (["env", "-u", "LD_PRELOAD", "true"], "the command line of env changes LD_PRELOAD"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_why_nothing_was_used_is_said_as_far_as_it_is_known(command, said):
    errors = forebay("run", "--", *command).stderr
    assert said in errors
    assert errors.count(UNUSED) == len(errors.splitlines()) == 1


def test_a_script_that_sets_the_preload_is_named(tmp_path):
    script = tmp_path / "job.sh"
    script.write_text("LD_PRELOAD=libm.so.6\nexport LD_PRELOAD\ntrue\n")
    assert f"{script} changes LD_PRELOAD" in forebay("run", "--", "sh", script).stderr


def test_why_nothing_was_cached_is_said_once():
    leave = "cd $FOREBAY_RUN_DIR; touch used; echo why > uncached.why; echo or > uncached.xor"
    done = forebay("run", "--", "sh", "-c", leave)
    assert done.stderr == "forebay: no file was cached on this node; why; or\n"
    assert forebay("run", "--", "sh", "-c", f"{leave}; touch cached").stderr == ""


def test_the_reason_of_a_failure_is_said():
    done = forebay("run", "--", "sh", "-c", "echo because > $FOREBAY_RUN_DIR/unloadable")
    assert "could not be loaded (because)" in done.stderr


def test_what_was_left_is_looked_for_in_the_name_of_the_agreed_job(tmp_path, monkeypatch):
    asked = []

    def recover(arena_dir, job, commit, discard):
        asked.append(job)
        return []

    monkeypatch.setattr(_core, "recover", recover)
    environment = {"FOREBAY_JOB": "own"}
    outside_launcher._report_saved(tmp_path, environment)
    (tmp_path / "job").write_text("agreed")
    outside_launcher._report_saved(tmp_path, environment)
    assert asked == [b"own", b"agreed"]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV])
def test_death_by_signal_is_handed_on(number):
    assert forebay("run", "--", "sh", "-c", f"kill -{int(number)} $$").returncode == -number


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1])
def test_signals_are_forwarded(number):
    script = f"trap 'exit 9' {int(number)}; echo ready; while :; do sleep 0.05; done"
    command = [*FOREBAY, "run", "--", "sh", "-c", script]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=outside(),
        text=True,
        preexec_fn=lambda: signal.signal(
            number, signal.SIG_DFL
        ),  # a shell cannot trap signals that are ignored
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        try:
            assert process.wait(timeout=30) == 9
        finally:
            process.kill()


def test_the_command_finds_its_callers_signal_dispositions():
    def ignored_and_blocked(text):
        words = text.split()
        # The other bits are the two signals that the C library keeps for itself.
        return [int(words[i], 16) & 0x7FFFFFFF for i in (1, 3)]

    script = "grep SigIgn /proc/self/status; grep SigBlk /proc/self/status"
    plain = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
    found = forebay("run", "--", "sh", "-c", script)
    assert ignored_and_blocked(found.stdout) == ignored_and_blocked(plain.stdout)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["run"], 2, "Missing argument"),
        (["run", "--mpi", "lam", "--", "true"], 2, "'lam' is not one of"),
        (["run", "-o", "page_size", "--", "true"], 2, "name=value"),
        (["run", "-o", "page_siez=1", "--", "true"], 2, "'page_siez'; did you mean page_size?"),
        (["run", "-o", "page_size=1", "--", "true"], 2, "give 512 to 16MiB"),
        (["run", "-o", "page_size=3000", "--", "true"], 2, "in steps of 64"),
        (["run", "-o", "policy=arcc", "--", "true"], 2, "did you mean arc?"),
        (["run", "-o", "cache_size=16K", "--", "true"], 2, "holds no page of page_size=64KiB"),
        (["run", "--polcy", "lru", "--", "true"], 2, "no option --polcy; did you mean -o policy="),
        (["run", "--polcy=lru", "--", "true"], 2, "no option --polcy; did you mean -o policy="),
        (["run", "--page-size", "4K", "true"], 2, "did you mean -o page_size=...?"),
        (["run", "--stat", "--", "true"], 2, "no option --stat; did you mean --stats?"),
        (["run", "--xyzzy", "--", "true"], 2, "no option --xyzzy; see `forebay run --help`"),
        (["trace", "--polcy", "lru", "--", "true"], 2, "did you mean -o policy=...?"),
        (["bench", "small", "--dir", "/", "-o", "polcy=lru"], 2, "did you mean policy?"),
        (["run", "--config", "/none.toml", "--", "true"], 2, "/none.toml: No such file"),
        (["run", "--", "/no/such/command"], 127, "/no/such/command: No such file"),
        (["run", "--", "/"], 126, "/: Permission denied"),
        (["ruin"], 2, "No such command 'ruin'"),
    ],
)
def test_a_mistake_is_answered_by_one_line(words, code, said):
    done = forebay(*words)
    assert done.returncode == code
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_sizes_are_held_against_all_sources(tmp_path):
    config = tmp_path / "forebay.toml"
    config.write_text("page_size = '1MiB'")
    words = ["--config", config, "-o", "cache_size=16KiB"]
    assert shown(*words, FOREBAY_PAGE_SIZE="4KiB")["FOREBAY_CACHE_SIZE"] == "16KiB"
    done = forebay("run", *words, "--", "true")
    assert done.returncode == 2
    assert "cache_size=16KiB holds no page of page_size=1MiB" in done.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("page_size = ", "Invalid value"),
        ("[cache]\npage_size = 1", "cache: give a number"),
        ("page_sizes = 4096", "no option 'page_sizes'; did you mean page_size?"),
        ("scope = 'galaxy'", "give process, node, job"),
        ("page_size = 3000", "in steps of 64"),
    ],
)
def test_a_mistake_in_the_configuration_is_answered_by_one_line(tmp_path, text, said):
    config = tmp_path / "forebay.toml"
    config.write_text(text)
    done = forebay("run", "--config", config, "--", "true")
    assert done.returncode == 2
    assert str(config) in done.stderr
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
