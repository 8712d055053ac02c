from __future__ import annotations

import pytest
from scipy.stats import norm

import fairview as fv
from fairview.leakage.outcomes import Rate, group_outcomes
from fairview.undefined import Undefined


@pytest.mark.parametrize(("part", "whole"), [(0, 5), (3, 7), (40, 40), (500, 1000)])
def test_the_interval_is_wilsons(part: int, whole: int) -> None:
    z, share = norm.ppf(0.975), part / whole
    middle = (share + z**2 / (2 * whole)) / (1 + z**2 / whole)
    reach = z / (1 + z**2 / whole) * (share * (1 - share) / whole + z**2 / (4 * whole**2)) ** 0.5
    found = Rate.of(part, whole)
    assert (found.low, found.high) == pytest.approx((middle - reach, middle + reach))
    assert found.value == share


def test_counts_and_rates_are_each_groups_own() -> None:
    labels, groups = [1, 1, 0, 0, 1, 0], ["f", "f", "f", "m", "m", None]
    f, m = group_outcomes(fv.Evaluator(labels, sensitive=groups)([0.9, 0.1, 0.8, 0.2, 0.7, 0.9]))
    assert (f.true_positives, f.false_positives, f.true_negatives, f.false_negatives) == (1, 1, 0, 1)
    assert (m.true_positives, m.false_positives, m.true_negatives, m.false_negatives) == (1, 0, 1, 0)
    assert (f.nodes, f.positives, m.nodes, m.positives) == (3, 2, 2, 1)  # the node without a group is in none
    assert f.selection_rate == Rate.of(2, 3)
    assert f.true_positive_rate == Rate.of(1, 2)
    assert f.false_positive_rate == Rate.of(1, 1)
    assert f.small


def test_a_rate_without_nodes_is_undefined_with_the_reason() -> None:
    found = group_outcomes(fv.Evaluator([0, 0, 1], sensitive=["f", "f", "m"])([0.1, 0.9, 0.9]))[0]
    assert found.true_positive_rate == Undefined("group 'f' has no positive labels")
    plain = found.to_dict()
    assert plain["true_positive_rate"] is None
    assert plain["undefined"] == {"true_positive_rate": "group 'f' has no positive labels"}
    assert plain["selection_rate"]["value"] == 0.5


@pytest.mark.parametrize(
    ("nodes", "positives", "small"), [(30, 15, False), (29, 15, True), (100, 4, True), (100, 5, False), (100, 96, True)]
)
def test_small_groups_are_marked(nodes: int, positives: int, small: bool) -> None:
    labels = [1] * positives + [0] * (nodes - positives)
    found = group_outcomes(fv.Evaluator(labels, sensitive=["f"] * nodes)([0.7] * nodes))[0]
    assert found.small is small
    assert found.to_dict()["small"] is small
