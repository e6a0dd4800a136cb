"""Network times of the cluster simulator beside SimGrid's, an independent simulator."""

from __future__ import annotations

import importlib
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

from forebay.simulation import Machine, machine

ROOT = Path(__file__).resolve().parents[2]
HEADERS = 58
"""Bytes of a frame besides its segment; SimGrid has none."""


@pytest.fixture(scope="module")
def simgrid() -> ModuleType:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "bench")
        return importlib.import_module("simgrid_network")


@pytest.fixture(scope="module")
def program(simgrid: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    try:
        return simgrid.build(tmp_path_factory.mktemp("simgrid"))
    except simgrid.SimgridMissing as missing:
        pytest.skip(str(missing))


def platform(simgrid: ModuleType, name: str, **changes: str) -> Machine:
    """A machine whose hosts process frames side by side, and lose none."""
    return machine(name).with_changes(simgrid.SIDE_BY_SIDE | simgrid.AMPLE | changes)


@pytest.mark.parametrize(
    "name", ["perlmutter", "nfs-25gbe", "palmetto-myri10g", "palmetto-gige", "jazz-fast-ethernet"]
)
def test_bulk_transfers_take_the_links_time_and_headers(
    name: str, simgrid: ModuleType, program: Path
) -> None:
    """At both levels, to 1 %: alone, to one host, in pairs. Hosts that send and receive have
    acknowledgements on both links by frames, and by messages none."""
    on = platform(simgrid, name)
    headers = HEADERS / on.network.mss
    bulk = [case for case in simgrid.CASES if case.bytes >= simgrid.MIB]
    found = simgrid.compared(program, on, bulk)
    assert len(found) == 8 and not any(one.dropped for one in found)
    for one in found:
        assert one.by_messages == pytest.approx(headers, abs=0.01), one
        one_way = one.case in simgrid.ONE_WAY
        assert headers - 0.01 < one.by_frames < headers + (0.01 if one_way else 0.12), one


def test_short_messages_wait_for_their_first_frame_twice(
    simgrid: ModuleType, program: Path
) -> None:
    on = platform(simgrid, "palmetto-myri10g")
    cases = [simgrid.one_message(size * simgrid.KIB) for size in (1, 8, 16, 256)]
    for one in simgrid.compared(program, on, cases):
        frames = -(-one.case.bytes // on.network.mss)
        again = min(one.case.bytes, on.network.mss) + (frames + 1) * HEADERS
        more_s = again * 8 / on.network.bits_per_second
        assert one.messages_s - one.simgrid_s == pytest.approx(more_s, rel=1e-3), one
        assert one.frames_s == pytest.approx(one.messages_s), one


def test_the_window_limits_a_stream_over_a_long_way(simgrid: ModuleType, program: Path) -> None:
    on = platform(simgrid, "palmetto-gige", **{"network.host_delay_s": "1e-3"})
    (one,) = simgrid.compared(program, on, [simgrid.one_message(64 * simgrid.MIB)])
    alone_s = 64 * simgrid.MIB * 8 / on.network.bits_per_second
    assert one.simgrid_s > 5 * alone_s
    assert abs(one.by_messages) < 0.02 and abs(one.by_frames) < 0.02


def test_what_makes_no_sense_is_refused(simgrid: ModuleType, program: Path) -> None:
    def refusal(words: list[str], cases: str) -> str:
        ran = subprocess.run(
            [program, *words], input=cases, capture_output=True, text=True, check=False
        )
        assert (ran.returncode, ran.stdout) == (2, "")
        return ran.stderr.splitlines()[-1]

    values = simgrid.words(platform(simgrid, "palmetto-gige"))
    assert refusal(["1", *values[:-1]], "1 0:1:1").endswith("a value of the network is missing")
    assert refusal(["0", *values], "1 0:1:1").endswith("< CASES")
    for cases in ("1 0:1", "0 0:1:1", "1", "1 0-1-1", "1 0:1:1 0:1"):
        assert refusal(["1", *values], cases).endswith(f"not ROUNDS FROM:TO:BYTES...: {cases}")


def test_without_simgrid_the_page_keeps_its_figures(
    simgrid: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(ROOT / "bench")
    validation = importlib.import_module("validation")
    monkeypatch.setenv("PATH", "")
    page = validation.PAGE.read_text()
    kept = validation.beside_simgrid(page)
    assert kept.startswith(simgrid.TITLE) and page.endswith(kept) and "| perlmutter |" in kept
    said = capsys.readouterr().err
    assert said.startswith("SimGrid cannot be had") and said.count("\n") == 1
