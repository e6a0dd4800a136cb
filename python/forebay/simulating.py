"""`forebay simulate`: what a cache would have done with a trace."""

from __future__ import annotations

import csv
import io
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NoReturn

import click
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
from rich.table import Table

from forebay import _core
from forebay.block_traces import FORMATS
from forebay.new_file import check_output, new_file
from forebay.simulation import (
    AWARENESS,
    MIN,
    POLICIES,
    UNION_WINDOW_S,
    CacheResult,
    simulate_cache,
)
from forebay.sizes import parse_size, shown_size, size_option
from forebay.trace import TraceError, one_line

_NOT_A_TERMINAL = 120  # columns
_STANDARD_OUTPUT = Path("-")
_AS_GOOD = 0.98
"""Of the best policy's hits: so many, and the first policy is as good."""
_NEARLY_ALL = 0.95
"""Of the hits that the largest caches have."""
_NOTHING = 0.05
"""Points of hit rate."""
_COLUMNS = (
    *("trace", "policy", "awareness", "page_size", "cache_size", "aggregators"),
    *("accesses", "pages", "hits", "misses", "evictions", "hit_rate"),
)


def _list_of(convert: Callable[[str], Any]) -> Callable[[str], tuple[Any, ...]]:
    """The type of an option whose value is words between commas."""

    def converted(text: str) -> tuple[Any, ...]:
        words = [word.strip() for word in text.split(",") if word.strip()]
        if text and not words:
            raise click.BadParameter(f"'{text}' names nothing")
        try:
            return tuple(convert(word) for word in words)
        except ValueError as error:
            raise click.BadParameter(str(error)) from error

    return converted


def _one_of(names: Sequence[str]) -> Callable[[str], str]:
    def checked(text: str) -> str:
        if text not in names:
            raise ValueError(f"'{text}' is not one of {', '.join(names)}")
        return text

    return checked


_HELP = "Policies:\n\n\b\n" + "\n".join(
    f"{name:<8} {meaning}"
    for name, meaning in (
        *((policy.name, policy.meaning) for policy in _core.policies()),
        (MIN, "Belady's, which knows what comes: the bound for all others"),
    )
)


