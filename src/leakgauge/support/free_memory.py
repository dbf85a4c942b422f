"""How much memory this machine has to spare."""

import os
import re
from pathlib import Path

_UNKNOWN = 8e9  # bytes, where the system does not say


def free_memory() -> float:
    """The bytes that can be used without taking them from other programs."""
    try:
        found = re.search(
            r"^MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text("ascii"), re.MULTILINE
        )
        if found is not None:
            return 1024.0 * int(found[1])
        return float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (OSError, ValueError, AttributeError):
        return _UNKNOWN
