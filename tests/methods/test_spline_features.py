"""Hats and ranks by hand and against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import rankdata
from sklearn.preprocessing import SplineTransformer

from fairview.methods.spline_features import Hats, SplineFeatures


def test_hats_are_scikit_learns_linear_splines_of_the_ranks():
    column = np.random.default_rng(1).lognormal(size=101)  # as many values as the grid has: every rank is remembered
    ranks = (rankdata(column) - 0.5) / 101
    oracle = SplineTransformer(n_knots=6, degree=1, knots="quantile").fit_transform(ranks[:, None])
    np.testing.assert_allclose(Hats.fit(column, 6)(column), oracle, atol=1e-12)


def test_many_values_have_nearly_their_ranks():
    column = np.random.default_rng(2).normal(size=5000)
    hats = Hats.fit(column, 6)
    np.testing.assert_allclose(np.interp(column, hats.values, hats.positions), rankdata(column) / 5000, atol=0.01)


def test_few_values_get_a_column_each():
    column = np.array([5.0, -1.0, 2.0, 2.0, 5.0])
    expected = np.array([[0, 0, 1], [1, 0, 0], [0, 1, 0], [0, 1, 0], [0, 0, 1]])
    np.testing.assert_array_equal(Hats.fit(column, 6)(column), expected)


@pytest.mark.parametrize("column", [np.zeros(9), np.arange(9) % 2])
def test_constant_and_binary_channels_stay_as_they_are(column):
    made = SplineFeatures.fit(column[:, None].astype(float), knots=6)
    np.testing.assert_array_equal(made(column[:, None]), column[:, None])


def test_hats_sum_to_one_everywhere_also_beyond_the_fitted_values():
    random = np.random.default_rng(3)
    for column in (
        random.normal(size=300),
        np.round(random.normal(size=300)),
        np.where(random.random(300) < 0.9, 0, 7.5),
    ):
        hats = Hats.fit(np.append(column, np.arange(9.0)), 6)
        new = random.normal(size=50) * 100
        np.testing.assert_allclose(hats(new).sum(axis=1), 1)
        assert (hats(new) >= 0).all()


def test_a_channel_that_is_mostly_one_value_keeps_its_knots_apart():
    column = np.append(np.zeros(900), np.random.default_rng(4).random(100))
    hats = Hats.fit(column, 6)
    assert (np.diff(hats.knots) > 0).all()
    assert len(hats.knots) == 2
    np.testing.assert_allclose(hats(np.zeros(1)), [[1, 0]])


def test_values_between_fitted_ones_lie_between_their_columns():
    np.testing.assert_allclose(Hats.fit(np.array([0.0, 1.0, 4.0]), 6)(np.array([2.5, 9.0])), [[0, 0.5, 0.5], [0, 0, 1]])


def test_raw_columns_come_first_and_each_column_knows_its_channel():
    features = np.column_stack([np.arange(20.0), np.arange(20) % 3, np.ones(20)])
    made = SplineFeatures.fit(features, knots=4)
    assert made.channel_of.tolist() == [0] * 5 + [1] * 4 + [2]
    np.testing.assert_array_equal(made(features)[:, [0, 5, 9]], features)
    np.testing.assert_array_equal(SplineFeatures.fit(features, knots=0)(features), features)


def test_tensors_and_back_and_damaged_ones_are_refused():
    features = np.random.default_rng(5).normal(size=(50, 3))
    features[:, 1] = np.arange(50) % 2
    made = SplineFeatures.fit(features, knots=6)
    tensors = made.tensors()
    np.testing.assert_array_equal(SplineFeatures.restore(tensors, 3)(features), made(features))
    with pytest.raises(ValueError, match="do not fit the channels"):
        SplineFeatures.restore(tensors, 2)
    with pytest.raises(ValueError, match="do not fit the channels"):
        SplineFeatures.restore(tensors | {"splines.knots": tensors["splines.knots"][1:]}, 3)
    with pytest.raises(ValueError, match="not in order"):
        SplineFeatures.restore(tensors | {"splines.knots": tensors["splines.knots"].flip(0)}, 3)
