"""The machines that the cluster simulator can imitate: nodes, network, file system, servers and
disks, read from a profile in TOML.

    from forebay.simulation.machines import machine
    faster = machine("palmetto-gige").with_changes({"network.bits_per_second": "10e9"})

The profiles in the folder `machines` say where each of their values is from. Every value is
declared once, with its unit and its limits, in the classes below: to add one, add a field there and
a line to each profile that has its section. A section that may be of several kinds is a union of
classes; its value `kind` says which. To add a machine, add a file to the folder.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import product
from operator import attrgetter
from pathlib import Path
from stat import S_ISREG
from types import UnionType
from typing import Annotated, Any, Protocol, get_args, get_type_hints

from forebay import _core
from forebay.kinds import check_path
from forebay.text import one_line

_FOLDER = Path(__file__).parent / "machines"
_ENDING = ".toml"
_MOST_FILE_BYTES = 1 << 20
_MOST_SHOWN = 40
"""Characters of a file's text that a message repeats."""
_HEADER_BYTES = 40
"""Of IPv4 and TCP, in each frame beside `mss` (RFC 879)."""
_ETHERNET_BYTES = 18
"""Header and checksum of a frame beside `mtu` (IEEE 802.3)."""
_SECTOR_BYTES = 512
_RAID_DISKS = {"0": 1, "1": 2, "5": 3, "6": 4}
"""The fewest disks of a group, by its level."""

# tomllib takes time that grows with the square of the number of parts of a name.
_LONG_NAME = re.compile(r"""(?<![\w-])(?:(?:[\w-]+|"[^"\n]*"|'[^'\n]*')[ \t]*\.[ \t]*){32}""")

Value = bool | int | float | str


class MachineError(ValueError):
    """A machine that cannot be: one line with file, place, what was expected, what was found."""


class Rule(Protocol):
    """What a value may be."""

    @property
    def wanted(self) -> str:
        """As in: `network.mtu` is ..."""

    def value(self, given: object) -> Value | None:
        """The value, None if it is not allowed."""

    def parsed(self, text: str) -> object:
        """What the text of an option stands for; the text itself if for nothing."""


@dataclass(frozen=True)
class Whole:
    """A whole number."""

    least: int
    most: int

    @property
    def wanted(self) -> str:
        return f"a whole number from {self.least:,} to {self.most:,}"

    def value(self, given: object) -> Value | None:
        if isinstance(given, bool) or not isinstance(given, int):
            return None
        return given if self.least <= given <= self.most else None

    def parsed(self, text: str) -> object:
        number = _number(text)
        return int(number) if isinstance(number, float) and number.is_integer() else number


class Size(Whole):
    """A whole number of bytes; an option may have a unit."""

    def parsed(self, text: str) -> object:
        size = _core.parse_bytes(text) if text.isascii() else None
        return text if size is None else size


@dataclass(frozen=True)
class Number:
    """A number, above 0 if `positive`."""

    most: float
    positive: bool = False

    @property
    def wanted(self) -> str:
        if self.positive:
            return f"a number above 0, at most {self.most:g}"
        return f"a number from 0 to {self.most:g}"

    def value(self, given: object) -> Value | None:
        if isinstance(given, bool) or not isinstance(given, int | float):
            return None
        allowed = 0 <= given <= self.most and not (self.positive and given == 0)
        return float(given) if allowed else None

    def parsed(self, text: str) -> object:
        return _number(text)


@dataclass(frozen=True)
class Word:
    """One of a few words."""

    words: tuple[str, ...]

    @property
    def wanted(self) -> str:
        return " or ".join(f"'{word}'" for word in self.words)

    def value(self, given: object) -> Value | None:
        return given if isinstance(given, str) and given in self.words else None

    def parsed(self, text: str) -> object:
        return text


@dataclass(frozen=True)
class Truth:
    """true or false."""

    wanted = "true or false"

    def value(self, given: object) -> Value | None:
        return given if isinstance(given, bool) else None

    def parsed(self, text: str) -> object:
        return {"true": True, "false": False}.get(text.lower(), text)


