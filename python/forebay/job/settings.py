"""Options of a command line or a TOML file, as environment variables.

The runtime reads FOREBAY_<NAME>, then FOREBAY_CONFIG (lines "name=value"): see `src/options`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path

import click

from forebay import _core


def parse_assignments(words: Iterable[str]) -> dict[str, str]:
    """The options of `-o name=value` words.

    Raises click.UsageError, which names the word, for anything that the runtime would not accept.
    """
    options: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise click.UsageError(f"-o {word}: write it as name=value, e.g. -o page_size=64KiB")
        options[name.strip()] = value.strip()
    _check(options, "-o")
    return options


def read_configuration(path: Path) -> dict[str, str]:
    """The options of a TOML file: `name = value` lines at top level.

    Raises click.UsageError, which names the file and the option, for anything not accepted.
    """
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a text file"
        raise click.UsageError(f"{path}: {reason}") from error
    except tomllib.TOMLDecodeError as error:
        raise click.UsageError(f"{path}: {error}") from error
    options = {name: _text(path, name, value) for name, value in table.items()}
    _check(options, str(path))
    return options


def environment_options(environment: Mapping[str, str]) -> dict[str, str]:
    """The options among environment variables."""
    variables = {option.name: f"FOREBAY_{option.name.upper()}" for option in _core.options()}
    return {name: environment[v] for name, v in variables.items() if v in environment}


def check_sizes(*sources: Mapping[str, str]) -> None:
    """Raises click.UsageError for sizes that contradict each other. Later sources override earlier
    ones."""
    together: dict[str, str] = {}
    for source in sources:
        together |= source
    misfit = _core.misfit(together)
    if misfit is not None:
        raise click.UsageError(misfit)


def configuration_variable(options: Mapping[str, str]) -> str:
    """The value of FOREBAY_CONFIG for these options."""
    return "\n".join(f"{name}={value}" for name, value in options.items())


def option_variables(options: Mapping[str, str]) -> dict[str, str]:
    """The environment variables of these options."""
    return {f"FOREBAY_{name.upper()}": value for name, value in options.items()}


def _text(path: Path, name: str, value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float | str):
        return str(value)
    raise click.UsageError(f"{path}: {name}: give a number, a string, true or false")


def _check(options: Mapping[str, str], origin: str) -> None:
    for name, value in options.items():
        if "\n" in value:
            raise click.UsageError(f"{origin}: option {name}: a value is one line")
    for mistake in _core.mistakes(dict(options)):
        raise click.UsageError(f"{origin}: {mistake}")
