"""The place of the package's shared libraries."""

from __future__ import annotations

from pathlib import Path


def library_directory() -> Path:
    """The directory of the preload and the interposers, within the installed package.

    In an editable install it is apart from the Python sources, together with the compiled module.
    """
    from forebay import _core

    assert _core.__file__ is not None
    return Path(_core.__file__).parent / "lib"


def preload_library() -> Path:
    """The library for LD_PRELOAD."""
    return library_directory() / "libforebay_preload.so"
