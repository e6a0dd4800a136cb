"""Simulates caches with a sample of the pages, and estimates the error.

SHARDS (Waldspurger, Park, Garthwaite, Ahmad: FAST 2015): the hash of a page decides whether the
page is in the sample, with all its touches or none. A cache shrinks by the sample's share of the
pages; the number of pages is known here, so their share takes the place of the sampling rate.
Section 3.3 corrects for the number of touches of the sampled pages (SHARDS-adj). Waldspurger,
Saemundsson, Ahmad and Park (USENIX ATC 2017) show that this holds for policies other than LRU.

The error is estimated from the sample itself: further bits of the hash divide the sample into
parts, and the differences between the parts tell how much samples differ. The correction for a part
drawn from a finite whole makes the error of the whole zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import sqrt
from statistics import stdev

from forebay import _core

_PARTS = 8
_QUANTILE = 2.365
"""Quantile of Student's t distribution for 95 %, with one degree of freedom less than parts."""
_NEVER_SEEN = 3.0
"""An event that happens in none of n cases has a rate below 3 / n, with 95 % confidence."""
_LEAST_FRAMES = 2 * _PARTS
"""The fewest frames of a sampled cache: two per part."""
_MARKS = 1 << 32


@dataclass(frozen=True, slots=True)
class Estimate:
    """The counts of caches, or estimates of them."""

    hits: int
    misses: int
    evictions: int
    sample: float | None = None
    error: float = 0.0


def can_estimate(frames: Sequence[int], rate: float) -> bool:
    """Whether caches with these numbers of frames are large enough for a sample of this rate."""
    return min(frames) * rate >= _LEAST_FRAMES


class Sample:
    """A sample of the pages of `touches`, by hash; 0 < `rate` < 1."""

    def __init__(self, touches: _core.Touches, rate: float):
        self.rate = rate
        self._accesses = len(touches)
        self._pages = touches.pages
        ends = [round(rate * _MARKS * part / _PARTS) for part in range(_PARTS + 1)]
        self._whole = touches.sampled(0, ends[-1])
        self._parts = [self._whole.sampled(low, high) for low, high in pairwise(ends)]

    @property
    def touches(self) -> int:
        """The number of touches that an estimate simulates."""
        return 2 * len(self._whole)

    def estimate(self, policy: str, frames: Sequence[int], done: _core.Progress) -> Estimate:
        """Estimates for caches with these numbers of frames, if can_estimate() allows it."""
        rate, evictions = self._rate(self._whole, policy, frames, done)
        of_parts = [self._rate(part, policy, frames, done)[0] for part in self._parts]
        error = max(
            _QUANTILE * stdev(of_parts) / sqrt(_PARTS),
            _NEVER_SEEN / max(1, sum(self._whole.pages)),
        )
        hits = round(rate * self._accesses)
        misses = self._accesses - hits
        return Estimate(
            hits=hits,
            misses=misses,
            evictions=min(misses, round(evictions)),
            sample=self.rate,
            error=min(1.0, error * sqrt(1 - self.rate)),
        )

    def _rate(
        self, sample: _core.Touches, policy: str, frames: Sequence[int], done: _core.Progress
    ) -> tuple[float, float]:
        """The hit rate, and the evictions scaled to all touches."""
        smaller = [
            min(count, pages) * sampled // max(1, pages)
            for count, sampled, pages in zip(frames, sample.pages, self._pages, strict=True)
        ]
        hits, _, evictions = sample.simulate(policy, smaller, done)
        part = sum(sample.pages) / sum(self._pages)
        if part == 0:
            return 0.0, 0.0
        expected = self._accesses * part
        corrected = hits + expected - len(sample)
        return min(1.0, max(0.0, corrected / expected)), evictions / part
