"""How large a gap has a predictor that can't see the groups? On few nodes, not zero.

Of n nodes, those of two groups and `yes` predicted positive: if the positives are drawn blindly, the number that falls
into the first group is hypergeometric, so that the distribution of the gap between the groups' rates is known exactly.
A gap below its mean says no more about a model than that the groups were dealt well.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import hypergeom

from fairview.errors import InputError


@dataclass(frozen=True)
class ChanceGap:
    """The gap of blind predictors: its mean, and what 95 % of them stay below."""

    mean: float
    upper: float


def chance_gap(yes: int, first: int, second: int) -> ChanceGap:
    """Of the gap |rate of the first group - rate of the second| when `yes` of all nodes are drawn blindly.

    For statistical parity the groups are all nodes of each, for equal opportunity their positive nodes.

    Example:
        >>> chance_gap(250, 156, 94)  # everybody: no gap
        ChanceGap(mean=0.0, upper=0.0)
        >>> round(100 * chance_gap(223, 156, 94).mean, 1)  # the sizes of German's test split
        3.2
    """
    if first < 1 or second < 1 or not 0 <= yes <= first + second:
        raise InputError(f"{yes} positives among groups of {first} and {second} nodes: there is no such gap.")
    in_first = np.arange(max(0, yes - second), min(yes, first) + 1)
    probability = hypergeom.pmf(in_first, first + second, first, yes)
    gaps = np.abs(in_first / first - (yes - in_first) / second)
    order = np.argsort(gaps, kind="stable")
    below = np.cumsum(probability[order])
    upper = gaps[order][min(int(np.searchsorted(below, 0.95)), len(gaps) - 1)]
    return ChanceGap(float(probability @ gaps), float(upper))
