"""How does the user know that long work is alive? One bar, on a terminal or in a notebook, and nothing elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from multiprocessing import parent_process
from time import perf_counter
from typing import Any, Protocol

DELAY_SECONDS = 2.0
"""Work that ends sooner shows nothing."""

REDRAW_SECONDS = 0.2
"""A notebook's bar is redrawn no more often: each time is a message to the browser."""


@contextmanager
def track(description: str, total: int) -> Iterator[Callable[[int], None]]:
    """Follow work of `total` steps; call what is yielded with the number of steps just done.

    A bar with the time left appears once the work has taken more than two seconds, on stderr if that is a terminal, or
    below the cell in a notebook. It disappears when the work ends, whichever way. Nothing is drawn anywhere else, nor
    in a worker process; of two bars at the same time only the first to appear is drawn.

    Example:
        >>> with track("Counting", total=3) as advance:
        ...     for _ in range(3):
        ...         advance(1)
    """
    done = 0

    def advance(count: int) -> None:
        nonlocal done
        done += count
        update(done, total)

    with track_live(description) as update:
        yield advance


class Update(Protocol):
    """Tells a bar how far the work is."""

    def __call__(self, completed: int, total: int, text: str = "") -> None: ...


@contextmanager
def track_live(description: str) -> Iterator[Update]:
    """Like `track`, for work that learns its total on the way, with a text beside the bar.

    Example:
        >>> with track_live("Training") as update:
        ...     update(1, 10, "val AUC 71.2")
    """
    bar = _Bar(description)
    try:
        yield bar.update
    finally:
        bar.close()


# --- one bar ----------------------------------------------------------------------------------------------------------


class _Bar:
    """Draws itself late, if there is a place and no other bar holds it."""

    on_screen: _Bar | None = None  # of all bars

    def __init__(self, description: str) -> None:
        self._description = description
        self._draw_after = perf_counter() + DELAY_SECONDS
        self._draw = _place()
        self._drawing: _TerminalBar | _NotebookBar | None = None

    def update(self, completed: int, total: int, text: str = "") -> None:
        if self._draw is None:
            return
        if self._drawing is None and perf_counter() > self._draw_after and _Bar.on_screen is None:
            _Bar.on_screen = self
            self._drawing = self._draw(self._description)
        if self._drawing is not None:
            self._drawing.update(completed, total, text)

    def close(self) -> None:
        if self._drawing is not None:
            _Bar.on_screen = None
            self._drawing.close()


def _place() -> type[_TerminalBar | _NotebookBar] | None:
    """How to draw here; None where nobody would see it, or where several processes would draw over each other."""
    if parent_process() is not None:
        return None
    if in_notebook():
        return _NotebookBar
    return _TerminalBar if sys.stderr is not None and sys.stderr.isatty() else None


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook, such as Jupyter, VS Code or Colab."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and getattr(ipython.get_ipython(), "kernel", None) is not None


class _TerminalBar:
    def __init__(self, description: str) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

        self._progress = Progress(
            # Texts are shown as they are: a file name with brackets is not markup.
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TaskProgressColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[text]}", markup=False),
            console=Console(file=sys.stderr),
            transient=True,
        )
        self._task = self._progress.add_task(description, total=None, text="")

    def update(self, completed: int, total: int, text: str) -> None:
        self._progress.update(self._task, completed=completed, total=total, text=text)
        self._progress.start()  # the first time

    def close(self) -> None:
        self._progress.stop()


class _NotebookBar:
    """The browser's own progress element, which follows light and dark themes; IPython is all that it needs."""

    def __init__(self, description: str) -> None:
        self._description = description
        self._handle: Any = None
        self._begun: tuple[float, int] | None = None
        self._redraw_after = 0.0

    def update(self, completed: int, total: int, text: str) -> None:
        now = perf_counter()
        if self._begun is None:
            self._begun = now, completed
        if now < self._redraw_after:
            return
        self._redraw_after = now + REDRAW_SECONDS
        percent = f"{100 * completed / total:.0f}%" if total else ""
        words = "  ".join(filter(None, [percent, self._time_left(now, completed, total), text]))
        bar = (
            f'<progress value="{completed}" max="{max(total, 1)}" aria-label="{escape(self._description)}"></progress>'
        )
        self._show(f"{self._description}: {words}", f"<div>{escape(self._description)} {bar} {escape(words)}</div>")

    def close(self) -> None:
        self._show("", "")

    def _time_left(self, now: float, completed: int, total: int) -> str:
        seconds, first = self._begun or (now, completed)
        if completed == first or completed >= total:
            return ""
        return f"about {duration((now - seconds) / (completed - first) * (total - completed))} left"

    def _show(self, plain: str, html: str) -> None:
        bundle = {"text/plain": plain, "text/html": html}
        if self._handle is None:
            self._handle = sys.modules["IPython"].display.display(bundle, raw=True, display_id=True)
        else:
            self._handle.update(bundle, raw=True)


def duration(seconds: float) -> str:
    """A length of time, roughly.

    Example:
        >>> duration(42), duration(200), duration(9000)
        ('42 s', '3 min', '2.5 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
