"""Which machine computes, with how many cores, and how much memory did a piece of work take?"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

_CLEAR, _STATUS, _PROCESSORS = Path("/proc/self/clear_refs"), Path("/proc/self/status"), Path("/proc/cpuinfo")


def describe_machine() -> dict[str, Any]:
    """The processor and torch's kernels for it, which results depend on, and the size of the machine.

    Returns:
        `processor` (its model name), `cpu_capability` (the kernels that torch picks, such as `AVX512`; None without
        torch), `cores` that this process may use, and `memory_gib` (None where the system does not say).
    """
    return {
        "processor": processor(),
        "cpu_capability": cpu_capability(),
        "cores": available_cores(),
        "memory_gib": _memory_gib(),
    }


@cache
def processor() -> str:
    """The processor's model name, as the system spells it."""
    with suppress(OSError):
        for line in _PROCESSORS.read_text(encoding="utf-8", errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name" and value.strip():
                return " ".join(value.split())
    if sys.platform == "darwin":
        with suppress(OSError, subprocess.SubprocessError):
            command = ["/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string"]
            return subprocess.run(command, capture_output=True, text=True, check=True, timeout=5).stdout.strip()  # noqa: S603
    return platform.processor() or platform.machine() or "unknown"


@cache
def cpu_capability() -> str | None:
    """The kernels that torch picks for this processor; the variable `ATEN_CPU_CAPABILITY` overrides them."""
    try:
        import torch
    except ImportError:
        return None
    return str(torch.backends.cpu.get_cpu_capability())


def available_cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


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


def _memory_gib() -> float | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1024**3, 1)
    except (AttributeError, OSError, ValueError):
        return None
