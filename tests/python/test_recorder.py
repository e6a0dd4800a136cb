"""What Recorder's recorder2text printed, as a trace.

The samples have the format that its sources print: seconds of begin and end, the call, its depth,
the kind of its interface (0: POSIX, 1: MPI-IO, 2: MPI, 3: HDF5), and its arguments.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from broken_texts import read_broken
from command import forebay
from forebay.trace import open_trace
from forebay.trace.recorder import is_recorder

RANK_0 = """\
0.000100 0.000200 MPI_Comm_rank 0 2 ( MPI_COMM_WORLD 0x7ffd )
0.001000 0.001100 open 0 0 ( /w/data 578 420 )
0.002000 0.002200 write 0 0 ( /w/data 0x55aa 100 )
0.003000 0.003100 pwrite64 0 0 ( /w/data 0x55aa 50 1000 )
0.004000 0.004001 lseek 0 0 ( /w/data 20 0 )
0.005000 0.005600 readv 0 0 ( /w/data 30 2 )
0.006000 0.006010 lseek 0 0 ( /w/data -10 1 )
0.007000 0.007010 write 0 0 ( /w/data 0x55aa 5 )
0.008000 0.008010 lseek64 0 0 ( /w/data 6 2 )
0.009000 0.009010 read 0 0 ( /w/data 0x55aa 4 )
0.010000 0.012000 MPI_File_write_at_all 0 1 ( 0-0 8 0x55aa 300 MPI_BYTE 0x7ffd )
0.010500 0.011000 pwrite 1 0 ( /w/data 0x55aa 300 2000 )
0.013000 0.013010 close 0 0 ( /w/data )
0.014000 0.014010 fopen 0 0 ( /w/log a )
0.015000 0.015010 fwrite 0 0 ( 0x55aa 4 3 /w/log )
0.016000 0.016010 fseek 0 0 ( /w/log 0 0 )
0.017000 0.017010 fprintf 0 0 ( /w/log 9 )
0.018000 0.018010 fclose 0 0 ( /w/log )
0.019000 0.019010 read 0 0 ( /usr/lib/x 0x55aa 10 )
0.020000 0.020010 read 0 0 ( /w/before 0x55aa 10 )
0.021000 0.021010 pread 0 0 ( /w/before 0x55aa 10 70 )
0.022000 0.022010 void::solve(int) 0 4 ( )
0.023000 0.023010 write 0 0 ( /w/data )
"""
RANK_1 = """\
0.001500 0.001600 open64 0 0 ( /w/data 2 )
0.002500 0.002600 open64 0 0 ( /w/data 0 )
0.003500 0.003600 fread 0 0 ( 0x55aa 2 8 /w/data )
the end
"""
EXPECTED = [
    (0, "/w/data", "write", 0, 100),
    (0, "/w/data", "pwrite64", 1000, 1050),
    (0, "/w/data", "readv", 20, 50),
    (0, "/w/data", "write", 40, 45),
    (0, "/w/data", "read", 1056, 1060),
    (0, "/w/data", "pwrite", 2000, 2300),
    (0, "/w/log", "fwrite", 0, 12),
    (0, "/w/log", "fprintf", 12, 20),
    (0, "/w/before", "pread", 70, 80),
    (1, "/w/data", "fread", 0, 16),
]

Place = tuple[int, str, str, int, int]


def places(path: Path) -> list[Place]:
    """Rank, file, call, offset and end of each access."""
    trace = open_trace(path)
    assert (trace.kind, trace.layer) == ("recorder", "POSIX")
    accesses = trace.accesses
    names = ("rank", "file", "routine", "offset", "end")
    rows = zip(*(accesses[name].tolist() for name in names), strict=True)
    return [
        (rank, trace.files[file], trace.routines[routine].name, offset, end)
        for rank, file, routine, offset, end in rows
    ]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """As Recorder and recorder2text leave it."""
    made = tmp_path / "job.recorder"
    (made / "_text").mkdir(parents=True)
    (made / "recorder.mt").write_bytes(b"\0\1\2")
    (made / "_text" / "0.txt").write_text(RANK_0)
    (made / "_text" / "1.txt").write_text(RANK_1)
    return made


def test_positions_are_followed(folder: Path) -> None:
    for path in (folder, folder / "_text"):
        assert places(path) == EXPECTED
    trace = open_trace(folder)
    assert [(one.rank, one.ranks, one.pid) for one in trace.processes] == [(0, 2, -1), (1, 2, -1)]
    start, end = (trace.accesses[name].tolist() for name in ("start_ns", "end_ns"))
    assert (start[0], end[0]) == (2_000_000, 2_200_000)
    assert [problem.removeprefix(f"{folder}: ") for problem in trace.problems] == [
        "it has no results: reads and writes count with the bytes that they asked for",
        "left out: 1 calls whose arguments make no sense",
        "left out: 1 reads and writes at unknown places",
        "left out: 1 reads and writes of the system's files and of program text",
        "2 times a position was taken from the end of a file, as far as the calls show it",
        "1 times a rank opened a file that it had open: which descriptor a later call used is not"
        " recorded",
        "left out: 1 lines that are no calls",
    ]


def test_one_file_is_one_rank(folder: Path) -> None:
    text = folder / "_text" / "1.txt"
    assert places(text) == [EXPECTED[-1]]
    (folder / "_text" / "0.txt").unlink()
    assert any("1 of 2 ranks left no trace" in one for one in open_trace(folder).problems)


def test_a_binary_trace_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "recorder.mt").write_bytes(b"\0")
    done = forebay("analyze", tmp_path)
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        f"forebay: {tmp_path}: a binary trace of Recorder; its command `recorder2text` makes text"
        " of it, which can be read"
    ]


def test_calls_of_mpi_io_alone_have_no_places(tmp_path: Path) -> None:
    (tmp_path / "0.txt").write_text(
        "0.1 0.2 open 0 0 ( /w/a 2 )\n0.3 0.4 MPI_File_read_at 0 1 ( 0-0 8 0x5 9 MPI_INT 0x7 )\n"
    )
    trace = open_trace(tmp_path)
    assert len(trace.accesses) == 0
    assert trace.problems == [
        f"{tmp_path}: only calls of MPI-IO moved bytes, and their places are not recorded"
    ]


def test_no_text_makes_it_fail_otherwise_than_by_a_trace_error(tmp_path: Path) -> None:
    file = tmp_path / "0.txt"
    read_broken(RANK_0.encode(), b'0() <> 9-\n".', file, tmp_path)


def test_large_numbers_are_left_out(tmp_path: Path) -> None:
    most = (1 << 63) - 1
    (tmp_path / "0.txt").write_text(
        "0.0 0.1 open 0 0 ( /w/a 2 )\n"
        f"0.1 0.2 pread 0 0 ( /w/a 0x5 10 {most} )\n"
        f"0.3 0.4 fread 0 0 ( 0x5 {most} {most} /w/a )\n"
        f"0.5 0.6 pread 0 0 ( /w/a 0x5 7 {most - 7} )\n"
        "0.7 0.8 pread 0 0 ( /w/a 0x5 -7 0 )\n"
    )
    assert places(tmp_path) == [(0, "/w/a", "pread", most - 7, most)]
    assert any("left out: 3 calls" in one for one in open_trace(tmp_path).problems)


def test_other_texts_are_none_of_it(tmp_path: Path) -> None:
    for name, text in {
        "a": "",
        "0.txt": "1,2,write,0,4,a\n",
        "d": "1.5 x",
        "e": RANK_1[1:],
    }.items():
        (tmp_path / name).write_text(text)
    assert not any(is_recorder(tmp_path / name) for name in ("a", "0.txt", "d", "absent"))
    assert not is_recorder(tmp_path)


def test_every_command_takes_it(folder: Path, tmp_path: Path) -> None:
    for number, text in enumerate((RANK_0, RANK_1)):
        lines = [
            f"{1 + i / 1000:.6f} {1 + i / 1000 + 0.0001:.6f} pwrite 0 0 ( /w/data 0x5 300"
            f" {600 * i + 300 * number} )"
            for i in range(2000)
        ]
        (folder / "_text" / f"{number}.txt").write_text(text + "\n".join(lines) + "\n")
    analyzed = forebay("analyze", folder)
    assert analyzed.returncode == 0, analyzed.stderr
    assert "small writes of /w/data with POSIX calls" in " ".join(analyzed.stdout.split())
    simulated = forebay(
        "simulate", "cluster", folder, "--machine", "nfs-25gbe", "--compare", "scope=none,node"
    )
    assert simulated.returncode == 0, simulated.stderr
    cached = forebay("simulate", "cache", folder, "--cache-size", "64KiB")
    assert cached.returncode == 0, cached.stderr
    page = tmp_path / "page.html"
    assert forebay("report", folder, "-o", page).returncode == 0
    assert page.stat().st_size > 10_000
    table = tmp_path / "table.parquet"
    assert forebay("convert", folder, "-o", table).returncode == 0
    assert places(table)[0] == EXPECTED[0]