@dataclass(frozen=True)
class Line:
    """A text that fits on a line of a terminal."""

    most: int

    @property
    def wanted(self) -> str:
        return f"a line of 1 to {self.most:,} printable characters"

    def value(self, given: object) -> Value | None:
        if not isinstance(given, str) or not given.isprintable() or not given.strip():
            return None
        return given if len(given) <= self.most else None

    def parsed(self, text: str) -> object:
        return text


YesOrNo = Annotated[bool, Truth()]
Count = Annotated[int, Whole(1, 1 << 20)]
Bytes = Annotated[int, Size(1, 1 << 40)]
BytesOrNone = Annotated[int, Size(0, 1 << 50)]
BufferBytes = Annotated[int, Whole(0, 1 << 40)]
Seconds = Annotated[float, Number(1e6)]
Rate = Annotated[float, Number(1e18, positive=True)]


@dataclass(frozen=True, slots=True)
class Network:
    """One switch, and the way from each node to it. The protocol is TCP."""

    bits_per_second: Rate
    """Of each link, in each direction."""
    host_delay_s: Seconds
    """Processing of a packet by IP, at each end."""
    serial_hosts: YesOrNo
    """Whether a host processes one packet at a time."""
    switch_delay_s: Seconds
    """Processing of a frame by the switch."""
    mtu: Annotated[int, Whole(68, 65_535)]
    """In bytes; the limits are those of IPv4 (RFC 791)."""
    mss: Annotated[int, Whole(1, 65_495)]
    """Bytes of data in a frame."""
    window: Annotated[int, Whole(1, 1 << 30)]
    """Bytes that the receiver advertises; the limit is that of RFC 7323."""
    segments_an_acknowledgement: Annotated[int, Whole(1, 2)]
    """2: a receiver acknowledges every second one, as TCP usually does."""
    switch_buffer_per_port: BufferBytes
    """Bytes that each active port adds to the buffer that all ports share."""
    least_switch_buffer: BufferBytes
    """In bytes."""
    most_switch_buffer: BufferBytes
    """In bytes; 0: no limit."""
    nic_queue_frames: Count
    nic_transmit_limit_frames: Count

    def contradictions(self) -> Iterator[str]:
        if self.mss + _HEADER_BYTES > self.mtu:
            yield (
                f"network.mss is at most {self.mtu - _HEADER_BYTES:,}, which is network.mtu less"
                f" {_HEADER_BYTES} bytes of headers, not {self.mss:,}"
            )
        if self.window < self.mss:
            yield f"network.window is at least network.mss, {self.mss:,}, not {self.window:,}"
        if 0 < self.most_switch_buffer < self.least_switch_buffer:
            yield (
                "network.least_switch_buffer is at most network.most_switch_buffer,"
                f" {self.most_switch_buffer:,}, not {self.least_switch_buffer:,}"
            )
        frame = self.mtu + _ETHERNET_BYTES
        holding = f"a frame of {frame:,} bytes (network.mtu and Ethernet's {_ETHERNET_BYTES})"
        if 0 < self.most_switch_buffer < frame:
            yield f"network.most_switch_buffer holds {holding}, not {self.most_switch_buffer:,}"
        if max(self.least_switch_buffer, self.switch_buffer_per_port) < frame:
            yield (
                f"network.least_switch_buffer or network.switch_buffer_per_port holds {holding},"
                f" not {self.least_switch_buffer:,} and {self.switch_buffer_per_port:,}"
            )


@dataclass(frozen=True, slots=True)
class Memory:
    """Memory of a node."""

    copy_bytes_per_second: Rate


@dataclass(frozen=True, slots=True)
class PvfsClient:
    """Times that calls take in the client, beside those of its messages."""

    open_s: Seconds
    stat_s: Seconds
    utime_s: Seconds
    mkdir_s: Seconds
    readdir_s: Seconds
    """Of a directory."""
    unlink_s: Seconds
    """Also of rmdir."""


