"""A trace as one page that needs only a browser."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from hashlib import sha256
from importlib import import_module
from importlib.resources import files as resources
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

from forebay.analysis import Analysis, FileAnalysis, analyze
from forebay.analysis.conflicts import MOST_RUNS
from forebay.analysis.result import Finding, unknown_of
from forebay.analysis.text import (
    COUNTED_TITLES,
    ZERO,
    counted_cells,
    is_warning,
    known_accesses,
    losses_of,
    needs_of,
    other_seconds,
    outside_phases_of,
    phase_cells,
    steps_of,
    time_in_calls,
)
from forebay.reports.template import embedded, rendered
from forebay.text import one_line
from forebay.trace import Trace
from forebay.trace.counters import FileCounters

if TYPE_CHECKING:
    from forebay.plots.style import Plot

_MOST_COUNTED = 4
_MOST_SETS = 8
_MOST_PHASES = 40
_MOST_SIGNATURES = 20
_LONGEST_PATH = 72
"""In characters."""
_EQUAL = 0.02
"""Results of two runs that differ by less count as equal."""


def render(
    trace: Trace,
    against: Trace | None = None,
    most_runs: int = MOST_RUNS,
    progress: Callable[[int], object] = lambda _: None,
) -> str:
    """The page as HTML. `most_runs`: as for forebay.analyze. `progress` is called repeatedly with
    the number of accesses read so far; the trace is read twice. Raises TraceError as Trace.batches
    does, ImportError without Jinja2 and Matplotlib."""
    # Importing Matplotlib takes as long as reading 800,000 accesses.
    loading = Thread(target=import_module, args=("forebay.plots.figures",))
    loading.start()
    analysis = analyze(trace, progress=progress, most_runs=most_runs)
    figures = _figures(trace, analysis, progress)
    package = resources("forebay.reports")
    script = package.joinpath("figures.js").read_text(encoding="utf-8")
    return rendered(
        "job.html.j2",
        {"short": short_path, "short_title": _short_title},
        name=one_line(Path(analysis.path).name),
        analysis=analysis,
        losses=losses_of(analysis),
        steps=steps_of(analysis) if analysis.steps else "",
        needs=needs_of(analysis),
        needs_class="warning" if is_warning(analysis) else "soft",
        tiles=_tiles(analysis),
        comparison=None if against is None else _comparison(analysis, against),
        other_seconds=other_seconds,
        counted=_counted(analysis),
        zero=ZERO,
        phases=_phases(analysis),
        outside_phases=outside_phases_of(analysis),
        shared=[_shared(file) for file in analysis.files if file.sharing.bytes],
        figures=figures.sections,
        latencies=figures.latencies,
        signatures=[_signature(file) for file in analysis.files if file.locals],
        data=embedded(analysis.to_json()),
        script=script,
        script_hash=f"sha256-{base64.b64encode(sha256(script.encode()).digest()).decode()}",
    )


def short_path(path: str) -> str:
    """The path, with an ellipsis in its middle if it is long. Its beginning and the file's name
    stay."""
    if len(path) <= _LONGEST_PATH:
        return path
    kept = _LONGEST_PATH - 1
    return f"{path[: kept // 3]}…{path[len(path) - (kept - kept // 3) :]}"


def _short_title(finding: Finding) -> str:
    """A finding's title, with its file's path shortened."""
    return finding.title.replace(finding.path, short_path(finding.path))


def _tiles(analysis: Analysis) -> list[dict[str, str]]:
    written = sum(file.known_writes.bytes for file in analysis.files)
    read = sum(file.known_reads.bytes for file in analysis.files)
    values = (
        ("processes", f"{analysis.processes:,}", "processes"),
        ("accesses", f"{known_accesses(analysis):,}", "calls"),
        ("written", f"{written / 2**20:,.1f} MiB", "written"),
        ("read", f"{read / 2**20:,.1f} MiB", "read"),
        (
            "seconds",
            f"{analysis.seconds:,.3f} s",
            "from first to last call" if analysis.traced else "the job",
        ),
        ("io_seconds", f"{analysis.io_seconds:,.3f} s", f"{time_in_calls(analysis)}, a process"),
    )
    return [{"key": key, "text": text, "label": label} for key, text, label in values]


def _comparison(analysis: Analysis, against: Trace) -> dict[str, Any]:
    other = analyze(against)

    def sums(one: Analysis) -> Iterator[tuple[str, float | None, str]]:
        """Label, value and format. Fewer seconds are better, and more bytes per call."""
        yield "seconds from first to last call", one.seconds, ",.3f"
        yield f"seconds {time_in_calls(one)}, a process", one.io_seconds, ",.3f"
        for kind in ("write", "read"):
            counts = [getattr(file, f"known_{kind}s") for file in one.files]
            calls = sum(count.calls for count in counts)
            moved = sum(count.bytes for count in counts)
            seconds = sum(count.seconds for count in counts)
            yield f"{kind}s", calls, ",.0f"
            yield f"MiB in {kind}s", moved / 2**20, ",.1f"
            yield f"seconds in {kind}s, all processes", seconds, ",.3f"
            yield f"bytes a {kind}", moved / calls if calls else 0, ",.0f"
        metadata = _sum_of(one, "metadata_seconds")
        yield "seconds in opens, closes, views, sizes", metadata, ",.3f"
        yield "syncs", _sum_of(one, "syncs"), ",.0f"
        yield "seconds in syncs", _sum_of(one, "sync_seconds"), ",.3f"

    rows = []
    for (label, here, form), (_, there, _) in zip(sums(analysis), sums(other), strict=True):
        ratio = f"{here / there:.2f}" if there and here is not None else ""
        texts = ["?" if value is None else f"{value:{form}}" for value in (here, there)]
        verdict = ""
        if there and here and abs(here / there - 1) > _EQUAL:
            if label.startswith("seconds"):
                verdict = "better" if here < there else "worse"
            elif label.startswith("bytes a"):
                verdict = "better" if here > there else "worse"
        cells = {"label": label, "here": texts[0], "there": texts[1], "ratio": ratio}
        rows.append(cells | {"verdict": verdict})
    signatures = _signatures_compared(analysis, other)
    return {"name": one_line(str(against.path)), "rows": rows, "signatures": signatures}


def _signatures_compared(here: Analysis, there: Analysis) -> list[dict[str, Any]]:
    """For each file in both runs: its signatures on both sides, and which side is better."""
    others = {file.path: file for file in there.files if file.locals}
    compared = []
    for file in here.files:
        if not file.locals or file.path not in others:
            continue
        other = others[file.path]
        rows = []
        for label, told, rank in _SIGNATURE_ROWS:
            texts, ranks = (told(file), told(other)), (rank(file), rank(other))
            verdict = ""
            if None not in ranks and ranks[0] != ranks[1]:
                verdict = "better" if ranks[0] > ranks[1] else "worse"
            cells = {"label": label, "here": texts[0], "there": texts[1]}
            rows.append(cells | {"verdict": verdict})
        compared.append({"path": file.path, "rows": rows})
    return compared


def _order(spatial: str) -> int | None:
    """A larger number means fewer requests; None: the class does not tell."""
    return {"contiguous": 2, "random": 0, "none": None}.get(spatial, 1)


def _bytes_a_call(file: FileAnalysis) -> float:
    calls = file.known_reads.calls + file.known_writes.calls
    return (file.known_reads.bytes + file.known_writes.bytes) / calls if calls else 0


_SIGNATURE_ROWS: tuple[
    tuple[str, Callable[[FileAnalysis], str], Callable[[FileAnalysis], Any]], ...
] = (
    ("processes", lambda file: f"{file.signature.processes:,}", lambda _: None),
    ("together", lambda file: file.spatial, lambda file: _order(file.spatial)),
    (
        "accesses in patterns of their process",
        lambda file: f"{file.coverage:.0%}",
        lambda file: round(file.coverage, 2),
    ),
    (
        "bytes a call",
        lambda file: f"{_bytes_a_call(file):,.0f}",
        lambda file: round(_bytes_a_call(file)),
    ),
    ("patterns", lambda file: f"{len(file.signature.patterns):,}", lambda _: None),
    (
        "first pattern",
        lambda file: file.signature.patterns[0] if file.signature.patterns else "-",
        lambda _: None,
    ),
)
"""A label, a value of a file, and a number that is better when larger; None: neither side is
better."""


def _sum_of(analysis: Analysis, name: str) -> float | None:
    """The sum over all files; None if it is unknown for one."""
    values = [getattr(file, name) for file in analysis.files]
    return None if None in values else sum(values)


def _counted(analysis: Analysis) -> dict[str, Any] | None:
    """A table of a Darshan log's counters, and what the log does not tell."""
    if analysis.counters is None:
        return None
    return {
        "titles": COUNTED_TITLES,
        "rows": [(file.path, counted_cells(file)) for file in analysis.files],
        "unknown": unknown_of(analysis.counters),
    }


