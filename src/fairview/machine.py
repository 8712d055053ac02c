"""How much memory did a piece of work take? The process's peak, started afresh where the system allows it."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path

_CLEAR, _STATUS = Path("/proc/self/clear_refs"), Path("/proc/self/status")


def reset_peak_memory() -> None:
    """Begin a new peak. Only Linux can; elsewhere the peak is that of the whole process so far."""
    with suppress(OSError):
        _CLEAR.write_text("5")


def peak_memory_mb() -> float:
    """The largest resident size since the last reset, in MB of 2^20 bytes."""
    with suppress(OSError):
        for line in _STATUS.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1024**2 if sys.platform == "darwin" else peak / 1024