@dataclass(frozen=True, slots=True)
class PvfsMetadata:
    """Mean times that a server takes for operations on metadata."""

    create_directory_entry_s: Seconds
    create_data_file_s: Seconds
    create_metadata_s: Seconds
    get_attributes_s: Seconds
    set_attributes_s: Seconds
    lookup_s: Seconds
    readdir_s: Seconds
    """Of a request."""
    remove_directory_entry_s: Seconds
    remove_metadata_s: Seconds
    remove_object_s: Seconds
    entries_a_readdir: Count
    """The most that a response names."""
    driven_by: Annotated[str, Word(("client", "servers"))]
    """Who asks the servers of a file that is made, removed or measured: the client each of them, or
    one server two others, and so on."""


@dataclass(frozen=True, slots=True)
class Pvfs:
    """A parallel file system without locks, and without caches at its clients."""

    kind: Annotated[str, Word(("pvfs",))]
    strip_bytes: Bytes
    group_servers: Annotated[int, Whole(0, 1 << 20)]
    """Servers that a unit of a file lies on; the next unit lies on the next so many. 0: all."""
    unit_bytes: Bytes
    """Of a file, where group_servers is not 0."""
    flow_buffer_bytes: Bytes
    flow_buffers: Count
    """At each end of a transfer."""
    extents_a_request: Count
    """The most extents that a request names: list I/O; 1: a request for each extent."""
    request_s: Seconds
    """A server's work for each request for bytes, besides its system calls and copies."""
    client: PvfsClient
    metadata: PvfsMetadata


@dataclass(frozen=True, slots=True)
class Pages:
    """What a client keeps of files, and how its pages come and go."""

    page_bytes: Annotated[int, Size(_SECTOR_BYTES, 1 << 24)]
    cache_bytes: Annotated[int, Size(1 << 20, 1 << 50)]
    """Of a node's pages."""
    dirty_bytes: Bytes
    """Of a node's dirty pages for one server; then writers wait."""
    read_ahead_bytes: BytesOrNone
    """The largest window; 0: none."""
    rpc_bytes: Bytes
    """The most that a request moves."""
    extents_an_rpc: Count
    """The most extents of pages that a request names."""
    rpcs_in_flight: Count
    """Requests of a node to one server at a time."""
    carried_bytes: BytesOrNone
    """A write of at most so many bytes travels with its request."""
    call_s: Seconds
    """A client's work for each part of an access within a stripe, besides its copies."""
    commits_at_close: YesOrNo
    """Whether a close waits until the servers' devices have what the node wrote."""

    def contradictions(self) -> Iterator[str]:
        if self.rpc_bytes % self.page_bytes:
            yield (
                "file_system.client.rpc_bytes is a multiple of file_system.client.page_bytes,"
                f" {self.page_bytes:,}, not {self.rpc_bytes:,}"
            )


@dataclass(frozen=True, slots=True)
class Metadata:
    """Times that the metadata server takes."""

    create_s: Seconds
    """Of a file or directory."""
    open_s: Seconds
    close_s: Seconds
    get_attributes_s: Seconds
    set_attributes_s: Seconds
    readdir_s: Seconds
    """Of a request."""
    remove_s: Seconds
    """Of a file or directory."""
    entries_a_readdir: Count
    """The most that a response names."""


@dataclass(frozen=True, slots=True)
class Lustre:
    """A parallel file system whose clients keep pages, coherent by locks of extents."""

    kind: Annotated[str, Word(("lustre",))]
    stripe_bytes: Bytes
    stripe_count: Count
    """Servers of a file; if there are fewer, all."""
    request_s: Seconds
    """A server's work for each request for bytes, besides its system calls and copies."""
    lock_s: Seconds
    """A server's work for each message about a lock."""
    client: Pages
    metadata: Metadata

    def contradictions(self) -> Iterator[str]:
        yield from self.client.contradictions()
        if self.stripe_bytes % self.client.page_bytes:
            yield (
                "file_system.stripe_bytes is a multiple of file_system.client.page_bytes,"
                f" {self.client.page_bytes:,}, not {self.stripe_bytes:,}"
            )


@dataclass(frozen=True, slots=True)
class Nfs:
    """A file server whose clients keep pages, and look for changes when they open a file."""

    kind: Annotated[str, Word(("nfs",))]
    request_s: Seconds
    """The server's work for each request for bytes, besides its system calls and copies."""
    library_lock_s: Seconds
    """Of the lock that an MPI library takes around each access of a program; 0: it takes none."""
    client: Pages
    metadata: Metadata

    def contradictions(self) -> Iterator[str]:
        yield from self.client.contradictions()


