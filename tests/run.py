"""Runs the test suites of a tier, counts their tests, and says what failed.

    python3 tests/run.py TIER [--only SUITE ...] [--update-count]
    python3 tests/run.py --list

A suite is a line of SUITES: its name, the tiers that contain it, and a command. Suites start in the
table's order, one that keeps a single core busy beside another such. A command that writes a JUnit
XML file to {report} is counted by its test cases, any other as one test. Every suite runs even when
another failed, unless what it `needs` failed. tests/count says how many tests of a suite must at
least have run; fewer count as a failure. The last line printed is always
"N passed, N failed, N skipped".
"""

import argparse
import os
import shlex
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REPORTS = ROOT / "build" / "reports"
COUNT = ROOT / "tests" / "count"
LOG_LINES_SHOWN = 60
HOUR = 3600
CORES = 2  # shared by the suites; not read from the machine, so that every run is the same
POLL_SECONDS = 0.05
KILL_SECONDS = 2  # time for a suite to end when asked to

CHECK = ("check",)
TEST = ("test",)
LONG = ("long",)
DAILY = ("check", "test", "long")  # fast enough for each tier
FULL = ("test", "long")


@dataclass(frozen=True)
class Suite:
    """A line of the table. In `command`, {venv}, {report} and the like stand for VARIABLES."""

    name: str
    tiers: tuple[str, ...]
    command: str
    needs: tuple[str, ...] = ()
    timeout_seconds: int = 900
    cores: int = CORES  # how many cores it keeps busy


# Python has no sanitizer of its own. With one, operator new cannot fail; Python leaks at its end.
ASAN_PACKAGE = ROOT / "build" / "asan" / "package"
ASAN_LOG = f"log_path={REPORTS / 'asan-python'}"
ASAN_VARIABLES = {
    "PYTHONPATH": ASAN_PACKAGE,
    "PYTHONMALLOC": "malloc",
    "LD_PRELOAD": f"{ASAN_PACKAGE / 'libasan.so'}:{ASAN_PACKAGE / 'libstdc++.so'}",
    "ASAN_OPTIONS": f"detect_leaks=0:max_allocation_size_mb=4096:{ASAN_LOG}",
    "UBSAN_OPTIONS": f"print_stacktrace=1:{ASAN_LOG}",
}

VARIABLES = {
    "python": sys.executable,
    "venv": str(ROOT / ".venv-mpich"),
    "bin": str(ROOT / ".venv-mpich" / "bin"),
    "pytest": f"{ROOT / '.venv-mpich' / 'bin' / 'python'} -m pytest -q -p no:cacheprovider"
    " -o junit_family=xunit2 --junitxml={report}",
    # Two at a time: MPI programs mostly wait, but if they poll, a third one takes a core from them.
    "workers": f"-n {CORES} --dist worksteal",
    "build": f"{sys.executable} {ROOT / 'tests' / 'build.py'}",
    "unit": "tests/forebay_unit --gtest_brief=1 --gtest_output=xml:{report}",
    "gtest": "--gtest_brief=1 --gtest_output=xml:{report}",
    "datatypes": "env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"
    " build/gcc/tests/mpi/forebay_datatype",
    "waiting": "--ignore tests/box/test_lost_nodes.py",
    "half": "env GTEST_TOTAL_SHARDS=2 GTEST_SHARD_INDEX",
    "asan": " ".join(["env", *(f"{name}={value}" for name, value in ASAN_VARIABLES.items())]),
    "fuzz": "-seed=1 -max_len=4096 -timeout=60 -rss_limit_mb=2048 -artifact_prefix=build/reports/",
    # Not what counts the code's instructions, nor what takes long with every kind of pages.
    "sane": "--gtest_filter=-*PageInterleaving*:*PageDeath*:*EveryStorageCallInTurn/delta"
    ":*RandomSequences/byte:*AlternatingBytes*/byte",
    "threaded": "--gtest_filter=*ThreadsLoseNoByte*:*ThreadsKeep*:*Concurren*:*Storage*:*Workers*"
    ":*Agent*:*JobFile*:-*EveryStorageCallInTurn*",  # one thread, three minutes
    "tsan": "env TSAN_OPTIONS=history_size=7:"
    f"suppressions={ROOT / 'tests' / 'tsan.supp'} setarch -R",
}

