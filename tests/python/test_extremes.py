"""Every size, count and combination of options that native code gets: the outcome is a result, or
one sentence.

In the suite `asan-python` these tests run on the compiled module with AddressSanitizer and UBSan,
which report errors that an ordinary build survives by luck.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterable
from contextlib import redirect_stderr, redirect_stdout, suppress
from itertools import count, islice
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from command import forebay
from forebay import _core, simulate_cache, simulate_cluster
from forebay.commands import cli
from forebay.simulation import (
    AWARENESS,
    MIN,
    POLICIES,
    SCOPES,
    simulate_runtime,
    workload_traces,
)
from forebay.trace import TraceError, open_trace
from test_parquet_trace import converted
from traces import Call, block, process, sample, write_trace

MEMORY = 64 << 20
EDGES = (-(2**63), -(2**62), -1, 0, 1, 2, 7, 64, 4096, 2**31, 2**32 - 1, 2**62, 2**63 - 1)
REFUSED = (ValueError, TypeError, IndexError, MemoryError)
"""The exceptions of a binding. Its callers raise ValueError, which is for users."""


def bounded(examples: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    return settings(
        max_examples=examples,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


def numbers(kind: type[np.integer]) -> st.SearchStrategy[int]:
    """Numbers for a column of this type: small ones, and the smallest and largest."""
    bounds = np.iinfo(kind)
    edges = [edge for edge in EDGES if bounds.min <= edge <= bounds.max]
    return st.integers(max(bounds.min, -3), 20) | st.sampled_from([*edges, int(bounds.max)])


@st.composite
def columns(draw: st.DrawFn, kinds: str) -> list[np.ndarray]:
    """Columns of a table. In one of ten tables one column has another length."""
    types = [np.dtype(kind).type for kind in kinds.split()]
    lengths = [draw(st.integers(0, 4))] * len(types)
    if draw(st.integers(0, 9)) == 0:
        lengths[draw(st.integers(0, len(types) - 1))] += 1
    return [
        np.array(draw(st.lists(numbers(kind), min_size=n, max_size=n)), kind)
        for kind, n in zip(types, lengths, strict=True)
    ]


class Outcomes:
    """Records whether calls returned or were refused. A test must see both, otherwise it tests
    nothing."""

    def __init__(self) -> None:
        self._seen: set[bool] = set()

    def of(self, call: Callable[[], object], refused: tuple[type[Exception], ...]) -> object:
        try:
            result = call()
        except refused as error:
            assert str(error) and len(str(error)) < 2000
            if not isinstance(error, TypeError):
                assert "\n" not in str(error)
            self._seen.add(False)
            return None
        self._seen.add(True)
        return result

    def both(self) -> bool:
        return self._seen == {False, True}


# The command line ------------------------------------------------------------------------------


def command(*words: object) -> tuple[int, str, list[str]]:
    """Runs `forebay` in this process: exit code, output, and lines of standard error."""
    out, err = io.StringIO(), io.StringIO()
    with (
        mock.patch.object(sys, "argv", ["forebay", *map(str, words)]),
        redirect_stdout(out),
        redirect_stderr(err),
        pytest.raises(SystemExit) as ended,
    ):
        cli.main()
    return ended.value.code or 0, out.getvalue(), err.getvalue().splitlines()


def words_of(text: str) -> list[str]:
    return text.split()


SIZES = st.sampled_from(
    [
        *words_of("0 1 -1 63 64 100 1000 65535 64KiB 100MiB 1.5GiB 1TiB 8TB 1e3 nan inf x ٣ ,"),
        *words_of("4611686018427387904 4611686018427387905 9223372036854775807"),
        *words_of("9223372036854775808 18446744073709551616"),
        *("", "4096 bytes"),
    ]
)
COUNTS = st.sampled_from(words_of("0 1 -1 2 3 1000 1024 1048576 1048577 4294967296 x"))


def options(**choices: st.SearchStrategy[str]) -> st.SearchStrategy[list[str]]:
    """Words of any of these options; several sizes are separated by commas."""
    some = st.fixed_dictionaries({}, optional=choices)
    return some.map(
        lambda drawn: [f"--{name.replace('_', '-')}={value}" for name, value in drawn.items()]
    )


def several(strategy: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.lists(strategy, min_size=1, max_size=3).map(",".join)


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A trace with views and collective calls, accesses as text, and block ids."""
    folder = tmp_path_factory.mktemp("inputs")
    workload_traces.tile_io(folder / "tiles", 2, tile=(64, 4), overlap=(8, 1))
    (folder / "bytes.csv").write_text("0,0,w,0,70000\n1,1,r,65536,9\n2,0,r,9223372036854775000,7\n")
    (folder / "ids.txt").write_text("1\n2\n1\n18446744073709551615\n")
    return [folder / name for name in ("tiles", "bytes.csv", "ids.txt")]


