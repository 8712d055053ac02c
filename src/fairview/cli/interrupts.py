"""How does long work end when it is asked to? A polite end (SIGTERM) is treated like Ctrl-C: what is done is kept."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

import typer


@contextmanager
def terminable(message: str) -> Iterator[None]:
    """Either end says what is kept, with exit code 130."""
    with politely_ended():
        try:
            yield
        except KeyboardInterrupt:
            typer.echo(f"interrupted: {message}", err=True)
            raise typer.Exit(130) from None


@contextmanager
def politely_ended() -> Iterator[None]:
    """Inside, a polite end raises `KeyboardInterrupt`."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    # SIGINT too: polars replaces its handler by one that does not wake a process that waits for others
    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
