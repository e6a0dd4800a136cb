"""`forebay simulate cluster --measure`: a mounted file system as a machine."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from command import forebay
from forebay.bench.runs import WORKLOADS
from forebay.commands.simulate_cluster import cluster
from forebay.mounts import mounted_kind
from forebay.simulation import (
    Measurement,
    machine,
    measure,
    measuring,
    simulate_cluster,
    workload_traces,
)
from forebay.simulation.measuring import Fit

ROOT = Path(__file__).parents[2]
WAYS = ("write", "read", "read_written", "read_reopened")


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measurements that are too short to be right."""
    monkeypatch.setattr(measuring, "_SECONDS", 0.005)
    monkeypatch.setattr(measuring, "_REPETITIONS", 1)
    monkeypatch.setattr(measuring, "_CHECK_S", 0.01)


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """4 processes that write 50 records in turns and read them."""
    folder = tmp_path_factory.mktemp("traces") / "records"
    workload_traces.ior(folder, 4, transfer=4096, segments=50)
    return folder


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(cluster, [str(word) for word in words])


def test_what_is_measured_is_a_machine(quick: None, tmp_path: Path) -> None:
    stages: list[float] = []
    found = measure(tmp_path, processes=3, progress=lambda _, part: stages.append(part))
    assert isinstance(found, Measurement)
    assert list(tmp_path.iterdir()) == []
    assert stages == sorted(stages) and stages[-1] == 1.0
    assert found.kind == mounted_kind(tmp_path)
    assert found.processes == 3
    assert 0 < found.open_s < 1 and 0 < found.close_s < 1 and 0 < found.lock_s < 1
    for fits in (found.alone, found.together):
        assert tuple(fits) == WAYS
        for fit in fits.values():
            assert 0 < fit.seconds(4096) < fit.seconds(1 << 20) < 1
    assert found.check is not None
    assert found.check.measured_s > 0 and found.check.simulated_s > 0
    made = found.machine()
    assert made.file_system.kind == "measured"
    flat = made.flat()
    for way in WAYS:
        assert flat[f"file_system.{way}.alone_s"] == pytest.approx(found.alone[way].call_s, 1e-3)
        assert flat[f"file_system.{way}.together_bytes_per_second"] == pytest.approx(
            found.together[way].bytes_per_second, 1e-3
        )
    saved = tmp_path / "mine.toml"
    saved.write_text(found.profile())
    assert machine(saved) == made


@pytest.mark.parametrize(("call_s", "rate"), [(1e-6, 1e9), (3e-3, 2e7), (0.0, 5e8), (1e-4, 1e11)])
def test_a_fit_finds_the_values_that_made_its_points(call_s: float, rate: float) -> None:
    made = Fit(call_s, rate)
    found = measuring._fit({size: [made.seconds(size)] * 3 for size in measuring.SIZES})
    for size in (300, 4096, 1 << 22):
        assert found.seconds(size) == pytest.approx(made.seconds(size), rel=1e-3)


def test_a_fit_of_times_that_no_line_describes_stays_above_zero() -> None:
    falling = measuring._fit({4096: [3e-3], 65536: [2e-3], 1 << 20: [1e-3]})
    assert falling.call_s > 0 and falling.bytes_per_second == measuring._FASTEST
    steep = measuring._fit({4096: [1e-6], 65536: [1e-4], 1 << 20: [1e-2]})
    assert steep.call_s == 0.0 and steep.seconds(4096) > 0


def test_closes_that_wait_for_what_was_written_get_a_rate() -> None:
    assert measuring._close_rate([(1 << 20, 1e-6), (1 << 24, 1e-4)], 1e-6) == 0.0
    rate = measuring._close_rate([(10_000_000, 0.101), (30_000_000, 0.301)], 0.001)
    assert rate == pytest.approx(1e8)


def test_a_slow_file_system_is_simulated_as_slow(records: Path) -> None:
    fits = dict.fromkeys(WAYS, Fit(1e-5, 1e9))
    made = Measurement("ext4", 2, 1e-5, 1e-5, 1e-5, 0.0, 1e-6, 8e9, fits, fits).machine()
    slow = made.with_changes({"file_system.write.alone_s": "0.01"})
    changes = [{"scope": "none", "collective": "independent"}, {"scope": "node"}]
    fast, _ = simulate_cluster(records, made, changes, processes_per_node=4)
    none, node = simulate_cluster(records, slow, changes, processes_per_node=4)
    assert none.writing_s >= 50 * 0.01 > fast.writing_s
    late = {"file_system.create_s": "1"}
    (created,) = simulate_cluster(records, slow, [changes[0] | late], processes_per_node=4)
    assert created.run_s == pytest.approx(1 + none.run_s, abs=0.1)
    assert node.writing_s + node.closing_s < none.writing_s / 5
    assert (none.requests, none.servers) == (400, 1)
    # Each node is as fast as one alone, or all together.
    spread = {"scope": "none", "collective": "independent", "file_system.write.together_s": "0.01"}
    apart = [spread | {"file_system.full_speed_nodes": nodes} for nodes in ("1", "4")]
    together, alone = simulate_cluster(records, made, apart, processes_per_node=1)
    assert together.writing_s > 1.5 > 0.5 <= alone.writing_s < 0.6