SUITES = (
    Suite("apt", FULL, "{python} tests/environment.py apt", timeout_seconds=1800),
    Suite("venvs", DAILY, "{python} tests/environment.py venvs", ("apt",), 1800),
    Suite("runner", DAILY, "{pytest} tests/runner", ("venvs",), cores=1),
    Suite("clang-format", DAILY, "bash tests/lint.sh clang-format", cores=1),
    Suite("ruff", DAILY, "bash tests/lint.sh ruff {bin}", ("venvs",), cores=1),
    Suite("build", DAILY, "{build} gcc", ("venvs",), 1800),
    Suite("mypy", DAILY, "bash tests/lint.sh mypy {bin}", ("build",), cores=1),
    Suite("unit", DAILY, "build/gcc/{unit}", ("build",), cores=1),
    Suite("simulated", DAILY, "build/gcc/tests/forebay_simulated {gtest}", ("build",), cores=1),
    Suite(
        "agents",
        DAILY,
        "env FOREBAY_SEEDS=1000 build/gcc/tests/forebay_agents {gtest}",
        ("build",),
        cores=1,
    ),
    Suite("planted", FULL, "{pytest} {workers} tests/simulated tests/agents", ("build",)),
    Suite(
        "simulated-long",
        LONG,
        "env FOREBAY_SEEDS=85000 build/gcc/tests/forebay_simulated {gtest}",
        ("build",),
        HOUR,
        1,
    ),
    Suite(
        "agents-long",
        LONG,
        "env FOREBAY_SEEDS=100000 build/gcc/tests/forebay_agents {gtest}",
        ("build",),
        2 * HOUR,
        1,
    ),
    Suite(
        "mutants",
        LONG,
        "{bin}/python tests/simulated/mutate.py",
        ("build",),
        6 * HOUR,
        1,
    ),
    Suite("memory", FULL, "build/gcc/tests/forebay_memory {gtest}", ("build",), cores=1),
    Suite("datatypes-mpich", DAILY, "{datatypes}_mpich {gtest}", ("build",), cores=1),
    Suite("datatypes-mpiabi", FULL, "{datatypes}_mpiabi {gtest}", ("build",), cores=1),
    Suite("datatypes-openmpi", FULL, "{datatypes}_openmpi {gtest}", ("build",), cores=1),
    Suite(
        "preload",
        DAILY,
        "env FOREBAY_LIB_DIR=build/gcc/lib {pytest} {workers} tests/preload",
        ("build",),
    ),
    Suite("python", DAILY, "{pytest} {workers} tests/python", ("build",)),
    Suite("mpi-quick", CHECK, "{pytest} tests/mpi -m quick", ("build",)),
    Suite("clang", TEST, "{build} clang", ("venvs",), 1800),
    Suite("clang-alone", LONG, "{build} clang-alone", ("venvs",), 1800),
    Suite("asan-build", FULL, "{build} asan", ("venvs",), 1800),
    Suite("tsan-build", FULL, "{build} tsan", ("venvs",), 1800),
    Suite("asan-even", FULL, "{half}=0 build/asan/{unit} {sane}", ("asan-build",), 2400, cores=1),
    Suite("asan-odd", FULL, "{half}=1 build/asan/{unit} {sane}", ("asan-build",), 2400, cores=1),
    # gcc 12's ThreadSanitizer needs an address space layout that kernels no longer use by default.
    Suite("tsan", FULL, "{tsan} build/tsan/{unit} {threaded}", ("tsan-build",), 2400, cores=1),
    Suite(
        "asan-simulated",
        FULL,
        "env FOREBAY_SEEDS=500 build/asan/tests/forebay_simulated {gtest}",
        ("asan-build",),
        cores=1,
    ),
    Suite(
        "asan-agents",
        FULL,
        "env FOREBAY_SEEDS=150 build/asan/tests/forebay_agents {gtest}",
        ("asan-build",),
        cores=1,
    ),
    Suite(
        "fuzz",
        FULL,
        "build/asan/tests/forebay_fuzz_trace {fuzz} -runs=20000",
        ("asan-build",),
        cores=1,
    ),
    Suite(
        "fuzz-blocks",
        FULL,
        "build/asan/tests/forebay_fuzz_blocks {fuzz} -runs=20000",
        ("asan-build",),
        cores=1,
    ),
    Suite("wheel", FULL, "{pytest} tests/wheel", ("build",), cores=1),
    Suite("trace", FULL, "{pytest} tests/trace", ("build",), cores=1),
    # They mostly wait until a node that has gone is noticed.
    Suite("lost-nodes", FULL, "{pytest} tests/box/test_lost_nodes.py", ("build",), cores=1),
    Suite(
        "asan-python",
        FULL,
        "{asan} {pytest} {workers} tests/python/test_extremes.py",
        ("build", "asan-build"),
    ),
    Suite(
        "fuzz-long",
        LONG,
        "build/asan/tests/forebay_fuzz_trace {fuzz} -max_total_time=7200",
        ("asan-build",),
        3 * HOUR,
    ),
    Suite("mpi", FULL, "{pytest} {workers} tests/mpi", ("build",)),
    Suite("box", FULL, "{pytest} {workers} tests/box {waiting}", ("build",)),
    Suite("apps", FULL, "{pytest} {workers} tests/apps", ("build",), 1800),
    Suite("crash", FULL, "{pytest} {workers} tests/crash tests/faults", ("build",), 3600),
    Suite(
        "hostile-long",
        LONG,
        "env HISTORY_OPERATIONS=200000000 CRASH_SIGNALS=300 {pytest}"
        " tests/crash/test_signals.py tests/faults/test_value_history.py",
        ("build",),
        6 * HOUR,
    ),
    Suite("random", FULL, "{pytest} {workers} tests/random", ("build",), 3000),
    Suite(
        "crash-long",
        LONG,
        "env CRASH_KILLS=5000 CRASH_CALLS=100 {pytest} tests/crash",
        ("build",),
        8 * HOUR,
    ),
    Suite(
        "faults-long",
        LONG,
        "env FAULTS_ALL=1 {pytest} tests/faults/test_faulty_ranks.py",
        ("build",),
        4 * HOUR,
    ),
    Suite("random-long", LONG, "{bin}/python tests/random/run.py --long", ("build",), 48 * HOUR),
)


