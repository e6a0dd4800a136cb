"""`forebay hints`: every option, from the runtime's table."""

from __future__ import annotations

import json

import click

from forebay import _core

# Options by purpose, in the order in which users ask.
_GROUPS = (
    (
        "Which files are cached, and which ranks share a cache",
        (
            "enable",
            "scope",
            "consistency",
            "step_aside",
            "bypass",
            "local_bypass",
            "domain",
            "domain_size",
            "cb_nodes",
        ),
    ),
    (
        "The cache",
        ("cache_size", "page_size", "page_kind", "policy", "awareness", "keep", "shards"),
    ),
    (
        "Read-ahead and commits",
        (
            "read_ahead",
            "predictor",
            "predict_from",
            "write_behind",
            "dirty_bound",
            "write_back_buffer",
            "commit_size",
            "commit_at_close",
            "storage",
        ),
    ),
    ("Statistics and traces", ("stats", "stats_json", "trace", "trace_times", "trace_limit")),
    (
        "The job and its recovery",
        ("recoverable", "committer", "transport", "arena_dir", "job", "node", "deterministic"),
    ),
)
_LONGEST_LINE = 90


@click.command(short_help="List the options of the cache.")
@click.option("--json", "as_json", is_flag=True, help="JSON instead of a table.")
def hints(as_json: bool) -> None:
    """List all options by purpose: name, default and meaning.

    You can set the option page_size as hint forebay_page_size in an MPI_Info, as variable
    FOREBAY_PAGE_SIZE, as `page_size = ...` in the file of `forebay run --config`, or as
    `forebay run -o page_size=...`. An MPI_Info overrides the environment; the environment
    overrides the file. Options marked * apply to the whole process and are no hints. Options
    marked + can also change on an open file, by MPI_File_set_info or MPI_File_set_view.
    """
    if as_json:
        click.echo(json.dumps([_as_dictionary(option) for option in _core.options()], indent=2))
    else:
        _print_table()


def _as_dictionary(option: _core.Option) -> dict[str, object]:
    return {
        "name": option.name,
        "type": option.type,
        "default": option.fallback,
        "choices": option.choices,
        "meaning": option.meaning,
        "hint": f"forebay_{option.name}" if option.per_file else None,
        "changeable": option.changeable,
        "variable": f"FOREBAY_{option.name.upper()}",
    }


def _print_table() -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    options = {option.name: option for option in _core.options()}
    console = Console(highlight=False)
    grouped = {name for _, names in _GROUPS for name in names}
    others = ("Others", tuple(name for name in options if name not in grouped))
    rows = {name: _row(option) for name, option in options.items()}
    width = max(len(given) for given, _ in rows.values())
    for title, names in (*_GROUPS, others):
        if not names:
            continue
        # A column beside the names: it fits into 80 columns, and lines stay short on wide screens.
        table = Table.grid(padding=(0, 2))
        table.add_column(no_wrap=True, width=width)
        table.add_column(max_width=_LONGEST_LINE)
        for name in names:
            table.add_row(*map(escape, rows[name]))
        console.print(f"[bold]{title}[/bold]")
        console.print(table)
        console.print()
    console.print("+ can also change on an open file   * applies to the whole process, no hint\n")
    console.print(_core.caches_apart_warning, width=min(console.width, width + _LONGEST_LINE))


def _row(option: _core.Option) -> tuple[str, str]:
    mark = "+" if option.changeable else " " if option.per_file else "*"
    value = option.fallback or option.type.upper()
    choices = ", ".join(option.choices)
    return f"{mark} {option.name}={value}", option.meaning + (
        f" One of {choices}." if choices else ""
    )
