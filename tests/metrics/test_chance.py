"""What a predictor that can't see the groups has for a gap, against drawing it many times."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fairview as fv
from fairview.metrics.chance import chance_gap


@pytest.mark.parametrize(("yes", "first", "second"), [(223, 156, 94), (1500, 2300, 2400), (3, 5, 4), (1, 1, 1)])
def test_it_is_what_blind_predictors_have(yes, first, second):
    draws = np.random.default_rng(0).hypergeometric(first, second, yes, size=200_000)
    gaps = np.abs(draws / first - (yes - draws) / second)
    found = chance_gap(yes, first, second)
    assert found.mean == pytest.approx(gaps.mean(), abs=4 * gaps.std() / np.sqrt(len(gaps)) + 1e-12)
    assert np.mean(gaps <= found.upper + 1e-12) >= 0.945
    assert np.mean(gaps < found.upper - 1e-12) <= 0.955


def test_two_nodes_by_hand():
    """One yes for two nodes of different groups: the gap is always one."""
    assert chance_gap(1, 1, 1).mean == pytest.approx(1.0)
    assert chance_gap(1, 1, 1).upper == pytest.approx(1.0)


def test_four_nodes_by_hand():
    """Two of four, two groups of two: 1/6 both in the first, 4/6 one each, 1/6 both in the second."""
    assert chance_gap(2, 2, 2).mean == pytest.approx(2 / 6)


@given(st.integers(1, 60), st.integers(1, 60), st.data())
def test_the_order_of_the_groups_and_of_the_answers_does_not_matter(first, second, data):
    yes = data.draw(st.integers(0, first + second))
    found = chance_gap(yes, first, second)
    assert 0 <= found.mean <= 1
    assert found.mean == pytest.approx(chance_gap(yes, second, first).mean)
    assert found.mean == pytest.approx(chance_gap(first + second - yes, first, second).mean)


@pytest.mark.parametrize("sizes", [(5, 2, 2), (-1, 2, 2), (0, 0, 4)])
def test_impossible_counts_are_refused(sizes):
    with pytest.raises(fv.InputError, match="no such gap"):
        chance_gap(*sizes)