def test_simulate_cache_by_command(inputs: list[Path]) -> None:
    outcomes = set()

    @bounded(80)
    @given(
        st.sampled_from(inputs),
        options(
            policy=several(st.sampled_from((*POLICIES, "", "best"))),
            cache_size=several(SIZES),
            page_size=several(SIZES),
            awareness=several(st.sampled_from((*AWARENESS, ""))),
            aggregators=COUNTS,
            bypass=SIZES | st.just("off"),
            scope=st.sampled_from((*SCOPES, "")),
            sample=st.sampled_from(("0", "1e-9", "0.5", "1", "1.1", "nan", "-1")),
            collective_buffer=SIZES,
            union_window=st.sampled_from(("0", "0.1", "-1", "1e9", "999999999", "nan", "inf")),
            format=st.sampled_from(("auto", "text", "oracleGeneral", "trace")),
            jobs=COUNTS,
        ),
    )
    def try_one(trace: Path, words: list[str]) -> None:
        code, _, said = command("simulate", "cache", trace, f"--memory={MEMORY}", "--json", *words)
        assert code in (0, 1, 2)
        assert all(line.startswith("forebay: ") for line in said)
        assert code == 0 or said
        outcomes.add(code == 0)

    try_one()
    assert outcomes == {False, True}


def test_generate_by_command(tmp_path: Path) -> None:
    small = "0x0 1x1 2x1 3x7 -1x-1 x 1 1024x1024"
    large = "4294967296x4294967296 1x99999999999999999999 " + "9" * 5000 + "x1"
    pairs = st.sampled_from(f"{small} {large}".split())
    folders, outcomes = count(), set()
    few = st.sampled_from(("0", "1", "2", "7", "-1", "1048577"))
    kinds = {
        "tile-io": options(
            grid=pairs, tile=pairs, element=SIZES, overlap=pairs, processes=few, repetitions=COUNTS
        ),
        "ior": options(transfer=SIZES, piece=SIZES, segments=COUNTS, repetitions=COUNTS),
        "mpi-io-test": options(size=SIZES, iterations=COUNTS, processes=few),
    }

    @bounded(80)
    @given(st.sampled_from(sorted(kinds)).flatmap(lambda k: st.tuples(st.just(k), kinds[k])))
    def try_one(drawn: tuple[str, list[str]]) -> None:
        kind, words = drawn
        folder = tmp_path / str(next(folders))
        code, out, said = command("generate", kind, "--processes=2", *words, "-o", folder)
        assert code in (0, 1, 2) and out == ""
        assert len(said) == (0 if code == 0 else 1)
        assert folder.exists() == (code == 0)
        outcomes.add(code == 0)

    try_one()
    assert outcomes == {False, True}


