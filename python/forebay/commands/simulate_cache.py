"""`forebay simulate cache`: simulates block caches on traces."""

from __future__ import annotations

import csv
import io
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from forebay import _core
from forebay.commands.figures import (
    check_plot,
    force_option,
    plot_option,
    write_output,
    write_plot,
)
from forebay.commands.options import processes_option
from forebay.commands.terminal import output, stages
from forebay.new_file import check_outputs
from forebay.notebook import parts_of, write
from forebay.simulation import (
    AWARENESS,
    BYPASS_BYTES,
    DEFAULT_POLICIES,
    INFORMED,
    MIN,
    POLICIES,
    SCOPES,
    UNION_WINDOW_S,
    CacheResult,
    CacheResults,
    simulate_cache,
)
from forebay.simulation.block_traces import FORMATS
from forebay.sizes import parse_size, size_option
from forebay.trace import TraceError

if TYPE_CHECKING:
    from forebay.plots.style import Plot

_STANDARD_OUTPUT = Path("-")
_COLUMNS = (
    *("trace", "policy", "awareness", "page_size", "cache_size", "aggregators"),
    *("scope", "caches", "bypassed_accesses", "bypassed_bytes", "sample", "error"),
    *("accesses", "pages", "hits", "misses", "evictions", "hit_rate"),
)


def _list_of(convert: Callable[[str], Any]) -> Callable[[str], tuple[Any, ...]]:
    """The type of an option whose value is a list, separated by commas."""

    def converted(text: str) -> tuple[Any, ...]:
        words = [word.strip() for word in text.split(",") if word.strip()]
        if text and not words:
            raise click.BadParameter(f"'{text}' names nothing")
        try:
            return tuple(convert(word) for word in words)
        except ValueError as error:
            raise click.BadParameter(str(error)) from error

    return converted


def _bypass(text: str) -> int | None:
    try:
        return None if text == "off" else parse_size(text)
    except ValueError as error:
        raise click.BadParameter(f"{error}, or off") from error


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
        (INFORMED, "what comes last again, as far as foreseen; in no program yet"),
        (MIN, "Belady's optimal policy, which knows the future: the bound for all others"),
    )
)


