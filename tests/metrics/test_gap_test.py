"""The exact test of a gap: against enumeration of all tables, and against the normal approximation."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, hypergeom, norm

import fairview as fv
from fairview.metrics import gap_test
from fairview.metrics.gap_test import Sample, gap_p_value, gap_upper_bound


def tables(n_a, n_b):
    return itertools.product(range(n_a + 1), range(n_b + 1))


def sizes(n_a, n_b, limit, level, rates):
    """The chance of p <= level, by enumeration of every table, at pairs of rates whose gap is just above the limit."""
    confirmed = np.array([[gap_p_value([Sample(a, n_a), Sample(b, n_b)], limit) <= level
                           for b in range(n_b + 1)] for a in range(n_a + 1)])  # fmt: skip
    pairs = [(rate + limit, rate) for rate in rates] + [(rate, rate + limit) for rate in rates]
    return [binom.pmf(np.arange(n_a + 1), n_a, a) @ confirmed @ binom.pmf(np.arange(n_b + 1), n_b, b) for a, b in pairs]


@pytest.mark.parametrize(("n_a", "n_b"), [(5, 5), (12, 7), (9, 25)])
@pytest.mark.parametrize("limit", [0.1, 0.4])
@pytest.mark.parametrize("level", [0.05, 0.1])
def test_a_wrong_limit_is_confirmed_no_more_often_than_declared(n_a, n_b, limit, level):
    rates = np.linspace(0, 1 - limit - 1e-9, 41)
    assert max(sizes(n_a, n_b, limit, level, rates)) <= level + 1e-9


def test_a_clear_limit_is_confirmed_often_enough():
    """Power: with equal rates of 0.5, 100 nodes each, a limit of 25 points is confirmed in most samples."""
    confirmed = 0.0
    weights = binom.pmf(np.arange(101), 100, 0.5)
    for a, b in itertools.product(range(30, 71), range(30, 71)):
        if gap_p_value([Sample(a, 100), Sample(b, 100)], 0.25) <= 0.05:
            confirmed += weights[a] * weights[b]
    assert confirmed > 0.9


def brute_force(a, b, limit, *, points=400):
    """The same p-value from every table and a fine grid of rates, without windows, refinement or closed sums."""
    n_a, n_b = a.nodes, b.nodes
    every = np.array(list(tables(n_a, n_b)))
    score = gap_test.score_statistic(every[:, 0], every[:, 1], n_a, n_b, limit)
    at = score[(every[:, 0] == a.positive) & (every[:, 1] == b.positive)][0]
    inside = (score <= at + 1e-9 * (1 + abs(at))).reshape(n_a + 1, n_b + 1)
    most = np.maximum.accumulate(inside.sum(axis=0))  # as many counts of group a as are inside, growing with b
    inside = np.arange(n_a + 1)[:, None] < most
    (a_low, a_high), (b_low, b_high) = (gap_test._interval(each, gap_test.NUISANCE / 2) for each in (a, b))
    low, high = max(b_low, a_low - limit), min(b_high, a_high - limit)
    if low > high:
        return 1.0 if a_low - limit > b_high else gap_test.NUISANCE
    chances = [
        binom.pmf(np.arange(n_a + 1), n_a, rate + limit) @ inside @ binom.pmf(np.arange(n_b + 1), n_b, rate)
        for rate in np.linspace(low, high, points)
    ]
    return min(1.0, max(chances) + gap_test.NUISANCE)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 14), st.integers(1, 14), st.floats(0.01, 0.9), st.data())
def test_a_p_value_is_that_of_all_tables(n_a, n_b, limit, data):
    a = Sample(data.draw(st.integers(0, n_a)), n_a)
    b = Sample(data.draw(st.integers(0, n_b)), n_b)
    expected = max(brute_force(a, b, limit), brute_force(b, a, limit))
    assert gap_p_value([a, b], limit) == pytest.approx(expected, abs=5e-4)


@settings(max_examples=40, deadline=None)
@given(st.integers(5, 40), st.integers(5, 40), st.floats(0.05, 0.5), st.data())
def test_groups_and_answers_may_be_exchanged(n_a, n_b, limit, data):
    a, b = data.draw(st.integers(0, n_a)), data.draw(st.integers(0, n_b))
    given_so = gap_p_value([Sample(a, n_a), Sample(b, n_b)], limit)
    assert gap_p_value([Sample(b, n_b), Sample(a, n_a)], limit) == pytest.approx(given_so)
    assert gap_p_value([Sample(n_a - a, n_a), Sample(n_b - b, n_b)], limit) == pytest.approx(given_so, abs=5e-3)


def test_large_samples_agree_with_the_normal_approximation():
    for a, b, limit in [(3000, 3100, 0.03), (1200, 1300, 0.02), (9000, 8950, 0.02)]:
        n = 10_000
        # with rates this far inside, the constrained standard error is that of the observed rates to 1 %
        pooled = (a + b) / (2 * n)
        z = (abs(a - b) / n - limit) / np.sqrt(2 * pooled * (1 - pooled) / n)
        expected = norm.cdf(z) + gap_test.NUISANCE
        assert gap_p_value([Sample(a, n), Sample(b, n)], limit) == pytest.approx(expected, rel=0.1)


def test_a_known_population_makes_the_sample_worth_more():
    without = gap_p_value([Sample(60, 167), Sample(30, 83)], 0.1)
    half = gap_p_value([Sample(60, 167, 334), Sample(30, 83, 166)], 0.1)
    endless = gap_p_value([Sample(60, 167, 10**7), Sample(30, 83, 10**7)], 0.1)
    assert half < without / 3
    assert endless == pytest.approx(without, rel=0.01)


def test_a_whole_population_leaves_no_doubt():
    everybody = [Sample(60, 167, 167), Sample(30, 83, 83)]
    assert gap_p_value(everybody, 0.01) == pytest.approx(gap_test.NUISANCE)
    assert gap_p_value([Sample(60, 100, 100), Sample(40, 100, 100)], 0.1) > 0.9


@pytest.mark.parametrize("limit", [0.2, 0.35])
def test_finite_populations_beyond_the_limit_are_confirmed_no_more_often_than_declared(limit):
    total_a, total_b, n_a, n_b = 24, 30, 10, 14
    confirmed = np.array([[gap_p_value([Sample(a, n_a, total_a), Sample(b, n_b, total_b)], limit) <= 0.1
                           for b in range(n_b + 1)] for a in range(n_a + 1)])  # fmt: skip
    largest = 0.0
    for k_a, k_b in tables(total_a, total_b):
        if abs(k_a / total_a - k_b / total_b) > limit + 1e-9:
            of_a, of_b = (
                hypergeom.pmf(np.arange(n + 1), t, k, n) for n, t, k in ((n_a, total_a, k_a), (n_b, total_b, k_b))
            )
            largest = max(largest, float(of_a @ confirmed @ of_b))
    assert 0.02 < largest <= 0.1


def test_three_groups_are_as_doubtful_as_their_worst_pair():
    samples = [Sample(300, 1000), Sample(310, 1000), Sample(340, 1000)]
    assert gap_p_value(samples, 0.08) == max(
        gap_p_value(list(pair), 0.08) for pair in itertools.combinations(samples, 2)
    )


def test_the_upper_bound_is_the_smallest_limit_that_is_confirmed():
    samples = [Sample(300, 1000), Sample(310, 1000)]
    bound = gap_upper_bound(samples, 0.95)
    assert gap_p_value(samples, bound) <= 0.05 < gap_p_value(samples, bound - 0.001)
    assert gap_upper_bound([Sample(1, 2), Sample(1, 2)], 0.95) > 0.7


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Sample(3, 2), "gap test: 3 positive of 2 nodes is no sample of a group."),
        (lambda: Sample(0, 0), "gap test: 0 positive of 0 nodes is no sample of a group."),
        (lambda: Sample(1, 5, 4), "gap test: 5 nodes can't be drawn from 4."),
        (lambda: gap_p_value([Sample(1, 2)], 0.1), "gap test: at least two groups are needed."),
        (lambda: gap_p_value([Sample(1, 2)] * 2, 1.0), "gap test: limit 1.0; expected a number between 0 and 1."),
    ],
)
def test_what_is_no_sample_or_no_limit_is_refused(make, message):
    with pytest.raises(fv.InputError) as error:
        make()
    assert str(error.value) == message