def test_simulate_runtime_by_command(tmp_path: Path, inputs: list[Path]) -> None:
    traces = [replayable(tmp_path / "t", [STEPS_OF_A_RUN]), inputs[0]]
    outcomes = set()

    @bounded(100)
    @given(
        st.sampled_from(traces),
        options(policy=several(st.sampled_from((*POLICIES, ""))), cache_size=several(SIZES)),
        st.lists(
            st.tuples(
                st.sampled_from(("page_size", "shards", "page_kind", "scope", "commit_size")),
                SIZES | st.sampled_from(("mask", "tree", "delta", "node", "process", "nan")),
            ),
            max_size=2,
        ),
        st.data(),
    )
    def try_one(
        trace: Path, words: list[str], changes: list[tuple[str, str]], data: st.DataObject
    ) -> None:
        pairs = [*(OPTIONS_OF_A_RUN.items() if data.draw(st.booleans()) else ()), *changes]
        assigned = [word for name, value in pairs for word in ("-o", f"{name}={value}")]
        code, _, said = command("simulate", "runtime", trace, "--json", *words, *assigned)
        assert code in (0, 1, 2)
        assert len(said) == (0 if code == 0 else 1)
        outcomes.add(code == 0)

    try_one()
    assert outcomes == {False, True}


@pytest.mark.parametrize("size", ["1", "1000", "65535"])
def test_a_cache_below_a_page_misses_by_every_policy(inputs: list[Path], size: str) -> None:
    """In a child process, because `min` once crashed here."""
    checked = {"LD_PRELOAD": os.environ.get("LD_PRELOAD", "")}  # the sanitizer, if there is one
    sizes = ("--cache-size", f"{size},64KiB", "--policy", ",".join(POLICIES))
    done = forebay("simulate", "cache", *inputs[:2], *sizes, "--csv", **checked)
    assert done.returncode == 0
    assert done.stdout.count("\n") == 1 + 2 * 2 * 2 * len(POLICIES)
    rows = [line.split(",") for line in done.stdout.splitlines()]
    below = [dict(zip(rows[0], row, strict=True)) for row in rows[1:] if row[4] == size]
    assert {row["policy"] for row in below} == set(POLICIES)
    for row in below:
        assert (row["hits"], row["misses"], row["evictions"]) == ("0", row["accesses"], "0")
    told = [line for line in done.stderr.splitlines() if "holds no page" in line]
    assert [line.split(": ")[1] for line in told] == [str(path) for path in inputs[:2]]
    ids = forebay(
        *("simulate", "cache", inputs[2], "--cache-size=3", "--page-size=4", "--csv"),
        *sizes[2:],
        **checked,
    )
    assert ids.stdout.count(",0,4,0,0.0\n") == len(POLICIES), ids.stdout
    assert "a cache of 3 holds no page of 4" in ids.stderr


# The Python interface --------------------------------------------------------------------------


def test_simulate_cache(inputs: list[Path]) -> None:
    outcomes = Outcomes()
    size = st.sampled_from((*EDGES, 2**62 + 1, 2**64, 1.5, "64KiB", None, np.int64(4096), True))

    @bounded(80)
    @given(
        st.sampled_from(inputs),
        st.fixed_dictionaries(
            {"memory": st.sampled_from((1, 1000, MEMORY, MEMORY, MEMORY, -1, 2**70))},
            optional={
                "cache_sizes": st.lists(size, max_size=2),
                "page_size": size | st.lists(size, max_size=2),
                "aggregators": size,
                "collective_buffer": size,
                "union_window": st.floats(),
                "bypass": size,
                "scope": st.sampled_from((*SCOPES, "all")),
                "sample": st.none() | st.floats(),
                "jobs": size,
            },
        ),
    )
    def try_one(trace: Path, words: dict[str, object]) -> None:
        refused = (TypeError, ValueError, TraceError)
        results = outcomes.of(lambda: simulate_cache(trace, **words), refused)
        for one in results or ():
            assert one.hits + one.misses == one.accesses
            assert one.evictions <= one.misses
            assert 0 <= one.error <= 1

    try_one()
    assert outcomes.both()


