"""The bytes that test programs write (byte_at of check.h)."""


def byte_at(position: int) -> int:
    """The byte that belongs at `position` of a file."""
    mixed = (position * 0x9E3779B97F4A7C15) % 2**64
    return 1 + (mixed >> 40) % 255


def content(length: int) -> bytes:
    """The first `length` bytes of a file."""
    return bytes(byte_at(position) for position in range(length))
