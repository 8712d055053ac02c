"""Why does a step on a large graph wait for the operating system? Because freed memory is given back to it each time.

glibc maps every block above 32 MB anew and returns it when it is freed, so that each layer's output is first filled
with zeros, page by page: five times the time of an element-wise product itself. Inside `memory_kept`, freed blocks stay
with the process and serve the next layer (docs/adr/0011). Elsewhere than on glibc nothing changes.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_TRIM_THRESHOLD, _MMAP_MAX = -1, -4  # names of <malloc.h>
_DEFAULT_TRIM_THRESHOLD, _DEFAULT_MMAP_MAX = 128 * 1024, 65_536

_lock = threading.Lock()
_inside = 0


@contextmanager
def memory_kept() -> Iterator[None]:
    """Keep freed memory inside; give it back afterwards. May be nested, and used by several threads."""
    global _inside
    library = _glibc()
    if library is None:
        yield
        return
    with _lock:
        _inside += 1
        if _inside == 1:
            library.mallopt(_MMAP_MAX, 0)  # no block is mapped by itself
            library.mallopt(_TRIM_THRESHOLD, -1)  # the end of the heap is never returned
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                library.mallopt(_MMAP_MAX, _DEFAULT_MMAP_MAX)
                library.mallopt(_TRIM_THRESHOLD, _DEFAULT_TRIM_THRESHOLD)
                library.malloc_trim(0)


def _glibc() -> Any:
    """The C library, if it is one with these two functions."""
    try:
        library = ctypes.CDLL(None)
        for name in ("gnu_get_libc_version", "mallopt", "malloc_trim"):
            getattr(library, name)
    except (AttributeError, OSError, TypeError):  # musl, macOS, Windows
        return None
    return library