def test_caches_of_blocks() -> None:
    outcomes = Outcomes()

    @bounded(100)
    @given(
        st.sampled_from([name for name in POLICIES if name != MIN]),
        st.lists(numbers(np.uint64), max_size=8),
        st.lists(numbers(np.uint32), min_size=1, max_size=3),
        st.sampled_from((0, 1, 2, 3, 64, 65, 2**32 - 1)),
    )
    def try_one(policy: str, ids: list[int], frames: list[int], shards: int) -> None:
        touched = np.array(ids, np.uint64)
        for hits, size in zip(_core.min_block_hits(touched, frames), frames, strict=True):
            assert 0 <= hits <= len(ids)
            assert size > 0 or hits == 0
        result = outcomes.of(
            lambda: _core.simulate_blocks(policy, touched, frames[0], shards), REFUSED
        )
        if result is not None:
            assert result.hits + result.misses == len(ids)
            assert frames[0] > 0 or result.hits == result.evictions == 0

    try_one()
    assert outcomes.both()


def views(draw: st.DrawFn) -> _core.Views:
    """The views of a trace that is written and read."""
    writer = _core.TraceWriter({"rank": "0", "ranks": "1", "host": "h", "pid": "1"})
    writer.file(0, 1, 0, "f")
    with suppress(ValueError):
        number = numbers(np.int64)
        steps = st.lists(st.tuples(number, number), max_size=4)
        shape = st.tuples(number, number, st.lists(number, max_size=3), steps, number)
        writer.view(1, *draw(shape))
    writer.view(2, 3, 64, [0], [(4, 16)], 5)
    path = _folder[0] / "views.trace"
    path.write_bytes(writer.finish())
    try:
        return open_trace(path).view_layouts
    except TraceError:
        return _core.Views([])


_folder: list[Path] = []


@pytest.fixture(autouse=True)
def folder_of_views(tmp_path: Path) -> Iterable[None]:
    _folder[:] = [tmp_path]
    yield
    _folder.clear()


def test_touches_of_a_job() -> None:
    outcomes = Outcomes()
    progress = _core.Progress()
    number = numbers(np.int64)

    @bounded(80)
    @given(st.data())
    def try_one(data: st.DataObject) -> None:
        opens = data.draw(st.lists(st.tuples(*[numbers(np.uint32)] * 3), max_size=3))
        accesses = data.draw(st.sampled_from((0, 1, 1000, 2**64 - 1)))
        most_bytes = data.draw(st.sampled_from((0, 1, 1000, MEMORY)))
        table = data.draw(columns("u4 i4 i4 u2 u1 i1 i8 i8 u1 i4 i8 i8 i8 i8"))
        job = outcomes.of(
            lambda: _core.JobLog(views(data.draw), opens, accesses, most_bytes), REFUSED
        )
        if job is None:
            return
        outcomes.of(lambda: job.add(*table), REFUSED)
        job.finish()
        page, most = data.draw(number), data.draw(st.sampled_from((0, 1, 1000)))
        of = data.draw(st.lists(st.sampled_from((0, 1, 2, 2**32 - 1)), max_size=3))
        past = data.draw(st.lists(number, max_size=3))
        outcomes.of(
            lambda: _core.original_touches(job.log, page, most, of, past, progress, True), REFUSED
        )
        several = data.draw(st.tuples(number, number, number, number))
        touches = outcomes.of(
            lambda: _core.aggregated_touches(job.log, page, most, *several, progress, True), REFUSED
        )
        if touches is not None:
            (pages,) = touches.pages
            low, high = data.draw(st.tuples(*[st.sampled_from((0, 1, 2**31, 2**64 - 1))] * 2))
            assert len(touches.sampled(low, high)) <= len(touches)
            for policy in POLICIES:
                assert touches.simulate(policy, [0], progress) == (0, len(touches), 0)
                whole = touches.simulate(policy, [2**32 - 1], progress)
                assert whole == (len(touches) - pages, pages, 0)
                outcomes.of(lambda name=policy: touches.simulate(name, [], progress), REFUSED)

    try_one()
    assert outcomes.both()


