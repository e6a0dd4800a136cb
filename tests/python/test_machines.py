"""Machines of the cluster simulator: shipped profiles say what is published, every mistake in a
profile or an option gets one line with its place."""

from __future__ import annotations

import json
import math
import os
import re
import time
import tomllib
from collections.abc import Callable
from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from forebay.simulation import machines
from forebay.simulation.machine_parts import Pvfs
from forebay.simulation.machines import Machine, MachineError, machine, machine_names

FOLDER = Path(machines.__file__).parent / "machines"
NAMES = (
    "adenine-fast-ethernet",
    "jazz-fast-ethernet",
    "nfs-25gbe",
    "palmetto-gige",
    "palmetto-myri10g",
    "perlmutter",
)
GIGE = machine("palmetto-gige")
NFS = machine("nfs-25gbe")
PERLMUTTER = machine("perlmutter")
TEXT = (FOLDER / "palmetto-gige.toml").read_text()
KEYS = tuple(GIGE.flat())
# The values of each kind of file system and disk.
OF_KINDS = [(one, key) for one in (GIGE, NFS, PERLMUTTER) for key in one.flat()]

# Settlemyer 2009, the source system's configuration; nodes, cores and servers from the dissertation
# as the profiles say.
COMMON: dict[str, object] = {
    "memory.copy_bytes_per_second": 4 * 2.0**30,
    "file_system.kind": "pvfs",
    "file_system.strip_bytes": 64 << 10,
    "file_system.group_servers": 0,
    "file_system.unit_bytes": 64 << 10,
    "file_system.flow_buffer_bytes": 256 << 10,
    "file_system.flow_buffers": 8,
    "file_system.extents_a_request": 64,
    "file_system.extent_bytes": 16,
    "network.serial_hosts": True,
    "network.segments_an_acknowledgement": 1,
    "file_system.request_s": 0.62e-3,
    "file_system.client.open_s": 0.1e-3,
    "file_system.client.stat_s": 0.1e-3,
    "file_system.client.utime_s": 0.1e-3,
    "file_system.client.mkdir_s": 0.1e-3,
    "file_system.client.readdir_s": 0.9e-3,
    "file_system.client.unlink_s": 0.1e-3,
    "file_system.metadata.create_directory_entry_s": 1.172e-3,
    "file_system.metadata.create_data_file_s": 0.885e-3,
    "file_system.metadata.create_metadata_s": 0.654e-3,
    "file_system.metadata.get_attributes_s": 0.601e-3,
    "file_system.metadata.set_attributes_s": 1.316e-3,
    "file_system.metadata.lookup_s": 0.668e-3,
    "file_system.metadata.readdir_s": 0.603e-3,
    "file_system.metadata.remove_directory_entry_s": 1.855e-3,
    "file_system.metadata.remove_metadata_s": 1.358e-3,
    "file_system.metadata.remove_object_s": 0.508e-3,
    "file_system.metadata.entries_a_readdir": 32,
    "file_system.metadata.driven_by": "client",
    "server.block_bytes": 4096,
    "server.dirty_threshold": 0.9,
    "server.system_call_s": 0.2e-6,
    "server.copy_bytes_per_second": 4 * 2.0**30,
    "server.disks": 1,
    "server.raid": "0",
    "server.raid_unit_bytes": 65_536,
    "disk.kind": "rotating",
    "disk.model": "wd800jd",
    "disk.scheduler": "elevator",
}
PORTS = ("switch_buffer_per_port", "least_switch_buffer", "most_switch_buffer")
FRAMES = ("mtu", "mss", "window", "nic_queue_frames", "nic_transmit_limit_frames")
DELAYS = ("bits_per_second", "host_delay_s", "switch_delay_s")
SIZES = ("machine.nodes", "machine.processes_per_node", "machine.servers", "server.cache_bytes")
AHEAD = "server.read_ahead_bytes"


def network(*values: float) -> dict[str, object]:
    names = (f"network.{name}" for name in (*DELAYS, *PORTS, *FRAMES))
    return dict(zip(names, values, strict=True))


