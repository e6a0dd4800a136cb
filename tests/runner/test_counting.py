"""The test runner counts the tests that ran, and notices those that did not."""

import signal
from pathlib import Path

import pytest

import run

PYTEST_REPORT = """<testsuites><testsuite name="pytest" tests="4">
<testcase classname="a" name="good"/>
<testcase classname="a" name="bad"><failure message="no"/></testcase>
<testcase classname="a" name="broken"><error message="no"/></testcase>
<testcase classname="a" name="absent"><skipped message="no such MPI"/></testcase>
</testsuite></testsuites>"""
GOOGLE_REPORT = """<testsuites tests="3" disabled="1"><testsuite name="S" tests="3">
<testcase name="One" status="run" result="completed" classname="S"/>
<testcase name="Two" status="run" result="completed" classname="S"><failure message="x"/></testcase>
<testcase name="Three" status="notrun" result="suppressed" classname="S"/>
</testsuite></testsuites>"""


@pytest.fixture
def reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(run, "REPORTS", tmp_path)
    monkeypatch.setattr(run, "ROOT", tmp_path)
    return tmp_path


def result(suite: run.Suite) -> run.Tally:
    return run.run_suites([suite])[suite.name]


def test_reads_reports_of_pytest(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text(PYTEST_REPORT)
    tally = run.read_report(report)
    assert (tally.passed, tally.failed, tally.skipped) == (1, 2, 1)
    assert tally.failures == ("a.bad", "a.broken")
    assert tally.skips == ("a.absent: no such MPI",)


def test_reads_reports_of_google_test(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text(GOOGLE_REPORT)
    assert str(run.read_report(report)) == "1 passed, 1 failed, 1 skipped"


def test_counts_a_command_without_report_as_one_test(reports: Path) -> None:
    assert str(result(run.Suite("good", (), "true"))) == "1 passed, 0 failed, 0 skipped"
    assert str(result(run.Suite("bad", (), "false"))) == "0 passed, 1 failed, 0 skipped"


def test_a_crash_after_passing_tests_is_a_failure(reports: Path) -> None:
    good = "<testsuite><testcase name='one'/></testsuite>"
    command = f'sh -c "echo \\"{good}\\" > {{report}}; exit 3"'
    tally = result(run.Suite("crash", (), command))
    assert str(tally) == "1 passed, 1 failed, 0 skipped"


def test_a_promised_report_that_is_missing_or_empty_is_a_failure(reports: Path) -> None:
    assert result(run.Suite("missing", (), "true {report}")).failed == 1
    command = "sh -c 'echo \"<testsuites/>\" > {report}'"
    assert result(run.Suite("empty", (), command)).failed == 1


def test_a_suite_that_takes_too_long_is_ended(reports: Path) -> None:
    tally = result(run.Suite("slow", (), "sleep 60", timeout_seconds=1))
    assert "ran longer" in tally.failures[0]


def test_a_suite_is_not_run_when_what_it_needs_failed(reports: Path) -> None:
    suites = [run.Suite("first", (), "false"), run.Suite("second", (), "true", ("first",))]
    assert "could not run" in run.run_suites(suites)["second"].failures[0]


def test_a_suite_whose_program_was_not_built_says_so_in_one_line(reports: Path) -> None:
    suites = [run.Suite("unit", (), "build/unit", ("build",)), run.Suite("good", (), "true")]
    results = run.run_suites(suites)
    assert results["unit"].failures == (
        "unit could not run: No such file or directory: build/unit; run build first",
    )
    assert results["good"].passed == 1
    assert run.missing_tests(results, {"unit": 500}).failed == 0


def test_suites_of_one_core_run_side_by_side(reports: Path, tmp_path: Path) -> None:
    """Each suite ends only after the other one has begun."""

    def meets(mine: str, other: str) -> str:
        wait = f"until test -e {tmp_path}/{other}; do sleep 0.01; done"
        return f"sh -c 'touch {tmp_path}/{mine}; {wait}'"

    names = (("one", "two"), ("two", "one"))
    suites = [run.Suite(mine, (), meets(mine, other), (), 60, 1) for mine, other in names]
    assert all(tally.passed == 1 for tally in run.run_suites(suites).values())


@pytest.mark.parametrize(("cores", "needs"), [(run.CORES, ()), (1, ("one",))])
def test_a_suite_waits_for_cores_and_for_what_it_needs(
    reports: Path, tmp_path: Path, cores: int, needs: tuple[str, ...]
) -> None:
    suites = [
        run.Suite("one", (), f"sh -c 'sleep 0.2; touch {tmp_path}/ended'", cores=cores),
        run.Suite("two", (), f"test -e {tmp_path}/ended", needs, cores=cores),
    ]
    assert all(tally.passed == 1 for tally in run.run_suites(suites).values())


def test_no_suite_overtakes_another(reports: Path, tmp_path: Path) -> None:
    """A core stays free rather than being given to a later suite: the table's order is kept."""

    def command(name: str) -> str:
        return f"sh -c 'sleep 0.2; echo {name} >> {tmp_path}/order'"

    cores = {"narrow": 1, "wide": run.CORES, "late": 1}
    run.run_suites(run.Suite(name, (), command(name), cores=n) for name, n in cores.items())
    assert (tmp_path / "order").read_text().split() == list(cores)


def test_an_interrupted_run_leaves_nothing_running(
    reports: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[run.Run] = []

    def interrupted(self: run.Run) -> None:
        started.append(self)
        raise KeyboardInterrupt

    monkeypatch.setattr(run.Run, "ended", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run.run_suites([run.Suite("slow", (), "sleep 60")])
    assert [one.process.poll() for one in started] == [-signal.SIGTERM]


def test_fewer_tests_than_the_count_are_noticed() -> None:
    count = run.read_count("# comment\nunit 5\nmpi 2\n")
    results = {"unit": run.Tally(passed=4, skipped=3), "mpi": run.Tally(passed=2)}
    assert run.missing_tests(results, count).failed == 1
    assert run.missing_tests({"unit": run.Tally(passed=5)}, count).failed == 0


def test_every_suite_has_a_line_in_the_count() -> None:
    count = run.read_count(run.COUNT.read_text())
    counted = {suite.name for suite in run.SUITES if suite.tiers != run.LONG}
    assert set(count) == counted


def test_suites_follow_what_they_need() -> None:
    seen: set[str] = set()
    for suite in run.SUITES:
        assert set(suite.needs) <= seen, suite.name
        assert suite.name not in seen
        seen.add(suite.name)
