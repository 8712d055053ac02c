from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logit

from fairview.methods.group_maps import MOST_KNOTS, cut, moved_by_quantiles, moved_by_shift, quantile_knots

scores = st.lists(st.floats(0, 1), min_size=1, max_size=40).map(np.array)


@given(group=scores, pooled=scores, new=scores, relaxation=st.floats(0, 1))
def test_quantile_maps_keep_the_order_and_stay_probabilities(group, pooled, new, relaxation):
    moved = moved_by_quantiles(np.sort(new), quantile_knots(group, pooled), relaxation)
    assert (np.diff(moved) >= -1e-12).all()
    assert ((moved >= 0) & (moved <= 1)).all()


@given(values=scores, share=st.floats(0, 1), new=scores, relaxation=st.floats(0, 1))
def test_shifts_keep_the_order_and_stay_probabilities(values, share, new, relaxation):
    moved = moved_by_shift(np.sort(new), cut(values, share), relaxation)
    assert (np.diff(moved) >= 0).all()
    assert ((moved >= 0) & (moved <= 1)).all()


def test_a_group_that_is_everybody_is_left_alone():
    everybody = np.random.default_rng(0).random(300)
    np.testing.assert_allclose(moved_by_quantiles(everybody, quantile_knots(everybody, everybody), 1.0), everybody)


def test_mapped_scores_are_distributed_as_the_pooled_ones():
    draw = np.random.default_rng(0)
    low, high = draw.beta(2, 5, 400), draw.beta(5, 2, 600)
    pooled = np.r_[low, high]
    for group in (low, high):
        moved = moved_by_quantiles(group, quantile_knots(group, pooled), 1.0)
        for threshold in np.linspace(0.05, 0.95, 19):
            assert (moved > threshold).mean() == pytest.approx((pooled > threshold).mean(), abs=1.5 / len(group))


def test_half_relaxed_is_halfway():
    knots = quantile_knots(np.array([0.2, 0.4]), np.array([0.2, 0.4, 0.6, 0.8]))
    assert knots[1].tolist() == pytest.approx([0, 0.3, 0.7, 1])
    assert moved_by_quantiles(np.array([0.2, 0.3]), knots, 0.5).tolist() == pytest.approx([0.25, 0.4])


def test_equal_scores_go_to_the_mean_of_their_quantiles():
    source, target = quantile_knots(np.array([0.5, 0.5]), np.array([0.2, 0.8]))
    assert (source.tolist(), target.tolist()) == ([0, 0.5, 1], [0, 0.5, 1])


def test_scores_of_exactly_0_and_1_stay():
    source, target = quantile_knots(np.array([0.0, 1.0]), np.array([0.4, 0.6]))
    assert (source.tolist(), target.tolist()) == ([0, 1], [0, 1])


def test_large_groups_have_limited_knots():
    many = np.random.default_rng(0).random(5000)
    assert len(quantile_knots(many, many)[0]) == MOST_KNOTS + 2


@given(values=st.lists(st.floats(0.01, 0.99), min_size=1, max_size=30, unique=True).map(np.array), k=st.integers(0, 30))
def test_the_cut_has_exactly_the_share_above_it(values, k):
    share = min(k, len(values)) / len(values)
    threshold = cut(values, share)
    assert (values > threshold).sum() == min(k, len(values))
    above = moved_by_shift(values, threshold, 1.0)[np.abs(values - threshold) > 1e-9] > 0.5
    assert above.sum() == (values > threshold)[np.abs(values - threshold) > 1e-9].sum()


def test_the_shift_is_one_of_the_log_odds():
    values = np.array([0.2, 0.5, 0.9])
    np.testing.assert_allclose(logit(moved_by_shift(values, 0.3, 0.5)), logit(values) - 0.5 * logit(0.3))