def test_signatures() -> None:
    outcomes = Outcomes()
    kinds = "u4 u4 i4 u2 u1 i8 i8 i8 i8 u1"
    routines = [("a", True), ("b", False)]

    @bounded(100)
    @given(st.lists(columns(kinds), min_size=1, max_size=3), numbers(np.int64))
    def try_one(tables: list[list[np.ndarray]], page: int) -> None:
        streams = _core.Streams()
        for table in tables:
            outcomes.of(lambda table=table: streams.add(*table), REFUSED)
        found = [signature for *_, signature in streams.finish()]
        for one in found:
            one.message(), one.expand(), one.trace_signature("f", routines)
            outcomes.of(lambda one=one: one.classes(routines, page), REFUSED)
            outcomes.of(lambda one=one: one.pattern_signature([], page), REFUSED)
        ranks = list(zip((0, 0, 2**32 - 1, 7), found, strict=False))
        merged = _core.merge_signatures(ranks)
        merged.message()
        outcomes.of(lambda: merged.lines(routines, page, page), REFUSED)
        outcomes.of(lambda: _core.merge_signatures([*ranks, (1, None)]), REFUSED)

    try_one()
    assert outcomes.both()


def test_activity_and_conflicts() -> None:
    outcomes = Outcomes()
    of_activity = "i4 u1 u1 i8 i8 i8"
    of_conflicts = "i4 u4 u1 i8 i8 u1 i4 i8 i8 i8 i8"

    @bounded(100)
    @given(st.data())
    def try_one(data: st.DataObject) -> None:
        activities = [_core.Activity(), _core.Activity()]
        for one in activities:
            table = data.draw(columns(of_activity))
            outcomes.of(lambda one=one, table=table: one.add(*table), REFUSED)
        activities[0].merge(activities[1])
        outcomes.of(lambda: activities[0].merge(activities[0]), REFUSED)
        activities[0].stretches(data.draw(numbers(np.int64)))
        most = data.draw(st.sampled_from((0, 1, 100, 2**64 - 1)))
        conflicts = [_core.JobConflicts(most), _core.JobConflicts(most)]
        for finder in conflicts:
            table = data.draw(columns(of_conflicts))
            shown = data.draw(st.none() | st.just(0))
            views_shown = None if shown is None else views(data.draw)
            call = lambda f=finder, v=views_shown, t=table: f.add(v, *t)  # noqa: E731
            outcomes.of(call, REFUSED)
        outcomes.of(lambda: conflicts[0].merge(conflicts[0]), REFUSED)
        conflicts[0].merge(conflicts[1])
        conflicts[0].finish()

    try_one()
    assert outcomes.both()


def test_views() -> None:
    outcomes = Outcomes()

    @bounded(80)
    @given(st.data())
    def try_one(data: st.DataObject) -> None:
        known = views(data.draw)
        known.facts()
        outcomes.of(lambda: _core.Views(data.draw(st.lists(st.binary(max_size=20)))), REFUSED)
        where = data.draw(st.tuples(st.integers(-1, 3), numbers(np.int64), numbers(np.int64)))
        runs = outcomes.of(lambda: known.extents(*where), REFUSED)
        for offset, length in islice(runs or (), 100):
            assert length > 0 and offset + length < 2**63

    try_one()
    assert outcomes.both()


