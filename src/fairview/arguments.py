"""Is what the user passed a whole number, a number, a seed, a folder? A message says what was expected."""

from __future__ import annotations

import math
import os
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from fairview.errors import InputError

SEEDS = 2**64
"""Seeds are below it: they fit into 64 bits."""


def require_whole(value: Any, name: str, *, least: int, most: int | None = None) -> int:
    """The value as an `int`.

    Example:
        >>> require_whole("10", "epochs", least=1)
        Traceback (most recent call last):
        ...
        fairview.errors.InputError: epochs: '10'; expected a whole number, at least 1.
    """
    if not isinstance(value, bool) and isinstance(value, Integral):
        whole = int(value)
        if least <= whole and (most is None or whole <= most):
            return whole
    allowed = f"at least {least:,}" if most is None else f"from {least:,} to {most:,}"
    raise InputError(f"{name}: {shortened(value)}; expected a whole number, {allowed}.")


def require_seed(value: Any, name: str = "seed") -> int:
    """A whole number that fits into 64 bits."""
    try:
        return require_whole(value, name, least=0, most=SEEDS - 1)
    except InputError:
        raise InputError(f"{name}: {shortened(value)}; expected a whole number, at least 0 and below 2**64.") from None


def require_number(value: Any, name: str, expected: str) -> float:
    """The value as a `float`; `expected` says what it should be, if it is no finite number."""
    if not isinstance(value, bool) and isinstance(value, Real) and math.isfinite(value):
        return float(value)
    raise InputError(f"{name}: {shortened(value)}; expected {expected}.")


def require_folder(value: Any, name: str = "folder") -> Path:
    """A path, as text or as `pathlib` has it."""
    if isinstance(value, str | os.PathLike) and str(value) and "\0" not in str(value):
        return Path(value)
    raise InputError(f"{name}: {shortened(value)}; expected the path of a folder.")


def shortened(value: object, *, most: int = 80) -> str:
    """A value as Python writes it, in one line, cut where it is long.

    Example:
        >>> shortened(list(range(100)), most=20)
        '[0, 1, 2, 3, 4, 5...'
    """
    try:
        text = " ".join(repr(value).split())
    except Exception:  # the user's own class, or a whole number of more digits than Python writes
        text = f"a {type(value).__name__}"
    return text if len(text) <= most else f"{text[: most - 3]}..."
