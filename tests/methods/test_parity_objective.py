"""The distances against their definitions, and every gradient against differences of values."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from fairview.methods.parity_heads import LinearHead, MlpHead, regularised
from fairview.methods.parity_objective import (
    PENALTIES,
    ParityObjective,
    balanced_weights,
    energy_distance,
    group_contrasts,
    threshold_gap,
)


def random_weights(groups: int, n: int, seed: int, *, soft: bool = False) -> np.ndarray:
    random = np.random.default_rng(seed)
    member = np.eye(groups)[np.append(np.arange(groups), random.integers(groups, size=n - groups))]
    return member * random.random((n, 1)) if soft else member


def energy_by_definition(scores: np.ndarray, weights: np.ndarray) -> float:
    """Mean over pairs of 2 E|X - Y| - E|X - X'| - E|Y - Y'|, over all pairs of nodes."""
    v = norm.cdf((scores - scores.mean()) / np.sqrt(scores.var() + 1e-12))
    distance = np.abs(v[:, None] - v)
    share = weights / weights.sum(axis=0)

    def mean(g: int, h: int) -> float:
        return float(share[:, g] @ distance @ share[:, h])

    pairs = list(combinations(range(weights.shape[1]), 2))
    return float(np.mean([2 * mean(g, h) - mean(g, g) - mean(h, h) for g, h in pairs]))


def threshold_by_definition(scores: np.ndarray, weights: np.ndarray) -> float:
    step = 1 / (1 + np.exp(-scores / (0.2 * np.sqrt(scores.var() + 1e-12))))
    rates = step @ (weights / weights.sum(axis=0))
    return float(np.mean([(a - b) ** 2 for a, b in combinations(rates, 2)]))


ORACLES = {"energy": energy_by_definition, "threshold": threshold_by_definition}


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("soft", [False, True], ids=["members", "shares"])
@given(groups=st.integers(2, 5), n=st.integers(6, 40), seed=st.integers(0, 10**6), digits=st.sampled_from([0, 1, 12]))
def test_distances_are_those_of_the_definition_also_with_ties(penalty, soft, groups, n, seed, digits):
    weights = random_weights(groups, n, seed, soft=soft)
    scores = np.random.default_rng(seed + 1).normal(size=n).round(digits)
    found, _ = PENALTIES[penalty](scores, group_contrasts(weights))
    assert found == pytest.approx(ORACLES[penalty](scores, weights), abs=1e-9)


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("groups", [2, 3])
def test_gradients_match_finite_differences(penalty, groups):
    weights = random_weights(groups, 30, 3, soft=True)
    contrasts = np.hstack([group_contrasts(weights, 0.7), group_contrasts(weights**2, 2.0)])
    scores = np.random.default_rng(4).normal(size=30)
    _, gradient = PENALTIES[penalty](scores, contrasts)
    step = 1e-6 * np.eye(30)
    differences = [
        (PENALTIES[penalty](scores + s, contrasts)[0] - PENALTIES[penalty](scores - s, contrasts)[0]) / 2e-6
        for s in step
    ]
    np.testing.assert_allclose(gradient, differences, atol=1e-8)


def test_tied_scores_of_nodes_that_move_together_have_the_gradient_of_their_sum():
    scores = np.array([-1.0, 0.2, 0.2, 0.2, 0.9, 1.5])
    contrasts = group_contrasts(np.eye(2)[[0, 1, 0, 1, 1, 0]])
    _, gradient = energy_distance(scores, contrasts)
    together = 1e-6 * (scores == 0.2)
    up, down = (energy_distance(scores + s * together, contrasts)[0] for s in (1, -1))
    assert gradient[1:4].sum() == pytest.approx((up - down) / 2e-6, abs=1e-7)
    assert np.ptp(gradient[1:4]) < 1e-12


def test_the_weight_multiplies_and_terms_side_by_side_add():
    weights, scores = random_weights(3, 25, 1), np.random.default_rng(2).normal(size=25)
    for distance in PENALTIES.values():
        one = distance(scores, group_contrasts(weights))[0]
        assert distance(scores, group_contrasts(weights, 5.0))[0] == pytest.approx(5 * one)
        both = np.hstack([group_contrasts(weights, 2.0), group_contrasts(weights, 3.0)])
        assert distance(scores, both)[0] == pytest.approx(5 * one)


@pytest.mark.parametrize("penalty", PENALTIES)
def test_order_of_nodes_and_scale_of_scores_do_not_matter(penalty):
    weights, scores = random_weights(2, 40, 5), np.random.default_rng(6).normal(size=40)
    contrasts, order = group_contrasts(weights), np.random.default_rng(7).permutation(40)
    value, gradient = PENALTIES[penalty](scores, contrasts)
    turned, turned_gradient = PENALTIES[penalty](scores[order], contrasts[order])
    assert turned == pytest.approx(value, abs=1e-14)
    np.testing.assert_allclose(turned_gradient, gradient[order], atol=1e-14)
    assert PENALTIES[penalty](1000 * scores, contrasts)[0] == pytest.approx(value, rel=1e-6)


def test_equal_scores_have_no_distance_and_no_nan():
    contrasts = group_contrasts(random_weights(2, 10, 1))
    for distance in PENALTIES.values():
        value, gradient = distance(np.full(10, 3.0), contrasts)
        assert value == pytest.approx(0, abs=1e-15)
        assert np.isfinite(gradient).all()


def test_groups_far_apart_by_hand():
    contrasts = group_contrasts(np.eye(2)[[0, 0, 1, 1]])
    assert threshold_gap(np.array([-5.0, -5.0, 5.0, 5.0]), contrasts)[0] == pytest.approx(np.tanh(2.5) ** 2)
    # z = ±1, so that v = Φ(±1) and F differs by 1 between them: D = 2 (Φ(1) - Φ(-1))
    assert energy_distance(np.array([-5.0, -5.0, 5.0, 5.0]), contrasts)[0] == pytest.approx(2 * 0.6826894921)


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("head", [LinearHead(4), MlpHead(4, 3)], ids=["linear", "mlp"])
def test_the_whole_objective_has_the_gradient_of_its_values(head, penalty):
    random = np.random.default_rng(8)
    z, theta = random.normal(size=(20, 4)), random.normal(size=head.size)
    positive = np.arange(8) % 3 == 0
    grouped = np.arange(5, 20)
    objective = ParityObjective(
        np.arange(8),
        np.where(positive, 1.0, -1.0),
        balanced_weights(positive),
        grouped,
        group_contrasts(random_weights(3, 15, 9), 2.0),
        penalty,
    )
    function = regularised(head, objective, z, 0.3)
    _, gradient = function(theta)
    step = 1e-6 * np.eye(head.size)
    differences = [(function(theta + s)[0] - function(theta - s)[0]) / 2e-6 for s in step]
    np.testing.assert_allclose(gradient, differences, atol=2e-8)
