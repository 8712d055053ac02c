"""How often was what predicted for whom? Every rate and gap but the AUC is computed from these counts alone.

Counts have the shape (..., groups, label, prediction), totals (..., label, prediction); the leading dimensions are
bootstrap resamples. Here NaN marks a rate without a denominator; `MetricEntry.explain` turns it into `Undefined` with
the reason before anybody outside `fairview.metrics` sees it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

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


def _ratio(part: Counts, whole: Counts) -> Rates:
    part, whole = np.asarray(part, dtype=np.float64), np.asarray(whole, dtype=np.float64)
    rates: Rates = np.divide(part, whole, out=np.full(part.shape, np.nan), where=whole != 0)
    return rates
