"""What commands that draw a figure have in common."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import IO, TYPE_CHECKING, NoReturn

import click

from forebay.new_file import new_file
from forebay.text import one_line

if TYPE_CHECKING:
    from forebay.plots.style import Plot

_ENDINGS = (".svg", ".png", ".pdf")

plot_option = click.option(
    "--plot",
    "plot_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Draw a figure: .svg, .png or .pdf.",
)
force_option = click.option("--force", is_flag=True, help="Replace files that exist.")


def check_plot(plot_file: Path | None, option: str = "--plot") -> None:
    """Raises click.UsageError if the name's ending tells no format."""
    if plot_file is not None and plot_file.suffix not in _ENDINGS:
        raise click.UsageError(f"{option} {one_line(str(plot_file))}: end it in .svg, .png or .pdf")


def write_output(path: Path, force: bool, write: Callable[[IO[bytes]], object]) -> None:
    """Writes a new file. Raises click.ClickException if that fails or a library is missing."""
    try:
        with new_file(path, force) as file:
            write(file)
    except ImportError as error:
        _missing(error)
    except OSError as error:
        raise click.ClickException(f"{one_line(str(path))}: {error.strerror or error}") from error


def write_plot(path: Path, force: bool, draw: Callable[[], Plot]) -> None:
    """Draws a figure into a new file, in the format of its ending."""
    ending = path.suffix.removeprefix(".")
    metadata = {"Date": None} if ending == "svg" else None
    write_output(
        path, force, lambda file: draw().savefig(file, format=ending, dpi=150, metadata=metadata)
    )


def _missing(error: ImportError) -> NoReturn:
    advice = "install Forebay again"
    if (error.name or "").startswith("pyarrow"):
        advice = "pip install 'forebay[arrow]'"
    raise click.ClickException(f"{error.name} is missing: {advice}") from error