@click.command(epilog=_HELP, short_help="Hit rates of block caches.")
@click.argument(
    "traces", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="TRACE..."
)
@click.option(
    "--policy",
    "policies",
    type=_list_of(_one_of(POLICIES)),
    default=",".join(DEFAULT_POLICIES),
    metavar="NAME,...",
    help="Replacement policies; the list is below.  [default: all but informed]",
)
@click.option(
    "--cache-size",
    "cache_sizes",
    type=_list_of(parse_size),
    default="",
    metavar="SIZE,...",
    help="Sizes of the cache, for example 16MiB,64MiB; in blocks for traces of block ids."
    "  [default: nine powers of two, up to where the trace fits]",
)
@click.option(
    "--page-size",
    "page_sizes",
    type=_list_of(parse_size),
    default="",
    metavar="SIZE,...",
    help="Sizes of a page.  [default: 64KiB, as `forebay run`; 1 for traces of block ids]",
)
@click.option(
    "--awareness",
    type=_list_of(_one_of(AWARENESS)),
    default="",
    metavar="NAME,...",
    help="Accesses that the policies see: those of each process (original), or the requests after"
    " collective buffering (aggregated).  [default: both; original with scopes other than job]",
)
@click.option(
    "--aggregators",
    type=click.IntRange(1, 1 << 20),
    metavar="N",
    help="Number of aggregators of a collective call.  [default: one per node]",
)
@click.option(
    "--collective-buffer",
    type=size_option,
    default="16MiB",
    show_default=True,
    metavar="SIZE",
    help="Bytes that an aggregator moves at a time.",
)
@click.option(
    "--union-window",
    type=click.FloatRange(0, 1e9, max_open=True),
    metavar="SECONDS",
    help="Treat accesses of different processes to a file as one collective call if they begin"
    f" within this time.  [default: {UNION_WINDOW_S}, if the trace does not tell which calls are"
    " collective; else off]",
)
@click.option(
    "--bypass",
    type=_bypass,
    default=f"{BYPASS_BYTES >> 20}MiB",
    show_default=True,
    metavar="SIZE|off",
    help="Contiguous accesses of at least this size bypass the cache, as in `forebay run`; so do"
    " accesses larger than half of the cache. off: no access bypasses it.",
)
@click.option(
    "--scope",
    type=click.Choice(SCOPES),
    default="job",
    show_default=True,
    help="Processes that share a cache. With process and node, --cache-size is per process.",
)
@click.option(
    "--sample",
    type=click.FloatRange(0, 1, min_open=True),
    metavar="RATE",
    help="Simulate this fraction of the pages, for example 0.01, and state the error."
    "  [default: all pages]",
)
@processes_option
@click.option(
    "--format",
    "file_format",
    type=click.Choice(FORMATS),
    default="auto",
    show_default=False,
    help="Format of the traces.  [default: told by their names and first bytes]",
)
@click.option(
    "--memory",
    type=size_option,
    metavar="SIZE",
    help="Memory to use, roughly.  [default: half of the free memory]",
)
@click.option(
    "--jobs",
    type=click.IntRange(1, 1024),
    metavar="N",
    help="Simulations that run at the same time.  [default: one per core]",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option(
    "--csv",
    "csv_file",
    type=click.Path(path_type=Path, allow_dash=True),
    is_flag=False,
    flag_value=_STANDARD_OUTPUT,
    metavar="[FILE]",
    help="Write CSV to FILE or to standard output.",
)
@click.option(
    "--parquet",
    "parquet_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write a Parquet table.",
)
@plot_option
@force_option
def cache(
    traces: tuple[Path, ...],
    as_json: bool,
    csv_file: Path | None,
    parquet_file: Path | None,
    plot_file: Path | None,
    force: bool,
    **settings: Any,
) -> None:
    """Simulate block caches for the accesses of each TRACE.

    TRACE is a trace of `forebay trace`, a Darshan log with DXT, what strace or recorder2text
    printed, or a block trace. A block trace is text (.csv, .txt: ids, `time,id,size`, or
    `time,process,operation,offset,length`) or libCacheSim's oracleGeneral, and may be compressed
    (.zst). docs/simulating.md has the details.
    """
    outputs = [file for file in (csv_file, parquet_file, plot_file) if file is not None]
    check_outputs([file for file in outputs if file != _STANDARD_OUTPUT], traces, force)
    check_plot(plot_file)
    results = run(traces, **settings)
    write_files(results, csv_file, parquet_file, plot_file, force)
    if as_json:
        json.dump({"results": results.to_json()}, sys.stdout, indent=1)
        click.echo()
    elif csv_file != _STANDARD_OUTPUT:
        write(parts_of(results), output())


def run(traces: Sequence[str | os.PathLike[str]], **settings: Any) -> CacheResults:
    """Simulates with a progress bar on a terminal. Raises click.ClickException for mistakes."""
    try:
        with stages() as progress:
            return simulate_cache(
                traces,
                policies=settings.pop("policies"),
                page_size=settings.pop("page_sizes", ()),
                awareness=settings.pop("awareness", ()) or None,
                progress=progress,
                warn=lambda line: click.echo(f"forebay: {line}", err=True),
                **settings,
            )
    except (TraceError, ValueError) as error:
        raise click.ClickException(str(error)) from error
    except MemoryError as error:
        raise click.ClickException("there is not enough memory; lower --memory") from error


def write_files(
    results: CacheResults,
    csv_file: Path | None,
    parquet_file: Path | None,
    plot_file: Path | None,
    force: bool,
) -> None:
    """Writes the requested files. Raises click.ClickException for those that cannot be written."""
    if csv_file == _STANDARD_OUTPUT:
        click.echo(_as_csv(results), nl=False)
    elif csv_file is not None:
        write_output(csv_file, force, lambda file: file.write(_as_csv(results).encode()))
    if parquet_file is not None:
        write_output(parquet_file, force, lambda file: _write_parquet(results, file))
    if plot_file is not None:
        write_plot(plot_file, force, lambda: _drawn(results))


def _as_csv(results: Sequence[CacheResult]) -> str:
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, _COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(result.to_json() for result in results)
    return text.getvalue()


def _write_parquet(results: CacheResults, file: IO[bytes]) -> None:
    import pyarrow.parquet as pq

    pq.write_table(results.to_arrow(), file)


def _drawn(results: CacheResults) -> Plot:
    from forebay.plots.hit_rates import draw

    return draw(results)
