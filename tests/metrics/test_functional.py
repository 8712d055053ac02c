"""The plain functions give what the evaluator gives, and the paper's gaps by hand."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from fairview import metrics
from fairview.metrics import Evaluator, Undefined
from fairview.metrics.registry import gap_names

RNG = np.random.default_rng(7)
Y, PREDICTIONS, S = RNG.integers(0, 2, 200), RNG.integers(0, 2, 200), RNG.integers(0, 3, 200)
EXPECTED = Evaluator(Y, sensitive=S)(PREDICTIONS)


@pytest.mark.parametrize("name", metrics.METRICS)
def test_each_metric_has_a_function_of_its_name(name: str) -> None:
    function = getattr(metrics, name)
    assert name in metrics.__all__
    assert function.__doc__
    found = function(Y, PREDICTIONS, sensitive=S) if name in gap_names() else function(Y, PREDICTIONS)
    assert found == EXPECTED[name]


@pytest.mark.parametrize("name", gap_names())
def test_groups_are_keyword_only_so_that_they_can_not_be_swapped_with_labels(name: str) -> None:
    parameter = inspect.signature(getattr(metrics, name)).parameters["sensitive"]
    assert parameter.kind is inspect.Parameter.KEYWORD_ONLY
    assert metrics.pairwise_gaps(name, Y, PREDICTIONS, sensitive=S) == EXPECTED.pairs[name]


def test_gaps_by_hand() -> None:
    y = [1, 1, 0, 0, 1, 1, 1, 0]
    predictions = [1, 0, 1, 0, 1, 1, 0, 0]
    s = ["f"] * 4 + ["m"] * 4
    assert metrics.statistical_parity_gap(y, predictions, sensitive=s) == 0.0
    assert metrics.equal_opportunity_gap(y, predictions, sensitive=s) == pytest.approx(2 / 3 - 1 / 2)
    assert metrics.equalized_odds_gap(y, predictions, sensitive=s) == 0.5


def test_metrics_without_groups_need_none() -> None:
    assert metrics.accuracy([], []) == Undefined("there are no labelled nodes")
    assert metrics.balanced_accuracy([0, 1, 1], [1, 1, 1]) == 0.5
    assert metrics.false_positive_rate([0, 1, 1], [1, 1, 1]) == 1.0