SLOW = network(1e8, 23.4e-6, 50e-12, 6000, 22_000, 0, 1500, 1460, 93_440, 1024, 256)
PUBLISHED = {
    "adenine-fast-ethernet": {
        **SLOW,
        **dict(zip(SIZES, (75, 2, 74, 512 << 20), strict=True)),
        AHEAD: 128 << 10,
    },
    "jazz-fast-ethernet": {
        **SLOW,
        **dict(zip(SIZES, (350, 1, 90, 512 << 20), strict=True)),
        AHEAD: 31 * 4096,
    },
    "palmetto-gige": {
        **network(1e9, 23.4e-6, 0.5e-6, 600, 22_000, 0, 1500, 1460, 93_440, 1024, 256),
        **dict(zip(SIZES, (771, 8, 90, 6 << 30), strict=True)),
        AHEAD: 128 << 10,
    },
    "palmetto-myri10g": {
        **network(1e10, 6.6e-6, 5e-6, 4000, 110_000, 160_000, 9000, 8192, 262_144, 4096, 4096),
        **dict(zip(SIZES, (771, 8, 90, 6 << 30), strict=True)),
        AHEAD: 128 << 10,
    },
}


def bounded(examples: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    return settings(
        max_examples=examples,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


def refusal(act: Callable[[], object]) -> str:
    """What the refusal says, which is one line of a readable length."""
    with pytest.raises(MachineError) as caught:
        act()
    said = str(caught.value)
    assert said.isprintable() and 0 < len(said) < 2000
    assert "Traceback" not in said and "Error" not in said
    return said


@pytest.fixture
def profile(tmp_path: Path) -> Callable[[str | bytes], Path]:
    """Writes a profile."""

    def write(content: str | bytes) -> Path:
        path = tmp_path / "mine.toml"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def with_line(key: str, line: str) -> str:
    """The text of a profile with another line in place of the key's, or less, or more."""
    section, _, name = key.rpartition(".")
    head, title, rest = TEXT.partition(f"[{section}]\n")
    assert title
    changed, count = re.subn(rf"(?m)^{name} = .*$", lambda _: line, rest, count=1)
    assert count == 1
    return head + title + changed


# What is shipped.


@pytest.mark.quick
def test_the_shipped_machines_are_those_of_the_folder() -> None:
    assert machine_names() == NAMES


@pytest.mark.quick
@pytest.mark.parametrize("name", PUBLISHED)
def test_a_shipped_profile_says_what_is_published(name: str) -> None:
    one = machine(name)
    assert one.name == name and one.description
    flat = one.flat()
    del flat["machine.name"], flat["machine.description"]
    assert flat == {**COMMON, **PUBLISHED[name]}


@pytest.mark.parametrize("name", NAMES)
def test_a_shipped_profile_is_found_by_its_name_and_its_path(name: str) -> None:
    by_name = machine(name)
    assert by_name.name == name
    assert machine(FOLDER / f"{name}.toml") == machine(str(FOLDER / f"{name}.toml")) == by_name


@pytest.mark.parametrize("name", NAMES)
def test_every_number_of_a_shipped_profile_says_its_source(name: str) -> None:
    sources = ["configuration", "section", "table", "chosen", "from jazz", "as the nodes'"]
    text = (FOLDER / f"{name}.toml").read_text()
    sources += re.findall(r"(?m)^#   (\w+)  ", text)  # the profile's own
    sources += ["of the processor", "the drives", "all channels", "NFS", "TCP"]
    names = ("name = ", "description = ", "kind = ")
    for section in text.split("\n\n"):
        for_all = any(f"; {source}." in section.splitlines()[0] for source in sources)
        for line in section.splitlines():
            if " = " in line and not for_all and not line.startswith(names):
                assert any(source in line.partition("#")[2] for source in sources), line


def test_values_are_of_their_types() -> None:
    for one, key in OF_KINDS:
        value = one.flat()[key]
        is_real = key.endswith(("_s", "per_second", "threshold"))
        is_truth = key.endswith(("serial_hosts", "commits_at_close"))
        assert isinstance(value, bool) == is_truth, key
        assert isinstance(value, float) if is_real else isinstance(value, str | int), key


def test_plain_values_are_those_of_the_file() -> None:
    for name in NAMES:
        plain = machine(name).to_json()
        assert plain == tomllib.loads((FOLDER / f"{name}.toml").read_text())
        assert json.loads(json.dumps(plain)) == plain
        assert list(plain) == ["machine", "network", "memory", "file_system", "server", "disk"]


def test_a_machine_does_not_change_and_can_be_a_key() -> None:
    with pytest.raises(FrozenInstanceError):
        GIGE.nodes = 3  # type: ignore[misc]
    assert {GIGE: 1}[machine("palmetto-gige")] == 1


def test_a_machine_made_in_a_program_is_checked_too() -> None:
    assert replace(GIGE, nodes=3).nodes == 3
    assert "machine.nodes is a whole number" in refusal(lambda: replace(GIGE, nodes=0))
    bad = replace(GIGE.network, mss=1461)
    assert refusal(lambda: replace(GIGE, network=bad)).startswith("network.mss is at most 1,460")


# Names and files.


def test_a_wrong_name_gets_the_nearest() -> None:
    said = refusal(lambda: machine("palmeto-gige"))
    assert said.startswith("there is no machine 'palmeto-gige'; the nearest is palmetto-gige; give")
    assert all(name in said for name in NAMES)
    for junk in ("", "zzz", "a\nb", "x" * 5000, "\0"):
        assert "the nearest" not in refusal(lambda junk=junk: machine(junk))  # type: ignore[misc]
    with pytest.raises(TypeError, match="a path, not 3"):
        machine(3)  # type: ignore[arg-type]


def test_a_name_comes_before_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    changed = TEXT.replace("nodes = 771", "nodes = 3")
    for name in ("palmetto-gige", "other"):
        Path(name).write_text(changed)
    assert machine("palmetto-gige").nodes == 771
    assert machine("./palmetto-gige").nodes == machine("other").nodes == 3


def test_files_that_cannot_be_read(profile: Callable[[str | bytes], Path]) -> None:
    path = profile(TEXT)
    folder = path.parent
    assert refusal(lambda: machine(folder)).startswith(f"{folder}: a profile is a file")
    none = folder / "none.toml"
    assert refusal(lambda: machine(none)) == f"{none}: cannot be read: No such file or directory"
    assert "cannot be read" in refusal(lambda: machine("a\0b/c.toml"))
    assert "cannot be read" in refusal(lambda: machine("\udcff/c.toml"))
    assert "cannot be read" in refusal(lambda: machine(f"{'n' * 5000}.toml"))
    pipe = folder / "pipe.toml"
    os.mkfifo(pipe)
    assert "a profile is a file" in refusal(lambda: machine(pipe))
    if os.geteuid() != 0:
        path.chmod(0)
        assert refusal(lambda: machine(path)) == f"{path}: cannot be read: Permission denied"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "machine.name is missing; it is a line of 1 to 64 printable characters"),
        (b"nodes 3", "is no TOML: Expected '=' after a key"),
        (b"[a]\n\xff", "is no text in UTF-8 (line 2)"),
        (b"\0", "is no TOML: "),
        (b"a = " + b"9" * 5000, "is no TOML: "),
        (b"a = " + b"[" * 100_000, "is no profile: arrays or tables within too many others"),
        (b"a = " + b"{a=" * 100_000, "is no profile: arrays or tables within too many others"),
        (b"#" * (1 << 20), "machine.name is missing"),
        (b"#" * ((1 << 20) + 1), "a profile has at most 1,048,576 bytes, this file has more"),
        (b"\n" + b"a." * 500_000 + b"a = 1", "line 2 has a name of over 32 parts"),
        (b"a = {" + b"'a' . " * 100_000 + b"a = 1}", "line 1 has a name of over 32 parts"),
        (b"a" * 1_000_000 + b" = 1", "there is no aaaa"),
        (b'"' * 1_000_000, "is no TOML: "),
        (b"'\"" * 500_000, "is no TOML: "),
    ],
)
def test_content_that_is_no_profile(
    profile: Callable[[str | bytes], Path], content: bytes, said: str
) -> None:
    path = profile(content)
    started = time.process_time()
    assert refusal(lambda: machine(path)).startswith(f"{path}: {said}")
    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    ("key", "line", "said"),
    [
        # Unknown and missing.
        ("network.mtu", "mtuu = 1500", "there is no network.mtuu; the nearest is network.mtu"),
        (
            "network.mtu",
            "mtu = 1500\nstrip_bytes = 1",
            "there is no network.strip_bytes; the nearest is file_system.strip_bytes",
        ),
        (
            "network.mtu",
            'mtu = 1500\n"a\\nb" = 1',
            "there is no network.a\\nb; the nearest is network.",
        ),
        (
            "network.mtu",
            "mtu = 1500\n[netwrok]",
            "there is no section [netwrok]; the nearest is [network]",
        ),
        (
            "network.mtu",
            "mtu = 1500\n[network.client]",
            "there is no section [network.client]; the nearest is [file_system.client]",
        ),
        ("machine.name", "", "machine.name is missing; it is a line of 1 to 64 printable"),
        ("disk.model", "", "disk.model is missing; it is 'wd800jd' or 'as-configured'"),
        ("network.mtu", "", "network.mtu is missing; it is a whole number from 68 to 65,535"),
        # Kinds.
        ("machine.nodes", "nodes = true", "machine.nodes is a whole number from 1 to 1,048,576,"),
        (
            "machine.nodes",
            "nodes = 8.0",
            "machine.nodes is a whole number from 1 to 1,048,576, not",
        ),
        ("machine.nodes", 'nodes = "8"', "1,048,576, not '8'"),
        ("machine.nodes", "nodes = 1979-05-27", "1,048,576, not a date"),
        ("machine.nodes", "nodes = [8]", "1,048,576, not an array"),
        ("machine.nodes", "nodes = {a = 8}", "a whole number from 1 to 1,048,576, not a section"),
        ("machine.name", "name = 8", "printable characters, not 8"),
        ("machine.name", 'name = ""', "printable characters, not ''"),
        ("machine.name", 'name = "a\\nb"', "printable characters, not 'a\\nb'"),
        ("machine.name", f"name = '{'n' * 65}'", f"printable characters, not '{'n' * 40}...'"),
        ("network.host_delay_s", "host_delay_s = false", "a number from 0 to 1e+06, not false"),
        ("network.host_delay_s", 'host_delay_s = "1"', "a number from 0 to 1e+06, not '1'"),
        ("disk.scheduler", 'scheduler = "sstff"', "'fcfs' or 'sstf' or 'elevator', not 'sstff'"),
        ("disk.scheduler", "scheduler = 1", "'fcfs' or 'sstf' or 'elevator', not 1"),
        (
            "file_system.kind",
            'kind = "zfs"',
            "is 'pvfs' or 'lustre' or 'nfs' or 'measured', not 'zfs'",
        ),
        ("file_system.kind", 'kind = "nfs"', "file_system.library_lock_s is missing; it is"),
        ("disk.kind", "", "disk.kind is missing; it is 'rotating' or 'flash'"),
        # Limits.
        ("machine.servers", "servers = 0", "a whole number from 1 to 1,048,576, not 0"),
        ("machine.servers", "servers = -1", "a whole number from 1 to 1,048,576, not -1"),
        ("machine.servers", "servers = 1048577", "from 1 to 1,048,576, not 1048577"),
        ("machine.servers", f"servers = 0x1{'0' * 5000}", "not a number of 20,001 bits"),
        ("network.host_delay_s", "host_delay_s = nan", "a number from 0 to 1e+06, not nan"),
        ("network.host_delay_s", "host_delay_s = inf", "a number from 0 to 1e+06, not inf"),
        ("network.host_delay_s", "host_delay_s = -1e-9", "a number from 0 to 1e+06, not -1e-09"),
        (
            "network.host_delay_s",
            f"host_delay_s = 0x1{'0' * 5000}",
            "a number from 0 to 1e+06, not a number of 20,001 bits",
        ),
        (
            "network.bits_per_second",
            "bits_per_second = 0",
            "network.bits_per_second is a number above 0, at most 1e+18, not 0",
        ),
        ("server.dirty_threshold", "dirty_threshold = 0", "above 0, at most 1, not 0"),
        ("server.dirty_threshold", "dirty_threshold = 1.01", "above 0, at most 1, not 1.01"),
        ("server.cache_bytes", "cache_bytes = -1", "server.cache_bytes is a whole number from 0"),
        # Contradictions.
        (
            "network.mss",
            "mss = 1_461",
            "network.mss is at most 1,460, which is network.mtu less 40 bytes of headers, not 1,46",
        ),
        ("network.window", "window = 1459", "network.window is at least network.mss, 1,460, not"),
        (
            "network.most_switch_buffer",
            "most_switch_buffer = 21_999",
            "network.least_switch_buffer is at most network.most_switch_buffer, 21,999, not 22,000",
        ),
        (
            "network.least_switch_buffer",
            "least_switch_buffer = 1_517",
            "a frame of 1,518 bytes (network.mtu and Ethernet's 18), not 1,517 and 600",
        ),
        ("server.block_bytes", "block_bytes = 4_097", "server.block_bytes is a multiple of"),
        (
            "server.cache_bytes",
            "cache_bytes = 4_095",
            "server.cache_bytes is at least server.block_bytes, 4,096, not 4,095",
        ),
        (
            "server.read_ahead_bytes",
            "read_ahead_bytes = 6_442_450_945",
            "server.read_ahead_bytes is at most server.cache_bytes, 6,442,450,944, not 6,442,450,9",
        ),
    ],
)
def test_a_mistake_gets_a_line_with_its_place(
    profile: Callable[[str | bytes], Path], key: str, line: str, said: str
) -> None:
    path = profile(with_line(key, line))
    answer = refusal(lambda: machine(path))
    assert answer.startswith(f"{path}: ") and said in answer


