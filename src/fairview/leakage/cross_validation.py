"""How well does a model rank nodes it has not seen? The cross-validated AUC, with an interval.

Two groups: the AUC of the second against the first. More groups: the mean, over groups, of one against the rest.

The AUC is the mean over folds. Its variance is DeLong's: node i of a positive group with m members in the fold adds
(share of negatives it beats - AUC) / m to the AUC's error, a negative one likewise, and the squares add up. With
several groups a node's parts are added before squaring, for they are not independent. The interval covers the draw of
the nodes that are scored, given the fitted models; it does not cover other fits, or the dependence between neighbours.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fairview.groups import UNKNOWN
from fairview.undefined import Undefined

Features = npt.NDArray[np.floating[Any]]
Codes = npt.NDArray[np.integer[Any]]
Array = npt.NDArray[np.float64]

FOLDS = 5
SAMPLE = 20_000
"""Nodes to look at; of more, a stratified sample."""

NORMAL_QUANTILE = 1.959963984540054
"""Of the normal distribution, for intervals of 95 %."""


@dataclass(frozen=True)
class CrossValidated:
    """An AUC from nodes that the model had not seen, its 95 % interval, and how many nodes there were."""

    auc: float
    low: float
    high: float
    nodes: int


def cross_validated_auc(
    make: Callable[[], Any], features: Features, codes: Codes, *, seed: int = 0, sample: int = SAMPLE, fewest: int = 0
) -> CrossValidated | Undefined:
    """The AUC with which a model, fitted on other folds, ranks the nodes by their code.

    Args:
        make: a new scikit-learn classifier with `predict_proba`.
        features: shape (n, d).
        codes: the class of each node; -1 is unknown and left out.
        seed: of the folds, which are stratified by class, and of the sample.
        sample: with more nodes than this, a stratified sample of so many is used.
        fewest: members of a class below which the AUC is undefined; at least two in every fold.
    """
    from sklearn.model_selection import StratifiedKFold

    rows = np.flatnonzero(codes != UNKNOWN)
    names, sizes = np.unique(codes[rows], return_counts=True)
    fewest = max(fewest, 2 * FOLDS)
    if len(names) < 2:
        return Undefined("fewer than two groups or classes have nodes")
    if features.shape[1] == 0:
        return Undefined("there is no channel to read it from")
    if sizes.min() < fewest:
        return Undefined(f"a group or class has {sizes.min():,} nodes only; {fewest} are needed for {FOLDS} folds")
    rows = stratified_sample(rows, codes, sample, fewest, np.random.default_rng(seed))
    values, classes = features[rows], np.searchsorted(names, codes[rows])
    aucs, variance = [], 0.0
    for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(values, classes):
        with (
            warnings.catch_warnings(),
            _libraries().limit(limits=1),
        ):  # on so few nodes more threads wait for each other
            warnings.simplefilter("ignore")  # an optimiser that stops early ranks well enough
            scores = make().fit(values[train], classes[train]).predict_proba(values[test])
        auc, errors = macro_auc(scores, classes[test])
        aucs.append(auc)
        variance += float(errors @ errors)
    mean, reach = float(np.mean(aucs)), NORMAL_QUANTILE * np.sqrt(variance) / FOLDS
    return CrossValidated(mean, float(max(mean - reach, 0.0)), float(min(mean + reach, 1.0)), len(rows))


@functools.cache
def _libraries() -> Any:
    """Those with threads, looked for once: it takes longer than to fit a small tree."""
    import sklearn.ensemble  # noqa: F401 - so that they are loaded
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def stratified_sample(
    rows: npt.NDArray[np.int64], codes: Codes, size: int, fewest: int, generator: np.random.Generator
) -> npt.NDArray[np.int64]:
    """About `size` of the rows, each class in proportion but none below `fewest`; all if there are no more."""
    if len(rows) <= size:
        return rows
    parts = []
    for code in np.unique(codes[rows]):
        members = rows[codes[rows] == code]
        wanted = max(round(size * len(members) / len(rows)), min(fewest, len(members)))
        parts.append(generator.choice(members, wanted, replace=False))
    return np.sort(np.concatenate(parts))


def macro_auc(scores: Array, classes: Codes) -> tuple[float, Array]:
    """The AUC of scores, shape (n, classes), and what each node adds to its error, shape (n,).

    Example:
        >>> auc, errors = macro_auc(np.array([[0.9, 0.1], [0.4, 0.6], [0.7, 0.3], [0.2, 0.8]]), np.array([0, 0, 1, 1]))
        >>> auc, errors.round(3).tolist()
        (0.75, [0.177, -0.177, -0.177, 0.177])
    """
    columns = range(scores.shape[1]) if scores.shape[1] > 2 else [1]
    aucs = [_auc(scores[:, k], classes == k) for k in columns]
    return float(np.mean([auc for auc, _ in aucs])), np.mean([errors for _, errors in aucs], axis=0)


def _auc(scores: Array, positive: npt.NDArray[np.bool_]) -> tuple[float, Array]:
    high, low = np.sort(scores[positive]), np.sort(scores[~positive])
    beaten = _share_below(low, scores[positive])  # of each positive: the negatives below it
    beating = 1 - _share_below(high, scores[~positive])  # of each negative: the positives above it
    auc = float(beaten.mean())
    errors = np.empty(len(scores))
    for side, shares in ((positive, beaten), (~positive, beating)):
        size = len(shares)  # size / (size - 1) makes the variance unbiased
        errors[side] = (shares - auc) / size * np.sqrt(size / max(size - 1, 1))
    return auc, errors


def _share_below(ordered: Array, values: Array) -> Array:
    """The share of `ordered` below each value, ties half."""
    return (np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right")) / (2 * len(ordered))
