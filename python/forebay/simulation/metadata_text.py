"""Times of simulated trees of files as a table."""

from __future__ import annotations

from collections.abc import Iterator

from rich.markup import escape
from rich.table import Table

from forebay.notebook import Part, parts_of
from forebay.simulation.metadata import METADATA_TASKS, MetadataResult, MetadataResults
from forebay.sizes import shown_size
from forebay.text import one_line

_EACH = (
    ("extract", "create_file", "create"),
    ("extract", "write", "write"),
    ("list", "get_attributes", "stat"),
    ("remove", "remove_file", "remove"),
)
"""Operations whose mean times are shown, and their words."""


@parts_of.register
def _of_trees(results: MetadataResults) -> Iterator[Part]:
    """A row for each setting, with speed-ups over the first one; below it operations alone."""
    if not results:
        return
    first = results[0]
    yield f"[bold]{escape(first.tree)}[/]"
    yield f"{_counted(first.files, 'file')} in {_directories(first)}, {shown_size(first.bytes)}"
    yield escape(_machine(results))
    keys = _differing(results)
    times, means = _table(keys), _table(keys)
    for task in METADATA_TASKS:
        times.add_column(f"{task} s", justify="right", no_wrap=True)
        if len(results) > 1:
            times.add_column("speed-up", justify="right")
    for title in (*(word for *_, word in _EACH), "messages", "requests"):
        means.add_column(title, justify="right", no_wrap=True)
    for one in results:
        settings = [escape(one_line(one.settings.get(key, "-"))) for key in keys]
        times.add_row(*settings, *_times(one, first, len(results) > 1))
        means.add_row(
            *settings,
            *(f"{1e3 * one.seconds_each(task, kind):,.3f}" for task, kind, _ in _EACH),
            f"{one.extract_messages + one.list_messages + one.remove_messages:,}",
            f"{one.requests:,}",
        )
    yield times
    yield "Milliseconds for a file, and all messages and requests:"
    yield means
    for one in results:
        if one.dropped_frames:
            named = ", ".join(f"{key}={one.settings.get(key, '-')}" for key in keys)
            yield escape(
                f"{one_line(named) or 'it'}: the switch drops"
                f" {_counted(one.dropped_frames, 'frame')} ({_counted(one.timeouts, 'timeout')})."
            )


def _table(keys: list[str]) -> Table:
    """With a column for each setting."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    for head in _shortened(keys):
        table.add_column(escape(head), no_wrap=True)
    return table


def _times(one: MetadataResult, first: MetadataResult, compared: bool) -> Iterator[str]:
    """Of each task, the time and, if there are several results, the speed-up."""
    for task in METADATA_TASKS:
        seconds, before = (getattr(result, f"{task}_s") for result in (one, first))
        yield f"{seconds:,.3f}"
        if compared:
            yield f"{before / seconds:.2f}" if seconds else "-"


def _differing(results: MetadataResults) -> list[str]:
    """The names of the settings that are not the same in all results."""
    named = dict.fromkeys(key for one in results for key in one.settings)
    return [key for key in named if len({one.settings.get(key, "-") for one in results}) > 1]


def _shortened(keys: list[str]) -> list[str]:
    """Dotted names without their sections, unless two would be the same."""
    last = [key.rpartition(".")[2] for key in keys]
    return last if len(set(last)) == len(last) else keys


def _machine(results: MetadataResults) -> str:
    """The machine, with what all results have of it."""
    first, keys = results[0], _differing(results)
    said = [f"on {first.machine}: 1 client"]
    if "machine.servers" not in keys:
        said.append(_counted(first.servers, "server"))
    said += [
        one_line(f"{key}={value}")
        for key, value in first.settings.items()
        if key not in (*keys, "machine.servers")
    ]
    return ", ".join(said)


def _directories(of: MetadataResult) -> str:
    return "1 directory" if of.directories == 1 else f"{of.directories:,} directories"


def _counted(number: int, one: str) -> str:
    return f"{number:,} {one}{'' if number == 1 else 's'}"
