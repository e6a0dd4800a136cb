"""Checks of arguments: they raise one clear sentence, where otherwise an error would come from deep
inside."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from forebay import _core

# By the name of a type: what makes a value of it, and how it is made of a path.
_MADE_BY = {
    "Trace": ("forebay.open_trace", "forebay.open_trace({0!r})"),
    "Analysis": ("forebay.analyze", "forebay.analyze(forebay.open_trace({0!r}))"),
    "ClusterResults": ("forebay.simulate_cluster", None),
}


def check_kind(given: Any, kind: type, function: str, parameter: str) -> None:
    """Raises TypeError unless `given` is a `kind`, which is Trace, Analysis or ClusterResults."""
    if isinstance(given, kind):
        return
    maker, of_path = _MADE_BY[kind.__name__]
    advice = ""
    if of_path is not None and isinstance(given, str | os.PathLike):
        advice = f"; make it: forebay.{function}({of_path.format(os.fspath(given))})"
    raise TypeError(
        f"forebay.{function}: {parameter} is what {maker} returns, not {_named(given)}{advice}"
    )


def check_path(given: Any, function: str, parameter: str) -> None:
    """Raises TypeError unless `given` is the path of a file or directory."""
    if isinstance(given, str | os.PathLike):
        return
    advice = "; its path is in .path" if hasattr(given, "path") else ""
    raise TypeError(f"forebay.{function}: {parameter} is a path, not {_named(given)}{advice}")


def check_number(given: Any, function: str, parameter: str, least: int = 1) -> None:
    """Raises TypeError unless `given` is a whole number, ValueError if it is less than `least`."""
    if isinstance(given, bool) or not hasattr(given, "__index__"):
        raise TypeError(f"forebay.{function}: {parameter} is a whole number, not {_named(given)}")
    if given < least:
        raise ValueError(f"forebay.{function}: {parameter} is at least {least}, not {given}")


def check_size(given: Any, function: str) -> None:
    """Raises TypeError unless `given` is a whole number of bytes."""
    if hasattr(given, "__index__") and not isinstance(given, bool):
        return
    advice = ""
    if isinstance(given, str) and (size := _core.parse_bytes(given)) is not None:
        advice = f"; {given} is {size}"
    raise TypeError(
        f"forebay.{function}: sizes are whole numbers of bytes, not {_named(given)}{advice}"
    )


def check_names(given: Any, function: str, parameter: str) -> None:
    """Raises TypeError unless `given` is several words."""
    if isinstance(given, str):
        raise TypeError(
            f"forebay.{function}: {parameter} are several; write {parameter}=[{given!r}]"
        )
    if not isinstance(given, Iterable):
        raise TypeError(f"forebay.{function}: {parameter} are names, not {_named(given)}")


def check_real(given: Any, function: str, parameter: str) -> None:
    """Raises TypeError unless `given` is a number."""
    if isinstance(given, bool) or not hasattr(given, "__float__"):
        raise TypeError(f"forebay.{function}: {parameter} is a number, not {_named(given)}")


def check_callable(given: Any, function: str, parameter: str) -> None:
    """Raises TypeError unless `given` can be called."""
    if not callable(given):
        raise TypeError(f"forebay.{function}: {parameter} is a function, not {_named(given)}")


def _named(given: Any) -> str:
    if given is None:
        return "None"
    return f"{given!r}" if isinstance(given, str | int | float) else f"a {type(given).__name__}"
