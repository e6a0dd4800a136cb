"""The names of a simulated cluster's hosts."""

from __future__ import annotations


def host_name(number: int, servers: int, hosts: int) -> str:
    """Of a host of the network: nodes come first, then servers, then that of metadata."""
    nodes = hosts - servers - 1
    if number < nodes:
        return f"node {number}"
    return f"server {number - nodes}" if number < hosts - 1 else "metadata"
