"""What strace printed, as a trace."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from broken_texts import read_broken
from command import forebay
from forebay.trace import open_trace
from forebay.trace.strace import is_strace

# Process 10 writes a file and forks 11; thread 12 of 10 writes, too. 11 shares the position.
SAMPLE = r"""10 100.000000 execve("./a", ["./a"], 0x7ff /* 3 vars */) = 0 <0.000100>
10 100.000500 openat(AT_FDCWD, "/etc/ld.so.cache", O_RDONLY|O_CLOEXEC) = 3 <0.000010>
10 100.000510 read(3, "\177ELF", 832) = 832 <0.000010>
10 100.000520 close(3)                 = 0 <0.000010>
10 100.001000 openat(AT_FDCWD</w>, "\"\303\251\".d", O_RDWR|O_TRUNC) = 3</w/"\303\251".d> <0.000010>
10 100.002000 write(3</w/"\303\251".d>, "a, 9) = 7"..., 100) = 100 <0.000200>
10 100.003000 pwrite64(3, ""..., 50, 1000) = 50 <0.000100>
10 100.004000 lseek(3, 20, SEEK_SET)   = 20 <0.000001>
10 100.005000 pipe2([4, 5], O_CLOEXEC) = 0 <0.000001>
10 100.005100 clone(child_stack=NULL, flags=CLONE_CHILD_SETTID|SIGCHLD <unfinished ...>
11 100.005300 write(3, "x", 30 <unfinished ...>
10 100.005400 <... clone resumed>, child_tidptr=0x7f) = 11 <0.000300>
10 100.005500 write(5, "pipe", 4)      = 4 <0.000001>
11 100.005900 <... write resumed>)     = 30 <0.000600>
11 100.006000 +++ exited with 0 +++
10 100.006100 --- SIGCHLD {si_signo=SIGCHLD, si_code=CLD_EXITED, si_pid=11} ---
10 100.007000 readv(3, [{iov_base="", iov_len=10}, {iov_base="", iov_len=5}], 2) = 15 <0.000010>
10 100.008000 clone(child_stack=0x7f, flags=CLONE_VM|CLONE_FILES|CLONE_THREAD) = 12 <0.000010>
12 100.009000 preadv2(3, [{iov_base="", iov_len=8}], 1, 500, 0) = 8 <0.000010>
12 100.009100 dup(3)                   = 6 <0.000001>
10 100.009500 write(6, "d", 5)         = 5 <0.000010>
10 100.010000 read(3, 0x7f, 4096)      = -1 EINTR (Interrupted system call) <0.000010>
10 100.011000 openat(AT_FDCWD, "log", O_WRONLY|O_APPEND|O_CREAT, 0644) = 7 <0.000010>
10 100.012000 write(7, "l", 12)        = 12 <0.000010>
10 100.013000 lseek(7, 0, SEEK_SET)    = 0 <0.000010>
10 100.014000 write(7, "l", 12)        = 12 <0.000010>
10 100.015000 mmap(NULL, 4096, PROT_READ|PROT_WRITE, MAP_SHARED, 3, 0) = 0x7fff <0.000010>
10 100.016000 sendfile(7, 3, NULL, 100) = 100 <0.000010>
10 100.017000 write(44, "?", 1)        = 1 <0.000010>
10 100.018000 write(45</data/early.dat>, "?", 1) = 1 <0.000010>
10 100.019000 exit_group(0)            = ?
"""
DATA = '/w/"é".d'

Place = tuple[int, int, str, str, int, int]


def places(path: Path) -> list[Place]:
    """Process, thread, file, call, offset and end of each access."""
    trace = open_trace(path)
    assert trace.kind == "strace"
    accesses = trace.accesses
    names = ("process", "thread", "file", "routine", "offset", "end")
    rows = zip(*(accesses[name].tolist() for name in names), strict=True)
    return [
        (process, thread, trace.files[file], trace.routines[routine].name, offset, end)
        for process, thread, file, routine, offset, end in rows
    ]


EXPECTED = [
    (0, 0, DATA, "write", 0, 100),
    (0, 0, DATA, "pwrite64", 1000, 1050),
    (0, 0, DATA, "readv", 50, 65),
    (0, 1, DATA, "preadv2", 500, 508),
    (0, 0, DATA, "write", 65, 70),
    (0, 0, "log", "write", 0, 12),
    (0, 0, "log", "write", 12, 24),
    (1, 0, DATA, "write", 20, 50),
]


def test_descriptors_are_followed(tmp_path: Path) -> None:
    file = tmp_path / "run.strace"
    file.write_text(SAMPLE)
    assert places(file) == EXPECTED
    trace = open_trace(file)
    assert [(one.pid, one.rank, one.ranks) for one in trace.processes] == [(10, -1, 2), (11, -1, 2)]
    start, end = (trace.accesses[name].tolist() for name in ("start_ns", "end_ns"))
    assert (start[0], end[0]) == (2_000_000, 2_200_000)
    assert (start[-1], end[-1]) == (5_300_000, 5_900_000)
    assert [problem.removeprefix(f"{file}: ") for problem in trace.problems] == [
        "left out: 2 reads and writes with descriptors of unknown origin",
        "left out: 1 reads and writes of the system's files and of program text",
        "left out: 1 mappings of files to be written, and what is done in that memory",
        "left out: 1 calls of sendfile",
    ]


def test_a_folder_has_a_file_for_each_thread(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    for line in SAMPLE.splitlines(keepends=True):
        task, rest = line.split(" ", 1)
        with (folder / f"run.{task}").open("a") as file:
            file.write(rest)
    (folder / "notes.txt").write_text("no strace\n")
    assert places(folder) == EXPECTED


def test_times_of_the_day_pass_midnight(tmp_path: Path) -> None:
    file = tmp_path / "run.strace"
    file.write_text(
        'openat(AT_FDCWD, "/d/a", O_RDWR) = 3\n'.join(["[pid  7] 23:59:59.900000 ", ""])
        + '[pid  7] 23:59:59.950000 write(3, "", 5) = 5\n'
        + '[pid  7] 00:00:00.050000 write(3, "", 5) = 5\n'
    )
    accesses = open_trace(file).accesses
    assert accesses["start_ns"].tolist() == [50_000_000, 150_000_000]
    assert accesses["end_ns"].tolist() == accesses["start_ns"].tolist()
    assert open_trace(file).problems == [
        f"{file}: it has no durations: every call takes no time (strace -T tells them)"
    ]


def test_no_text_makes_it_fail_otherwise_than_by_a_trace_error(tmp_path: Path) -> None:
    file = tmp_path / "run.strace"
    read_broken(SAMPLE.encode(), b'0(),=<> 9-\n"', file, file)


def test_other_texts_are_no_strace(tmp_path: Path) -> None:
    for name, text in {"a": "", "b": "10 hello\n", "c": "1,2,write,0,4,a\n", "d": "1.5 x"}.items():
        (tmp_path / name).write_text(text)
        assert not is_strace(tmp_path / name)
    assert not is_strace(tmp_path)
    assert not is_strace(tmp_path / "absent")


PROGRAM = """
import os, sys
file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
for i in range(2000):
    os.pwrite(file, b"r" * 300, 600 * i)
