"""How well do scores put positives above negatives? The area under the ROC curve, exact with ties."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Scores = npt.NDArray[Any]  # of floats or integers


def auc_of(positive: Scores, negative: Scores) -> float:
    """(pairs in the right order + half the tied pairs) / all pairs, counted in integers; NaN if a side is empty.

    Two sorts and a search for the smaller class: quicker than ranking all scores, because values are sorted, not
    indices, and because only tied scores are searched for twice.

    Example:
        >>> auc_of(np.array([0.35, 0.8]), np.array([0.1, 0.35]))  # 3 pairs in order, 1 tied
        0.875
    """
    if len(positive) == 0 or len(negative) == 0:
        return float("nan")
    swap = len(positive) > len(negative)
    few, many = (np.sort(negative), np.sort(positive)) if swap else (np.sort(positive), np.sort(negative))
    below = np.searchsorted(many, few, "left")
    tied = many.take(below, mode="clip") == few
    ties = np.searchsorted(many, few[tied], "right") - below[tied]
    twice = 2 * int(below.sum()) + int(ties.sum())
    pairs = len(few) * len(many)
    return (2 * pairs - twice if swap else twice) / (2 * pairs)


class WeightedAUC:
    """The AUC of many resamples of the same scores: sorted once, then one pass per resample."""

    def __init__(self, labels: npt.NDArray[np.integer[Any]], scores: Scores) -> None:
        self._order = np.argsort(scores, kind="stable")
        ordered = scores[self._order]
        self._starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))  # of runs of equal scores
        self._positive = (labels[self._order] == 1).astype(np.float64)

    def __call__(self, weights: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """AUC per row of weights, shape (resamples, n) -> (resamples,); NaN where a class has no weight."""
        ordered = weights[:, self._order]
        positive = np.add.reduceat(ordered * self._positive, self._starts, axis=1)
        negative = np.add.reduceat(ordered * (1 - self._positive), self._starts, axis=1)
        below = np.cumsum(negative, axis=1) - negative
        won = (positive * (below + negative / 2)).sum(axis=1)
        pairs = positive.sum(axis=1) * negative.sum(axis=1)
        auc: npt.NDArray[np.float64] = np.divide(won, pairs, out=np.full(len(won), np.nan), where=pairs > 0)
        return auc
