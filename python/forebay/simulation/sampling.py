"""Caches simulated with a part of the pages, and how far that may be from the truth.

SHARDS (Waldspurger, Park, Garthwaite, Ahmad: FAST 2015): a page is in the sample by its hash, with
all its touches or none, and a cache is smaller by as much as there are fewer pages. How many there
are is known here, and takes the place of the rate. Section 3.3 corrects for how many touches the
sampled pages have (SHARDS-adj). That this holds for policies
other than LRU is shown by Waldspurger, Saemundsson, Ahmad and Park (USENIX ATC 2017).

The error comes from the sample itself: it is divided by further bits of the hash, and how much its
parts differ says how much samples differ. The factor for a part drawn from a whole that is finite
makes the error of the whole nothing.
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
"""Of Student's t distribution with one degree less than parts, for 95 %."""
_NEVER_SEEN = 3.0
"""What is in no case of n is in less than 3 / n of all, in 95 %."""
_LEAST_FRAMES = 2 * _PARTS
"""Of a sampled cache: two for each part."""
_MARKS = 1 << 32


@dataclass(frozen=True, slots=True)
class Estimate:
    """What caches count."""

    hits: int
    misses: int
    evictions: int
    sample: float | None = None
    error: float = 0.0


def can_estimate(frames: Sequence[int], rate: float) -> bool:
    """Whether caches of so many frames are large enough for a sample of this rate."""
    return min(frames) * rate >= _LEAST_FRAMES


class Sample:
    """A part of the pages of `touches`, by hash; 0 < `rate` < 1."""

    def __init__(self, touches: _core.Touches, rate: float):
        self.rate = rate
        self._accesses = len(touches)
        self._pages = touches.pages
        ends = [round(rate * _MARKS * part / _PARTS) for part in range(_PARTS + 1)]
        self._whole = touches.sampled(0, ends[-1])
        self._parts = [self._whole.sampled(low, high) for low, high in pairwise(ends)]

    @property
    def touches(self) -> int:
        """That an estimate goes through."""
        return 2 * len(self._whole)

    def estimate(self, policy: str, frames: Sequence[int], done: _core.Progress) -> Estimate:
        """Of caches of so many frames, as can_estimate() allows."""
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
        """Of all touches: the hit rate and the evictions."""
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
