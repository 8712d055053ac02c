"""Rates and gaps from counts, by hand: one group of four, one of two."""

from __future__ import annotations

import numpy as np
import pytest

from fairview.metrics import counts as core
from fairview.metrics.registry import METRICS, gap_names

# (group, label, prediction): 'f' has 1 true negative, 1 false positive, 2 true positives; 'm' a false negative and a tn
COUNTS = np.array([[[1, 1], [0, 2]], [[1, 0], [1, 0]]])
TOTAL = COUNTS.sum(axis=0)


def test_rates_of_each_group() -> None:
    assert core.selection_rates(COUNTS).tolist() == [0.75, 0.0]
    assert core.true_positive_rates(COUNTS).tolist() == [1.0, 0.0]
    assert core.false_positive_rates(COUNTS).tolist() == [0.5, 0.0]


def test_metrics_of_the_total() -> None:
    assert {
        name: float(entry.of(TOTAL)) for name, entry in METRICS.items() if entry.total_rate is not None
    } == pytest.approx(
        {"f1": 4 / 6, "accuracy": 4 / 6, "balanced_accuracy": (2 / 3 + 2 / 3) / 2, "false_positive_rate": 1 / 3}
    )


def test_gaps() -> None:
    gaps = {name: float(METRICS[name].of(COUNTS)) for name in gap_names()}
    assert gaps == {"statistical_parity_gap": 0.75, "equal_opportunity_gap": 1.0, "equalized_odds_gap": 1.0}


def test_equalized_odds_takes_the_larger_of_its_two_gaps() -> None:
    only_false_positives = np.array([[[1, 3], [1, 1]], [[3, 1], [1, 1]]])
    assert float(METRICS["equal_opportunity_gap"].of(only_false_positives)) == 0.0
    assert float(METRICS["equalized_odds_gap"].of(only_false_positives)) == 0.5


def test_resamples_are_leading_dimensions() -> None:
    many = np.stack([COUNTS, COUNTS[::-1], np.zeros_like(COUNTS)]).astype(float)
    assert METRICS["statistical_parity_gap"].of(many).tolist()[:2] == [0.75, 0.75]
    assert np.isnan(METRICS["statistical_parity_gap"].of(many)[2])
    assert np.isnan(core.f1(many.sum(axis=1))).tolist() == [False, False, True]


def test_a_rate_without_a_denominator_is_not_hidden_by_the_others() -> None:
    three = np.concatenate([COUNTS, np.zeros((1, 2, 2), dtype=int)])
    assert all(np.isnan(METRICS[name].of(three)) for name in gap_names())


def test_fewer_than_two_groups_have_no_gap() -> None:
    assert np.isnan(core.largest_gap(np.array([0.5])))
    assert np.isnan(core.largest_gap(np.empty((3, 0)))).tolist() == [True] * 3
