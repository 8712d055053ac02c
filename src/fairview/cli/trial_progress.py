"""How does the user follow a study of many trials? A bar on a terminal; elsewhere a line now and then, for logs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING

import typer

from fairview.progress import Update, duration, track_live

if TYPE_CHECKING:
    from fairview.study.trials import Result, TrialNotice

SECONDS_BETWEEN_LINES = 15.0


@contextmanager
def follow_trials(description: str) -> Iterator[TrialNotice]:
    """A notice for `run_trials`: what is done already, then progress with the time left, all on stderr."""
    with track_live(description) as update:
        yield _Follower(update)


class _Follower:
    def __init__(self, update: Update) -> None:
        self._update = update
        self._already = 0
        self._begun = self._last_line = perf_counter()

    def __call__(self, result: Result | None, done: int, total: int) -> None:
        if result is None:
            self._already = done
            self._begun = self._last_line = perf_counter()
            if 0 < done < total:
                typer.echo(f"resuming: {done} of {total} trials are done already", err=True)
            return
        self._update(done, total)
        now = perf_counter()
        if not sys.stderr.isatty() and now - self._last_line >= SECONDS_BETWEEN_LINES and done < total:
            left = (now - self._begun) / (done - self._already) * (total - done)
            typer.echo(f"{done} of {total} trials, about {duration(left)} left", err=True)
            self._last_line = now