@dataclass
class Tally:
    """Numbers of passed, failed and skipped tests, and sentences on those that did not pass."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    failures: tuple[str, ...] = ()
    skips: tuple[str, ...] = ()

    @property
    def ran(self) -> int:
        return self.passed + self.failed

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(
            self.passed + other.passed,
            self.failed + other.failed,
            self.skipped + other.skipped,
            self.failures + other.failures,
            self.skips + other.skips,
        )

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def failure(sentence: str) -> Tally:
    """A tally of one failed test."""
    return Tally(failed=1, failures=(sentence,))


def not_started(suite: Suite, error: OSError) -> str:
    """Why a suite's command could not be started, and which suites would make its program."""
    reason = f"{suite.name} could not run: {error.strerror}: {error.filename}"
    return f"{reason}; run {' and '.join(suite.needs)} first" if suite.needs else reason


def read_report(path: Path) -> Tally:
    """Counts the test cases of a JUnit XML file as GoogleTest and pytest write it."""
    tally = Tally()
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        name = f"{case.get('classname')}.{case.get('name')}"
        skipped = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            tally += failure(name)
        elif skipped is not None or case.get("status") == "notrun":
            reason = "" if skipped is None else skipped.get("message", "")
            tally += Tally(skipped=1, skips=(f"{name}: {reason}",))
        else:
            tally.passed += 1
    return tally


def tally_of(suite: Suite, code: int | None, report: Path) -> Tally:
    """The result of a finished command, from its exit code (None: timeout) and its report."""
    try:
        tally = read_report(report) if report.exists() else Tally()
    except ElementTree.ParseError as error:
        return failure(f"{suite.name} wrote a broken report: {error}")
    if code is None:
        return tally + failure(f"{suite.name} ran longer than {suite.timeout_seconds} s")
    if code != 0 and tally.failed == 0:
        return tally + failure(f"{suite.name} ended with exit status {code}")
    if not report.exists() and "{report}" not in expand(suite.command, keep_report=True):
        return Tally(passed=1) if code == 0 else tally
    if tally.ran + tally.skipped == 0:
        return failure(f"{suite.name} reported no test")
    return tally


def expand(command: str, report: Path | None = None, keep_report: bool = False) -> str:
    """The command with its variables replaced; their values may contain {report}."""
    values = {**VARIABLES, "report": "{report}"}
    text = command.format_map(values)
    return text if keep_report else text.replace("{report}", str(report))