os.lseek(file, 0, os.SEEK_SET)
for i in range(10):
    os.read(file, 1000)
"""


def test_a_real_program(tmp_path: Path) -> None:
    """Recorded, analyzed and simulated."""
    recorded, file = tmp_path / "run.strace", tmp_path / "data"
    options = ("-f", "-ttt", "-T", "-y", "-e", "trace=desc,process", "-o", recorded)
    strace = shutil.which("strace")
    assert strace is not None
    run = subprocess.run(
        [strace, *options, sys.executable, "-c", PROGRAM, file],
        capture_output=True,
        text=True,
        check=False,
    )
    if "ptrace" in run.stderr:
        pytest.skip(f"strace may not trace here: {run.stderr.splitlines()[0]}")
    assert run.returncode == 0, run.stderr
    ours = [one[3:] for one in places(recorded) if one[2] == str(file)]
    assert ours[:2000] == [("pwrite64", 600 * i, 600 * i + 300) for i in range(2000)]
    assert ours[2000:] == [("read", 1000 * i, 1000 * i + 1000) for i in range(10)]
    analyzed = forebay("analyze", recorded)
    assert analyzed.returncode == 0, analyzed.stderr
    assert "in POSIX calls" in analyzed.stdout
    assert f"small writes of {file} with POSIX calls" in " ".join(analyzed.stdout.split())
    assert "MPI_File_write_all" not in analyzed.stdout
    simulated = forebay("simulate", "cluster", recorded, "--machine", "nfs-25gbe", "--messages")
    assert simulated.returncode == 0, simulated.stderr
    cached = forebay("simulate", "cache", recorded, "--cache-size", "64KiB")
    assert cached.returncode == 0, cached.stderr
    page = tmp_path / "page.html"
    report = forebay("report", recorded, "-o", page)
    assert report.returncode == 0 and page.stat().st_size > 10_000, report.stderr
