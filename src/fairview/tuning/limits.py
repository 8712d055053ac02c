"""Which gaps may be how large? What the user asks for, checked before any work."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real

from fairview.arguments import shortened
from fairview.errors import InputError, Problems, did_you_mean, option
from fairview.metrics.registry import METRICS

CONDITIONS: dict[str, tuple[int | None, ...]] = {
    "statistical_parity": (None,),
    "equal_opportunity": (1,),
    "equalized_odds": (1, 0),
}
"""The labels among which a gap compares the groups; None is everybody, labelled or not."""

UTILITIES = ("balanced_accuracy", "auc", "accuracy", "f1")


@dataclass(frozen=True)
class Limit:
    """A gap, and how large it may be.

    Attributes:
        gap: `statistical_parity`, `equal_opportunity` or `equalized_odds`.
        limit: a fraction; None where only the trade-off is asked for.

    Example:
        >>> Limit("statistical_parity", 0.05).metric
        'statistical_parity_gap'
    """

    gap: str
    limit: float | None = None

    @property
    def metric(self) -> str:
        """The name of the gap among the metrics."""
        return f"{self.gap}_gap"

    @property
    def words(self) -> str:
        """The gap in a sentence."""
        return METRICS[self.metric].words


def read_limits(max_gap: float | Mapping[str, float] | None, gaps: Sequence[str] | str | None) -> tuple[Limit, ...]:
    """The limits that `max_gap` and `gaps` describe, all of them checked.

    Args:
        max_gap: one limit for every gap, a limit for each, or None to look at the trade-off only.
        gaps: their names; by default those of `max_gap`, or statistical parity.

    Example:
        >>> read_limits(0.05, ["statistical_parity", "equal_opportunity"])[1]
        Limit(gap='equal_opportunity', limit=0.05)
        >>> read_limits({"equal_opportunity": 0.1}, None)
        (Limit(gap='equal_opportunity', limit=0.1),)
    """
    problems = Problems()
    if not isinstance(gaps, str | list | tuple | set | None) or not all(isinstance(name, str) for name in gaps or ()):
        raise InputError(
            f"{option('gap')}: {shortened(gaps)}; expected the names of gaps, such as 'equal_opportunity'."
        )
    names = [gaps] if isinstance(gaps, str) else list(gaps or ())
    if isinstance(max_gap, Mapping):
        by_gap: dict[str, float | None] = {str(name): value for name, value in max_gap.items()}
        if names and set(names) != set(by_gap):
            problems.add(f"max_gap: names {sorted(by_gap)}, but gaps names {sorted(names)}; give one of the two.")
        names = list(by_gap)
    else:
        names = names or ["statistical_parity"]
        by_gap = dict.fromkeys(names, max_gap)
    if not names:
        problems.add(f"{option('max_gap')}: names no gap; expected at least one, such as 'statistical_parity'.")
    for name in names:
        if name not in CONDITIONS:
            problems.add(f"{option('gap')}: no gap '{name}' has a test.{did_you_mean(name, list(CONDITIONS))}")
        value = by_gap.get(name)
        if value is not None and not _is_share(value):
            hint = " Limits are fractions: 5 points are 0.05." if _is_number(value) and 1 <= float(value) <= 100 else ""
            problems.add(f"{option('max_gap')}: {value!r}; expected a number between 0 and 1.{hint}")
    problems.raise_if_any()
    return tuple(
        Limit(name, None if (limit := by_gap[name]) is None else float(limit)) for name in dict.fromkeys(names)
    )


def check_utility(utility: str) -> None:
    """A name of a utility that a model can be chosen by."""
    if utility not in UTILITIES:
        raise InputError(f"{option('utility')}: no utility '{utility}'.{did_you_mean(utility, UTILITIES)}")


def check_confidence(confidence: float) -> None:
    """Between one half and one."""
    if not _is_number(confidence) or not 0.5 <= confidence < 1:
        hint = " 95 % is 0.95." if _is_number(confidence) and 1 < confidence <= 100 else ""
        raise InputError(f"{option('confidence')}: {confidence!r}; expected a number from 0.5 to 1, below 1.{hint}")


def _is_number(value: object) -> bool:
    return not isinstance(value, bool) and isinstance(value, Real) and math.isfinite(float(value))


def _is_share(value: object) -> bool:
    return _is_number(value) and 0 < value < 1  # type: ignore[operator]
