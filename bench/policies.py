"""Requests per second of processor time of the policies and of libCacheSim's, in turn, on the same
trace: Zipf 0.99 over a million ids, a cache of 100,000 blocks.

    python bench/policies.py [MILLION_REQUESTS]          (10 by default; libcachesim installed)

Forebay reads the ids from memory; libCacheSim reads them from a file of its own format, mapped into
memory. Both must find the same hits. Prints the best of several runs each, and each policy's memory
per block (with the table that finds it).
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import libcachesim
import numpy as np
from numpy.typing import NDArray

from forebay import _core

IDS = 1_000_000
BLOCKS = 100_000
EXPONENT = 0.99
RUNS = 3
JUDGES = {
    "lru": libcachesim.LRU,
    "fifo": libcachesim.FIFO,
    "sieve": libcachesim.Sieve,
    "lfu": libcachesim.LFU,
    "arc": libcachesim.ARC,
    "s3fifo": libcachesim.S3FIFO,
}


def zipf(requests: int) -> NDArray[np.uint64]:
    random = np.random.default_rng(2014)
    weights = 1 / np.arange(1, IDS + 1) ** EXPONENT
    rank = np.searchsorted(np.cumsum(weights / weights.sum()), random.random(requests))
    return (random.permutation(IDS)[np.minimum(rank, IDS - 1)] + 1).astype(np.uint64)


def write_oracle_general(ids: NDArray[np.uint64], path: Path) -> None:
    record = np.dtype([("time", "<u4"), ("id", "<u8"), ("size", "<u4"), ("next", "<i8")])
    records = np.zeros(len(ids), record)
    records["id"], records["size"], records["next"] = ids, 1, -2
    records.tofile(path)


def ours(policy: str, ids: NDArray[np.uint64]) -> int:
    return _core.simulate_blocks(policy, ids, BLOCKS).hits


def judged(policy: str, path: Path, requests: int) -> int:
    cache = JUDGES[policy](cache_size=BLOCKS)
    reader = libcachesim.TraceReader(str(path), libcachesim.TraceType.ORACLE_GENERAL_TRACE)
    miss_ratio, _ = cache.process_trace(reader)
    return round((1 - miss_ratio) * requests)


def main() -> None:
    requests = round(float(sys.argv[1]) * 1e6) if len(sys.argv) > 1 else 10_000_000
    ids = zipf(requests)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "zipf.oracleGeneral.bin"
        write_oracle_general(ids, path)
        print(f"{requests:,} requests, {IDS:,} ids, {BLOCKS:,} blocks; million requests a second")
        print(f"{'policy':<8}{'forebay':>9}{'libcachesim':>13}{'ratio':>7}{'hits':>12}{'bytes':>7}")
        for policy in JUDGES:
            seconds: tuple[list[float], list[float]] = ([], [])
            for _ in range(RUNS):
                begin = time.process_time()
                hits = ours(policy, ids)
                between = time.process_time()
                expected = judged(policy, path, requests)
                seconds[0].append(between - begin)
                seconds[1].append(time.process_time() - between)
                if hits != expected:
                    sys.exit(f"{policy}: {hits} hits, libCacheSim has {expected}")
            state = _core.simulate_blocks(policy, ids[:BLOCKS], BLOCKS).state_bytes / BLOCKS
            best, other = (requests / min(runs) / 1e6 for runs in seconds)
            print(
                f"{policy:<8}{best:>9.1f}{other:>13.1f}{best / other:>7.1f}{hits:>12,}{state:>7.0f}"
            )


if __name__ == "__main__":
    main()
