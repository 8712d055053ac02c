from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from fairview.data.tables.scaling import Scaling

tables = hnp.arrays(
    np.float64,
    st.tuples(st.integers(2, 8), st.integers(1, 4)),
    elements=st.floats(-1e6, 1e6).map(lambda x: round(x, 3)),
)


@given(tables)
def test_minmax_is_what_scikit_learn_gives(rows):
    varied = rows.max(axis=0) > rows.min(axis=0)
    expected = MinMaxScaler((-1, 1)).fit_transform(rows)
    found = Scaling.fit(rows, kind="minmax").apply(rows)
    np.testing.assert_allclose(found[:, varied], expected[:, varied], atol=1e-9)
    assert (found[:, ~varied] == 0).all()


@given(tables)
def test_standard_is_what_scikit_learn_gives(rows):
    varied = rows.max(axis=0) > rows.min(axis=0)
    expected = StandardScaler().fit_transform(rows)
    found = Scaling.fit(rows, kind="standard").apply(rows)
    np.testing.assert_allclose(found[:, varied], expected[:, varied], atol=1e-5)
    assert (found[:, ~varied] == 0).all()


@given(tables)
def test_none_changes_nothing(rows):
    np.testing.assert_array_equal(Scaling.fit(rows, kind="none").apply(rows), rows)


def test_channels_can_be_left_alone():
    rows = np.array([[0.0, 1.0], [10.0, 3.0]])
    assert Scaling.fit(rows, kind="minmax", leave=np.array([False, True])).apply(rows).tolist() == [[-1, 1], [1, 3]]


@pytest.mark.parametrize("kind", ["minmax", "standard"])
def test_a_constant_channel_is_0_and_new_values_stay_in_its_unit(kind):
    scaling = Scaling.fit(np.full((3, 1), 0.1), kind=kind)
    assert scaling.apply(np.array([[0.1], [2.1]])).tolist() == [[0.0], [2.0]]


def test_the_whole_range_of_float32_is_scaled_without_overflow():
    rows = np.array([[-3.4e38], [3.4e38]])
    assert Scaling.fit(rows, kind="minmax").apply(rows).tolist() == [[-1.0], [1.0]]


def test_values_far_outside_the_fitted_rows_become_infinite_without_a_warning():
    scaling = Scaling.fit(np.array([[0.0], [1e-300]]), kind="minmax")
    assert np.isinf(scaling.apply(np.array([[1e38]]))).all()


@given(tables, st.sampled_from(["none", "minmax", "standard"]))
def test_a_scaling_survives_json(rows, kind):
    scaling = Scaling.fit(rows, kind=kind)
    assert Scaling.model_validate_json(scaling.model_dump_json()) == scaling


def test_the_rows_are_not_changed():
    rows = np.array([[0.0, 1.0], [10.0, 1.0]])
    before = rows.copy()
    Scaling.fit(rows, kind="standard").apply(rows)
    np.testing.assert_array_equal(rows, before)