def test_block_files() -> None:
    outcomes = Outcomes()
    lines = st.lists(
        st.lists(st.sampled_from(("0", "1", "w", "-1", "nan", "f", str(2**63 - 1))), max_size=6),
        max_size=4,
    ).map(lambda rows: "\n".join(",".join(row) for row in rows).encode())

    @bounded(100)
    @given(
        st.sampled_from(("text", "oracleGeneral", "csv", "")),
        st.sampled_from((0, 1000, MEMORY, 2**64 - 1)),
        st.lists(lines | st.binary(max_size=50), max_size=3),
    )
    def try_one(kind: str, most: int, pieces: list[bytes]) -> None:
        reader = outcomes.of(lambda: _core.BlockReader(kind, most), REFUSED)
        if reader is None:
            return
        for piece in pieces:
            outcomes.of(lambda piece=piece: reader.feed(piece), REFUSED)
        outcomes.of(reader.finish, REFUSED)
        outcomes.of(lambda: reader.feed(b"1\n"), REFUSED)
        for page in (1, 4096):
            outcomes.of(
                lambda page=page: _core.original_touches(
                    reader.log, page, 1000, [], [2**63 - 1], _core.Progress()
                ),
                REFUSED,
            )
        assert len(reader.touches()) >= len(reader.touches()) == 0

    try_one()
    assert outcomes.both()


# Traces that say what no run does --------------------------------------------------------------

_CACHE_STEPS = words_of(
    "join leave commit drop_clean truncate resize share read write read_past write_past"
    " commit_range drop_range"
)
STEPS = [f"forebay_cache_{step}" for step in _CACHE_STEPS]
STEPS += ["MPI_File_read_at", "MPI_File_write_at", "MPI_File_open"]
JOIN, LEAVE = STEPS.index("forebay_cache_join"), STEPS.index("forebay_cache_leave")
SHARE = STEPS.index("forebay_cache_share")
READ, WRITE = STEPS.index("MPI_File_read_at"), STEPS.index("MPI_File_write_at")
STEPS_AGAIN = {"deterministic": "true"}
CACHE = 7  # the number of a node's cache
OPTIONS_OF_A_RUN = {"page_size": "65536", "cache_size": "1048576", "policy": "lru"}
OPTIONS_OF_A_RUN |= {"page_kind": "mask", "scope": "node"}
STEPS_OF_A_RUN = [(JOIN, 0, 1, 0), (WRITE, 70_000, 5000, 0), (READ, 0, 90_000, 0)]
STEPS_OF_A_RUN += [(LEAVE, 0, 0, 0)]


def replayable(path: Path, threads: list[list[tuple[int, int, int, int]]]) -> Path:
    """A trace with these steps: routine, position, bytes, and the number of the cache."""
    lines = process(0, 1, local_ranks=1, routines=" ".join(STEPS))
    lines += ["file 0 1 1 0 f", "view 1 3 64 4 16 5"]
    steps = [step for thread in threads for step in thread]
    views = [
        at % 2 if "read" in STEPS[one[0]] or "write" in STEPS[one[0]] else 0
        for at, one in enumerate(steps)
    ]
    calls = [
        Call(routine, 0, view, position, moved, moved if routine in (READ, WRITE) else cache)
        for view, (routine, position, moved, cache) in zip(views, steps, strict=True)
    ]
    numbered = [
        Call(**{**{f: getattr(one, f) for f in Call.__dataclass_fields__}, "sequence": at + 1})
        for at, one in enumerate(calls)
    ]
    return write_trace(path, [*lines, *block(numbered), f"end {len(calls)} 0"])