@dataclass(frozen=True, slots=True)
class Requests:
    """Times of requests to read, or to write, as the processes of a node see them."""

    alone_s: Seconds
    """Of a request without its bytes, where no other is under way."""
    alone_bytes_per_second: Rate
    together_s: Seconds
    """What each request adds, where many of a node are under way."""
    together_bytes_per_second: Rate
    """Of all processes of a node."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A file system of which only the times are known that a node's processes see."""

    kind: Annotated[str, Word(("measured",))]
    create_s: Seconds
    open_s: Seconds
    close_s: Seconds
    close_bytes_per_second: Annotated[float, Number(1e18)]
    """Of what the node has written to the file, for which a close waits; 0: for nothing."""
    full_speed_nodes: Annotated[float, Number(1e6, positive=True)]
    """So many nodes together are served as fast as each is alone; more share."""
    requests_at_once: Annotated[int, Whole(1, 1024)]
    """Of one access with several extents."""
    library_lock_s: Seconds
    """Of the lock that an MPI library takes around each access of a program; 0: it takes none."""
    write: Requests
    read: Requests
    """Of a file that was there before the job."""
    read_written: Requests
    """Of what the node has written since it has had the file open."""
    read_reopened: Requests
    """Of other bytes that the job has written."""


@dataclass(frozen=True, slots=True)
class Server:
    """The operating system of a server."""

    block_bytes: Annotated[int, Size(_SECTOR_BYTES, 1 << 30)]
    cache_bytes: BytesOrNone
    dirty_threshold: Annotated[float, Number(1, positive=True)]
    """The fraction of the cache above which dirty blocks are written."""
    system_call_s: Seconds
    copy_bytes_per_second: Rate
    """Between the network and the cache, or the disk."""
    read_ahead_bytes: BytesOrNone
    disks: Annotated[int, Whole(1, 1024)]
    """Several are one RAID group."""
    raid: Annotated[str, Word(tuple(_RAID_DISKS))]
    """The level; of one disk 0."""
    raid_unit_bytes: Annotated[int, Size(_SECTOR_BYTES, 1 << 30)]
    """Bytes that follow each other on a disk, before the next disk's come."""

    def contradictions(self) -> Iterator[str]:
        if self.disks < _RAID_DISKS[self.raid]:
            yield (
                f"server.disks is at least {_RAID_DISKS[self.raid]} where server.raid is"
                f" '{self.raid}', not {self.disks}"
            )
        if self.raid_unit_bytes % _SECTOR_BYTES:
            yield (
                f"server.raid_unit_bytes is a multiple of {_SECTOR_BYTES}, not"
                f" {self.raid_unit_bytes:,}"
            )
        if self.block_bytes % _SECTOR_BYTES:
            yield (
                f"server.block_bytes is a multiple of a disk's sector, {_SECTOR_BYTES} bytes, not"
                f" {self.block_bytes:,}"
            )
        if self.cache_bytes < self.block_bytes:
            yield (
                f"server.cache_bytes is at least server.block_bytes, {self.block_bytes:,}, not"
                f" {self.cache_bytes:,}"
            )
        if self.read_ahead_bytes > self.cache_bytes:
            yield (
                f"server.read_ahead_bytes is at most server.cache_bytes, {self.cache_bytes:,}, not"
                f" {self.read_ahead_bytes:,}"
            )


@dataclass(frozen=True, slots=True)
class RotatingDisk:
    """The disk of a server."""

    kind: Annotated[str, Word(("rotating",))]
    model: Annotated[str, Word(("wd800jd", "as-configured"))]
    """as-configured: the small disk that Settlemyer's simulator had."""
    scheduler: Annotated[str, Word(("fcfs", "sstf", "elevator"))]


