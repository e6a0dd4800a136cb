"""`forebay simulate metadata`: trees of files on machines, and bad input."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import forebay as package
from command import forebay
from forebay.simulation import (
    METADATA_OPERATIONS,
    METADATA_TASKS,
    MachineError,
    MetadataResult,
    MetadataResults,
    machine,
    machine_names,
    simulate_cluster,
    simulate_metadata,
    workload_traces,
)
from forebay.simulation.file_trees import FileTree, made_tree, tree_of
from forebay.simulation.machine_parts import Pvfs

DOCS = Path(__file__).resolve().parents[2] / "docs"
WAY = "file_system.metadata.driven_by"
WAYS = [{WAY: way} for way in ("client", "servers")]
SMALL = {"files": 60, "directories": 5}


def of_servers(number: int) -> list[dict[str, str]]:
    return [{**way, "machine.servers": str(number)} for way in WAYS]


def times_of(result: MetadataResult, task: str) -> dict[str, int]:
    return {one.operation: one.times for one in result.operations if one.task == task}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three directories and three files of 6,003 bytes together, and a link."""
    top = tmp_path / "top"
    (top / "a" / "inner").mkdir(parents=True)
    (top / "a" / "inner" / "one").write_bytes(b"1" * 1000)
    (top / "a" / "two").write_bytes(b"2" * 5000)
    (top / "z").write_bytes(b"333")
    (top / "link").symlink_to(top)
    return top


def test_every_object_is_extracted_listed_and_removed() -> None:
    (one,) = simulate_metadata("palmetto-gige", [{"machine.servers": "4"}], **SMALL)
    assert (one.files, one.directories, one.servers) == (60, 5, 4)
    assert times_of(one, "extract") == {
        "make_directory": 5,
        "create_file": 60,
        "write": 60,
        "set_attributes": 65,
    }
    listed = {"read_directory": 5, "get_attributes": 60, "get_directory_attributes": 5}
    assert times_of(one, "list") == listed
    assert times_of(one, "remove") == {**listed, "remove_file": 60, "remove_directory": 5}
    for task in METADATA_TASKS:
        parts = sum(each.seconds for each in one.operations if each.task == task)
        assert parts == pytest.approx(getattr(one, f"{task}_s"))
    assert {each.operation for each in one.operations} == set(METADATA_OPERATIONS)


def test_messages_are_those_of_the_algorithms() -> None:
    """Counted by hand for 60 small files in 5 directories on 4 servers."""
    small = {**SMALL, "mean_bytes": 1000}
    client, servers = simulate_metadata("palmetto-gige", of_servers(4), **small)
    # The root's attributes; 4 and the times of a directory; 4 + 3, a write and the times of a file.
    assert client.extract_messages == 2 * (1 + 5 * (4 + 1) + 60 * (4 + 3 + 1 + 1))
    # Each looked up, with its attributes; a directory is read, a file has a part on each server.
    assert client.list_messages == 2 * (5 * (2 + 1) + 60 * (2 + 4))
    assert client.remove_messages == 2 * (5 * (2 + 1 + 3) + 60 * (2 + 4 + 4 + 2))
    # Looked up, the file's server asked, which asks along a tree of 3 edges.
    assert servers.list_messages == 2 * (5 * (2 + 1) + 60 * (1 + 1 + 3))
    assert servers.requests == client.requests


def test_the_client_takes_longer_with_more_servers_than_servers_do() -> None:
    client, servers, much_client, much_servers = simulate_metadata(
        "jazz-fast-ethernet", [*of_servers(32), *of_servers(128)], **SMALL
    )
    for task, operation in (
        ("extract", "create_file"),
        ("list", "get_attributes"),
        ("remove", "remove_file"),
    ):
        added, added_by_servers = (
            much.seconds_each(task, operation) - few.seconds_each(task, operation)
            for few, much in ((client, much_client), (servers, much_servers))
        )
        assert 96 * 80e-6 < added < 96 * 110e-6
        assert 0 < added_by_servers < 1e-3
        assert much_servers.seconds_each(task, operation) < client.seconds_each(task, operation)


