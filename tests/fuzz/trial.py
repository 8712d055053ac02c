"""What must hold for every input of a reader? A value or an error of ours, soon, in little memory, nothing changed."""

from __future__ import annotations

import hashlib
import os
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from hypothesis import HealthCheck, Phase
from hypothesis import strategies as st

import fairview as fv
from fairview.errors import for_command_line
from fairview.machine import peak_memory_mb, reset_peak_memory

SEED = int(os.environ.get("FAIRVIEW_FUZZ_SEED", "12"))
"""Of all cases: every run tries the same ones, unless another seed is asked for."""

CASES = [100, pytest.param(10_000, marks=pytest.mark.slow)]
"""A reader: in `make test`, and in `make test-all`."""

LONGEST_MESSAGE = 20_000
"""Characters of an error; a hundred lines of a terminal."""

MOST_SECONDS = 20
"""One case, on a busy machine."""

MOST_MEMORY_MB = 600
"""By which the process may grow during one case."""

LEAVE_ALONE = re.compile(r"report\.html|README\.md|\.lock")
"""What commands write on purpose beside what they read."""


class HangError(BaseException):
    """A case that takes too long; no reader catches it."""


def try_many(cases: int, inputs: st.SearchStrategy[Any], read: Callable[[Any], object]) -> None:
    """Read so many inputs; each gives a value or a `FairviewError`, and no warning, which are errors in tests."""
    settings = hypothesis.settings(
        max_examples=cases,
        deadline=None,
        database=None,
        derandomize=False,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )

    @hypothesis.seed(SEED)
    @settings
    @hypothesis.given(inputs)
    def one(given: Any) -> None:
        reset_peak_memory()
        before = peak_memory_mb()
        with in_time():
            outcome(read, given)
        assert peak_memory_mb() - before < MOST_MEMORY_MB

    one()


def outcome(read: Callable[[Any], object], given: Any) -> object:
    """What is read, or the error."""
    try:
        return read(given)
    except fv.FairviewError as error:
        for text in (str(error), for_command_line(error)):
            assert 5 < len(text) < LONGEST_MESSAGE, text[:1000]
        return error


@contextmanager
def in_time() -> Iterator[None]:
    def ring(*_: object) -> None:
        raise HangError(f"a case takes more than {MOST_SECONDS} seconds")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, MOST_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def unchanged(folder: Path) -> Iterator[None]:
    """Nothing in the folder is written, removed or renamed, but for what commands write on purpose."""
    before = contents(folder)
    try:
        yield
    finally:
        assert contents(folder) == before


def contents(folder: Path) -> dict[str, str]:
    """The sha256 of every file."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and not LEAVE_ALONE.search(path.name))
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