class Run:
    """The running command of a suite, with its output in a log.

    Raises OSError if the command's program cannot be started.
    """

    def __init__(self, suite: Suite) -> None:
        self.suite = suite
        self.began = time.monotonic()
        self._report = REPORTS / f"{suite.name}.xml"
        self._log = REPORTS / f"{suite.name}.log"
        self._report.unlink(missing_ok=True)
        with self._log.open("w") as output:
            self.process = subprocess.Popen(
                shlex.split(expand(suite.command, self._report)),
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def ended(self) -> Tally | None:
        """The result, once the command has ended or timed out; None while it runs. Shows the log's
        end after a failure."""
        code = self.process.poll()
        if code is None:
            if time.monotonic() - self.began < self.suite.timeout_seconds:
                return None
            self.kill()
        tally = tally_of(self.suite, code, self._report)
        if tally.failed:
            shown = self._log.read_text(errors="replace").splitlines()[-LOG_LINES_SHOWN:]
            print(f"--- end of {self._log.relative_to(ROOT)}", *shown, "---", sep="\n")
        return tally

    def kill(self) -> None:
        """Ends the command and its processes."""
        os.killpg(self.process.pid, signal.SIGTERM)
        try:
            self.process.wait(KILL_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


def read_count(text: str) -> dict[str, int]:
    """The lines "suite number" of tests/count, without comments (#)."""
    lines = (line.split() for line in text.splitlines() if not line.startswith("#"))
    return {name: int(number) for name, number in lines}


def missing_tests(results: Mapping[str, Tally], count: Mapping[str, int]) -> Tally:
    """A failure for every suite in which fewer tests ran than tests/count says.

    A suite in which nothing passed has already failed with its reason.
    """
    tally = Tally()
    for name, result in results.items():
        expected = count.get(name, 0)
        if result.ran < expected and not (result.failed and not result.passed):
            tally += failure(f"{name}: {result.ran} tests ran, tests/count says {expected}")
    return tally


def update_count(results: Mapping[str, Tally]) -> None:
    """Writes the numbers of tests that ran to tests/count; other suites keep theirs."""
    text = COUNT.read_text()
    comments = [line for line in text.splitlines() if line.startswith("#")]
    count = {**read_count(text), **{name: result.ran for name, result in results.items()}}
    known = [suite.name for suite in SUITES if suite.name in count]
    COUNT.write_text("\n".join(comments + [f"{name} {count[name]}" for name in known]) + "\n")


def run_suites(suites: Iterable[Suite]) -> dict[str, Tally]:
    """Runs the suites. A suite counts as failed, without running, if a suite that it needs failed.

    Suites keep their order: a suite starts once all suites before it have started, those that it
    needs have ended, and enough cores are free.
    """
    waiting = deque(suites)
    running: list[Run] = []
    results: dict[str, Tally] = {}

    def finish(suite: Suite, seconds: float, tally: Tally) -> None:
        results[suite.name] = tally
        print(f"{suite.name:18} {seconds:7.1f} s  {tally}", flush=True)

    def can_start(suite: Suite) -> bool:
        busy = [run.suite for run in running]
        return sum(one.cores for one in (*busy, suite)) <= CORES and not any(
            one.name in suite.needs for one in busy
        )

    try:
        while waiting or running:
            while waiting and can_start(waiting[0]):
                suite = waiting.popleft()
                broken = [name for name in suite.needs if name in results and results[name].failed]
                if broken:
                    reason = f"{suite.name} could not run: {broken[0]} failed"
                    finish(suite, 0, failure(reason))
                    continue
                try:
                    running.append(Run(suite))
                except OSError as error:
                    finish(suite, 0, failure(not_started(suite, error)))
            time.sleep(POLL_SECONDS)
            for run in list(running):
                tally = run.ended()
                if tally is not None:
                    running.remove(run)
                    finish(run.suite, time.monotonic() - run.began, tally)
    finally:
        for run in running:
            run.kill()
    return results


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    tiers = sorted({tier for suite in SUITES for tier in suite.tiers})
    parser.add_argument("tier", nargs="?", choices=tiers)
    parser.add_argument("--only", nargs="+", metavar="SUITE", help="run these of the tier")
    parser.add_argument("--list", action="store_true", help="list the suites and their tiers")
    parser.add_argument("--update-count", action="store_true", help="rewrite tests/count")
    options = parser.parse_args(arguments)
    if options.list or options.tier is None:
        for suite in SUITES:
            print(f"{suite.name:18} {' '.join(suite.tiers):16} {suite.command}")
        return 0
    # The environments come without compiled modules (environment.py): the first import keeps them.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    chosen = [suite for suite in SUITES if options.tier in suite.tiers]
    if options.only:
        unknown = set(options.only) - {suite.name for suite in chosen}
        if unknown:
            parser.error(f"no suite of tier {options.tier}: {', '.join(sorted(unknown))}")
        chosen = [suite for suite in chosen if suite.name in options.only]
    REPORTS.mkdir(parents=True, exist_ok=True)
    results = run_suites(chosen)
    if options.update_count:
        update_count(results)
    total = sum(results.values(), Tally()) + missing_tests(results, read_count(COUNT.read_text()))
    for sentence in total.skips:
        print(f"skipped: {sentence}")
    for sentence in total.failures:
        print(f"FAILED: {sentence}")
    print(total)
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
