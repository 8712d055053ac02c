"""The AUC counts pairs exactly, whatever the ties and the weights."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from fairview.metrics.ranking import WeightedAUC, auc_of

SCORES = st.one_of(
    hnp.arrays(np.float64, st.integers(0, 30), elements=st.sampled_from([0.0, -0.0, 0.25, 0.5, 1.0, -3.0, 1e300])),
    hnp.arrays(np.float32, st.integers(0, 30), elements=st.floats(-10, 10, width=32)),
    hnp.arrays(np.int64, st.integers(0, 30), elements=st.integers(2**62, 2**62 + 3)),
)


def by_pairs(positive: np.ndarray, negative: np.ndarray) -> float:
    twice = sum(2 * (p > q) + (p == q) for p in positive.tolist() for q in negative.tolist())
    return twice / (2 * len(positive) * len(negative))


@given(SCORES, st.data())
def test_the_auc_is_the_share_of_ordered_pairs(scores: np.ndarray, data: st.DataObject) -> None:
    positive = data.draw(hnp.arrays(np.bool_, len(scores)))
    found = auc_of(scores[positive], scores[~positive])
    if positive.all() or not positive.any():
        assert np.isnan(found)
    else:
        assert found == by_pairs(scores[positive], scores[~positive])


@pytest.mark.parametrize("sizes", [(1, 5), (5, 1), (3, 3), (1, 1)])
def test_constant_scores_are_worth_a_half_and_perfect_ones_one(sizes: tuple[int, int]) -> None:
    p, n = sizes
    assert auc_of(np.ones(p), np.ones(n)) == 0.5
    assert auc_of(np.ones(p), np.zeros(n)) == 1.0
    assert auc_of(np.zeros(p), np.ones(n)) == 0.0


@given(SCORES.filter(len), st.data())
def test_weights_count_nodes_as_often_as_they_were_drawn(scores: np.ndarray, data: st.DataObject) -> None:
    n = len(scores)
    labels = data.draw(hnp.arrays(np.int8, n, elements=st.integers(0, 1)))
    picked = data.draw(hnp.arrays(np.int64, (3, n), elements=st.integers(0, n - 1)))
    weights = np.stack([np.ones(n), *(np.bincount(row, minlength=n) for row in picked)])
    rows = [np.arange(n), *picked]
    expected = [auc_of(scores[row][labels[row] == 1], scores[row][labels[row] == 0]) for row in rows]
    np.testing.assert_array_equal(WeightedAUC(labels, scores)(weights), expected)
