"""The memory of this machine."""

from __future__ import annotations

import os
from pathlib import Path


def available_bytes() -> int:
    """Bytes of memory that can be used without swapping (MemAvailable of /proc/meminfo)."""
    for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
