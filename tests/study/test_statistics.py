"""Every expected number here was computed by hand (t quantiles from a printed table)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fairview.study.statistics import (
    Estimate,
    Rank,
    RunMetrics,
    difference,
    estimate,
    pareto,
    ranks,
    t_interval,
    unpaired_difference,
)
from fairview.undefined import Undefined

NAMES = ("auc", "f1", "accuracy", "statistical_parity_gap", "equal_opportunity_gap")


def runs(*values, splits=None):
    splits = splits or [0] * len(values)
    return [
        RunMetrics(split, 1 + splits[:i].count(split), {"auc": value})
        for i, (split, value) in enumerate(zip(splits, values, strict=True))
    ]


def row(*values):
    return dict(zip(NAMES, values, strict=True))


# --- one metric -------------------------------------------------------------------------------------------------------


def test_the_mean_the_deviation_and_the_t_interval_over_seeds():
    found = estimate(runs(0.1, 0.2, 0.3), "auc")  # s = 0.1, s/√3 = 0.057735, t(2) = 4.302653
    assert found.mean == 0.2
    assert found.std == pytest.approx(0.0816497, abs=1e-7)  # ddof 0: √(0.02/3)
    assert (found.low, found.high) == (0.0, pytest.approx(0.448414, abs=1e-6)), "0.2 - 0.2484 is cut at 0"


def test_with_several_splits_a_split_counts_once_however_many_seeds_it_has():
    found = estimate(runs(0.50, 0.52, 0.60, 0.62, splits=[1, 1, 2, 2]), "auc")
    assert found.mean == 0.56
    assert found.std == pytest.approx(0.0509902, abs=1e-7)  # over all four runs: √0.0026
    # the splits' means 0.51 and 0.61: s = 0.0707107, s/√2 = 0.05, t(1) = 12.7062, half the width 0.63531
    assert t_interval([0.51, 0.61]) == pytest.approx((0.56 - 0.63531, 0.56 + 0.63531), abs=1e-5)
    assert (found.low, found.high) == (0.0, 1.0)
    closer = estimate(runs(0.500, 0.520, 0.501, 0.521, splits=[1, 1, 2, 2]), "auc")  # means 0.510 and 0.511
    assert (closer.low, closer.high) == pytest.approx((0.5105 - 0.0063531, 0.5105 + 0.0063531), abs=1e-7)


def test_a_single_run_has_no_interval():
    found = estimate(runs(0.7), "auc")
    assert (found.mean, found.std, found.low, found.high) == (0.7, 0.0, None, None)
    assert t_interval([0.7]) is None


def test_a_mean_over_a_run_without_a_value_has_none_and_says_how_often_and_why():
    found = estimate(runs(0.5, Undefined("no positives"), 0.7), "auc")
    assert found.mean == Undefined("undefined in 1 of 3 runs (no positives)")
    assert (found.std, found.low, found.high) == (None, None, None)
    assert estimate(runs(Undefined("a"), Undefined("b")), "auc").mean == Undefined("undefined in 2 of 2 runs (a; b)")


def test_the_interval_covers_the_truth_as_often_as_it_says():
    rng = np.random.default_rng(0)
    hits = 0
    for _ in range(400):
        effects = rng.normal(0.5, 0.03, size=5)  # of the splits; seeds within them vary less
        values = np.repeat(effects, 3) + rng.normal(0, 0.01, size=15)
        found = estimate(runs(*values.tolist(), splits=np.repeat(range(1, 6), 3).tolist()), "auc")
        hits += found.low <= 0.5 <= found.high
    assert 0.917 < hits / 400 < 0.983  # three standard errors; over runs instead of splits it is below 0.8


# --- differences ------------------------------------------------------------------------------------------------------


def test_differences_are_taken_pair_by_pair():
    ours, plain = runs(0.9, 0.5, 0.7), runs(0.8, 0.401, 0.599)
    found = difference(ours, plain, "auc")  # each pair differs by about 0.1, although the runs differ by far more
    assert found.mean == pytest.approx(0.1)
    assert (found.low, found.high) == (pytest.approx(0.1, abs=0.003), pytest.approx(0.1, abs=0.003))


def test_equal_runs_say_nothing_about_the_next_one():
    same = difference(runs(0.9, 0.5, 0.7), runs(0.8, 0.4, 0.6), "auc")
    assert (same.mean, same.low, same.high) == (pytest.approx(0.1), None, None)
    assert estimate(runs(0.5, 0.5), "auc").low is None


def test_without_pairs_the_interval_is_welchs():
    one, other = np.array([0.3, 0.35, 0.32, 0.4]), np.array([0.2, 0.26, 0.21])
    theirs = stats.ttest_ind(one, other, equal_var=False).confidence_interval(0.95)
    ours = unpaired_difference(
        Estimate(float(one.mean()), float(one.std())), 4, Estimate(float(other.mean()), float(other.std())), 3
    )
    assert (ours.mean, ours.low, ours.high) == pytest.approx((one.mean() - other.mean(), theirs.low, theirs.high))
    single = unpaired_difference(Estimate(0.5, 0.0), 1, Estimate(0.2, 0.1), 5)
    assert (single.mean, single.low) == (pytest.approx(0.3), None)
    equal = unpaired_difference(Estimate(0.5, 0.0), 5, Estimate(0.2, 0.0), 5)
    assert (equal.mean, equal.low) == (pytest.approx(0.3), None)
    lacking = unpaired_difference(Estimate(Undefined("not run")), 0, Estimate(0.2, 0.0), 5)
    assert isinstance(lacking.mean, Undefined)


def test_a_difference_ends_at_one():
    found = difference(runs(0.9, 0.1), runs(0.1, 0.9), "auc")
    assert (found.low, found.high) == (-1.0, 1.0)


def test_the_order_of_the_runs_does_not_change_a_pair():
    ours, plain = runs(0.9, 0.5, splits=[1, 2]), runs(0.4, 0.8, splits=[2, 1])
    found = difference(ours, plain, "auc")
    assert found.mean == pytest.approx(0.1)
    worse = difference(plain, ours, "auc")
    assert worse.mean == pytest.approx(-0.1), "a difference is not cut at 0"


def test_runs_that_don_t_pair_up_have_no_difference():
    assert isinstance(difference(runs(0.9), runs(0.8, 0.7), "auc").mean, Undefined)
    assert isinstance(difference(runs(0.9, 0.8), runs(0.8), "auc").mean, Undefined)
    assert isinstance(difference(runs(0.9), runs(0.8, splits=[3]), "auc").mean, Undefined)


def test_a_pair_with_an_undefined_side_is_undefined_with_its_reason():
    found = difference(runs(0.9, Undefined("one class")), runs(0.8, 0.7), "auc")
    assert found.mean == Undefined("undefined in 1 of 2 runs (one class)")


# --- ranks and the Pareto front ---------------------------------------------------------------------------------------


def test_ranks_are_half_utility_and_half_fairness():
    rows = [row(0.9, 0.8, 0.7, 0.3, 0.1), row(0.8, 0.9, 0.6, 0.2, 0.2), row(0.7, 0.7, 0.5, 0.1, 0.3)]
    # by AUC 1 2 3, by F1 2 1 3, by accuracy 1 2 3; by SP gap 3 2 1, by EO gap 1 2 3
    found = [(rank.utility, rank.fairness, rank.average) for rank in ranks(rows)]
    assert np.array(found) == pytest.approx(np.array([(4 / 3, 2, 5 / 3), (5 / 3, 2, 11 / 6), (3, 2, 2.5)]))


def test_ties_share_their_places_and_undefined_comes_last():
    none = Undefined("no positives")
    rows = [row(0.8, 0.8, 0.8, 0.1, 0.1), row(0.8, 0.8, 0.8, 0.1, none), row(0.7, 0.7, 0.7, 0.0, none)]
    # utility 1.5 1.5 3; by SP gap 2.5 2.5 1; by EO gap 1 2.5 2.5
    assert ranks(rows) == [Rank(1.5, 1.75, 1.625), Rank(1.5, 2.5, 2.0), Rank(3.0, 1.75, 2.375)]


def test_a_difference_of_rounding_is_a_tie():
    first, second = ranks([row(0.1 + 0.2, 0.5, 0.5, 0.1, 0.1), row(0.3, 0.5, 0.5, 0.1, 0.1)])
    assert first == second == Rank(1.5, 1.5, 1.5)


@given(st.lists(st.tuples(*[st.integers(0, 4)] * 5), min_size=1, max_size=6))
def test_ranks_of_n_rows_have_the_mean_of_1_to_n(points):
    found = ranks([row(*(value / 4 for value in point)) for point in points])
    assert np.mean([rank.average for rank in found]) == pytest.approx((len(points) + 1) / 2)


def test_pareto_rows_are_those_that_none_beats():
    rows = [
        row(0.9, 0.9, 0.9, 0.2, 0.2),  # best utility
        row(0.8, 0.8, 0.8, 0.1, 0.1),  # less of both
        row(0.8, 0.8, 0.8, 0.1, 0.3),  # beaten by the one above
        row(0.5, 0.5, 0.5, 0.0, 0.0),  # fairest
        row(0.8, 0.7, 0.9, 0.2, 0.0),  # the same means as the second: neither beats the other
        row(0.9, 0.9, 0.9, Undefined("no positives"), 0.0),
    ]
    assert pareto(rows) == [True, True, False, True, True, False]


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=8))
def test_some_row_is_always_pareto_and_each_other_is_beaten_by_one_that_is(points):
    found = pareto([row(u / 4, u / 4, u / 4, g / 4, g / 4) for u, g in points])
    front = [point for point, best in zip(points, found, strict=True) if best]
    assert front
    for (u, g), best in zip(points, found, strict=True):
        assert best or any(v >= u and h <= g and (v, h) != (u, g) for v, h in front)


def test_no_rows_no_ranks():
    assert ranks([]) == []
    assert pareto([]) == []
