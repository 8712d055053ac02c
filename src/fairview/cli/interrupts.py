"""How does long work end when it is asked to? A polite end (SIGTERM) is treated like Ctrl-C: what is done is kept."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def terminable() -> Iterator[None]:
    """A polite end (SIGTERM) is treated like Ctrl-C: what is best so far is kept."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    # SIGINT too: polars replaces its handler by one that does not wake a process that waits for others
    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
