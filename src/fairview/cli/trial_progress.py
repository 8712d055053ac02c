"""How does the user follow a study of many trials? A bar on a terminal; elsewhere a line now and then, for logs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from time import perf_counter
from typing import TYPE_CHECKING

import typer

from fairview.progress import track

if TYPE_CHECKING:
    from fairview.study.trials import Notice, Result

SECONDS_BETWEEN_LINES = 15.0


@contextmanager
def follow_trials(description: str) -> Iterator[Notice]:
    """A notice for `run_trials`: what is done already, then progress with the time left, all on stderr."""
    with ExitStack() as bar:
        followed = _Followed(description, bar)
        yield followed


class _Followed:
    def __init__(self, description: str, bar: ExitStack) -> None:
        self._description, self._bar = description, bar
        self._advance: Callable[[int], None] = _nothing
        self._already = 0
        self._begun = self._said = perf_counter()

    def __call__(self, result: Result | None, done: int, total: int) -> None:
        if result is None:
            self._begin(done, total)
            return
        self._advance(1)
        now = perf_counter()
        if not sys.stderr.isatty() and now - self._said >= SECONDS_BETWEEN_LINES and done < total:
            left = (now - self._begun) / (done - self._already) * (total - done)
            typer.echo(f"{done} of {total} trials, about {duration(left)} left", err=True)
            self._said = now

    def _begin(self, done: int, total: int) -> None:
        self._already = done
        self._begun = self._said = perf_counter()
        if 0 < done < total:
            typer.echo(f"resuming: {done} of {total} trials are done already", err=True)
        self._advance = self._bar.enter_context(track(self._description, total=total - done))


def duration(seconds: float) -> str:
    """A length of time, roughly.

    Example:
        >>> duration(42), duration(200), duration(9000)
        ('42 s', '3 min', '2.5 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _nothing(count: int) -> None:
    """Before the first notice there is no bar."""