def test_the_same_answer_twice() -> None:
    runs = [simulate_metadata("palmetto-gige", WAYS, jobs=jobs, **SMALL) for jobs in (1, 2)]
    assert runs[0] == runs[1]


@pytest.mark.parametrize("name", machine_names())
def test_every_machine_answers(name: str) -> None:
    for by_frames in (True, False):
        (one,) = simulate_metadata(name, by_frames=by_frames, **SMALL)
        assert one.machine == name and one.servers == machine(name).servers
        assert 0 < one.list_s < one.remove_s < 60 and 0 < one.extract_s < 60
        assert one.dropped_frames == one.timeouts == 0


def test_lustre_and_nfs_have_one_server_of_metadata() -> None:
    for name, sizes in (("perlmutter", 1), ("nfs-25gbe", 0)):
        (one,) = simulate_metadata(name, **SMALL)
        assert one.list_messages == 2 * (5 * 2 + 60 * (1 + sizes))


def test_results_are_plain_values_and_tables() -> None:
    results = package.simulate_metadata("palmetto-gige", WAYS, **SMALL)
    assert isinstance(results, MetadataResults)
    assert isinstance(results[0], package.MetadataResult)
    plain = results.to_json()[0]
    assert plain["settings"] == WAYS[0]
    assert plain["operations"][0]["operation"] == "make_directory"
    assert results.to_pandas().extract_s[0] == results[0].extract_s
    assert "driven_by" in results._repr_html_()
    assert results[0].seconds_each("list", "remove_file") == 0


def test_made_trees() -> None:
    tree = made_tree(1000, 100, 12 << 10)
    assert (tree.files, tree.directories) == (1000, 100)
    assert 0 <= 1000 * (12 << 10) - tree.bytes < 1000
    sizes = sorted(size for size in tree.sizes if size >= 0)
    assert sizes[500] < 0.67 * (12 << 10)
    assert sizes[0] >= (12 << 10) / 27 and sizes[-1] <= 11 * (12 << 10)
    assert all(tree.sizes[parent] < 0 for parent in tree.parents)
    assert made_tree(1000, 100, 12 << 10) == tree
    assert made_tree(0, 1, 1) == FileTree("0 made files", [0], [-1])
    assert made_tree(2, 1, 0).sizes == [-1, 0, 0]
    assert [made_tree(0, many, 1).directories for many in (1, 2, 9, 10, 74)] == [1, 2, 9, 10, 74]


def test_the_tree_of_a_folder(folder: Path) -> None:
    said: list[str] = []
    tree = tree_of(folder, said.append)
    assert tree.sizes == [-1, -1, -1, 1000, 5000, 0, 3]
    assert tree.parents == [0, 0, 1, 2, 1, 0, 0]
    assert said == [f"{folder}: links and devices are files without bytes here: 1"]
    (one,) = simulate_metadata("nfs-25gbe", tree=folder)
    assert (one.tree, one.files, one.directories, one.bytes) == (str(folder), 4, 3, 6003)


def test_unreadable_directories_are_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scandir = os.scandir

    def refusing(path: Any) -> Any:
        if Path(path).name == "inner":
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    said: list[str] = []
    assert tree_of(folder, said.append).files == 3
    assert said[0] == f"{folder}: directories that cannot be read are empty here: 1"


def test_names_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"\xff\n")).write_bytes(b"1")
    assert tree_of(tmp_path, print).sizes == [-1, 1]


def test_trees_have_limits(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="a tree has at most 4,194,304 files and directories"):
        made_tree(1 << 22, 1, 1)
    with pytest.raises(ValueError, match="at most 1 TiB"):
        made_tree(1 << 20, 1, 1 << 21)
    with pytest.raises(ValueError, match="at least one directory"):
        made_tree(1, 0, 1)
    with (folder / "z").open("wb") as file:
        file.truncate((1 << 40) + 1)
    with pytest.raises(ValueError, match="top: a tree has at most 1 TiB"):
        tree_of(folder, print)
    monkeypatch.setattr("forebay.simulation.file_trees.MOST_ENTRIES", 3)
    with pytest.raises(ValueError, match="top: a tree has at most 3 files and directories"):
        tree_of(folder, print)