@dataclass(frozen=True, slots=True)
class FlashDrive:
    """The flash drive of a server, or its drives as one. Pages lie on the channels in turn."""

    kind: Annotated[str, Word(("flash",))]
    bytes: Annotated[int, Size(1 << 20, 1 << 60)]
    page_bytes: Annotated[int, Size(_SECTOR_BYTES, 1 << 24)]
    read_latency_s: Seconds
    """Of a page, alone: all that it takes."""
    write_latency_s: Seconds
    channels: Annotated[int, Whole(1, 4096)]
    channel_bytes_per_second: Rate
    interface_bytes_per_second: Rate
    queue_depth: Count
    """Requests under way; others wait."""


@dataclass(frozen=True, slots=True)
class Machine:
    """A cluster with its file system. One that exists is within all limits and free of
    contradictions; otherwise MachineError is raised.

    Its own values are those of section `machine`.
    """

    name: Annotated[str, Line(64)]
    description: Annotated[str, Line(1000)]
    nodes: Count
    processes_per_node: Count
    servers: Count
    """I/O servers, each on a node of its own."""
    network: Network
    memory: Memory
    file_system: Pvfs | Lustre | Nfs | Measured
    server: Server
    disk: RotatingDisk | FlashDrive

    def __post_init__(self) -> None:
        _checked(self.flat())
        for contradiction in self._contradictions():
            raise MachineError(contradiction)

    def _contradictions(self) -> Iterator[str]:
        yield from self.network.contradictions()
        yield from self.server.contradictions()
        if isinstance(self.file_system, Lustre | Nfs):
            yield from self.file_system.contradictions()
        if isinstance(self.file_system, Pvfs):
            group = self.file_system.group_servers
            if group > 0 and self.servers % group:
                yield (
                    f"file_system.group_servers divides machine.servers, {self.servers:,}, not"
                    f" {group:,}"
                )
        if isinstance(self.file_system, Nfs | Measured) and self.servers != 1:
            yield (
                f"machine.servers is 1 where file_system.kind is '{self.file_system.kind}', not"
                f" {self.servers:,}"
            )

    def flat(self) -> dict[str, Value]:
        """Every value by its dotted name, such as `network.mtu` or `machine.nodes`."""
        kinds = {key: attrgetter(key)(self) for key in _KINDS}
        return {key: attrgetter(key.removeprefix("machine."))(self) for key in _rules_with(kinds)}

    def to_json(self) -> dict[str, Any]:
        """Plain values, by sections as in a profile."""
        tables: dict[str, Any] = {}
        for key, value in self.flat().items():
            *sections, name = key.split(".")
            table = tables
            for section in sections:
                table = table.setdefault(section, {})
            table[name] = value
        return tables

    def with_changes(self, changes: Mapping[str, str]) -> Machine:
        """This machine with other values.

        Args:
            changes: texts by dotted names. Sizes, whose names end in `bytes`, may have a unit, as
                64KiB; other numbers are plain, as 10e9.

        Raises MachineError, one line with the name, for what a profile may not say either.
        """
        values: dict[str, object] = dict(self.flat())
        try:
            values |= {key: changes[key] for key in _KINDS if key in changes}
            rules = _rules_with(values)
            for key, text in changes.items():
                if key not in rules:
                    raise MachineError(_unknown(key, values))
                if not isinstance(text, str):
                    raise MachineError(f"{key} is changed by a text, not {_shown(text)}")
                values[key] = rules[key].parsed(text)
                if rules[key].value(values[key]) is None:
                    raise MachineError(_refusal(rules[key], key, text))
            return _made(values)
        except MachineError as error:
            raise MachineError(f"{self.name} with changes: {error}") from None


def machine_names() -> tuple[str, ...]:
    """The machines whose profiles are part of the package."""
    return tuple(sorted(path.stem for path in _FOLDER.glob(f"*{_ENDING}")))


def machine(name_or_path: str | os.PathLike[str]) -> Machine:
    """The machine of a profile.

    Args:
        name_or_path: one of `machine_names()`, or the path of a file. A name comes first; write
            ./NAME for a file that has one.

    Raises MachineError, one line with file and place, for a file that is no complete profile.
    """
    check_path(name_or_path, "machine", "name_or_path")
    given = os.fsdecode(name_or_path)
    path = _FOLDER / f"{given}{_ENDING}" if given in machine_names() else _user_path(given)
    try:
        return _made(_flat(_tables(path), ""))
    except MachineError as error:
        raise MachineError(f"{_short(str(path), 1000)}: {error}") from None