class _Group(click.Group):
    """With subcommands that are loaded when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*super().list_commands(ctx), "lu", "runtime"]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name == "lu":
            from forebay.simulating_lu import lu

            return lu
        if cmd_name == "runtime":
            from forebay.simulating_runtime import runtime

            return runtime
        return super().get_command(ctx, cmd_name)


@click.group(cls=_Group, short_help="Say what caches would do with a trace.")
def simulate() -> None:
    """Say what caches would do with a trace, by the code that runs inside MPI programs."""


@simulate.command(epilog=_HELP, short_help="Hit rates of block caches.")
@click.argument(
    "traces", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="TRACE..."
)
@click.option(
    "--policy",
    "policies",
    type=_list_of(_one_of(POLICIES)),
    default=",".join(POLICIES),
    metavar="NAME,...",
    help="Replacement policies, of those below.  [default: all]",
)
@click.option(
    "--cache-size",
    "cache_sizes",
    type=_list_of(parse_size),
    default="",
    metavar="SIZE,...",
    help="As 16MiB,64MiB; in blocks for traces of block ids."
    "  [default: nine powers of two, up to where the trace fits]",
)
@click.option(
    "--page-size",
    "page_sizes",
    type=_list_of(parse_size),
    default="",
    metavar="SIZE,...",
    help="[default: 64KiB, as `forebay run`; 1 for traces of block ids]",
)
@click.option(
    "--awareness",
    type=_list_of(_one_of(AWARENESS)),
    default=",".join(AWARENESS),
    metavar="NAME,...",
    help="What the policies are shown: each process's own accesses (original), or what collective"
    " buffering makes of them (aggregated).  [default: both]",
)
@click.option(
    "--aggregators",
    type=click.IntRange(1, 1 << 20),
    metavar="N",
    help="Processes that a collective call is divided among.  [default: one a node]",
)
@click.option(
    "--collective-buffer",
    type=size_option,
    default="16MiB",
    show_default=True,
    metavar="SIZE",
    help="What an aggregator moves at a time.",
)
@click.option(
    "--union-window",
    type=click.FloatRange(0, 1e9, max_open=True),
    metavar="SECONDS",
    help="Where no calls are collective: accesses of different processes to a file that begin"
    f" within so much time are taken for one.  [default: {UNION_WINDOW_S}, where a trace does not"
    " tell which are]",
)
@click.option(
    "--format",
    "file_format",
    type=click.Choice(FORMATS),
    default="auto",
    help="What the traces are, if not by their beginnings and names.",
)
@click.option(
    "--memory",
    type=size_option,
    metavar="SIZE",
    help="At most, roughly.  [default: half of what is free]",
)
@click.option(
    "--jobs",
    type=click.IntRange(1, 1024),
    metavar="N",
    help="Simulations at a time.  [default: one a core]",
)
@click.option("--json", "as_json", is_flag=True, help="JSON on standard output.")
@click.option(
    "--csv",
    "csv_file",
    type=click.Path(path_type=Path, allow_dash=True),
    is_flag=False,
    flag_value=_STANDARD_OUTPUT,
    metavar="[FILE]",
    help="CSV, to FILE or to standard output.",
)
@click.option(
    "--parquet", "parquet_file", type=click.Path(path_type=Path), metavar="FILE", help="Parquet."
)
@click.option(
    "--plot",
    "plot_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A figure, as .svg, .png or .pdf.",
)
@click.option("--force", is_flag=True, help="Replace files that exist.")
def cache(
    traces: tuple[Path, ...],
    as_json: bool,
    csv_file: Path | None,
    parquet_file: Path | None,
    plot_file: Path | None,
    force: bool,
    **settings: Any,
) -> None:
    """Simulate one cache for all processes of each TRACE.

    TRACE is what `forebay trace` recorded, a Darshan log with DXT, or a block trace: text
    (.csv, .txt: ids, `time,id,size`, or `time,process,operation,offset,length`) or libCacheSim's
    oracleGeneral, also compressed (.zst). docs/simulating.md says more.
    """
    outputs = [file for file in (csv_file, parquet_file, plot_file) if file is not None]
    for file in outputs:
        if file != _STANDARD_OUTPUT:
            for trace in traces:
                check_output(file, trace, force)
    if plot_file is not None and plot_file.suffix not in (".svg", ".png", ".pdf"):
        raise click.UsageError(f"--plot {one_line(str(plot_file))}: end it in .svg, .png or .pdf")
    results = run(traces, **settings)
    write_files(results, csv_file, parquet_file, plot_file, force)
    if as_json:
        json.dump({"results": [result.to_json() for result in results]}, sys.stdout, indent=1)
        click.echo()
    elif csv_file != _STANDARD_OUTPUT:
        print_tables(results)


def run(traces: Sequence[str | os.PathLike[str]], **settings: Any) -> list[CacheResult]:
    """Simulates, with a progress bar on a terminal; raises click.ClickException for mistakes."""
    try:
        with _shown_progress() as progress:
            return simulate_cache(
                traces,
                policies=settings.pop("policies"),
                page_size=settings.pop("page_sizes", ()),
                progress=progress,
                warn=lambda line: click.echo(f"forebay: {line}", err=True),
                **settings,
            )
    except (TraceError, ValueError) as error:
        raise click.ClickException(str(error)) from error
    except MemoryError as error:
        raise click.ClickException("there is not enough memory; lower --memory") from error


@contextmanager
def _shown_progress() -> Iterator[Callable[[str, float], None]]:
    """A progress bar of the current stage."""
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
    errors = Console(stderr=True)
    with Progress(
        *columns, console=errors, transient=True, disable=not errors.is_terminal
    ) as progress:
        task = progress.add_task("", total=1.0)
        yield lambda stage, part: progress.update(task, description=escape(stage), completed=part)


def write_files(
    results: Sequence[CacheResult],
    csv_file: Path | None,
    parquet_file: Path | None,
    plot_file: Path | None,
    force: bool,
) -> None:
    """Writes what was asked for; raises click.ClickException for what cannot be."""
    if csv_file == _STANDARD_OUTPUT:
        click.echo(_as_csv(results), nl=False)
    elif csv_file is not None:
        _write(csv_file, force, lambda file: file.write(_as_csv(results).encode()))
    if parquet_file is not None:
        _write(parquet_file, force, lambda file: _write_parquet(results, file))
    if plot_file is not None:
        ending = plot_file.suffix.removeprefix(".")
        _write(plot_file, force, lambda file: _draw(results, file, ending))


def _write(path: Path, force: bool, write: Callable[[IO[bytes]], object]) -> None:
    try:
        with new_file(path, force) as file:
            write(file)
    except ImportError as error:
        _missing(error)
    except OSError as error:
        raise click.ClickException(f"{one_line(str(path))}: {error.strerror or error}") from error


def _missing(error: ImportError) -> NoReturn:
    extra = "arrow" if (error.name or "").startswith("pyarrow") else "report"
    raise click.ClickException(
        f"{error.name} is missing: pip install 'forebay[{extra}]'"
    ) from error


def _as_csv(results: Sequence[CacheResult]) -> str:
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, _COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(result.to_json() for result in results)
    return text.getvalue()


def _write_parquet(results: Sequence[CacheResult], file: IO[bytes]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.Table.from_pylist([result.to_json() for result in results]), file)


def _draw(results: Sequence[CacheResult], file: IO[bytes], ending: str) -> None:
    from forebay.hit_rates import draw

    draw(results, file, ending)


def print_tables(results: Sequence[CacheResult], name: str | None = None) -> None:
    """A table for each trace and page size: a row a policy and awareness, a column a cache size.

    `name`: what stands above; none for the trace's.
    """
    width = None if sys.stdout.isatty() else _NOT_A_TERMINAL
    console = Console(highlight=False, width=width)
    groups: dict[tuple[str, int], list[CacheResult]] = {}
    for result in results:
        groups.setdefault((result.trace, result.page_size), []).append(result)
    for (trace, page_size), group in groups.items():
        console.print(f"[bold]{escape(one_line(name or trace))}[/]", soft_wrap=True)
        for line in _what_was_shown(group, page_size):
            console.print(line, soft_wrap=True)
        console.print(_table(group))
        if said := conclusion(group):
            console.print(said, soft_wrap=True)


def conclusion(group: Sequence[CacheResult]) -> str:
    """What one trace's results with pages of one size come to: the smallest cache that has nearly
    all hits, and the policy, the default one unless another is clearly better."""
    shown = group[0].awareness
    real = [one for one in group if one.awareness == shown and one.policy != MIN]
    bound = {
        one.cache_size: one.hits for one in group if one.awareness == shown and one.policy == MIN
    }
    if not real:
        return ""
    chosen: dict[int, CacheResult] = {}
    for size in sorted({one.cache_size for one in real}):
        here = [one for one in real if one.cache_size == size]
        best = max(here, key=lambda one: one.hits)
        first = here[0]
        chosen[size] = first if first.hits >= _AS_GOOD * best.hits else best
    most = max(one.hits for one in chosen.values())
    if most == 0:
        return "No cache of these sizes has a hit."
    one = next(one for one in chosen.values() if one.hits >= _NEARLY_ALL * most)
    larger = [other.hits for size, other in chosen.items() if size > one.cache_size]
    gain = 100 * (max(larger, default=one.hits) - one.hits) / one.accesses
    held = f"{one.cache_size:,} blocks" if one.page_size == 1 else shown_size(one.cache_size)
    said = f"{one.policy} with {held} for all processes has {one.hit_rate:.1%} hits"
    if bound.get(one.cache_size):
        said += f", {one.hits / bound[one.cache_size]:.0%} of MIN's"
    if not larger:
        return f"{said}; no larger cache was simulated."
    if gain < _NOTHING:
        return f"{said}; a larger cache brings nothing more."
    return f"{said}; a larger cache brings at most {gain:.1f} points more."


def _what_was_shown(group: Sequence[CacheResult], page_size: int) -> list[str]:
    lines = []
    for result in {result.awareness: result for result in group}.values():
        if page_size == 1:
            lines.append(f"{result.accesses:,} requests for {result.pages:,} blocks")
            continue
        among = ""
        if result.aggregators is not None:
            many = "" if result.aggregators == 1 else "s"
            among = f", collective calls by {result.aggregators:,} aggregator{many}"
        lines.append(
            f"{result.awareness}: {result.accesses:,} touches of {result.pages:,} pages of"
            f" {shown_size(page_size)}, {shown_size(result.pages * page_size)}{among}"
        )
    return lines


def _table(group: Sequence[CacheResult]) -> Table:
    """Hit rates in percent; the best policy of each column and awareness stands out."""
    sizes = list(dict.fromkeys(result.cache_size for result in group))
    rates = {(one.awareness, one.policy, one.cache_size): one.hit_rate for one in group}
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("hit rate %")
    for size in sizes:
        table.add_column(shown_size(size), justify="right", no_wrap=True)
    policies = list(dict.fromkeys(one.policy for one in group))
    for awareness in dict.fromkeys(result.awareness for result in group):
        table.add_row(awareness)
        best = [
            max((rates[awareness, p, size] for p in policies if p != MIN), default=1.0)
            for size in sizes
        ]
        for policy in policies:
            cells = []
            for size, most in zip(sizes, best, strict=True):
                rate = rates[awareness, policy, size]
                text = f"{100 * rate:.1f}"
                cells.append(f"[bold]{text}[/]" if rate == most > 0 and policy != MIN else text)
            table.add_row(f"  {policy}", *cells, style="dim" if policy == MIN else None)
        table.add_section()
    return table
