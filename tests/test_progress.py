from __future__ import annotations

import io
import subprocess
import sys
from types import SimpleNamespace

import pytest

from fairview import progress
from fairview.progress import DELAY_SECONDS, track


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(progress, "perf_counter", clock)
    return clock


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    terminal = Terminal()
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=terminal))  # pytest holds the real one
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    return terminal


def test_short_work_shows_nothing(clock: Clock, terminal: Terminal) -> None:
    with track("Linking rows", total=2) as advance:
        advance(1)
        clock.seconds += DELAY_SECONDS
        advance(1)
    assert terminal.getvalue() == ""


def test_long_work_on_a_terminal_shows_a_bar_that_disappears(clock: Clock, terminal: Terminal) -> None:
    with track("Linking rows of nodes[1].csv", total=4) as advance:
        advance(1)
        clock.seconds += DELAY_SECONDS + 0.1
        advance(1)
        drawn = terminal.getvalue()
        advance(2)
    assert "Linking rows of nodes[1].csv" in drawn
    assert "50%" in drawn
    assert "100%" in terminal.getvalue()
    assert terminal.getvalue().endswith("\x1b[2K")  # the line is erased


def test_long_work_shows_nothing_where_stderr_is_no_terminal(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with track("Linking rows", total=2) as advance:
        clock.seconds += 60
        advance(1)
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=None))  # a windowed Python has none
    with track("Linking rows", total=2) as advance:
        clock.seconds += 60
        advance(1)
    assert capsys.readouterr() == ("", "")


def test_an_exception_passes_through_and_the_bar_is_gone(clock: Clock, terminal: Terminal) -> None:
    def work() -> None:
        with track("Linking rows", total=2) as advance:
            clock.seconds += 60
            advance(1)
            raise KeyError("lost")

    with pytest.raises(KeyError, match="lost"):
        work()
    assert "Linking rows" in terminal.getvalue()
    assert "\x1b[?25h" in terminal.getvalue()  # the cursor is back
    with track("Again", total=1) as advance:  # and the screen is free for the next bar
        clock.seconds += 60
        advance(1)
    assert "Again" in terminal.getvalue()


def test_work_within_work_does_not_fail(clock: Clock, terminal: Terminal) -> None:
    with track("Outer", total=2) as outer:
        clock.seconds += 60
        outer(1)
        with track("Inner", total=2) as inner:
            clock.seconds += 60
            inner(2)
        outer(1)
    assert "Outer" in terminal.getvalue()


def test_rich_is_not_imported_without_a_bar() -> None:
    code = (
        "import sys; from fairview.progress import track\n"
        "with track('a', 1) as advance: advance(1)\n"
        "sys.exit('rich' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