def test_sections_and_keys_in_each_others_place(profile: Callable[[str | bytes], Path]) -> None:
    path = profile("network = 5\n" + TEXT.replace("[network]", "[disc]"))
    assert refusal(lambda: machine(path)) == f"{path}: network is a section, not 5"
    path = profile("mtu = 1500\n" + TEXT)
    assert refusal(lambda: machine(path)) == f"{path}: there is no mtu; the nearest is network.mtu"
    path = profile('"network.mtu" = 1500\n' + TEXT)
    assert refusal(lambda: machine(path)).startswith(f"{path}: there is no network.mtu")
    path = profile(TEXT.replace("[network]", "[[network]]"))
    assert refusal(lambda: machine(path)) == f"{path}: network is a section, not an array"


@pytest.mark.parametrize(
    ("key", "line"),
    [
        ("machine.servers", "servers = 1_048_576"),
        ("network.host_delay_s", "host_delay_s = 0"),
        ("network.most_switch_buffer", "most_switch_buffer = 22_000"),
        ("network.least_switch_buffer", "least_switch_buffer = 1_518"),
        ("network.switch_buffer_per_port", "switch_buffer_per_port = 0"),
        ("server.dirty_threshold", "dirty_threshold = 1"),
        ("server.read_ahead_bytes", "read_ahead_bytes = 0"),
        ("memory.copy_bytes_per_second", "copy_bytes_per_second = 1e-3"),
        ("disk.model", 'model = "as-configured"'),
    ],
)
def test_values_at_their_limits(
    profile: Callable[[str | bytes], Path], key: str, line: str
) -> None:
    value = machine(profile(with_line(key, line))).flat()[key]
    assert value == tomllib.loads(line)[key.rpartition(".")[2]]