def test_the_table(folder: Path) -> None:
    run = forebay("simulate", "metadata", "--tree", folder, "-o", "machine.servers=4")
    assert run.returncode == 0
    lines = run.stdout.splitlines()
    assert lines[:3] == [
        str(folder),
        "4 files in 3 directories, 5.862 KiB",
        "on palmetto-gige: 1 client, 4 servers",
    ]
    assert lines[3].split()[:4] == ["driven_by", "extract", "s", "speed-up"]
    assert [line.split()[0] for line in lines[4:6]] == ["client", "servers"]
    assert lines[6] == "Milliseconds for a file, and all messages and requests:"
    narrow = forebay("simulate", "metadata", "--tree", folder, "--machine", "nfs-25gbe")
    assert narrow.stdout.splitlines()[3].split() == ["extract", "s", "list", "s", "remove", "s"]
    assert run.stderr == f"forebay: {folder}: links and devices are files without bytes here: 1\n"


def test_values_are_compared_in_combination() -> None:
    run = forebay(
        "simulate", "metadata", "--files", 20, "--directories", 2, "--json", "--messages",
        "--mean-size", "1KiB", "--compare", f"{WAY}=client,servers",
        "--compare", "machine.servers=2,4",
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    results = json.loads(run.stdout)["results"]
    assert [(one["settings"][WAY], one["servers"]) for one in results] == [
        *(("client", 2), ("client", 4), ("servers", 2), ("servers", 4)),
    ]
    assert {one["bytes"] // 1000 for one in results} == {20}


def test_one_way_is_not_compared() -> None:
    for words in (("-o", f"{WAY}=servers"), ("--machine", "nfs-25gbe")):
        run = forebay("simulate", "metadata", "--files", 5, "--directories", 1, "--json", *words)
        assert run.returncode == 0, run.stderr
        assert len(json.loads(run.stdout)["results"]) == 1


def test_the_example_of_the_documentation() -> None:
    """docs/cluster.md shows what the command prints."""
    text = (DOCS / "cluster.md").read_text()
    block = text[text.index("    $ forebay simulate metadata") :].split("\n\n", 1)[0]
    command, _, shown = block.replace("\\\n", " ").partition("\n")
    done = forebay(*command.split()[2:])
    assert done.returncode == 0, done.stderr
    printed = [line.rstrip() for line in done.stdout.splitlines()]
    assert printed == [line[4:] for line in shown.splitlines()]


def test_measured_machines_are_refused(tmp_path: Path) -> None:
    text = json.dumps(machine("nfs-25gbe").to_json())
    assert "measured" not in text
    requests = {
        name: {
            "alone_s": 1e-3,
            "alone_bytes_per_second": 1e9,
            "together_s": 1e-3,
            "together_bytes_per_second": 1e9,
        }
        for name in ("write", "read", "read_written", "read_reopened")
    }
    values = {"create_s", "open_s", "close_s", "close_bytes_per_second", "library_lock_s"}
    plain = machine("nfs-25gbe").to_json()
    plain["file_system"] = {
        "kind": "measured",
        **dict.fromkeys(sorted(values), 0.001),
        "full_speed_nodes": 1.0,
        "requests_at_once": 4,
        **requests,
    }
    profile = tmp_path / "mine.toml"
    profile.write_text(_toml(plain, ""))
    with pytest.raises(MachineError, match="no times of metadata are known where"):
        simulate_metadata(profile)
    run = forebay("simulate", "metadata", "--machine", profile)
    assert run.returncode == 1
    assert run.stderr.startswith("forebay: nfs-25gbe: no times of metadata")
    assert len(run.stderr.splitlines()) == 1


def _toml(table: dict[str, Any], place: str) -> str:
    plain = {name: value for name, value in table.items() if not isinstance(value, dict)}
    lines = [f"[{place}]"] if plain and place else []
    lines += [f"{name} = {json.dumps(value)}" for name, value in plain.items()]
    for name, value in table.items():
        if isinstance(value, dict):
            lines.append(_toml(value, f"{place}.{name}".lstrip(".")))
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--tree", "/nowhere/at all"], "/nowhere/at all: the tree cannot be read: No such file"),
        (["--tree", "/etc/passwd"], "/etc/passwd: the tree cannot be read: Not a directory"),
        (["--tree", "/etc", "--files", "3"], "--tree and --files both make a tree: give one"),
        (["--tree", "/etc", "--mean-size", "3"], "--tree and --mean-size both make a tree"),
        (["--machine", "palmeto-gige"], "there is no machine 'palmeto-gige'; the nearest is"),
        (["-o", "scope=node"], "scope is no value of a machine: these have a dot in their names"),
        (["-o", "driven_by=client"], "the nearest is file_system.metadata.driven_by"),
        (["-o", f"{WAY}=tree"], f"{WAY} is 'client' or 'servers', not 'tree'"),
        (["-o", "machine.servers=0"], "machine.servers is a whole number from 1 to"),
        (["-o", "machine.servers"], "'machine.servers' is not NAME=VALUE"),
        (["--machine", "perlmutter", "-o", f"{WAY}=client"], "where file_system.kind is 'lustre'"),
        (["--compare", "machine.servers=,"], "compares nothing"),
        (["--files", "-1"], "--files"),
        (["--files", "4194304"], "a tree has at most 4,194,304 files and directories"),
        (["--directories", "0"], "--directories"),
        (["--mean-size", "big"], "'big' is no size"),
        (["--mean-size", "1TiB"], "a tree has at most 1 TiB"),
        (["--compar", "a=b"], "--compare"),
        (["run.trace"], "run.trace"),
    ],
)
def test_mistakes_get_one_line(words: list[str], said: str) -> None:
    run = forebay("simulate", "metadata", *words)
    assert run.returncode != 0
    assert run.stdout == ""
    assert said in run.stderr
    assert "Traceback" not in run.stderr
    assert len(run.stderr.strip().splitlines()) <= 4  # click adds its usage


