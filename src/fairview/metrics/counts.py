"""How often was what predicted for whom? Every rate and gap but the AUC is computed from these counts alone.

Counts have the shape (..., groups, label, prediction), totals (..., label, prediction); the leading dimensions are
bootstrap resamples. Here NaN marks a rate without a denominator; `explain` turns it into `Undefined` with the reason
before anybody outside `fairview.metrics` sees it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from fairview.undefined import Metric, Undefined

Counts = npt.NDArray[Any]  # integers; whole numbers as floats in the bootstrap
Rates = npt.NDArray[np.float64]


def selection_rates(counts: Counts) -> Rates:
    """P(ŷ = 1 | group), shape (..., groups)."""
    return _ratio(counts[..., 1].sum(axis=-1), counts.sum(axis=(-2, -1)))


def true_positive_rates(counts: Counts) -> Rates:
    """P(ŷ = 1 | y = 1, group), shape (..., groups)."""
    return _ratio(counts[..., 1, 1], counts[..., 1, :].sum(axis=-1))


def false_positive_rates(counts: Counts) -> Rates:
    """P(ŷ = 1 | y = 0, group), shape (..., groups)."""
    return _ratio(counts[..., 0, 1], counts[..., 0, :].sum(axis=-1))


def accuracy(total: Counts) -> Rates:
    """P(ŷ = y)."""
    return _ratio(total[..., 0, 0] + total[..., 1, 1], total.sum(axis=(-2, -1)))


def balanced_accuracy(total: Counts) -> Rates:
    """(P(ŷ = 1 | y = 1) + P(ŷ = 0 | y = 0)) / 2."""
    return (true_positive_rates(total) + 1 - false_positive_rates(total)) / 2


def f1(total: Counts) -> Rates:
    """2 TP / (2 TP + FP + FN): 0 with positive labels but no positive prediction, undefined with neither."""
    hits = 2 * total[..., 1, 1]
    return _ratio(hits, hits + total[..., 0, 1] + total[..., 1, 0])


def largest_gap(rates: Rates) -> Rates:
    """The largest difference between two groups' rates; NaN if one of them is NaN, or without two groups."""
    if rates.shape[-1] < 2:
        return np.full(rates.shape[:-1], np.nan)
    return np.asarray(rates.max(axis=-1) - rates.min(axis=-1))


UTILITY: Mapping[str, Callable[[Counts], Rates]] = MappingProxyType(
    {
        "f1": f1,
        "accuracy": accuracy,
        "balanced_accuracy": balanced_accuracy,
        "false_positive_rate": false_positive_rates,
    }
)
"""Metrics of the totals, by name."""

GAPS: Mapping[str, tuple[Callable[[Counts], Rates], ...]] = MappingProxyType(
    {
        "statistical_parity_gap": (selection_rates,),
        "equal_opportunity_gap": (true_positive_rates,),
        "equalized_odds_gap": (true_positive_rates, false_positive_rates),
    }
)
"""The rates that each gap compares between groups; with several, the gap is the largest of theirs."""


def gap(name: str, counts: Counts) -> Rates:
    """The named gap between the groups of the counts."""
    gaps = [largest_gap(rates(counts)) for rates in GAPS[name]]
    return gaps[0] if len(gaps) == 1 else np.maximum(*gaps)


def behind(name: str, counts: Counts, groups: tuple[str, ...]) -> Iterator[tuple[str, str, int]]:
    """How many nodes, and positive or negative labels, each group has for the named gap."""
    needed = [("nodes", counts.sum(axis=(-2, -1)))]
    if true_positive_rates in GAPS[name]:
        needed.append(("positive labels", counts[:, 1].sum(axis=-1)))
    if false_positive_rates in GAPS[name]:
        needed.append(("negative labels", counts[:, 0].sum(axis=-1)))
    for what, found in needed:
        yield from ((group, what, int(count)) for group, count in zip(groups, found, strict=True))


def explain(name: str, value: Any, counts: Counts, groups: tuple[str, ...] = ()) -> Metric:
    """The number, or `Undefined` with the reason that the counts give for it."""
    return Undefined(_reason(name, counts, groups)) if np.isnan(value) else float(value)


def _reason(name: str, counts: Counts, groups: tuple[str, ...]) -> str:
    if counts.sum() == 0 and name not in GAPS:
        return "there are no labelled nodes"
    if name == "f1":
        return "there is neither a positive label nor a positive prediction"
    if name not in GAPS:
        positives = counts[..., 1, :].sum()
        return "there are no negative labels" if positives else "there are no positive labels"
    if len(groups) < 2:
        return f"there is only one sensitive group ('{groups[0]}')" if groups else "no node's sensitive group is known"
    lacking = (f"group '{group}' has no {what}" for group, what, count in behind(name, counts, groups) if count == 0)
    return next(lacking)


def _ratio(part: Counts, whole: Counts) -> Rates:
    part, whole = np.asarray(part, dtype=np.float64), np.asarray(whole, dtype=np.float64)
    found = np.full(part.shape, np.nan)
    np.divide(part, whole, out=found, where=whole != 0)
    return found