@pytest.mark.parametrize("name", NAMES)
def test_every_truncation_is_complete_or_refused(
    profile: Callable[[str | bytes], Path], name: str
) -> None:
    content = (FOLDER / f"{name}.toml").read_bytes()
    whole = machine(name)
    ends = {0, *(at + 1 for at, byte in enumerate(content) if byte == ord("\n"))}
    ends |= set(range(3, len(content), 61)) | set(range(len(content) - 70, len(content)))
    complete = 0
    for end in sorted(ends):
        path = profile(content[:end])
        try:
            assert machine(path) == whole
            complete += 1
        except MachineError as error:
            assert str(error).isprintable() and str(error).startswith(f"{path}: ")
    assert 1 <= complete <= 60


# Changes.


def test_changes_are_read_as_an_option_is() -> None:
    changed = GIGE.with_changes(
        {
            "machine.name": "mine",
            "machine.servers": "8",
            "machine.nodes": "1e3",
            "network.bits_per_second": "10e9",
            "network.host_delay_s": "0",
            "file_system.strip_bytes": "1MiB",
            "file_system.request_s": "1e-3",
            "file_system.client.open_s": "2e-3",
            "server.cache_bytes": "1.5GiB",
            "server.read_ahead_bytes": "0",
        }
    )
    assert (changed.name, changed.servers, changed.nodes) == ("mine", 8, 1000)
    assert isinstance(changed.nodes, int)
    assert changed.network.bits_per_second == 1e10 and changed.network.host_delay_s == 0
    assert isinstance(changed.file_system, Pvfs)
    assert (changed.file_system.strip_bytes, changed.file_system.request_s) == (1 << 20, 1e-3)
    assert changed.file_system.client.open_s == 2e-3
    assert (changed.server.cache_bytes, changed.server.read_ahead_bytes) == (3 << 29, 0)
    assert changed.network.mtu == GIGE.network.mtu and GIGE.servers == 90
    assert GIGE.with_changes({}) == GIGE