def test_on_nfs_the_library_takes_locks(records: Path) -> None:
    lock = "file_system.library_lock_s"
    for scope, locks in (
        ({"scope": "none", "collective": "independent"}, 100),
        ({"scope": "node"}, 0),
    ):
        without, with_locks = simulate_cluster(
            records, "nfs-25gbe", [scope | {lock: "0"}, scope | {lock: "0.01"}]
        )
        in_calls = [one.reading_s + one.writing_s for one in (without, with_locks)]
        assert in_calls[1] - in_calls[0] == pytest.approx(locks * 0.01, abs=0.05)


def test_the_command_prints_a_profile_or_simulates(
    quick: None, records: Path, tmp_path: Path
) -> None:
    printed = run("--measure", tmp_path)
    assert printed.exit_code == 0, printed.stderr
    profile = tmp_path / "printed.toml"
    profile.write_text(printed.stdout)
    assert machine(profile).file_system.kind == "measured"
    assert re.search(r"fitted to takes \S+ s, and \S+ s simulated \([+-]\d+%\)", printed.stderr)
    saved = tmp_path / "saved.toml"
    simulated = run(records, "--measure", tmp_path, "--save-machine", saved)
    assert simulated.exit_code == 0, simulated.stderr
    assert "on measured: " in simulated.stdout
    again = run(records, "--machine", saved, "--report", tmp_path / "page.html")
    assert again.stdout == simulated.stdout
    assert "read_reopened" in (tmp_path / "page.html").read_text()
    shown = run("--machine", saved, "--show-machine")
    assert '"kind": "measured"' in shown.stdout
    replaced = run("--measure", tmp_path, "--save-machine", saved, "--force")
    assert replaced.exit_code == 0, replaced.stderr


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], "give a TRACE, or --measure DIR"),
        (["--save-machine", "m.toml"], "--save-machine needs --measure"),
        (["--measure", "DIR", "--machine", "perlmutter"], "give one"),
        (["--measure", "DIR", "--plot", "x.svg"], "give a TRACE"),
        (["--measure", "DIR", "--json"], "give a TRACE"),
        (["--measure", "DIR/missing"], "missing: No such file or directory"),
        (["--measure", "DIR/file"], "file: Not a directory"),
        (["--measure", "DIR", "--save-machine", "DIR/file"], "--force replaces it"),
    ],
)
def test_mistakes_get_a_line(words: list[str], expected: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    given = [word.replace("DIR", str(tmp_path)) for word in words]
    told = forebay("simulate", "cluster", *given)
    assert told.returncode != 0
    assert expected in told.stderr
    assert len(told.stderr.splitlines()) == 1, told.stderr
    assert (tmp_path / "file").read_bytes() == b""


def test_a_full_file_system_is_told(
    quick: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A process may write files of no more than a page; so a worker's write fails."""
    import resource

    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024, limits[1]))
    try:
        with pytest.raises(ValueError, match=re.escape(f"{tmp_path}: File too large")):
            measure(tmp_path, processes=2)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("processes", [0, 1, 5000])
def test_some_processes_measure(processes: int, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"processes (are 2 to 1,024|is at least 1)"):
        measure(tmp_path, processes=processes)
    assert list(tmp_path.iterdir()) == []


def test_workloads_are_predicted_as_the_bench_names_them() -> None:
    """bench/beside.py puts these beside what the bench measures."""
    spec = importlib.util.spec_from_file_location("beside", ROOT / "bench" / "beside.py")
    assert spec is not None and spec.loader is not None
    beside = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(beside)
    assert set(beside.CASES) <= set(WORKLOADS)
    fits = dict.fromkeys(WAYS, Fit(1e-3, 1e9))
    made = Measurement("ext4", 2, 1e-5, 1e-5, 1e-5, 0.0, 1e-6, 8e9, fits, fits).machine()
    seconds = beside.predicted("ior-hard", made, 2)
    assert set(seconds) == {(side, what) for side in beside.SCOPES for what in beside.FIGURES}
    assert seconds["plain", "write"] > 800 * 1e-3
    assert seconds["forebay", "write"] < seconds["plain", "write"] / 2
