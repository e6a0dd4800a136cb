"""Analysis by the ranks of an MPI job: `mpiexec -n 4 forebay analyze TRACE`. Each rank opens the
trace and reads some of its processes; rank 0 combines the results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from forebay.analysis.folding import Fold, Progress, cores, fold, parts_of
from forebay.job.joined import joined_processes
from forebay.trace import Trace, TraceError


class Ranks:
    """The ranks that analyze together. Without a launcher this is one process, and no MPI is
    loaded."""

    def __init__(self) -> None:
        self._comm = joined_processes("to analyze by several ranks")
        self.rank, self.size, self._on_node = 0, 1, 1
        if self._comm is None:
            return
        from mpi4py import MPI

        self.rank, self.size = self._comm.rank, self._comm.size
        self._on_node = self._comm.Split_type(MPI.COMM_TYPE_SHARED).size

    def fold(
        self,
        open_it: Callable[[], Trace],
        jobs: int | None,
        progress: Callable[[Trace], Progress],
        most_runs: int,
    ) -> tuple[Trace, Fold] | None:
        """On rank 0 the trace and what was read of all processes; None on the others.

        `open_it` opens the trace on every rank. If a rank fails, raises TraceError or
        click.ClickException on rank 0, SystemExit on the others.
        """
        outcome: Any
        trace = None
        try:
            trace = open_it()
            parts = parts_of(trace, range(len(trace.processes)), self.size, least=1)
            part = parts[self.rank] if self.rank < len(parts) else range(0)
            threads = jobs or max(1, cores() // self._on_node)
            folded = fold(trace, part, threads, progress(trace), most_runs)
            outcome = folded, trace.bad_blocks()
        except (TraceError, click.ClickException) as error:
            outcome = error
        outcomes = [outcome] if self._comm is None else self._comm.gather(outcome)
        failed = [one for one in outcomes or () if isinstance(one, Exception)]
        if self._comm is not None and self._comm.bcast(bool(failed)) and self.rank > 0:
            raise SystemExit(1)
        if failed:
            raise failed[0]
        if self.rank > 0:
            return None
        assert trace is not None
        whole: Fold = outcomes[0][0]
        for other, bad_blocks in outcomes[1:]:
            whole.merge(other)
            trace.add_bad_blocks(bad_blocks)
        return trace, whole
