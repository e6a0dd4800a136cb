"""Where the package keeps its shared libraries."""

from __future__ import annotations

from pathlib import Path


def library_directory() -> Path:
    """The directory of the preload and the interposers, below the installed package.

    In an editable install the compiled module lies with them, apart from the sources.
    """
    from forebay import _core

    assert _core.__file__ is not None
    return Path(_core.__file__).parent / "lib"


def preload_library() -> Path:
    """The library for LD_PRELOAD."""
    return library_directory() / "libforebay_preload.so"
