"""A machine as the simulator's core takes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from forebay import _core
from forebay.simulation.machine_parts import Lustre, Measured, Pvfs, RotatingDisk
from forebay.simulation.machines import Machine

BYTES_PER_SERVER = 24 << 10
"""Memory of the simulation, about."""
_NETWORK = {
    "bits_per_second": "network.bits_per_second",
    "host_delay_s": "network.host_delay_s",
    "serial_hosts": "network.serial_hosts",
    "switch_delay_s": "network.switch_delay_s",
    "mtu": "network.mtu",
    "mss": "network.mss",
    "window": "network.window",
    "segments_an_acknowledgement": "network.segments_an_acknowledgement",
    "buffer_per_port": "network.switch_buffer_per_port",
    "least_buffer": "network.least_switch_buffer",
    "most_buffer": "network.most_switch_buffer",
    "nic_queue_frames": "network.nic_queue_frames",
    "nic_transmit_limit_frames": "network.nic_transmit_limit_frames",
    "copy_bytes_per_second": "memory.copy_bytes_per_second",
}
_PVFS = {
    "strip_bytes": "file_system.strip_bytes",
    "group_servers": "file_system.group_servers",
    "unit_bytes": "file_system.unit_bytes",
    "flow_buffer_bytes": "file_system.flow_buffer_bytes",
    "flow_buffers": "file_system.flow_buffers",
    "extents_a_request": "file_system.extents_a_request",
    "extent_bytes": "file_system.extent_bytes",
    "request_s": "file_system.request_s",
    "open_s": "file_system.client.open_s",
    "stat_s": "file_system.client.stat_s",
    "utime_s": "file_system.client.utime_s",
    "mkdir_s": "file_system.client.mkdir_s",
    "client_readdir_s": "file_system.client.readdir_s",
    "unlink_s": "file_system.client.unlink_s",
    "create_directory_entry_s": "file_system.metadata.create_directory_entry_s",
    "create_data_file_s": "file_system.metadata.create_data_file_s",
    "create_metadata_s": "file_system.metadata.create_metadata_s",
    "get_attributes_s": "file_system.metadata.get_attributes_s",
    "set_attributes_s": "file_system.metadata.set_attributes_s",
    "lookup_s": "file_system.metadata.lookup_s",
    "readdir_s": "file_system.metadata.readdir_s",
    "remove_directory_entry_s": "file_system.metadata.remove_directory_entry_s",
    "remove_metadata_s": "file_system.metadata.remove_metadata_s",
    "remove_object_s": "file_system.metadata.remove_object_s",
    "entries_a_readdir": "file_system.metadata.entries_a_readdir",
}
_PAGED = {
    "page_bytes": "file_system.client.page_bytes",
    "cache_bytes": "file_system.client.cache_bytes",
    "dirty_bytes": "file_system.client.dirty_bytes",
    "read_ahead_bytes": "file_system.client.read_ahead_bytes",
    "rpc_bytes": "file_system.client.rpc_bytes",
    "extents_an_rpc": "file_system.client.extents_an_rpc",
    "rpcs_in_flight": "file_system.client.rpcs_in_flight",
    "carried_bytes": "file_system.client.carried_bytes",
    "call_s": "file_system.client.call_s",
    "commits_at_close": "file_system.client.commits_at_close",
    "copy_bytes_per_second": "memory.copy_bytes_per_second",
    "request_s": "file_system.request_s",
    "create_s": "file_system.metadata.create_s",
    "open_s": "file_system.metadata.open_s",
    "close_s": "file_system.metadata.close_s",
    "get_attributes_s": "file_system.metadata.get_attributes_s",
    "set_attributes_s": "file_system.metadata.set_attributes_s",
    "readdir_s": "file_system.metadata.readdir_s",
    "remove_s": "file_system.metadata.remove_s",
    "entries_a_readdir": "file_system.metadata.entries_a_readdir",
}
_NFS = {**_PAGED, "library_lock_s": "file_system.library_lock_s"}
_LUSTRE = {
    **_PAGED,
    "stripe_bytes": "file_system.stripe_bytes",
    "stripe_count": "file_system.stripe_count",
    "lock_s": "file_system.lock_s",
}
_MEASURED = {
    "create_s": "file_system.create_s",
    "open_s": "file_system.open_s",
    "close_s": "file_system.close_s",
    "close_bytes_per_second": "file_system.close_bytes_per_second",
    "full_speed_nodes": "file_system.full_speed_nodes",
    "requests_at_once": "file_system.requests_at_once",
    "library_lock_s": "file_system.library_lock_s",
}
_WAYS = ("write", "read", "read_written", "read_reopened")
_REQUESTS = ("alone_s", "alone_bytes_per_second", "together_s", "together_bytes_per_second")
_FLASH = {
    "bytes": "disk.bytes",
    "page_bytes": "disk.page_bytes",
    "read_latency_s": "disk.read_latency_s",
    "write_latency_s": "disk.write_latency_s",
    "channels": "disk.channels",
    "channel_bytes_per_second": "disk.channel_bytes_per_second",
    "interface_bytes_per_second": "disk.interface_bytes_per_second",
    "queue_depth": "disk.queue_depth",
}
_SERVER = {
    "block_bytes": "server.block_bytes",
    "cache_bytes": "server.cache_bytes",
    "dirty_threshold": "server.dirty_threshold",
    "system_call_s": "server.system_call_s",
    "read_ahead_bytes": "server.read_ahead_bytes",
    "copy_bytes_per_second": "server.copy_bytes_per_second",
}


def settings_of(machine: Machine, by_frames: bool) -> _core.ClusterSettings:
    """A machine for the core, without a job."""
    settings = _core.ClusterSettings()
    settings.servers = machine.servers
    values = machine.flat()
    network = _filled(_core.NetworkProfile(), _NETWORK, values)
    network.by_frames = by_frames
    settings.network = network
    settings.file_system = _file_system_of(machine)
    settings.server = _filled(_core.ServerProfile(), _SERVER, values)
    if isinstance(machine.disk, RotatingDisk):
        settings.set_disk(machine.disk.model, machine.disk.scheduler)
    else:
        settings.set_flash(_filled(_core.FlashProfile(), _FLASH, values))
    settings.set_raid(machine.server.raid, machine.server.disks, machine.server.raid_unit_bytes)
    return settings


def pvfs_of(machine: Machine) -> _core.PvfsProfile:
    """The file system of a machine that has this one."""
    values = machine.flat()
    pvfs: _core.PvfsProfile = _filled(_core.PvfsProfile(), _PVFS, values)
    pvfs.driven_by_servers = values["file_system.metadata.driven_by"] == "servers"
    return pvfs


def _file_system_of(
    machine: Machine,
) -> _core.PvfsProfile | _core.PagedProfile | _core.MeasuredProfile:
    values = machine.flat()
    if isinstance(machine.file_system, Pvfs):
        return pvfs_of(machine)
    if isinstance(machine.file_system, Measured):
        measured: _core.MeasuredProfile = _filled(_core.MeasuredProfile(), _MEASURED, values)
        for way in _WAYS:
            names = {name: f"file_system.{way}.{name}" for name in _REQUESTS}
            setattr(measured, way, _filled(_core.MeasuredTimes(), names, values))
        return measured
    locks = isinstance(machine.file_system, Lustre)
    paged: _core.PagedProfile = _filled(_core.PagedProfile(), _LUSTRE if locks else _NFS, values)
    paged.locks = locks
    return paged


def _filled(profile: Any, names: Mapping[str, str], values: Mapping[str, object]) -> Any:
    """The profile with those of the machine's values whose names are given."""
    for attribute, key in names.items():
        setattr(profile, attribute, values[key])
    return profile


_SHORT_MESSAGE_BYTES = 128


def short_message_s(machine: Machine) -> float:
    """The time from one process to another: in both hosts, on both links, in the switch."""
    network = machine.network
    on_links = 2 * 8 * _SHORT_MESSAGE_BYTES / network.bits_per_second
    return 2 * network.host_delay_s + on_links + network.switch_delay_s
