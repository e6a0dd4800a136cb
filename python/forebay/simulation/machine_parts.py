"""The sections of a machine's profile, each with its values and what contradicts itself in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from forebay.simulation.machine_values import (
    SECTOR_BYTES,
    BufferBytes,
    Bytes,
    BytesOrNone,
    Count,
    Number,
    Rate,
    Seconds,
    Size,
    Whole,
    Word,
    YesOrNo,
)

_HEADER_BYTES = 40
"""Of IPv4 and TCP, in each frame beside `mss` (RFC 879)."""
_ETHERNET_BYTES = 18
"""Header and checksum of a frame beside `mtu` (IEEE 802.3)."""
_RAID_DISKS = {"0": 1, "1": 2, "5": 3, "6": 4}
"""The fewest disks of a group, by its level."""


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
    extent_bytes: BytesOrNone
    """Of a request for each extent that it names; 0: it names a datatype instead."""
    request_s: Seconds
    """A server's work for each request for bytes, besides its system calls and copies."""
    client: PvfsClient
    metadata: PvfsMetadata


@dataclass(frozen=True, slots=True)
class Pages:
    """What a client keeps of files, and how its pages come and go."""

    page_bytes: Annotated[int, Size(SECTOR_BYTES, 1 << 24)]
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

    block_bytes: Annotated[int, Size(SECTOR_BYTES, 1 << 30)]
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
    raid_unit_bytes: Annotated[int, Size(SECTOR_BYTES, 1 << 30)]
    """Bytes that follow each other on a disk, before the next disk's come."""

    def contradictions(self) -> Iterator[str]:
        if self.disks < _RAID_DISKS[self.raid]:
            yield (
                f"server.disks is at least {_RAID_DISKS[self.raid]} where server.raid is"
                f" '{self.raid}', not {self.disks}"
            )
        if self.raid_unit_bytes % SECTOR_BYTES:
            yield (
                f"server.raid_unit_bytes is a multiple of {SECTOR_BYTES}, not"
                f" {self.raid_unit_bytes:,}"
            )
        if self.block_bytes % SECTOR_BYTES:
            yield (
                f"server.block_bytes is a multiple of a disk's sector, {SECTOR_BYTES} bytes, not"
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
    page_bytes: Annotated[int, Size(SECTOR_BYTES, 1 << 24)]
    read_latency_s: Seconds
    """Of a page, alone: all that it takes."""
    write_latency_s: Seconds
    channels: Annotated[int, Whole(1, 4096)]
    channel_bytes_per_second: Rate
    interface_bytes_per_second: Rate
    queue_depth: Count
    """Requests under way; others wait."""
