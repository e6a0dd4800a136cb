"""The bytes that test programs write (byte_at of check.h)."""

import numpy


def content(length: int) -> bytes:
    """The first `length` bytes of a file."""
    mixed = numpy.arange(length, dtype=numpy.uint64) * numpy.uint64(0x9E3779B97F4A7C15)
    return bytes((1 + (mixed >> numpy.uint64(40)) % numpy.uint64(255)).astype(numpy.uint8))