def machine_of(profile: str) -> Machine:
    """The machine of a profile's text. Raises MachineError, one line with the place."""
    return _made(_flat(_parsed(profile.encode()), ""))


def _user_path(given: str) -> Path:
    """The path that is given; MachineError if it rather is a name with a mistake."""
    path = Path(given)
    looks_like_path = os.sep in given or given.endswith(_ENDING)
    with suppress(OSError, ValueError):
        if looks_like_path or (given and path.exists()):
            return path
    near = get_close_matches(given[:_MOST_SHOWN], machine_names(), 1)
    advice = f"; the nearest is {near[0]}" if near else ""
    raise MachineError(
        f"there is no machine {_shown(given)}{advice}; give {', '.join(machine_names())} or the"
        " path of a profile"
    )


def _tables(path: Path) -> dict[str, Any]:
    try:
        if not S_ISREG(path.stat().st_mode):
            raise MachineError("a profile is a file, this is a folder or a device")
        with path.open("rb") as file:
            content = file.read(_MOST_FILE_BYTES + 1)
    except OSError as error:
        raise MachineError(f"cannot be read: {error.strerror or type(error).__name__}") from None
    except MachineError:
        raise
    except ValueError as error:  # a path that the system does not allow
        raise MachineError(f"cannot be read: {_short(str(error), 200)}") from None
    if len(content) > _MOST_FILE_BYTES:
        raise MachineError(f"a profile has at most {_MOST_FILE_BYTES:,} bytes, this file has more")
    return _parsed(content)


def _parsed(content: bytes) -> dict[str, Any]:
    try:
        text = content.decode()
        if long := _LONG_NAME.search(text):
            line = text.count("\n", 0, long.start()) + 1
            raise MachineError(
                f"line {line:,} has a name of over 32 parts, where a profile's have 3"
            )
        return tomllib.loads(text)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise MachineError(f"is no text in UTF-8 (line {line:,})") from None
    except RecursionError:
        raise MachineError("is no profile: arrays or tables within too many others") from None
    except MachineError:
        raise
    except ValueError as error:  # tomllib's own, and int's of a number with too many digits
        raise MachineError(f"is no TOML: {_short(str(error), 200)}") from None


def _flat(tables: dict[str, Any], place: str) -> dict[str, object]:
    """Every value of the tables by its dotted name."""
    values: dict[str, object] = {}
    for name, value in tables.items():
        key = f"{place}{name}"
        if key in _SECTIONS:
            if not isinstance(value, dict):
                raise MachineError(f"{key} is a section, not {_shown(value)}")
            values |= _flat(value, f"{key}.")
        elif "." in name or key not in _KEYS:
            raise MachineError(_unknown(key, {}, isinstance(value, dict)))
        else:
            values[key] = value
    return values


def _made(values: Mapping[str, object]) -> Machine:
    """A machine of values by their dotted names."""
    made: Machine = _filled(Machine, _checked(values), "machine.", "")
    return made


def _checked(values: Mapping[str, object]) -> dict[str, Value]:
    """The values as their rules want them; MachineError unless all are there and allowed."""
    checked: dict[str, Value] = {}
    rules = _rules_with(values)
    for key, rule in rules.items():
        if key not in values:
            raise MachineError(f"{key} is missing; it is {rule.wanted}")
        value = rule.value(values[key])
        if value is None:
            raise MachineError(_refusal(rule, key, values[key]))
        checked[key] = value
    for key in values:
        if key not in rules:
            raise MachineError(_unknown(key, values))
    return checked


def _filled(section: type, values: Mapping[str, Value], own: str, below: str) -> Any:
    """A section made of its values, which begin with `own`, and sections, with `below`."""
    fields: dict[str, Any] = {}
    for name, hint in _hints(section):
        inner = f"{below}{name}."
        if sections := _sections(hint):
            fields[name] = _filled(_one_of(sections, inner, values), values, inner, inner)
        else:
            fields[name] = values[own + name]
    return section(**fields)


def _rules_with(values: Mapping[str, object]) -> dict[str, Rule]:
    """The rules of a machine with these kinds of file system and disk."""
    return dict(_rules(Machine, "machine.", "", values))


