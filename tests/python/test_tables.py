"""What the command shows of the runtime's tables."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import forebay as package
from command import forebay
from forebay import _core


def test_hints_lists_every_option():
    done = forebay("hints", COLUMNS="200")
    assert done.returncode == 0
    for option in _core.options():
        assert option.name in done.stdout


def test_hints_fit_the_screen_and_name_each_option_once():
    for columns, lines in (("80", 101), ("200", 68)):
        shown = forebay("hints", COLUMNS=columns).stdout.splitlines()
        assert len(shown) < lines
        assert max(len(line.rstrip()) for line in shown) <= min(int(columns), 120)
        assert "Others" not in shown
        for option in _core.options():
            first = [line for line in shown if line[2:].startswith(f"{option.name}=")]
            assert len(first) == 1, option.name


def test_hints_warn_of_caches_apart():
    shown = " ".join(forebay("hints", COLUMNS="80").stdout.split())
    for words in ("scope=process", "consistency=mpi on several nodes", "HDF5_DO_MPI_FILE_SYNC=1"):
        assert words in shown
    assert "fill_mode and column_wise" in shown


def test_hints_as_json_name_the_hint_and_the_variable():
    rows = {row["name"]: row for row in json.loads(forebay("hints", "--json").stdout)}
    assert list(rows) == [option.name for option in _core.options()]
    assert rows["page_size"]["hint"] == "forebay_page_size"
    assert rows["page_size"]["variable"] == "FOREBAY_PAGE_SIZE"
    assert rows["page_size"]["default"] == "64KiB"
    assert rows["job"]["hint"] is None
    assert not rows["page_size"]["changeable"]
    assert rows["read_ahead"]["changeable"]
    assert rows["scope"]["choices"] == ["process", "node", "job"]


def test_every_variant_is_a_choice_of_its_option():
    choices = {option.name: option.choices for option in _core.options()}
    assert choices["page_kind"] == [kind.name for kind in _core.page_kinds()]
    assert choices["policy"] == [policy.name for policy in _core.policies()]
    assert choices["predictor"] == [predictor.name for predictor in _core.predictors()]
    assert choices["storage"] == [storage.name for storage in _core.storages()]


def test_every_default_is_accepted():
    for option in _core.options():
        assert _core.mistakes({option.name: option.fallback}) == []
    assert len(_core.mistakes({"page_size": "huge", "polcy": "lru"})) == 2


def test_every_variable_that_is_read_is_known():
    """Every other name that begins with FOREBAY_ is taken for a misspelt option."""
    root = Path(__file__).parents[2]
    declared = (root / "src/options/options.cpp").read_text()
    known = set(re.findall(r'"(FOREBAY_[A-Z_]+)"', declared))
    known |= {f"FOREBAY_{option.name.upper()}" for option in _core.options()}
    reading = re.compile(r'(?:getenv\(|environ\[|environ(?:ment)?\.get\()"(FOREBAY_[A-Z_]+)"')
    sources = [
        path
        for folder in ("src", "python", "tests", "bench")
        for path in (root / folder).rglob("*")
        if path.suffix in (".c", ".cpp", ".h", ".py")
    ]
    read = {name for path in sources for name in reading.findall(path.read_text())}
    assert {"FOREBAY_RUN_DIR", "FOREBAY_MPI", "FOREBAY_LIB_DIR"} <= read
    assert read <= known


def test_env_prints_what_a_shell_can_evaluate():
    done = forebay("env")
    exports = dict(shlex.split(line)[1].split("=", 1) for line in done.stdout.splitlines())
    assert exports["LD_PRELOAD"].endswith("/libforebay_preload.so")
    assert len(exports["FOREBAY_JOB"]) == 32


def test_version():
    assert forebay("--version").stdout == f"forebay {package.__version__}\n"
