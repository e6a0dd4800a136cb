"""Comparisons by the ranks of an MPI job: `mpiexec -n 4 forebay simulate cluster TRACE`. Each rank
simulates some of the settings; rank 0 has the results."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import TypeVar

from forebay.job.joined import Ranks
from forebay.trace import TraceError

_Settings = TypeVar("_Settings")
_Result = TypeVar("_Result")


def simulate_by_ranks(
    ranks: Ranks,
    settings: Sequence[_Settings],
    simulate: Callable[[list[_Settings]], Sequence[_Result]],
    warnings: list[str],
) -> list[_Result] | None:
    """On rank 0 what `simulate` returned for each of the settings, in their order; None on the
    others. `warnings`: what it warned of; on rank 0 afterwards what it did on any rank.

    If it raises TraceError or ValueError on a rank, rank 0 raises it, and the others SystemExit.
    """
    # Neighbours take similar times: each rank gets some of every kind.
    numbers = list(range(len(settings)))
    if ranks.size > 1:
        random.Random(0).shuffle(numbers)
    shares = [numbers[rank :: ranks.size] for rank in range(ranks.size)]

    def simulated() -> tuple[list[_Result], list[str]]:
        mine = [settings[number] for number in shares[ranks.rank]]
        return list(simulate(mine)) if mine else [], warnings

    parts = ranks.gathered(simulated, TraceError, ValueError)
    if parts is None:
        return None
    found: dict[int, _Result] = {}
    for share, (results, warned) in zip(shares, parts, strict=True):
        found.update(zip(share, results, strict=True))
        warnings.extend(line for line in warned if line not in warnings)
    return [found[number] for number in range(len(settings))]
