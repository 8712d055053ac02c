"""How does the user know that long work is alive? A bar on stderr, drawn only where someone can see it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

DELAY_SECONDS = 2.0
"""Work that ends sooner shows nothing."""


@contextmanager
def track(description: str, total: int) -> Iterator[Callable[[int], None]]:
    """Follow work of `total` steps; call what is yielded with the number of steps just done.

    A bar with the time left appears on stderr if that is a terminal and the work has taken more than two seconds. It
    disappears when the work ends, whichever way. Nothing is drawn anywhere else, and rich is imported only for a bar.

    Example:
        >>> with track("Counting", total=3) as advance:
        ...     for _ in range(3):
        ...         advance(1)
    """
    bar = _Bar(description, total)
    try:
        yield bar.advance
    finally:
        bar.close()


class _Bar:
    def __init__(self, description: str, total: int) -> None:
        self._description = description
        self._total = total
        self._done = 0
        self._draw_after = perf_counter() + DELAY_SECONDS
        self._wanted = sys.stderr is not None and sys.stderr.isatty()
        self._drawn: tuple[Progress, TaskID] | None = None

    def advance(self, count: int) -> None:
        self._done += count
        if self._drawn is not None:
            progress, task = self._drawn
            progress.update(task, completed=self._done)
        elif self._wanted and perf_counter() > self._draw_after:
            self._draw()

    def close(self) -> None:
        if self._drawn is not None:
            self._drawn[0].stop()

    def _draw(self) -> None:
        from rich.console import Console
        from rich.errors import LiveError
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

        progress = Progress(
            # The description is shown as it is: a file name with brackets is not markup.
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TaskProgressColumn(),
            TimeRemainingColumn(),
            console=Console(file=sys.stderr),
            transient=True,
        )
        task = progress.add_task(self._description, total=self._total, completed=self._done)
        try:
            progress.start()
        except LiveError:  # an outer bar is on the screen already; one is enough
            self._wanted = False
        else:
            self._drawn = progress, task