def _rules(
    section: type, own: str, below: str, values: Mapping[str, object]
) -> Iterator[tuple[str, Rule]]:
    for name, hint in _hints(section):
        inner = f"{below}{name}."
        if sections := _sections(hint):
            chosen = _one_of(sections, inner, values)
            for key, rule in _rules(chosen, inner, inner, values):
                yield key, _kinds(sections) if key == f"{inner}kind" else rule
        else:
            yield own + name, hint.__metadata__[0]


def _sections(hint: Any) -> tuple[type, ...]:
    """The classes that a section may have; none: it is no section but a value."""
    if isinstance(hint, UnionType):
        return get_args(hint)
    return (hint,) if isinstance(hint, type) else ()


def _kinds(sections: tuple[type, ...]) -> Word:
    """What the value `kind` of a section may be."""
    return Word(tuple(word for one in sections for word in _kind_of(one)))


def _kind_of(section: type) -> tuple[str, ...]:
    words: tuple[str, ...] = dict(_hints(section))["kind"].__metadata__[0].words
    return words


def _one_of(sections: tuple[type, ...], place: str, values: Mapping[str, object]) -> type:
    """The class that the section has with these values: that of its kind."""
    if len(sections) == 1:
        return sections[0]
    kind = values.get(f"{place}kind")
    return next((one for one in sections if kind in _kind_of(one)), sections[0])


def _hints(section: type) -> Iterable[tuple[str, Any]]:
    """The fields of a section: sections, which are classes, and values with their rules."""
    return get_type_hints(section, include_extras=True).items()


def _all_keys() -> Iterator[str]:
    """The names of all values, whatever the kinds."""
    choices = {
        f"{name}.kind": _kinds(sections).words
        for name, hint in _hints(Machine)
        if len(sections := _sections(hint)) > 1
    }
    for kinds in product(*choices.values()):
        yield from _rules_with(dict(zip(choices, kinds, strict=True)))


_KEYS = tuple(dict.fromkeys(_all_keys()))
_KINDS = tuple(key for key in _KEYS if key.endswith(".kind"))
_SECTIONS = tuple(
    dict.fromkeys(
        key.rsplit(".", depth)[0] for key in _KEYS for depth in range(1, key.count(".") + 1)
    )
)


def _unknown(key: str, values: Mapping[str, object], is_section: bool = False) -> str:
    """That there is no such key in a machine with these kinds, and which may be meant."""
    section = key.partition(".")[0]
    kind = values.get(f"{section}.kind")
    if key in _KEYS:
        return f"there is no {key} where {section}.kind is {_shown(kind)}"
    cut = key[: 2 * _MOST_SHOWN]
    known = _SECTIONS if is_section else tuple(_rules_with(values)) if values else _KEYS
    name = cut.rpartition(".")[2]
    misplaced = [one for one in known if one.rpartition(".")[2] == name]
    near = get_close_matches(cut, misplaced or known, 1, 0)[0]
    if is_section:
        return f"there is no section [{_short(key)}]; the nearest is [{near}]"
    return f"there is no {_short(key)}; the nearest is {near}"


def _refusal(rule: Rule, key: str, found: object) -> str:
    return f"{key} is {rule.wanted}, not {_shown(found)}"


def _number(text: str) -> object:
    """The number that is written; the text itself if it is none."""
    for kind in (int, float):
        with suppress(ValueError):
            if text.isascii():
                return kind(text)
    return text


def _shown(found: object) -> str:
    """A value on a line."""
    if isinstance(found, str):
        return f"'{_short(found)}'"
    if isinstance(found, bool):
        return str(found).lower()
    if isinstance(found, int) and found.bit_length() > 64:
        return f"a number of {found.bit_length():,} bits"
    if isinstance(found, int | float):
        return str(found)
    names = {dict: "a section", list: "an array", type(None): "None"}
    return names.get(type(found), f"a {type(found).__name__}")


def _short(text: str, most: int = _MOST_SHOWN) -> str:
    """The beginning of a text, on a line."""
    return one_line(text[:most]) + ("..." if len(text) > most else "")
