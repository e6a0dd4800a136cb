"""Who serves a program's calls under the preload: the interposer those that both it and the MPI
library define, the library all others."""

from __future__ import annotations

from pathlib import Path

import pytest

from stand_ins import BRANCH_PROTECTION

REBOUND = {
    "open": "mpich",
    "popen": "mpich",
    "again": "mpich",
    "pointer": "mpich",
    "table": "mpich",
    "constant": "mpich",
    "close": "library",
    "rank": "library",
    "inside": "library",
    "c": "absent",
}
UNTOUCHED = {name: "absent" if name == "c" else "library" for name in REBOUND}

LINKING = {
    "lazy": ["-Wl,-z,lazy"],
    "lazy-norelro": ["-Wl,-z,lazy", "-Wl,-z,norelro"],
    "now": ["-Wl,-z,now", "-Wl,-z,relro"],
    "no-plt": ["-fno-plt", "-Wl,-z,now"],
    "no-pie": ["-no-pie", "-fno-pie", "-Wl,-z,lazy"],
    "no-pie-now": ["-no-pie", "-fno-pie", "-Wl,-z,now"],
    "branch-protection": [BRANCH_PROTECTION, "-Wl,-z,lazy"],
    "sysv-hash": ["-Wl,--hash-style=sysv", "-Wl,-z,lazy"],
}
TOOLS = {
    "slot": ["-Wl,-z,lazy"],
    "dlsym": ["-DBY_DLSYM", "-ldl"],
    "both-names": ["-DBY_DLSYM", "-DBOTH_NAMES", "-ldl"],
}


def link(bench, name: str, library: str, *flags: str) -> Path:
    main = str(Path(__file__).parent / "main.c")
    return bench.build(name, "calls.c", main, f"-l:{library}", *flags)


@pytest.mark.parametrize("linking", LINKING)
def test_an_executable_calls_the_interposer(bench, linking):
    program = link(bench, f"main-{linking}", "libmpi.so.12", *LINKING[linking])
    assert bench.answers(program, preload=[]) == UNTOUCHED
    assert bench.answers(program) == REBOUND
    assert bench.answers(program, LD_BIND_NOW="1") == REBOUND


@pytest.mark.parametrize(
    ("library", "abi"),
    [("libmpi.so.12", "mpich"), ("libmpi_abi.so.1", "mpiabi"), ("libmpi.so.40", "openmpi")],
)
def test_the_interposer_of_the_programs_abi_is_chosen(bench, library, abi):
    program = link(bench, f"main-{abi}", library)
    assert bench.answers(program)["open"] == abi
    assert bench.answers(program, FOREBAY_MPI="openmpi")["open"] == "openmpi"
    assert bench.answers(program, FOREBAY_MPI="nonsense")["open"] == abi


def test_a_library_that_is_no_mpi_is_left_alone(bench):
    program = link(bench, "main-other", "libother.so.1")
    assert bench.answers(program) == UNTOUCHED
    assert bench.answers(program, FOREBAY_MPI="mpich") == UNTOUCHED


@pytest.mark.parametrize("mode", ["plugin", "threads"])
def test_a_plugin_that_brings_the_library_later(bench, mode):
    loader, plugin = bench.directory / "loader", bench.directory / "libplugin.so"
    assert bench.answers(loader, mode, plugin, preload=[]) == UNTOUCHED
    assert bench.answers(loader, mode, plugin) == REBOUND


@pytest.mark.parametrize("visibility", ["local", "global"])
def test_looking_up_the_entry_points(bench, visibility):
    loader, library = bench.directory / "loader", bench.directory / "libmpi.so.12"
    plain = bench.answers(loader, "library", library, visibility, preload=[])
    rebound = bench.answers(loader, "library", library, visibility)
    found = "mpich" if visibility == "global" else "absent"
    assert rebound == {**plain, "open": "mpich", "popen": "mpich", "default": found}
    assert plain["c"] == "absent"


@pytest.mark.parametrize("linking", ["lazy", "now", "no-pie"])
@pytest.mark.parametrize("tool_name", TOOLS)
@pytest.mark.parametrize("order", ["tool first", "tool second"])
def test_a_tool_stays_in_front(bench, linking, tool_name, order):
    tool = bench.build(f"libtool-{tool_name}.so", "tool.c", *TOOLS[tool_name])
    program = link(bench, f"main-{linking}", "libmpi.so.12", *LINKING[linking])
    preload = [tool, bench.preload] if order == "tool first" else [bench.preload, tool]
    answers = bench.answers(program, preload=preload)
    taken = ["open", "again", "pointer", "table"]
    if tool_name == "both-names":
        taken += ["popen", "constant"]
    assert answers == {**REBOUND, **dict.fromkeys(taken, "tool>mpich"), "inside": inside(tool_name)}


def inside(tool_name: str) -> str:
    """The library's calls of its own exported names reach a tool that defines them, as without the
    preload."""
    return "tool>mpich" if tool_name == "both-names" else "library"


def test_a_program_linked_with_the_interposer_gets_no_second_one(bench):
    interposer = bench.directory / "elsewhere.so"
    bench.build(interposer.name, "interposer.c", '-DABI="linked"')
    program = link(
        bench, "main-linked", "libmpi.so.12", "-Wl,--no-as-needed", f"-l:{interposer.name}"
    )
    assert bench.answers(program)["open"] == "linked"


def test_without_the_interposer_the_program_runs_and_the_reason_is_left(bench, tmp_path):
    alone = tmp_path / "libforebay_preload.so"
    alone.write_bytes(bench.preload.read_bytes())
    program = link(bench, "main-alone", "libmpi.so.12")
    assert bench.answers(program, preload=[alone]) == UNTOUCHED
    assert bench.answers(program, preload=[alone], FOREBAY_RUN_DIR=str(tmp_path)) == UNTOUCHED
    assert "libforebay_mpich.so" in (tmp_path / "unloadable").read_text()