@pytest.mark.parametrize(
    ("one", "changes", "said"),
    [
        (
            PERLMUTTER,
            {"file_system.flow_buffers": "8"},
            "there is no file_system.flow_buffers where file_system.kind is 'lustre'",
        ),
        (
            GIGE,
            {"disk.channels": "8"},
            "there is no disk.channels where disk.kind is 'rotating'",
        ),
        (
            GIGE,
            {"file_system.kind": "lustre"},
            "file_system.stripe_bytes is missing; it is a whole number",
        ),
        (
            GIGE,
            {"file_system.kind": "zfs"},
            "file_system.kind is 'pvfs' or 'lustre' or 'nfs' or 'measured', not 'zfs'",
        ),
        (
            NFS,
            {"machine.servers": "2"},
            "machine.servers is 1 where file_system.kind is 'nfs', not 2",
        ),
        (
            PERLMUTTER,
            {"file_system.stripe_bytes": "1000"},
            "file_system.stripe_bytes is a multiple of file_system.client.page_bytes, 4,096, not",
        ),
        (
            NFS,
            {"file_system.client.rpc_bytes": "1000"},
            "file_system.client.rpc_bytes is a multiple of file_system.client.page_bytes, 4,096",
        ),
        (
            PERLMUTTER,
            {"disk.chanels": "8"},
            "there is no disk.chanels; the nearest is disk.channel",
        ),
    ],
)
def test_each_kind_has_its_values(one: Machine, changes: dict[str, str], said: str) -> None:
    answer = refusal(lambda: one.with_changes(changes))
    assert answer.startswith(f"{one.name} with changes: ") and said in answer


