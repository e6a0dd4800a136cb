"""Forebay: a client-side cache between MPI programs and their parallel file system."""

from forebay._core import version as __version__

__all__ = ["__version__"]
