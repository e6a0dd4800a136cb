"""Traces contain what MPI programs do: every routine, through the cache and past it, with every
MPI, in threads, and in processes that are killed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

import forebay as package
from forebay.trace import NO_TIME, Operation, Trace
from harness import forebay, mpi

FOLDER = Path(__file__).resolve().parent
PROGRAMS = FOLDER.parent / "apps" / "programs"
CACHE = {"cached": "true", "plain": "false"}
# MPI_Request_get_status_any, _some and _all are of MPI 4.1.
STATUS_OF_MANY = mpi.WHEELS[:2]
# If other ranks move the pointer, too, only the library knows the place.
UNKNOWN = -1


def record(
    installation: mpi.Mpi,
    ranks: int,
    command: list[str],
    folder: Path,
    settings: Mapping[str, str],
    code: int | None = 0,
) -> Trace:
    """The trace of a run of the program. `code`: the exit code to expect; None: any but 0."""
    variables = {"FOREBAY_TRACE": str(folder / "trace"), "FOREBAY_STEP_ASIDE": "never", **settings}
    launch = mpi.launch_command(installation, ranks, forebay.preloaded(command, variables))
    outcome = mpi.run(launch, installation.environment, folder)
    assert (outcome.code == code) if code is not None else (outcome.code != 0), str(outcome)
    return package.open_trace(folder / "trace")


def requests_flags(installation: mpi.Mpi) -> list[str]:
    """The flags to compile requests.c with."""
    of_library = [] if installation.abi == "openmpi" else ["-DSHORT_READS", "-DNO_TESTALL"]
    of_version = ["-DSTATUS_OF_MANY"] if installation in STATUS_OF_MANY else []
    return [*of_library, *of_version, "-pthread", "-ldl"]


def calls(trace: Trace, rank: int) -> list[tuple[str, int, int, int]]:
    """Routine, position, requested and moved bytes of each MPI-IO call of a rank, in order."""
    table = trace.accesses
    mine = (table["rank"] == rank) & (table["operation"] < Operation.STEP)
    columns = [table[name][mine] for name in ("routine", "position", "requested", "transferred")]
    return [
        (trace.routines[routine].name, int(position), int(requested), int(moved))
        for routine, position, requested, moved in zip(*columns, strict=True)
    ]


def expected_calls(path: Path) -> list[tuple[str, str, int, int]]:
    """The expected calls, from the lines of every_routine.c."""
    words = [line.split() for line in path.read_text().splitlines()]
    return [(name, place, int(asked), int(moved)) for name, place, asked, moved in words]


@pytest.mark.parametrize("cache", CACHE)
@pytest.mark.parametrize("installation", mpi.ALL, ids=lambda m: m.name)
def test_every_routine(installation: mpi.Mpi, cache: str, tmp_path: Path) -> None:
    flags = ["-DLARGE_COUNT"] if installation.abi in ("mpich", "mpiabi") else []
    if installation.name == "mpich-debian":
        flags = []  # MPI 4.0, without large counts in MPI-IO
    program = mpi.compile_program(installation, FOLDER / "every_routine.c", flags)
    trace = record(
        installation,
        2,
        [str(program), str(tmp_path / "file")],
        tmp_path,
        {"FOREBAY_ENABLE": CACHE[cache]},
    )
    assert trace.problems == []
    assert trace.files == [str(tmp_path / "file")]
    assert {one.cached for one in trace.opens} == {cache == "cached"}
    for rank in range(2):
        found = calls(trace, rank)
        expected = expected_calls(tmp_path / f"file.expected.{rank}")
        assert [one[0] for one in found] == [one[0] for one in expected]
        split = Counter[str]()  # either the begin or the end of a split access moves the data
        for (name, position, asked, moved), (_, place, *sizes) in zip(found, expected, strict=True):
            ordered = "ordered" in name
            if ordered and name.endswith(("_begin", "_end")):
                split["asked"] += asked - sizes[0]
                split["moved"] += moved - sizes[1]
                continue
            assert (asked, moved) == tuple(sizes), name
            if place != "shared":
                assert position == int(place), name
            elif cache == "plain":
                assert position == UNKNOWN, name
            else:
                assert position >= 0, name
        assert split["asked"] == split["moved"] == 0
    # The program has waited for all requests and ended all split accesses.
    assert (trace.accesses["completed_ns"] >= trace.accesses["end_ns"]).all()


@pytest.mark.parametrize("cache", CACHE)
@pytest.mark.parametrize("installation", mpi.ALL, ids=lambda m: m.name)
def test_requests_are_followed_to_their_completion(
    installation: mpi.Mpi, cache: str, tmp_path: Path
) -> None:
    if cache == "plain" and installation.name == "mpich-debian":
        pytest.skip("completing them, that library does not end")
    program = mpi.compile_program(installation, FOLDER / "requests.c", requests_flags(installation))
    command = [str(program), str(tmp_path / "file")]
    trace = record(installation, 2, command, tmp_path, {"FOREBAY_ENABLE": CACHE[cache]})
    assert check_requests(trace, tmp_path / "file.expected", cache) >= [5, 5]


def check_requests(trace: Trace, expected_lines: Path, cache: str) -> list[int]:
    """Checks the accesses of requests.c. Returns how many were complete at once, per rank."""
    counts = []
    assert trace.problems == []
    table = trace.accesses
    for rank in range(len(trace.processes)):
        lines = Path(f"{expected_lines}.{rank}").read_text().splitlines()
        expected = [line.split() for line in lines]
        rows = np.flatnonzero((table["rank"] == rank) & (table["requested"] > 0))
        assert table["requested"][rows].tolist() == [int(asked) for asked, _, _ in expected]
        in_error = np.array([how == "in-error" for _, _, how in expected])
        moved = np.array([int(moved) for _, moved, _ in expected])
        assert (in_error | (table["transferred"][rows] == moved)).all()
        completed = table["completed_ns"][rows]
        given_up = np.array([how == "given-up" for _, _, how in expected])
        unknown = given_up & (cache == "plain")
        assert (in_error | ((completed == NO_TIME) == unknown)).all()
        known = completed != NO_TIME
        assert (completed[known] >= table["end_ns"][rows][known]).all()
        at_once = np.flatnonzero(known & [how == "at-once" for _, _, how in expected])
        assert (completed[at_once] <= table["start_ns"][rows[at_once] + 1]).all()
        counts.append(len(at_once))
    return counts


@pytest.mark.parametrize("cache", CACHE)
@pytest.mark.parametrize("installation", STATUS_OF_MANY, ids=lambda m: m.name)
def test_the_status_of_several_requests_tells_of_their_completion(
    installation: mpi.Mpi, cache: str, tmp_path: Path
) -> None:
    program = mpi.compile_program(installation, FOLDER / "requests.c", requests_flags(installation))
    command = [str(program), str(tmp_path / "file"), "status"]
    trace = record(installation, 1, command, tmp_path, {"FOREBAY_ENABLE": CACHE[cache]})
    check_requests(trace, tmp_path / "file.expected", cache)


@pytest.mark.parametrize("installation", mpi.WHEELS[:2], ids=lambda m: m.name)
def test_requests_of_threads(installation: mpi.Mpi, tmp_path: Path) -> None:
    """The library gives the handle of a completed request to another thread. (Open MPI's
    nonblocking routines crash in threads.)"""
    program = mpi.compile_program(installation, FOLDER / "requests.c", requests_flags(installation))
    command = [str(program), str(tmp_path / "file"), "threads"]
    trace = record(installation, 1, command, tmp_path, {"FOREBAY_ENABLE": "false"})
    table = trace.accesses
    rows = table["operation"] == Operation.READ
    assert rows.sum() == 4000
    size = table["requested"][rows]
    assert (table["transferred"][rows] == size).all()
    assert (table["completed_ns"][rows] >= table["end_ns"][rows]).all()
    for thread in set(table["thread"].tolist()):
        mine = rows & (table["thread"] == thread)
        assert (table["completed_ns"][mine][:-1] <= table["start_ns"][mine][1:]).all()


@pytest.mark.parametrize("installation", mpi.WHEELS, ids=lambda m: m.name)
def test_a_killed_process_leaves_its_requests(installation: mpi.Mpi, tmp_path: Path) -> None:
    program = mpi.compile_program(installation, FOLDER / "requests.c", requests_flags(installation))
    command = [str(program), str(tmp_path / "file"), "killed"]
    trace = record(installation, 1, command, tmp_path, {"FOREBAY_ENABLE": "false"}, code=None)
    table = trace.accesses
    rows = table["operation"] == Operation.READ
    unknown = table["completed_ns"][rows] == NO_TIME
    assert unknown.tolist() == [False] * 5 + [True] * 5
    assert (table["transferred"][rows] == 1).all()


@pytest.mark.parametrize("installation", mpi.ALL, ids=lambda m: m.name)
def test_only_a_traced_program_completes_requests_through_forebay(
    installation: mpi.Mpi, tmp_path: Path
) -> None:
    program = mpi.compile_program(installation, FOLDER / "requests.c", requests_flags(installation))
    words = [str(program), str(tmp_path / "file"), "routine"]
    for settings, ours in (({}, False), ({"FOREBAY_TRACE": str(tmp_path / "trace")}, True)):
        launch = mpi.launch_command(installation, 1, forebay.preloaded(words, settings))
        outcome = mpi.run(launch, installation.environment, tmp_path)
        assert outcome.code == 0, str(outcome)
        wait, status_of_any = (Path(word).name for word in outcome.output.split()[-2:])
        assert wait.startswith("libforebay_" if ours else "libmpi"), wait
        assert status_of_any == (wait if installation in STATUS_OF_MANY else "none")


def test_a_view_is_kept_as_it_is(tmp_path: Path) -> None:
    installation = mpi.WHEELS[0]
    program = mpi.compile_program(installation, FOLDER / "every_routine.c", ["-DLARGE_COUNT"])
    command = [str(program), str(tmp_path / "file")]
    trace = record(installation, 2, command, tmp_path, {"FOREBAY_ENABLE": "false"})
    table = trace.accesses
    strided = (table["view"] > 0) & (table["requested"] > 0)
    assert strided.sum() == 2 * 3
    # Ranks interleave blocks of eight bytes; the first access begins at data byte 12.
    for rank in range(2):
        rows = strided & (table["rank"] == rank)
        assert table["position"][rows].tolist() == [12, 12, 0]
        assert table["offset"][rows].tolist() == [rank * 8 + 16 + 4, rank * 8 + 16 + 4, rank * 8]
        assert not table["contiguous"][rows].any()


@pytest.mark.parametrize("cache", CACHE)
def test_threads(cache: str, tmp_path: Path) -> None:
    installation, threads, count = mpi.WHEELS[0], 4, 5000
    program = mpi.compile_program(installation, FOLDER / "threads.c", ["-pthread"])
    command = [str(program), str(tmp_path / "file"), str(threads), str(count)]
    trace = record(installation, 2, command, tmp_path, {"FOREBAY_ENABLE": CACHE[cache]})
    assert trace.problems == []
    table = trace.accesses
    writes = table["requested"] > 0
    assert writes.sum() == 2 * threads * count == trace.totals.accesses - 4
    for rank in range(2):
        mine = writes & (table["rank"] == rank)
        first = []
        for thread in set(table["thread"][mine].tolist()):
            records = table["position"][mine & (table["thread"] == thread)] // 100
            # A thread may reuse the log of another thread that has ended.
            runs = records.reshape(-1, count)
            assert (runs == runs[:, :1] + np.arange(count)).all()
            first += runs[:, 0].tolist()
        assert sorted(first) == [(rank * threads + t) * count for t in range(threads)]
        starts = table["start_ns"][mine]
        assert (table["end_ns"][mine] >= starts).all()
        assert (starts > 0).all()
    # Each thread has a pattern of its own, however their calls interleave.
    (file,) = package.analyze(trace).files
    writers = zip(table["rank"][writes], table["thread"][writes], strict=True)
    assert len(file.locals) == len(set(writers))
    assert file.coverage == 1
    assert file.signature.processes == 2
    assert all("<contiguous, 1>" in one.pattern for one in file.locals)


@pytest.mark.parametrize("installation", mpi.WHEELS, ids=lambda m: m.name)
def test_a_killed_process_leaves_what_came_before_its_last_sync(
    installation: mpi.Mpi, tmp_path: Path
) -> None:
    program = mpi.compile_program(installation, FOLDER / "killed.c")
    command = [str(program), str(tmp_path / "file"), "950"]
    trace = record(installation, 1, command, tmp_path, {}, code=None)
    assert trace.totals.accesses >= 900
    assert not trace.processes[0].ended
    assert any("killed" in problem for problem in trace.problems), trace.problems
    writes = trace.accesses["requested"] > 0
    positions = trace.accesses["position"][writes]
    assert (positions == 100 * np.arange(len(positions))).all()


def test_beyond_the_limit_times_are_folded(tmp_path: Path) -> None:
    installation, count = mpi.WHEELS[0], 100_000
    program = mpi.compile_program(installation, FOLDER / "threads.c", ["-pthread"])
    command = [str(program), str(tmp_path / "file"), "1", str(count)]
    trace = record(installation, 1, command, tmp_path, {"FOREBAY_TRACE_LIMIT": "64KiB"})
    assert 0 < trace.totals.folded < count
    assert trace.totals.lost == 0
    positions = trace.accesses["position"][trace.accesses["requested"] > 0]
    assert (positions == 100 * np.arange(count)).all()
    (file,) = (tmp_path / "trace").iterdir()
    assert 64 << 10 < file.stat().st_size < 128 << 10
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("installation", mpi.ALL, ids=lambda m: m.name)
def test_an_unusable_folder_is_said_once(installation: mpi.Mpi, tmp_path: Path) -> None:
    program = mpi.compile_program(installation, FOLDER / "threads.c", ["-pthread"])
    words = [str(program), str(tmp_path / "file"), "1", "10"]
    (tmp_path / "no folder").touch()
    for folder in ("no folder", "no folder/below", "missing/below"):
        settings = {"FOREBAY_TRACE": str(tmp_path / folder)}
        launch = mpi.launch_command(installation, 3, forebay.preloaded(words, settings))
        outcome = mpi.run(launch, installation.environment, tmp_path)
        assert outcome.code == 0, str(outcome)
        lines = [line for line in outcome.errors.splitlines() if "nothing is traced" in line]
        assert len(lines) == 1 and str(tmp_path / folder) in lines[0], str(outcome)


def summary(trace: Trace) -> dict[str, tuple[int, int, int]]:
    """Calls and bytes by routine."""
    table = trace.accesses
    return {
        routine.name: (
            int((table["routine"] == number).sum()),
            int(table["requested"][table["routine"] == number].sum()),
            int(table["transferred"][table["routine"] == number].sum()),
        )
        for number, routine in enumerate(trace.routines)
        if (table["routine"] == number).any()
    }


@pytest.mark.parametrize("name", ["use-mpi", "mpi_f08", "hdf5"])
@pytest.mark.parametrize(
    "installation", [m for m in mpi.ALL if "debian" in m.name], ids=lambda m: m.name
)
def test_programs(installation: mpi.Mpi, name: str, tmp_path: Path) -> None:
    """The trace is the same with and without the cache, and contains the calls that the cache
    counts."""
    flags = {"use-mpi": ["-DBINDING=2"], "mpi_f08": ["-DBINDING=3"], "hdf5": []}[name]
    source = "hdf5_datasets.c" if name == "hdf5" else "fortran_io.F90"
    flags += (
        mpi.package_flags(f"hdf5-{installation.packages}")
        if name == "hdf5"
        else ["-fallow-argument-mismatch"]
    )
    program = mpi.compile_program(installation, PROGRAMS / source, flags, f"-{name}")
    traces = {}
    for cache, enable in CACHE.items():
        settings = {"FOREBAY_TRACE": str(tmp_path / f"trace-{cache}"), "FOREBAY_ENABLE": enable}
        command = [str(program), "."]
        run = forebay.launch(installation, 2, command, tmp_path / cache, settings)
        assert run.outcome.code == 0, str(run.outcome)
        traces[cache] = package.open_trace(tmp_path / f"trace-{cache}")
        assert traces[cache].problems == []
        assert (traces[cache].accesses["completed_ns"] != NO_TIME).all()
        if cache == "cached":
            assert run.statistics is not None
            table = traces[cache].accesses
            seen = table["view"] >= 0  # the cache passes views on that it does not serve
            for number, kind in ((Operation.READ, "read"), (Operation.WRITE, "write")):
                moved = int(table["transferred"][seen & (table["operation"] == number)].sum())
                counted = run.statistics["total"][f"{kind}_bytes"]
                assert moved == counted > 0 if name != "hdf5" else moved >= counted > 0
    assert summary(traces["cached"]) == summary(traces["plain"])
    assert summary(traces["plain"])["forebay_exchange"][0] > 0  # barriers, also those of Fortran


@pytest.mark.parametrize("installation", mpi.WHEELS, ids=lambda m: m.name)
def test_clocks_of_nodes_are_compared(installation: mpi.Mpi, tmp_path: Path) -> None:
    """The second rank believes to be on another node, whose clock is a thousand seconds ahead."""
    ahead = ["unshare", "--time", "--monotonic", "1000", "--fork"]
    if mpi.run([*ahead, "true"]).code != 0:
        pytest.skip("no time name spaces here")
    program = mpi.compile_program(installation, FOLDER / "threads.c", ["-pthread"])
    words = [str(program), str(tmp_path / "file"), "1", "10"]
    settings = {"FOREBAY_TRACE": str(tmp_path / "trace"), "FOREBAY_ENABLE": "false"}
    ranks = [forebay.preloaded(words, {**settings, "FOREBAY_NODE": name}) for name in "ab"]
    launch = [*mpi.launch_command(installation, 1, ranks[0]), ":", "-n", "1", *ahead, *ranks[1]]
    outcome = mpi.run(launch, installation.environment, tmp_path)
    assert outcome.code == 0, str(outcome)
    trace = package.open_trace(tmp_path / "trace")
    first, second = sorted(trace.processes, key=lambda process: process.rank)
    assert first.clock_offset_ns == 0
    assert abs(second.clock_offset_ns + 1000 * 10**9) < 10**9
    # Opens are collective: on one clock they overlap.
    table = trace.accesses
    opens = [table["routine"] == [one.name for one in trace.routines].index("MPI_File_open")]
    begins, ends = table["start_ns"][opens[0]], table["end_ns"][opens[0]]
    assert begins.max() < ends.min()


@pytest.mark.parametrize(
    ("name", "needs"), [("barrier_visibility", "posix"), ("sync_visibility", "mpi")]
)
@pytest.mark.parametrize("installation", mpi.WHEELS, ids=lambda m: m.name)
def test_what_consistency_a_program_needs(
    installation: mpi.Mpi, name: str, needs: str, tmp_path: Path
) -> None:
    """Programs that other tests run with the consistency they need, and that would fail with
    less."""
    program = mpi.compile_program(installation, FOLDER.parent / "mpi" / f"{name}.c")
    command = [str(program), str(tmp_path)]
    trace = record(installation, 2, command, tmp_path, {"FOREBAY_ENABLE": "false"})
    assert package.analyze(trace).needs == needs


# What happens between a write and a read of the same bytes in lucky.c, and the resulting
# separation.
LUCKY = {
    "nothing": "unordered",
    "zero": "unordered",
    "message": "unordered",
    "barrier": "synced",
    "posix": "ordered",
    "once": "unordered",
    "reopened": "reopened",
    "nonblocking": "synced",
    "tested": "synced",
    "later": "unordered",
    "reduce": "synced",
    "gather": "synced",
    "without": "unordered",
    "bcast": "unordered",
    "scatter": "synced",
    "allgather": "synced",
    "alltoall": "synced",
    "some": "unordered",
    "deal": "synced",
    "iallreduce": "synced",
    "grid": "synced",
    "split": "synced",
    "chain": "synced",
    "backwards": "unordered",
    "group": "unordered",
}


@pytest.mark.parametrize("cache", CACHE)
@pytest.mark.parametrize("installation", mpi.ALL, ids=lambda m: m.name)
def test_a_lucky_order_is_not_taken_for_that_of_the_program(
    installation: mpi.Mpi, cache: str, tmp_path: Path
) -> None:
    program = mpi.compile_program(installation, FOLDER / "lucky.c")
    settings = {"FOREBAY_ENABLE": CACHE[cache]}
    trace = record(installation, 3, [str(program), str(tmp_path / "file")], tmp_path, settings)
    assert trace.problems == []
    analysis = package.analyze(trace)
    found = {Path(file.path).suffix[1:]: file.conflicts for file in analysis.files}
    for way, apart in LUCKY.items():
        for kind in ("concurrent", "unordered", "ordered", "synced", "reopened"):
            pairs = getattr(found[way], kind).pairs
            assert pairs == (kind == apart), (way, kind, pairs)
    assert analysis.tells_order and analysis.needs == "unknown"
    assert analysis.totals.accesses + analysis.orders == len(trace)


@pytest.mark.parametrize("installation", mpi.WHEELS, ids=lambda m: m.name)
def test_only_a_traced_program_calls_collectives_through_forebay(
    installation: mpi.Mpi, tmp_path: Path
) -> None:
    program = mpi.compile_program(installation, FOLDER / "requests.c", requests_flags(installation))
    words = [str(program), str(tmp_path / "file"), "collective"]
    for settings, ours in (({}, False), ({"FOREBAY_TRACE": str(tmp_path / "trace")}, True)):
        launch = mpi.launch_command(installation, 1, forebay.preloaded(words, settings))
        outcome = mpi.run(launch, installation.environment, tmp_path)
        assert outcome.code == 0, str(outcome)
        for library in outcome.output.split()[-2:]:
            assert Path(library).name.startswith("libforebay_" if ours else "libmpi"), library


def test_a_view_keeps_interleaved_accesses_apart(tmp_path: Path) -> None:
    """The ranges of the ranks' writes overlap, but their runs do not. Other ranks read the bytes
    after a sync."""
    installation = mpi.WHEELS[0]
    program = mpi.compile_program(installation, PROGRAMS / "tile_io.c")
    command = [str(program), str(tmp_path), "independent"]
    trace = record(installation, 4, command, tmp_path, {"FOREBAY_ENABLE": "false"})
    assert not trace.accesses["contiguous"].all()
    assert package.analyze(trace).needs == "mpi"