@pytest.mark.parametrize(
    ("wrong", "kind", "said"),
    [
        ({"files": "many"}, TypeError, "files is a whole number, not 'many'"),
        ({"files": -1}, ValueError, "files is at least 0, not -1"),
        ({"directories": 0}, ValueError, "directories is at least 1, not 0"),
        ({"mean_bytes": 1.5}, TypeError, "mean_bytes is a whole number, not 1.5"),
        ({"jobs": 0}, ValueError, "jobs is at least 1, not 0"),
        ({"tree": 3}, TypeError, "tree is a path, not 3"),
        ({"progress": 3}, TypeError, "progress is a function, not 3"),
        ({"warn": 3}, TypeError, "warn is a function, not 3"),
    ],
)
def test_wrong_arguments(wrong: dict[str, Any], kind: type[Exception], said: str) -> None:
    with pytest.raises(kind, match=said):
        simulate_metadata("palmetto-gige", **wrong)


def test_servers_must_fit_into_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forebay.simulation.metadata.available_bytes", lambda: 1 << 30)
    with pytest.raises(ValueError, match="of 100,000 servers take 2"):
        simulate_metadata("palmetto-gige", [{"machine.servers": "100000"}])


def test_servers_create_the_files_of_jobs(tmp_path: Path) -> None:
    """FLASH has three files, which one process creates and all others open."""
    workload_traces.flash(tmp_path / "flash", 2, sets=2, pieces=2)
    client, servers = simulate_cluster(tmp_path / "flash", "jazz-fast-ethernet", of_servers(64))
    assert servers.opening_s < client.opening_s - 3 * 3e-3 / 2
    assert servers.requests == client.requests


def test_an_interruption_ends_it() -> None:
    """Simulations that are under way end, too: this one would take a minute."""

    def interrupted(_stage: str, part: float) -> None:
        if part > 0:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        simulate_metadata("palmetto-gige", WAYS[:1], files=200_000, progress=interrupted)


def test_who_asks_is_a_value_of_the_profile() -> None:
    for name in machine_names():
        files = machine(name).file_system
        assert not isinstance(files, Pvfs) or files.metadata.driven_by == "client"