def _signature(file: FileAnalysis) -> dict[str, Any]:
    lines = file.signature.patterns
    share = file.signature.covered / max(1, file.signature.accesses)
    return {
        "path": file.path,
        "summary": f"{file.signature.processes:,} processes, together {file.spatial}; local"
        f" patterns cover {file.coverage:.0%} of the accesses, global patterns {share:.0%}",
        "lines": lines[:_MOST_SIGNATURES],
        "more": f"{len(lines) - _MOST_SIGNATURES:,}" if len(lines) > _MOST_SIGNATURES else "",
    }


def _phases(analysis: Analysis) -> list[tuple[str, ...]]:
    """Rows of the table of phases; none if the job has one phase."""
    if len(analysis.phases) < 2:
        return []
    return [phase_cells(n, phase) for n, phase in enumerate(analysis.phases[:_MOST_PHASES], 1)]


def _shared(file: FileAnalysis) -> dict[str, Any]:
    return {
        "path": file.path,
        "bytes": f"{file.sharing.bytes:,}",
        "sets": file.sharing.sets[:_MOST_SETS],
        "more": max(0, len(file.sharing.sets) - _MOST_SETS),
    }


class _Figures:
    """The figures of a page, by section."""

    def __init__(self) -> None:
        self.sections: list[dict[str, Any]] = []
        self.latencies: list[dict[str, str]] = []

    def add(self, title: str, explanation: str, figures: Sequence[tuple[str, Plot]]) -> None:
        """Adds a section. `figures`: pairs of a caption, or "", and a figure."""
        from forebay.plots.style import svg_of

        drawn = [
            {
                "caption": caption,
                "svg": svg_of(figure),
                "told": json.dumps(asdict(figure.values)) if figure.values else "",
            }
            for caption, figure in figures
        ]
        self.sections.append({"title": title, "explanation": explanation, "figures": drawn})


