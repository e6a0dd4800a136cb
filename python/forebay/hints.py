"""`forebay hints`: every option, from the runtime's own table."""

from __future__ import annotations

import json

import click

from forebay import _core


@click.command(short_help="List the options of the cache.")
@click.option("--json", "as_json", is_flag=True, help="JSON instead of a table.")
def hints(as_json: bool) -> None:
    """List every option: name, type, default, meaning.

    The option page_size is given as hint forebay_page_size in an MPI_Info, as variable
    FOREBAY_PAGE_SIZE, as `page_size = ...` in the file of `forebay run --config`, or as
    `forebay run -o page_size=...`. An MPI_Info is stronger than the environment, which is
    stronger than the file. Options marked * hold for the whole process and are no hints; those
    marked + may also be changed on an open file, by MPI_File_set_info or MPI_File_set_view.
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
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("name", no_wrap=True)
    table.add_column("type", no_wrap=True)
    table.add_column("default", no_wrap=True)
    table.add_column("meaning")
    for option in _core.options():
        mark = " +" if option.changeable else "" if option.per_file else " *"
        kind = "|".join(option.choices) or option.type
        table.add_row(option.name + mark, kind, option.fallback, option.meaning)
    console = Console()
    console.print(table)
    console.print(_core.caches_apart_warning, highlight=False)
