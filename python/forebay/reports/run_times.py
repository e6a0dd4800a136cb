"""Results of cluster simulations as one page that needs only a browser."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from forebay.reports.template import embedded, rendered
from forebay.simulation import ClusterResult, ClusterResults, Machine
from forebay.simulation.cluster_text import Cells, busy_of, named_of, run_times_of, summary_of
from forebay.text import one_line

_AS_FAST = 1.02
"""Run times that differ by less count as equal."""


def render(results: ClusterResults, on: Machine, warnings: Sequence[str] = ()) -> str:
    """The page as HTML. `on`: the machine before changes. `warnings`: the lines that
    `simulate_cluster` has told. Raises ValueError without results, ImportError without Jinja2 and
    Matplotlib."""
    from forebay.plots.run_times import draw
    from forebay.plots.style import svg_of

    figure = svg_of(draw(results))
    first = results[0]
    busy = tuple((named_of(one, results) or "it", "; ".join(busy_of(one))) for one in results)
    changed = {
        key: value
        for key, value in first.settings.items()
        if all(one.settings.get(key) == value for one in results)
    }
    values: dict[str, object] = {**on.flat(), **changed}
    return rendered(
        "run_times.html.j2",
        name=one_line(Path(first.trace).name),
        path=one_line(first.trace),
        machines=one_line("/".join(dict.fromkeys(one.machine for one in results))),
        warnings=[one_line(line) for line in warnings],
        summary=summary_of(results),
        verdict=_verdict(results),
        runs=run_times_of(results),
        figure=figure,
        busy=Cells(("simulation", "what was busy"), busy, 2),
        values=Cells(
            ("name", "value"),
            tuple((one_line(key), _shown(value)) for key, value in sorted(values.items())),
            2,
        ),
        data=embedded({"results": results.to_json(), "machine": on.to_json()}),
    )


def _shown(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else one_line(str(value))


def _verdict(results: Sequence[ClusterResult]) -> str:
    """The fastest of several, and how much faster it is than the first."""
    first, fastest = results[0], min(results, key=lambda one: one.run_s)
    if len(results) == 1:
        return f"It takes {first.run_s:,.4g} s."
    if first.run_s < fastest.run_s * _AS_FAST:
        return (
            f"No other simulation is {_AS_FAST - 1:.0%} faster than"
            f" {named_of(first, results)}, which takes {first.run_s:,.4g} s."
        )
    ratio = first.run_s / fastest.run_s
    alike = [
        named_of(one, results)
        for one in results
        if one is not fastest and one.run_s < fastest.run_s * _AS_FAST
    ]
    as_fast = f" As fast within {_AS_FAST - 1:.0%}: {'; '.join(alike)}." if alike else ""
    return (
        f"{named_of(fastest, results)} is the fastest: {fastest.run_s:,.4g} s,"
        f" {ratio:,.3g} times as fast as {named_of(first, results)}.{as_fast}"
    )
