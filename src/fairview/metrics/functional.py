"""One metric at a time, as plain functions. Each returns a number or `Undefined` with the reason.

`sensitive` is keyword-only, so that labels and groups can't be swapped; predictions are 0 or 1, scores any number.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fairview.errors import InputError, did_you_mean
from fairview.groups import UNKNOWN
from fairview.metrics.evaluation import Evaluation, Evaluator
from fairview.metrics.registry import gap_names
from fairview.metrics.validation import binary
from fairview.undefined import Metric


def auc(y_true: npt.ArrayLike, scores: npt.ArrayLike) -> Metric:
    """Area under the ROC curve: P(score of a positive > score of a negative), ties counting half.

    Example:
        >>> auc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
        0.75
        >>> auc([1, 1], [0.1, 0.4])
        undefined: there are no negative labels
    """
    return _without_groups(binary(y_true, "y_true"))(scores)["auc"]


def f1(y_true: npt.ArrayLike, y_pred: npt.ArrayLike) -> Metric:
    """F1 of the positive class: 2 TP / (2 TP + FP + FN).

    Example:
        >>> f1([1, 1, 0], [0, 0, 0])
        0.0
        >>> f1([0, 0, 0], [0, 0, 0])
        undefined: there is neither a positive label nor a positive prediction
    """
    return _of_predictions(y_true, y_pred)["f1"]


def accuracy(y_true: npt.ArrayLike, y_pred: npt.ArrayLike) -> Metric:
    """The share of nodes predicted right."""
    return _of_predictions(y_true, y_pred)["accuracy"]


def balanced_accuracy(y_true: npt.ArrayLike, y_pred: npt.ArrayLike) -> Metric:
    """The mean of the two classes' shares predicted right: 0.5 for every constant predictor."""
    return _of_predictions(y_true, y_pred)["balanced_accuracy"]


def false_positive_rate(y_true: npt.ArrayLike, y_pred: npt.ArrayLike) -> Metric:
    """The share of negatives predicted positive: 1 for the predictor that always says yes."""
    return _of_predictions(y_true, y_pred)["false_positive_rate"]


def statistical_parity_gap(y_true: npt.ArrayLike, y_pred: npt.ArrayLike, *, sensitive: npt.ArrayLike) -> Metric:
    """Δ_sp = |P(ŷ = 1 | s = a) - P(ŷ = 1 | s = b)|, the largest over pairs of groups; 0 means equal.

    Paper: section 2.2, first equation.

    Example:
        >>> statistical_parity_gap([1, 0, 1, 0], [1, 1, 1, 0], sensitive=["f", "f", "m", "m"])
        0.5
    """
    return _of_predictions(y_true, y_pred, sensitive)["statistical_parity_gap"]


def equal_opportunity_gap(y_true: npt.ArrayLike, y_pred: npt.ArrayLike, *, sensitive: npt.ArrayLike) -> Metric:
    """Δ_eo = |P(ŷ = 1 | y = 1, s = a) - P(ŷ = 1 | y = 1, s = b)|, the largest over pairs of groups.

    Paper: section 2.2, second equation.
    Differs: undefined, not 0 or 1, when a group has no positive labels.

    Example:
        >>> equal_opportunity_gap([1, 0, 1, 1], [1, 1, 1, 0], sensitive=["f", "f", "m", "m"])
        0.5
        >>> equal_opportunity_gap([0, 0, 1, 1], [1, 1, 1, 0], sensitive=["f", "f", "m", "m"])
        undefined: group 'f' has no positive labels
    """
    return _of_predictions(y_true, y_pred, sensitive)["equal_opportunity_gap"]


def equalized_odds_gap(y_true: npt.ArrayLike, y_pred: npt.ArrayLike, *, sensitive: npt.ArrayLike) -> Metric:
    """The larger of the gaps in true and in false positive rates."""
    return _of_predictions(y_true, y_pred, sensitive)["equalized_odds_gap"]


def pairwise_gaps(
    name: str, y_true: npt.ArrayLike, y_pred: npt.ArrayLike, *, sensitive: npt.ArrayLike
) -> dict[tuple[str, str], Metric]:
    """The named gap between each pair of groups.

    Example:
        >>> pairwise_gaps("statistical_parity_gap", [1, 1, 1], [1, 0, 1], sensitive=["a", "b", "c"])
        {('a', 'b'): 1.0, ('a', 'c'): 0.0, ('b', 'c'): 1.0}
    """
    if name not in gap_names():
        raise InputError(f"no gap '{name}'.{did_you_mean(name, gap_names())}")
    return _of_predictions(y_true, y_pred, sensitive).pairs[name]


def _of_predictions(y_true: npt.ArrayLike, y_pred: npt.ArrayLike, sensitive: npt.ArrayLike | None = None) -> Evaluation:
    labels, predictions = binary(y_true, "y_true"), binary(y_pred, "y_pred")
    if len(predictions) != len(labels):
        raise InputError(f"y_pred: {len(predictions):,} values for {len(labels):,} labels.")
    if sensitive is None:
        return _without_groups(labels)(predictions)
    return Evaluator(labels, sensitive=sensitive)(predictions)


def _without_groups(labels: npt.NDArray[np.int8]) -> Evaluator:
    return Evaluator.from_codes(labels, codes=np.full(len(labels), UNKNOWN), groups=())