def test_a_profile_of_one_kind_has_no_values_of_another(
    profile: Callable[[str | bytes], Path],
) -> None:
    text = (FOLDER / "perlmutter.toml").read_text().replace("stripe_count", "strip_bytes")
    path = profile(text)
    assert "file_system.stripe_count is missing" in refusal(lambda: machine(path))
    path = profile(text.replace("strip_bytes = 1 ", "stripe_count = 1\nflow_buffers = 8 "))
    said = "there is no file_system.flow_buffers where file_system.kind is 'lustre'"
    assert refusal(lambda: machine(path)) == f"{path}: {said}"


def test_a_change_is_a_text() -> None:
    for value, shown in ((8, "8"), (True, "true"), (None, "None"), (b"8", "a bytes")):
        wrong: Any = {"machine.servers": value}
        said = refusal(lambda wrong=wrong: GIGE.with_changes(wrong))  # type: ignore[misc]
        assert said.endswith(f": machine.servers is changed by a text, not {shown}")


def test_changes_belong_together() -> None:
    """Only what comes out must be free of contradictions."""
    changed = GIGE.with_changes({"network.mss": "8960", "network.mtu": "9000"})
    assert (changed.network.mss, changed.network.mtu) == (8960, 9000)


@pytest.mark.parametrize(("one", "key"), OF_KINDS)
def test_a_value_written_and_read_is_the_same(one: Machine, key: str) -> None:
    assert one.with_changes({key: str(one.flat()[key])}) == one


@pytest.mark.parametrize(("one", "key"), OF_KINDS)
def test_every_value_refuses_what_is_none(one: Machine, key: str) -> None:
    """Names are lines, so nearly every text is one."""
    texts = (
        ["", "\n"] if key in ("machine.name", "machine.description") else ["", "abc", "-1", "nan"]
    )
    for text in texts:
        said = refusal(lambda text=text: one.with_changes({key: text}))  # type: ignore[misc]
        assert said.startswith(f"{one.name} with changes: {key} is ")