def _figures(trace: Trace, analysis: Analysis, progress: Callable[[int], object]) -> _Figures:
    from forebay.plots.figures import calls_and_requests
    from forebay.plots.job import JobPlots

    plots = JobPlots(trace, analysis, progress)
    drawn = _Figures()
    counted = _most_counted(analysis)
    if counted:
        drawn.add(
            "Calls and requests",
            "The number of MPI-IO calls, and of requests to the operating system, by size, as"
            " Darshan counted them. Few large requests for many small calls mean that collective"
            " buffering or a cache merged the calls.",
            [(one.path, calls_and_requests(one)) for one in counted],
        )
    if not plots.files:
        return drawn
    drawn.add(
        "Bandwidth over time",
        "Bytes per second of all processes. The bytes of each access are spread evenly over its"
        " duration.",
        [("", plots.bandwidth())],
    )
    among = ""
    if len(plots.files) > len(plots.largest):
        among = f", of the {len(plots.largest)} files with the most bytes"
    drawn.add(
        "Where accesses begin",
        f"Offsets over time{among}. Rising lines: processes go through the file from beginning to"
        " end. A cloud: the accesses have no order.",
        [(path, plots.places(path)) for path in plots.largest],
    )
    drawn.add(
        "Request sizes over time",
        "The size of each access over time. A stronger colour means more accesses.",
        [("", plots.sizes_over_time())],
    )
    drawn.add(
        "Request sizes",
        "The number of accesses of each size.",
        [("", plots.sizes())],
    )
    drawn.add(
        f"Processes {time_in_calls(analysis)}",
        f"The share of time that each process spends {time_in_calls(analysis)}. A single full row:"
        " one process does all I/O, or the other processes wait for it.",
        [("", plots.busy())],
    )
    drawn.add(
        "Bytes by process and file",
        "Bytes that each process moved in each file. A stronger colour means more bytes.",
        [("", plots.sharing())],
    )
    if any(file.sharing.sets for file in analysis.files):
        drawn.add(
            "Overlaps between processes",
            "Bytes that both processes of a pair read or write, over all files. A stronger colour"
            " means more bytes. A band along the diagonal: neighbouring processes overlap. An even"
            " square: all processes touch the same bytes, such as a header.",
            [("", plots.overlaps())],
        )
    for one in plots.bins.latencies:
        times = {
            name: _duration(getattr(one, name)) for name in ("median", "p90", "p99", "longest")
        }
        named = {"routine": one.routine, "calls": f"{one.calls:,}", "total": f"{one.total:,.3f}"}
        drawn.latencies.append(named | times)
    return drawn


def _most_counted(analysis: Analysis) -> list[FileCounters]:
    """The files with the most bytes among those whose calls or requests were counted."""
    files = sorted(analysis.files, key=lambda one: -one.known_writes.bytes - one.known_reads.bytes)
    counted = (file.counters for file in files if file.counters is not None)
    return [one for one in counted if one.mpiio or one.posix][:_MOST_COUNTED]


def _duration(seconds: float) -> str:
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if seconds * factor >= 1:
            return f"{seconds * factor:,.3g} {unit}"
    return f"{seconds * 1e9:,.0f} ns"
