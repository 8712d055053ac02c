"""What does a fair score minimise? The logistic loss, and the distance between the groups' scores, with gradients.

With scores u (logits) of n nodes and weights a_ig >= 0 of node i in group g, each group's weights summing to 1:

    energy       v = Φ((u - mean u) / sd u), F_g(t) = Σ_i a_ig [v_i <= t]:    D = mean over pairs of 2 ∫ (F_g - F_h)² dt
    threshold    r_g = Σ_i a_ig σ(u_i / (τ sd u)), τ = 0.2:                   D = mean over pairs of (r_g - r_h)²

The energy distance (Székely and Rizzo, 2013) is 0 only where the groups' scores have one distribution. Both divide by
the scores' own spread, so that shrinking all scores does not help. Both are sums over pairs of squared differences:
with Q an orthonormal basis of the contrasts of G groups and f the vector (F_1, ..., F_G), the sum of (F_g - F_h)² over
pairs is G |Q'f|². A penalty therefore needs one array `contrasts` = A Q √(weight 2 / (G - 1)), shape (n, columns), and
several penalties are their arrays side by side. One sort of the scores serves them all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.linalg import helmert
from scipy.special import expit, ndtr

Reals = npt.NDArray[np.float64]
Penalty = Literal["energy", "threshold"]

SHARPNESS = 0.2
"""τ of the threshold penalty: how steep its smooth step is, in standard deviations of the scores."""

_NO_SPREAD = 1e-12
_DENSITY = 1 / np.sqrt(2 * np.pi)


def group_contrasts(weights: Reals, weight: float = 1.0) -> Reals:
    """A Q √(weight 2 / (G - 1)) for weights A of nodes in groups, (n, G), whose columns are scaled to sum to 1.

    Example:
        >>> a = group_contrasts(np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]))
        >>> a.ravel().round(6).tolist()  # the difference of two means
        [0.5, 0.5, -1.0]
    """
    groups = weights.shape[1]
    scaled: Reals = (weights / weights.sum(axis=0)) @ helmert(groups).T * np.sqrt(2 * weight / (groups - 1))
    return scaled


def energy_distance(scores: Reals, contrasts: Reals) -> tuple[float, Reals]:
    """D of the energy penalty and its gradient by score.

    With v sorted and c_k the sum of the first k rows of contrasts, D = 2 Σ_k |c_k|² (v_(k+1) - v_(k)), so that
    ∂D/∂v_(k) = 2 (|c_(k-1)|² - |c_k|²); scores that are tied share the gradient of their block.

    Example:
        >>> a = group_contrasts(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]))
        >>> energy_distance(np.array([0.3, 0.3, 2.0, 2.0]), a)[0]
        0.0
    """
    n = len(scores)
    z, spread = _standardised(scores)
    order = np.argsort(z)
    z_sorted = z[order]
    v = ndtr(z_sorted)
    gaps = np.append(np.diff(v), 0.0)
    cumulated = np.cumsum(contrasts[order], axis=0)
    squares = 2 * np.einsum("kc,kc->k", cumulated, cumulated)
    squares[-1] = 0.0
    by_v = -np.diff(squares, prepend=0.0)
    if n > 1 and (tied := np.diff(z_sorted) == 0).any():
        block = np.append(0, np.cumsum(~tied))
        by_v = (np.bincount(block, weights=by_v) / np.bincount(block))[block]
    by_z = np.empty(n)
    by_z[order] = by_v * _DENSITY * np.exp(-0.5 * z_sorted**2)
    return float(squares @ gaps), _through_standardising(by_z, z, spread)


def threshold_gap(scores: Reals, contrasts: Reals) -> tuple[float, Reals]:
    """D of the threshold penalty and its gradient by score.

    Example:
        >>> a = group_contrasts(np.array([[1.0, 0.0], [0.0, 1.0]]))
        >>> round(threshold_gap(np.array([-9.0, 9.0]), a)[0], 3)
        0.973
    """
    centred = scores - scores.mean()
    spread = np.sqrt(np.mean(centred**2) + _NO_SPREAD)
    step = expit(scores / (SHARPNESS * spread))
    rates = step @ contrasts
    by_ratio = 2 * (contrasts @ rates) * step * (1 - step) / SHARPNESS
    by_spread = -(by_ratio @ scores) / spread**2
    return float(rates @ rates), by_ratio / spread + by_spread * centred / (len(scores) * spread)


PENALTIES: dict[str, Callable[[Reals, Reals], tuple[float, Reals]]] = {
    "energy": energy_distance,
    "threshold": threshold_gap,
}


@dataclass(frozen=True, eq=False)
class ParityObjective:
    """Weighted mean of the logistic loss over labelled nodes, plus the penalty over nodes whose group is known.

    Attributes:
        labelled: rows of the scores that the loss is taken over.
        signs: +1 for a positive label, -1 for a negative one.
        weights: of the labelled rows; they sum to 1.
        grouped: rows of the scores that the penalty is taken over.
        contrasts: of these rows, see `group_contrasts`; no columns without a penalty.
        penalty: which distance.
    """

    labelled: npt.NDArray[np.intp]
    signs: Reals
    weights: Reals
    grouped: npt.NDArray[np.intp]
    contrasts: Reals
    penalty: Penalty = "energy"

    @classmethod
    def without_penalty(cls, signs: Reals, weights: Reals) -> ParityObjective:
        """The loss alone, over scores of labelled nodes."""
        rows = np.arange(len(signs))
        return cls(rows, signs, weights, rows[:0], np.empty((0, 0)))

    def __call__(self, scores: Reals) -> tuple[float, Reals]:
        """The objective and its gradient by score."""
        margins = self.signs * scores[self.labelled]
        value = float(self.weights @ np.logaddexp(0, -margins))
        gradient = np.zeros(len(scores))
        gradient[self.labelled] = -self.weights * self.signs * expit(-margins)
        if self.contrasts.shape[1]:
            distance, by_score = PENALTIES[self.penalty](scores[self.grouped], self.contrasts)
            value += distance
            gradient[self.grouped] += by_score
        return value, gradient


def balanced_weights(positive: npt.NDArray[np.bool_]) -> Reals:
    """Weights with which either class counts one half.

    Example:
        >>> balanced_weights(np.array([True, False, False])).tolist()
        [0.5, 0.25, 0.25]
    """
    return np.asarray(np.where(positive, 0.5 / positive.sum(), 0.5 / (~positive).sum()))


def _standardised(scores: Reals) -> tuple[Reals, float]:
    centred = scores - scores.mean()
    spread = float(np.sqrt(np.mean(centred**2) + _NO_SPREAD))
    return centred / spread, spread


def _through_standardising(by_z: Reals, z: Reals, spread: float) -> Reals:
    """∂D/∂u from ∂D/∂z, where z = (u - mean u) / sd u."""
    return np.asarray((by_z - by_z.mean() - z * np.mean(by_z * z)) / spread)
