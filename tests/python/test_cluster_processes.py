"""`forebay simulate cluster` for more processes than a trace has."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cluster_jobs import SCOPES
from command import forebay
from forebay.simulation import (
    simulate_cluster,
    workload_traces,
)
from traces import LOGS


def made(folder: Path, workload: str, processes: int) -> Path:
    if workload == "ior":
        workload_traces.ior(folder, processes, transfer=64 << 10, piece=1 << 10, segments=3)
    elif workload == "mpi-io-test":
        workload_traces.mpi_io_test(folder, processes, size=100_000, iterations=3)
    else:
        workload_traces.tile_io(
            folder, processes, grid=(2, processes // 2), tile=(64, 32), overlap=(8, 4)
        )
    return folder


@pytest.mark.parametrize("workload", ["ior", "mpi-io-test", "tile-io"])
def test_more_processes_are_those_of_a_larger_job(tmp_path: Path, workload: str) -> None:
    few = made(tmp_path / "few", workload, 6)
    many = made(tmp_path / "many", workload, 16)
    said: list[str] = []
    changes = [one | {"machine.servers": "4"} for one in SCOPES]
    extended = simulate_cluster(few, "palmetto-gige", changes, processes=16, warn=said.append)
    larger = simulate_cluster(many, "palmetto-gige", changes)
    assert len(said) == 1, said
    assert "few: 16 processes are simulated; it has 6" in said[0]
    for got, wanted in zip(extended, larger, strict=True):
        assert got == replace(wanted, trace=got.trace, traced_processes=6)


@pytest.mark.parametrize(
    ("processes", "said"),
    [
        ("7", "pieces has 8 processes; 7 cannot be simulated, but 8 to 65,536"),
        ("0", "--processes"),
        ("65537", "--processes"),
    ],
)
def test_fewer_processes_are_refused(pieces: Path, processes: str, said: str) -> None:
    run = forebay("simulate", "cluster", str(pieces), "--processes", processes)
    assert run.returncode != 0
    assert run.stdout == ""
    assert said in run.stderr


def test_files_without_a_rule_are_named(tmp_path: Path) -> None:
    trace = tmp_path / "uneven.csv"
    uneven = [f"{i},{i},write,{100 * i * i},10,uneven.dat" for i in range(4)]
    trace.write_text("\n".join(uneven) + "\n")
    run = forebay("simulate", "cluster", str(trace), "--processes", "8")
    assert run.returncode != 0
    assert run.stderr == (
        "forebay: uneven.csv: what more processes would do is not known: uneven.dat: the places of"
        " its processes follow no rule\n"
    )
    even = [f"{4 + i},{i},write,{100 * i},10,even.dat" for i in range(4)]
    own = [f"{8 + i},{i},write,0,10,own.{i}" for i in range(4)]
    trace.write_text("\n".join([*uneven, *even, *own]) + "\n")
    said: list[str] = []
    (one,) = simulate_cluster(trace, "nfs-25gbe", processes=8, warn=said.append)
    assert (one.processes, one.traced_processes) == (8, 4)
    assert one.written_bytes == (4 + 8 + 8) * 10
    assert said == [
        "uneven.csv: 8 processes are simulated; it has 4, and the others do what these do, at the"
        " places that follow (1 shared file, 4 files of their own)",
        "uneven.csv: uneven.dat: the places of its processes follow no rule; it keeps its"
        " processes",
    ]


@pytest.mark.parametrize(("sets", "pieces"), [(20, 1), (5, 4)])
def test_parts_of_unequal_sizes_are_repeated(tmp_path: Path, sets: int, pieces: int) -> None:
    """FLASH I/O: each process's part of a data set has a size of its own; process 0 alone writes
    headers between."""
    workload_traces.flash(tmp_path / "flash", 4, sets=sets, pieces=pieces)
    said: list[str] = []
    one, two, three = (
        simulate_cluster(
            tmp_path / "flash", "palmetto-gige", processes=processes, warn=said.append
        )[0]
        for processes in (4, 8, 12)
    )
    assert two.written_bytes - one.written_bytes == three.written_bytes - two.written_bytes
    assert two.written_bytes == pytest.approx(2 * one.written_bytes, rel=0.05)
    assert two.accesses - one.accesses == 3 * 20 * 4
    assert said[1:2] == [
        "flash: 3 files have parts of unequal sizes; those of the other processes are as large as"
        " its own, in turn",
    ]
    assert f"flash: {3 * (sets + 2)} of its accesses" in said[2]


@pytest.mark.skipif(not LOGS.is_dir(), reason="there are no Darshan logs")
def test_gaps_for_metadata_are_no_hindrance() -> None:
    """The chunks of 384 processes, with HDF5's metadata between some of them."""
    log = LOGS / "benchmark_write_parallel_384ranks.darshan"
    one, more = (
        simulate_cluster(log, "palmetto-myri10g", processes=processes, by_frames=False)[0]
        for processes in (384, 768)
    )
    assert (more.processes, more.traced_processes) == (768, 384)
    assert more.written_bytes == pytest.approx(2 * one.written_bytes, rel=1e-4)


@pytest.mark.skipif(not LOGS.is_dir(), reason="there are no Darshan logs")
def test_metadata_of_some_processes_stays(tmp_path: Path) -> None:
    """HDF5 gives its metadata to some processes; the data of all follows a rule."""
    log = LOGS / "ior_hdf5_4ranks.darshan"
    said: list[str] = []
    (one,) = simulate_cluster(log, "nfs-25gbe", processes=12, warn=said.append)
    assert one.written_bytes - 12 * (1 << 20) < 1 << 14
    assert any("of its accesses" in line and "some processes only" in line for line in said)


@pytest.mark.skipif(not LOGS.is_dir(), reason="there are no Darshan logs")
def test_more_processes_of_a_real_log() -> None:
    log = LOGS / "mpi-io-test_32ranks.darshan"
    run = forebay(
        *("simulate", "cluster", str(log), "--processes", "96", "--messages"),
        *("-o", "scope=node", "--processes-per-node", "8"),
    )
    assert run.returncode == 0, run.stderr
    assert "96 processes, 64 of them beyond the trace's 32, make" in run.stdout
    assert "96 processes are simulated; it has 32" in run.stderr