def test_replays_of_steps_that_no_run_makes(tmp_path: Path) -> None:
    outcomes = Outcomes()
    step = st.tuples(
        st.integers(0, len(STEPS) - 1),
        numbers(np.int64),
        st.sampled_from((0, 1, 100, 70_000, -1, 2**63 - 1)),
        st.sampled_from((0, CACHE, CACHE, CACHE + 1, -1)),
    )
    size = st.sampled_from(("512", "4096", "65536", "1000", "0", "x"))

    @bounded(60)
    @given(
        st.lists(step, max_size=8),
        st.fixed_dictionaries(
            {},
            optional={
                "page_size": size,
                "cache_size": size,
                "shards": st.sampled_from(("0", "1", "64", "99999", "-1")),
                "page_kind": st.sampled_from(("mask", "tree", "delta", "x")),
                "policy": st.sampled_from(POLICIES),
            },
        ),
    )
    def try_one(steps: list[tuple[int, int, int, int]], changes: dict[str, str]) -> None:
        known = [STEPS_OF_A_RUN[0], (SHARE, 0, 1, CACHE), (JOIN, 0, 1, CACHE)]
        trace = replayable(tmp_path / "t.trace", [[*known, *steps]])
        wanted = [OPTIONS_OF_A_RUN | changes]
        outcomes.of(lambda: simulate_runtime(trace, wanted), (ValueError, TypeError, TraceError))
        outcomes.of(
            lambda: simulate_cluster(trace, "palmetto-gige", [wanted[0] | STEPS_AGAIN]),
            (ValueError, TypeError, TraceError),
        )
        outcomes.of(
            lambda: simulate_cache(trace, page_size=512, memory=MEMORY),
            (ValueError, TypeError, TraceError),
        )

    try_one()
    assert outcomes.both()


def test_steps_of_two_nodes_in_an_impossible_order(tmp_path: Path) -> None:
    """Each process takes a step in its own cache after one in the other's that comes later."""

    def steps_of(rank: int, calls: Iterable[tuple[int, int]]) -> list[str]:
        own, other = 10 + rank, 11 - rank
        call = STEPS.index("MPI_File_read_at")
        lines = process(rank, 2, local_ranks=1, routines=" ".join(STEPS))
        lines += ["file 0 1 1 0 f"]
        steps = [
            Call(JOIN, 0, 0, 0, 1, 0, sequence=1),
            Call(SHARE, 0, 0, 0, 1, own, sequence=2),
            Call(JOIN, 0, 0, 0, 1, other, sequence=3),
        ]
        for cache, number in calls:
            steps += [
                Call(call, 0, 0, 0, 100, 100),
                Call(STEPS.index("forebay_cache_drop_clean"), 0, 0, 0, 0, cache, sequence=number),
            ]
        return [*lines, *block(steps), f"end {len(steps)} 0"]

    def simulated(first: Iterable[tuple[int, int]], second: Iterable[tuple[int, int]]) -> object:
        write_trace(tmp_path / "0.trace", steps_of(0, first))
        write_trace(tmp_path / "1.trace", steps_of(1, second))
        run = {"scope": "job", **STEPS_AGAIN}
        return simulate_cluster(tmp_path, "palmetto-gige", [run])

    assert simulated([(0, 4), (11, 5)], [(0, 4), (10, 5)])
    with pytest.raises(TraceError, match="the numbers of its steps contradict the order"):
        simulated([(11, 5), (0, 4)], [(10, 5), (0, 4)])


def test_parquet_files_with_other_numbers(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    outcomes = Outcomes()
    source = converted(sample(tmp_path / "t", ranks=2), tmp_path)
    table, about = pq.read_table(source), pq.read_metadata(source).metadata
    whole = [field.name for field in table.schema if pa.types.is_integer(field.type)]
    path = tmp_path / "changed.parquet"

    @bounded(100)
    @given(st.data())
    def try_one(data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(whole))
        kind = table.schema.field(name).type
        number = numbers(np.dtype(kind.to_pandas_dtype()).type)
        values = [data.draw(number) for _ in range(len(table))]
        changed = table.set_column(
            table.schema.get_field_index(name), table.schema.field(name), pa.array(values, kind)
        )
        pq.write_table(changed.replace_schema_metadata(about), path)
        call = lambda: simulate_cache(path, page_size=512, memory=MEMORY)  # noqa: E731
        outcomes.of(call, (ValueError, TypeError, TraceError))

    try_one()
    assert outcomes.both()
