"""Compares the file after a crash with the writes that crash_writer recorded."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Layout:
    """The number and size of each rank's records, which it writes repeatedly."""

    ranks: int
    records: int
    record_bytes: int

    def record(self, rank: int, index: int, turn: int) -> bytes:
        """The bytes of record `index` of a rank in the `turn`th round."""
        first = index * 7 + rank * 31 + turn * 13
        return bytes(1 + (first + b) % 251 for b in range(self.record_bytes))

    def offset(self, rank: int, index: int) -> int:
        return (index * self.ranks + rank) * self.record_bytes


@dataclass(frozen=True)
class History:
    """The recorded counters of one rank."""

    issued: int
    returned: int
    process: int
    cached: int
    """Whether the file is in Forebay's cache."""

    @staticmethod
    def of(prefix: Path, rank: int) -> History:
        counters = prefix.with_name(f"{prefix.name}.{rank}").read_bytes()
        return History(*struct.unpack_from("<qqqq", counters))


def turns_before(count: int, index: int, records: int) -> int:
    """How many of the first `count` writes wrote record `index`."""
    return (count - index - 1) // records + 1 if count > index else 0


def violations(file: Path, prefix: Path, layout: Layout, cached: bool = True) -> list[str]:
    """Records that break the contract (a record whose write returned is in the file; each byte is
    an old one or one that was issued), and ranks whose file was not `cached` as stated."""
    data = file.read_bytes() if file.exists() else b""
    found = []
    for rank in range(layout.ranks):
        history = History.of(prefix, rank)
        if history.issued and bool(history.cached) != cached:
            found.append(f"rank {rank}: the file was {'' if history.cached else 'not '}cached")
        for index in range(min(layout.records, history.issued)):
            begin = layout.offset(rank, index)
            got = data[begin : begin + layout.record_bytes].ljust(layout.record_bytes, b"\0")
            done = turns_before(history.returned, index, layout.records)
            issued = turns_before(history.issued, index, layout.records)
            legal = [layout.record(rank, index, turn) for turn in range(max(done - 1, 0), issued)]
            if done == 0:
                legal.append(bytes(layout.record_bytes))
            if got in legal:
                continue
            if all(any(got[b] == one[b] for one in legal) for b in range(len(got))):
                continue  # a write in progress arrived in part
            found.append(
                f"rank {rank} record {index} at {begin}: {done} of {issued} turns returned"
            )
    return found
