"""The same numbers as scikit-learn and fairlearn where they are defined, and none where only those two have one."""

from __future__ import annotations

import warnings

import fairlearn.metrics
import numpy as np
import pytest
import sklearn.metrics

from fairview.metrics import (
    Evaluator,
    Undefined,
    auc,
    balanced_accuracy,
    equal_opportunity_gap,
    equalized_odds_gap,
    f1,
    statistical_parity_gap,
)


@pytest.mark.parametrize("groups", [2, 3, 5])
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_all_metrics_equal_scikit_learn_and_fairlearn_where_defined(groups: int, seed: int, dtype: type) -> None:
    rng = np.random.default_rng(seed)
    n = 500
    y = rng.integers(0, 2, n)
    s = rng.integers(0, groups, n)
    scores = np.round(np.clip(rng.normal(0.4 + 0.2 * y + 0.05 * s, 0.3), 0, 1), int(rng.integers(1, 8))).astype(dtype)
    predictions = (scores > 0.5).astype(int)
    found = Evaluator(y, sensitive=s)(scores)
    expected = {
        "auc": sklearn.metrics.roc_auc_score(y, scores),
        "f1": sklearn.metrics.f1_score(y, predictions),
        "accuracy": sklearn.metrics.accuracy_score(y, predictions),
        "balanced_accuracy": sklearn.metrics.balanced_accuracy_score(y, predictions),
        "false_positive_rate": fairlearn.metrics.false_positive_rate(y, predictions),
        "statistical_parity_gap": fairlearn.metrics.demographic_parity_difference(y, predictions, sensitive_features=s),
        "equal_opportunity_gap": fairlearn.metrics.equal_opportunity_difference(y, predictions, sensitive_features=s),
        "equalized_odds_gap": fairlearn.metrics.equalized_odds_difference(y, predictions, sensitive_features=s),
    }
    assert found.metrics == pytest.approx(expected, abs=1e-12)


def test_fairlearn_calls_a_group_without_positives_a_gap_of_one_or_none_and_we_call_it_undefined() -> None:
    y, s = [0, 0, 1, 1], ["f", "f", "m", "m"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = [
            fairlearn.metrics.equal_opportunity_difference(y, [0, 1, 1, 1], sensitive_features=s),
            fairlearn.metrics.equal_opportunity_difference(y, [0, 1, 0, 0], sensitive_features=s),
            fairlearn.metrics.equalized_odds_difference(y, [0, 1, 1, 1], sensitive_features=s),
        ]
    assert theirs == [1.0, 0.0, 1.0]
    ours = [
        equal_opportunity_gap(y, [0, 1, 1, 1], sensitive=s),
        equal_opportunity_gap(y, [0, 1, 0, 0], sensitive=s),
        equalized_odds_gap(y, [0, 1, 1, 1], sensitive=s),
    ]
    assert ours == [Undefined("group 'f' has no positive labels")] * 3


def test_fairlearn_calls_a_single_group_fair_and_we_call_it_undefined() -> None:
    theirs = fairlearn.metrics.demographic_parity_difference([0, 1], [0, 1], sensitive_features=["f", "f"])
    assert theirs == 0.0
    ours = statistical_parity_gap([0, 1], [0, 1], sensitive=["f", "f"])
    assert ours == Undefined("there is only one sensitive group ('f')")


def test_scikit_learn_has_a_number_for_f1_and_balanced_accuracy_where_we_have_none() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert sklearn.metrics.f1_score([0, 0], [0, 0]) == 0.0
        assert sklearn.metrics.balanced_accuracy_score([1, 1], [1, 1]) == 1.0
        assert np.isnan(sklearn.metrics.roc_auc_score([1, 1], [0.2, 0.4]))
    assert f1([0, 0], [0, 0]) == Undefined("there is neither a positive label nor a positive prediction")
    assert balanced_accuracy([1, 1], [1, 1]) == Undefined("there are no negative labels")
    assert auc([1, 1], [0.2, 0.4]) == Undefined("there are no negative labels")
