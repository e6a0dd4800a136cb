"""Analysis by the ranks of an MPI job: `mpiexec -n 4 forebay analyze TRACE`. Each rank opens the
trace and reads some of its processes; rank 0 combines the results."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import click

from forebay.analysis.folding import Fold, Progress, cores, fold, parts_of
from forebay.job.joined import Ranks
from forebay.trace import Trace, TraceError


def fold_by_ranks(
    ranks: Ranks,
    open_it: Callable[[], Trace],
    jobs: int | None,
    progress: Callable[[Trace], Progress],
    most_runs: int,
) -> tuple[Trace, Fold] | None:
    """On rank 0 the trace and what was read of all processes; None on the others.

    `open_it` opens the trace on every rank. If a rank fails, raises TraceError or
    click.ClickException on rank 0, SystemExit on the others.
    """
    trace: Trace | None = None

    def folded() -> tuple[Fold, Mapping[tuple[int, int], tuple[int, str]]]:
        nonlocal trace
        trace = open_it()
        parts = parts_of(trace, range(len(trace.processes)), ranks.size, least=1)
        part = parts[ranks.rank] if ranks.rank < len(parts) else range(0)
        threads = ranks.share_of_cores(jobs) or cores()
        return fold(trace, part, threads, progress(trace), most_runs), trace.bad_blocks()

    outcomes = ranks.gathered(folded, TraceError, click.ClickException)
    if outcomes is None:
        return None
    assert trace is not None
    whole = outcomes[0][0]
    for other, bad_blocks in outcomes[1:]:
        whole.merge(other)
        trace.add_bad_blocks(bad_blocks)
    return trace, whole