@pytest.mark.parametrize(
    ("key", "text", "said"),
    [
        (
            "machine.servers",
            "8KiB",
            "machine.servers is a whole number from 1 to 1,048,576, not '8",
        ),
        (
            "machine.servers",
            "1.5",
            "machine.servers is a whole number from 1 to 1,048,576, not '1.",
        ),
        (
            "machine.servers",
            "inf",
            "machine.servers is a whole number from 1 to 1,048,576, not 'in",
        ),
        ("machine.servers", "1" * 5000, f"not '{'1' * 40}...'"),
        ("file_system.strip_bytes", "0", "file_system.strip_bytes is a whole number from 1 to"),
        ("file_system.strip_bytes", "5 parsecs", "not '5 parsecs'"),
        ("file_system.strip_bytes", "\u0663", "not '\u0663'"),
        ("network.bits_per_second", "1GiB", "network.bits_per_second is a number above 0, at most"),
        ("network.bits_per_second", "\udcff", "not '\\udcff'"),
        ("network.mss", "9000", "network.mss is at most 1,460"),
        ("network.mtu", "1000", "network.mss is at most 960, which is network.mtu less"),
        ("file_system.group_servers", "7", "file_system.group_servers divides machine.servers, "),
        ("file_system.group_servers", "-1", "file_system.group_servers is a whole number from 0"),
        ("file_system.unit_bytes", "0", "file_system.unit_bytes is a whole number from 1 to"),
        ("netwrok.mtu", "1", "there is no netwrok.mtu; the nearest is network.mtu"),
        ("servers", "1", "there is no servers; the nearest is machine.servers"),
        ("network", "1", "there is no network; the nearest is network."),
    ],
)
def test_a_wrong_change_is_named(key: str, text: str, said: str) -> None:
    answer = refusal(lambda: GIGE.with_changes({key: text}))
    assert answer.startswith("palmetto-gige with changes: ") and said in answer


JUNK: st.SearchStrategy[Any] = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.sampled_from([0, 1, -1, 2**31, 2**63, 2**64, 10**400]),
        st.floats(),
        st.text(st.characters()),
        st.dates(),
        st.binary(),
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=4,
)


@bounded(400)
@given(st.sampled_from(KEYS), JUNK)
def test_junk_values_are_allowed_or_refused(key: str, junk: Any) -> None:
    """As a file's value, an option's text, and a value of a program."""
    acts: tuple[Callable[[], Machine], ...] = (
        lambda: machines._made({**GIGE.flat(), key: junk}),
        lambda: GIGE.with_changes({key: junk}),
        lambda: GIGE.with_changes({key: str(junk)}),
    )
    for act in acts:
        try:
            made = act()
        except MachineError as error:
            assert str(error).isprintable() and key in str(error)
        else:
            assert isinstance(made, Machine)
            value = made.flat()[key]
            assert not isinstance(value, float) or math.isfinite(value)


@bounded(100)
@given(st.text(st.characters()), JUNK)
def test_junk_keys_are_refused(key: str, junk: Any) -> None:
    for inside in ("", "network.", "file_system.client."):
        said = refusal(lambda inside=inside: GIGE.with_changes({inside + key: junk}))  # type: ignore[misc]
        assert "the nearest is " in said
    said = refusal(lambda: machines._flat({"network": {key: junk}}, ""))
    assert "the nearest is " in said


@bounded(150)
@given(st.text(st.characters(codec="utf-8")) | st.binary(), st.integers(0, len(TEXT)))
def test_junk_in_a_file_is_allowed_or_refused(
    tmp_path_factory: pytest.TempPathFactory, junk: str | bytes, place: int
) -> None:
    added = junk.encode() if isinstance(junk, str) else junk
    content = TEXT.encode()
    path = tmp_path_factory.getbasetemp() / "junk.toml"
    path.write_bytes(content[:place] + added + content[place:])
    try:
        machine(path)
    except MachineError as error:
        assert str(error).isprintable() and str(error).startswith(f"{path}: ")
