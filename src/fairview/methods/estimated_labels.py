"""How likely is the positive label of a node that has none? Needed where a penalty is about positives only.

1. The scores of the labelled nodes, each as if its own label had not been learnt from (approximate leave-one-out).
2. Platt's line through them with a height for each group: log-odds = α u + β + β_g, α >= 0, with a standard normal
   prior on α and β_g. The plain score does not know the group; if it errs in one, the penalty must not.
3. The share of positives among the nodes without a label, which may be far from that in training (published splits
   train on as many positives as negatives): the share under which their scores are most likely, by expectation
   maximisation (Saerens, Latinne, Decaestecker 2002), and the log-odds shifted to it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.linalg import solve_triangular
from scipy.special import expit, logit

from fairview.groups import UNKNOWN, Codes
from fairview.methods.parity_heads import PlainModel, plain_model

Reals = npt.NDArray[np.float64]


def estimated_labels(plain: PlainModel, z: Reals, codes: Codes, signs: Reals, weights: Reals) -> Reals:
    """The probability of the positive label of each row of Z that has none, from a plain model of the rows that have.

    Args:
        plain: the fitted model.
        z: all rows, those with labels first.
        codes: the group of each row, -1 where it is not known.
        signs: the labels of the first rows, +1 or -1.
        weights: their weights in the loss.
    """
    known = len(signs)
    member = (codes[:, None] == np.unique(codes[codes != UNKNOWN])).astype(np.float64)
    left_out = leave_one_out_scores(plain, z[:known], signs, weights)
    even = np.full(known, 1 / known)
    line = plain_model(np.column_stack([left_out, member[:known]]), signs, even, 0.5 / known).theta
    scores = z[known:] @ plain.theta[:-1] + plain.theta[-1]
    odds: Reals = max(line[0], 0.0) * scores + member[known:] @ line[1:-1] + line[-1]
    return shifted_to_its_share(odds, float((signs > 0).mean()))


def leave_one_out_scores(plain: PlainModel, z: Reals, signs: Reals, weights: Reals) -> Reals:
    """Each row's score from the model without that row, to first order: u + ℓ' q / (1 - ℓ'' q), q = z' H⁻¹ z.

    Rad and Maleki, *A scalable estimate of the out-of-sample prediction error*, 2020.
    """
    scores: Reals = z @ plain.theta[:-1] + plain.theta[-1]
    if plain.factor is None:
        return scores
    with_bias = np.hstack([z, np.ones((len(z), 1))])
    influence = np.square(solve_triangular(plain.factor, with_bias.T, trans="T", check_finite=False)).sum(axis=0)
    share = expit(scores)
    slope = -weights * signs * expit(-signs * scores)
    curvature = weights * share * (1 - share)
    found: Reals = scores + slope * influence / np.maximum(1 - curvature * influence, 1e-3)
    return found


def shifted_to_its_share(odds: Reals, share: float) -> Reals:
    """Probabilities whose mean is the share of positives that the log-odds themselves suggest.

    Args:
        odds: log-odds that are right where the share of positives is `share`.
        share: that share.

    Example:
        >>> odds = np.repeat([-2.0, 2.0], [70, 30])  # right for even shares, but most are low
        >>> round(float(shifted_to_its_share(odds, 0.5).mean()), 3)
        0.237
    """
    found = share
    for _ in range(200):
        shift = logit(found) - logit(share)
        before, found = found, float(np.clip(expit(odds + shift).mean(), 0.01, 0.99))
        if abs(found - before) < 1e-6:
            break
    shifted: Reals = expit(odds + logit(found) - logit(share))
    return shifted
