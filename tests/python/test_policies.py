"""The replacement policies against libCacheSim's: equal hits, to the last one."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import libcachesim
import numpy as np
import pytest
from numpy.typing import NDArray

from forebay import _core

Ids = NDArray[np.uint64]
JUDGES: dict[str, Callable[..., libcachesim.CacheBase]] = {
    "lru": libcachesim.LRU,
    "fifo": libcachesim.FIFO,
    "lfu": libcachesim.LFU,
    "arc": libcachesim.ARC,
    "sieve": libcachesim.Sieve,
    "s3fifo": libcachesim.S3FIFO,
}
SIZES = (20, 130, 700, 2000)
REQUESTS = 40_000


def zipf(random: np.random.Generator, requests: int, blocks: int, exponent: float) -> Ids:
    weights = 1 / np.arange(1, blocks + 1) ** exponent
    return random.choice(blocks, requests, p=weights / weights.sum()).astype(np.uint64)


def loops(random: np.random.Generator) -> Ids:
    """Loops of many lengths, each repeated several times, between random blocks."""
    parts: list[Ids] = []
    while sum(map(len, parts)) < REQUESTS:
        first, length = random.integers(0, 2000), random.integers(50, 900)
        parts.append(np.tile(np.arange(first, first + length), random.integers(1, 5)))
        parts.append(zipf(random, 500, 3000, 0.9) + 5000)
    return np.concatenate(parts)[:REQUESTS].astype(np.uint64)


def scanned(random: np.random.Generator) -> Ids:
    """Frequently used blocks, interrupted by a scan."""
    often = zipf(random, REQUESTS, 5000, 0.8)
    scan = np.arange(REQUESTS, dtype=np.uint64) % 7000 + 10_000
    return np.where(random.random(REQUESTS) < 0.5, often, scan)


@cache
def trace(name: str) -> Ids:
    random = np.random.default_rng(20141)
    match name:
        case "zipf":
            return zipf(random, REQUESTS, 5000, 0.99)
        case "loops":
            return loops(random)
        case "scanned":
            return scanned(random)
        case _:
            return random.integers(0, 3000, REQUESTS).astype(np.uint64)


@pytest.mark.parametrize("name", ["zipf", "loops", "scanned", "uniform"])
@pytest.mark.parametrize("policy", JUDGES)
def test_the_hits_are_the_judges(name: str, policy: str) -> None:
    ids = trace(name)
    for size in SIZES:
        judge = JUDGES[policy](cache_size=size)
        request = libcachesim.Request(obj_size=1)
        hits = 0
        for block in ids.tolist():
            request.obj_id = block + 1
            hits += judge.get(request)
        assert _core.simulate_blocks(policy, ids, size).hits == hits, size
