"""How do scores of different groups become comparable? A monotone map per group: quantiles to quantiles, or a shift.

Both leave the order within a group as it is, and both leave the pooled decisions at 0.5 alone: as many nodes lie above
one half after the map as before it, in each group the same share.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logit

Scores = npt.NDArray[np.float64]
Knots = tuple[Scores, Scores]

MOST_KNOTS = 1000
"""Of a group's map; a group with fewer nodes has a knot for each."""

_LEAST = 1e-12  # a cut of 0 or 1 would have no log-odds


def quantile_knots(scores: Scores, pooled: Scores) -> Knots:
    """The map Q(F(s)) as two increasing rows of knots: quantiles F of `scores`, and the same quantiles Q of `pooled`.

    0 stays 0 and 1 stays 1; where several nodes have the same score, it goes to the mean of their quantiles.

    Example:
        >>> source, target = quantile_knots(np.array([0.1, 0.3]), np.array([0.1, 0.3, 0.5, 0.7]))
        >>> source.tolist(), target.tolist()
        ([0.0, 0.1, 0.3, 1.0], [0.0, 0.2, 0.6, 1.0])
    """
    count = min(len(scores), MOST_KNOTS)
    levels = (np.arange(count) + 0.5) / count
    source, target = (np.quantile(values, levels, method="hazen") for values in (scores, pooled))
    source, place, ties = np.unique(source, return_inverse=True, return_counts=True)
    target = np.maximum.accumulate(np.bincount(place, weights=target) / ties)  # rounding must not turn the order
    inside = (source > 0) & (source < 1)
    return np.r_[0.0, source[inside], 1.0], np.r_[0.0, target[inside], 1.0]


def moved_by_quantiles(scores: Scores, knots: Knots, relaxation: float) -> Scores:
    """(1 - relaxation) s + relaxation Q(F(s)), linear between the knots."""
    return (1 - relaxation) * scores + relaxation * np.interp(scores, *knots)


def cut(scores: Scores, share: float) -> float:
    """The threshold above which this share of the scores lies, rounded to whole nodes: halfway between two of them.

    Example:
        >>> cut(np.array([0.1, 0.2, 0.4, 0.9]), 0.25), cut(np.array([0.5]), 0.0)
        (0.65, 0.75)
    """
    ordered, above = np.sort(scores), round(share * len(scores))
    below = len(scores) - above
    ends = (ordered[below - 1] if below else 0.0, ordered[below] if above else 1.0)
    middle = sum(ends) / 2  # of neighbouring floats it may round to the upper one, which must stay above
    return float(np.clip(middle if not above or middle < ends[1] else ends[0], _LEAST, 1 - _LEAST))


def moved_by_shift(scores: Scores, threshold: float, relaxation: float) -> Scores:
    """σ(logit(s) - relaxation logit(t)): what lay at the threshold t lies at one half, if fully relaxed.

    Example:
        >>> moved_by_shift(np.array([0.0, 0.8, 0.9, 1.0]), 0.8, 1.0).round(6).tolist()
        [0.0, 0.5, 0.692308, 1.0]
    """
    moved: Scores = expit(logit(scores) - relaxation * logit(threshold))
    return moved
