"""Is what the user passed a whole number, a number, a seed, a folder? A message says what was expected."""

from __future__ import annotations

import math
import os
from numbers import Integral, Real
from pathlib import Path

from fairview.errors import InputError

LARGEST_SEED = 2**64 - 1


def require_whole(value: object, name: str, *, least: int, most: int | None = None) -> int:
    """The value as an `int`.

    Example:
        >>> require_whole("10", "epochs", least=1)
        Traceback (most recent call last):
        ...
        fairview.errors.InputError: epochs: '10'; expected a whole number, at least 1.
    """
    if (
        isinstance(value, Integral)
        and not isinstance(value, bool)
        and least <= value
        and (most is None or value <= most)
    ):
        return int(value)
    allowed = f"at least {least:,}" if most is None else f"from {least:,} to {most:,}"
    raise InputError(f"{name}: {value!r}; expected a whole number, {allowed}.")


def require_seed(value: object, name: str = "seed") -> int:
    """A whole number that fits into 64 bits."""
    return require_whole(value, name, least=0, most=LARGEST_SEED)


def require_number(value: object, name: str, expected: str) -> float:
    """The value as a `float`; `expected` says what it should be, if it is no finite number."""
    if isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value):
        return float(value)
    raise InputError(f"{name}: {value!r}; expected {expected}.")


def require_folder(value: object, name: str = "folder") -> Path:
    """A path, as text or as `pathlib` has it."""
    if isinstance(value, str | os.PathLike) and str(value) and "\0" not in str(value):
        return Path(value)
    raise InputError(f"{name}: {value!r}; expected the path of a folder.")
