from __future__ import annotations

import io
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from fairview import progress
from fairview.progress import DELAY_SECONDS, REDRAW_SECONDS, track, track_live


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
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=terminal, modules={}))  # pytest holds the real one
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
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=None, modules={}))  # a windowed Python has none
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


def test_a_live_bar_learns_its_total_and_shows_a_text(clock: Clock, terminal: Terminal) -> None:
    with track_live("Training") as update:
        update(1, 10, "val AUC 60.0")
        clock.seconds += DELAY_SECONDS + 0.1
        update(4, 8, "val AUC [bold]71.2")
    assert "50%" in terminal.getvalue()
    assert "val AUC [bold]71.2" in terminal.getvalue()
    assert "60.0" not in terminal.getvalue()


def test_only_one_of_two_bars_is_drawn_and_the_place_is_free_afterwards(clock: Clock, terminal: Terminal) -> None:
    with track("Outer", total=2) as outer:
        clock.seconds += 60
        with track("Inner", total=2) as inner:
            clock.seconds += 60
            inner(1)
            outer(1)
            assert "Outer" not in terminal.getvalue()
        outer(1)
    assert terminal.getvalue().index("Inner") < terminal.getvalue().index("Outer")


def test_worker_processes_draw_nothing(clock: Clock, terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "parent_process", object)
    with track("Linking rows", total=2) as advance:
        clock.seconds += 60
        advance(1)
    assert terminal.getvalue() == ""


class Screen:
    """What a notebook would show: IPython's `display`, written down."""

    def __init__(self) -> None:
        self.shown: list[dict[str, str]] = []

    def display(self, bundle: dict[str, str], *, raw: bool, display_id: bool) -> Screen:
        assert raw
        assert display_id
        self.shown.append(bundle)
        return self

    def update(self, bundle: dict[str, str], *, raw: bool) -> None:
        self.display(bundle, raw=raw, display_id=True)


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Screen:
    screen = Screen()
    shell = SimpleNamespace(kernel=object())
    ipython = SimpleNamespace(get_ipython=lambda: shell, display=SimpleNamespace(display=screen.display))
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", ipython.display)
    return screen


def test_long_work_in_a_notebook_shows_a_bar_that_disappears(clock: Clock, screen: Screen) -> None:
    with track("Linking <b>rows</b>", total=4) as advance:
        advance(1)
        clock.seconds += DELAY_SECONDS + 0.1
        advance(1)
        clock.seconds += 30
        advance(1)
    first, second, last = screen.shown
    assert first["text/plain"] == "Linking <b>rows</b>: 50%"
    assert second["text/plain"] == "Linking <b>rows</b>: 75%  about 30 s left"
    assert second["text/html"] == (
        '<div>Linking &lt;b&gt;rows&lt;/b&gt; <progress value="3" max="4" '
        'aria-label="Linking &lt;b&gt;rows&lt;/b&gt;"></progress> 75%  about 30 s left</div>'
    )
    assert last == {"text/plain": "", "text/html": ""}


def test_a_notebook_is_not_flooded_with_messages(clock: Clock, screen: Screen) -> None:
    with track("Shuffling", total=1000) as advance:
        clock.seconds += 60
        for _ in range(1000):
            clock.seconds += REDRAW_SECONDS / 100
            advance(1)
    assert len(screen.shown) <= 12


def test_ipython_on_a_terminal_is_no_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: SimpleNamespace()))
    assert not progress.in_notebook()
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: None))
    assert not progress.in_notebook()


def test_a_kernel_without_widgets_draws_the_bar() -> None:
    pytest.importorskip("ipykernel")
    manager = pytest.importorskip("jupyter_client").manager
    code = (
        "from fairview import progress\n"
        "progress.DELAY_SECONDS = progress.REDRAW_SECONDS = -1\n"
        "with progress.track('Shuffling', 2) as advance:\n"
        "    advance(1); advance(1)\n"
    )
    bundles, kinds = [], []

    def keep(message: dict[str, Any]) -> None:
        kinds.append(message["msg_type"])
        if "data" in message["content"]:
            bundles.append(message["content"]["data"])

    kernel, client = manager.start_new_kernel(kernel_name="python3")
    try:
        reply = client.execute_interactive(code, output_hook=keep, timeout=60)
    finally:
        client.stop_channels()
        kernel.shutdown_kernel(now=True)
    assert reply["content"]["status"] == "ok"
    assert [kind for kind in kinds if "display" in kind] == ["display_data", *["update_display_data"] * 2]
    assert [bundle["text/plain"] for bundle in bundles] == ["Shuffling: 50%", "Shuffling: 100%", ""]
    assert "<progress" in bundles[0]["text/html"]
