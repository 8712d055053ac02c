"""What is a metric that can't be computed? A value with a reason, which can't be mistaken for a number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn


@dataclass(frozen=True)
class Undefined:
    """The value of a metric that is not defined on the given data, and why.

    It is no number: arithmetic, comparison, `float()` and truth value raise `TypeError`, so that it can't slip into a
    mean or pass for "no gap". In JSON it is `null`, with the reason beside it.

    Example:
        >>> gap = Undefined("group 'f' has no positive labels")
        >>> gap
        undefined: group 'f' has no positive labels
        >>> gap < 0.1
        Traceback (most recent call last):
        ...
        TypeError: '<' not supported between instances of 'Undefined' and 'float'
    """

    reason: str

    def __bool__(self) -> NoReturn:
        raise TypeError(f"an undefined metric has no truth value ({self.reason})")

    def __repr__(self) -> str:
        return f"undefined: {self.reason}"

    __str__ = __repr__


Metric = float | Undefined
"""A number, or why there is none."""


def plain(value: Metric) -> float | None:
    """The number, or None where there is none, for JSON and tables."""
    return None if isinstance(value, Undefined) else value
