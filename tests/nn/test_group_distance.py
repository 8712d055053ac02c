"""The distances equal their definitions over all pairs of nodes, and so do their gradients."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm
from torch import Tensor

from fairview.nn.group_distance import DISTANCES, WIDTH, energy_distance, group_contrasts, threshold_distance

NODES = 40


def made(
    seed: int, *, groups: int = 2, views: int = 3, dtype: torch.dtype = torch.float64
) -> tuple[Tensor, Tensor, Tensor]:
    """Logits, (views, nodes, 1), codes of groups whose logits differ, and shares, (nodes,)."""
    generator = torch.Generator().manual_seed(seed)
    codes = torch.arange(NODES) % groups
    logits = torch.randn((views, NODES, 1), generator=generator, dtype=torch.float64) * 2 + codes[:, None] * 0.7 - 0.5
    shares = torch.rand(NODES, generator=generator, dtype=torch.float64)
    return logits.to(dtype).requires_grad_(), codes, shares


def group_means(values: Tensor, codes: Tensor, shares: Tensor) -> dict[int, Tensor]:
    """Of each group, the weighted mean of the rows, in the last dimension."""
    return {
        group: (values[..., codes == group] * shares[codes == group]).sum(-1) / shares[codes == group].sum()
        for group in codes.unique().tolist()
    }


def naive_energy(logits: Tensor, codes: Tensor, shares: Tensor) -> Tensor:
    """2 E|X - Y| - E|X - X'| - E|Y - Y'|, the mean over pairs of groups and views, from all pairs of nodes."""
    u = logits[..., 0]
    z = (u - u.mean(-1, keepdim=True)) / u.std(-1, keepdim=True, correction=0)
    v = torch.special.ndtr(z)
    apart = (v[:, :, None] - v[:, None, :]).abs()
    to_group = group_means(apart, codes, shares)  # (views, nodes) each

    def mean(first: int, second: int) -> Tensor:
        return group_means(to_group[second], codes, shares)[first]

    pairs = list(itertools.combinations(sorted(to_group), 2))
    return sum((2 * mean(g, h) - mean(g, g) - mean(h, h)).mean() for g, h in pairs) / len(pairs)  # type: ignore[return-value]


def naive_threshold(logits: Tensor, codes: Tensor, shares: Tensor) -> Tensor:
    u = logits[..., 0]
    found = group_means(torch.sigmoid(u / (WIDTH * u.std(-1, keepdim=True, correction=0))), codes, shares)
    pairs = list(itertools.combinations(sorted(found), 2))
    return sum((found[g] - found[h]).square().mean() for g, h in pairs) / len(pairs)  # type: ignore[return-value]


NAIVE = {"energy": naive_energy, "threshold": naive_threshold}


@pytest.mark.parametrize("groups", [2, 3, 5])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ["energy", "threshold"])
def test_distance_and_gradient_equal_the_sum_over_all_pairs_of_nodes(kind, weighted, groups) -> None:
    logits, codes, shares = made(groups, groups=groups)
    contrasts = group_contrasts(codes, shares if weighted else None)
    assert contrasts is not None
    found = DISTANCES[kind](logits, contrasts)
    expected = NAIVE[kind](logits, codes, shares if weighted else torch.ones_like(shares))
    assert found.item() == pytest.approx(expected.item(), rel=1e-11)
    gradient, oracle = (torch.autograd.grad(distance, logits)[0] for distance in (found, expected))
    assert (gradient - oracle).abs().max() <= 1e-11 * oracle.abs().max()
    assert oracle.abs().max() > 1e-4


@pytest.mark.parametrize("kind", ["energy", "threshold"])
def test_gradient_matches_finite_differences(kind) -> None:
    logits, codes, shares = made(7, groups=3, views=2)
    contrasts = group_contrasts(codes, shares)
    assert torch.autograd.gradcheck(lambda u: DISTANCES[kind](u, contrasts), logits, eps=1e-7, atol=1e-7)


@pytest.mark.parametrize("kind", ["energy", "threshold"])
def test_single_precision_is_near_double_precision(kind) -> None:
    for dtype in (torch.float32, torch.float64):
        logits, codes, _ = made(8, dtype=dtype)
        wide, _, _ = made(8)
        contrasts = group_contrasts(codes)
        found, expected = DISTANCES[kind](logits, contrasts), DISTANCES[kind](wide, contrasts)
        assert found.dtype == dtype
        assert found.item() == pytest.approx(expected.item(), rel=1e-5)
        gradient, oracle = torch.autograd.grad(found, logits)[0], torch.autograd.grad(expected, wide)[0]
        assert gradient.dtype == dtype
        assert (gradient - oracle).abs().max() <= 2e-5 * oracle.abs().max()


def test_energy_distance_is_that_of_scipy_where_values_are_the_normal_scores() -> None:
    from scipy.stats import energy_distance as scipys

    logits, codes, _ = made(9, views=1)
    u = logits.detach()[0, :, 0].numpy()
    v = norm.cdf((u - u.mean()) / u.std())
    contrasts = group_contrasts(codes)
    assert contrasts is not None
    expected = scipys(v[codes.numpy() == 0], v[codes.numpy() == 1]) ** 2
    assert energy_distance(logits, contrasts).item() == pytest.approx(expected, rel=1e-12)


def test_threshold_distance_by_hand() -> None:
    u = torch.tensor([[[1.0], [-1.0], [1.0], [1.0]]], dtype=torch.float64)
    contrasts = group_contrasts(torch.tensor([0, 0, 1, 1]))
    assert contrasts is not None
    above = 1 / (1 + np.exp(-1 / (0.2 * np.sqrt(0.75))))
    assert threshold_distance(u, contrasts).item() == pytest.approx((above - 0.5) ** 2)


# --- ties -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("groups", [2, 3])
def test_nodes_with_the_same_logit_get_the_gradient_of_the_sum_over_pairs(groups) -> None:
    logits, codes, shares = made(10, groups=groups)
    tied = logits.detach().round().requires_grad_()
    assert len(tied.unique()) < NODES / 2
    contrasts = group_contrasts(codes, shares)
    assert contrasts is not None
    found, expected = energy_distance(tied, contrasts), naive_energy(tied, codes, shares)  # |x| has the slope 0 at 0
    assert found.item() == pytest.approx(expected.item(), rel=1e-11)
    gradient, oracle = (torch.autograd.grad(distance, tied)[0] for distance in (found, expected))
    assert (gradient - oracle).abs().max() <= 1e-11 * oracle.abs().max()


@pytest.mark.parametrize("kind", ["energy", "threshold"])
@pytest.mark.parametrize("value", [0.0, 3.0])
def test_logits_that_are_all_equal_have_no_distance_and_no_direction(kind, value) -> None:
    logits = torch.full((2, NODES, 1), value, requires_grad=True)
    contrasts = group_contrasts(torch.arange(NODES) % 2)
    assert contrasts is not None
    distance = DISTANCES[kind](logits, contrasts)
    assert distance.item() == pytest.approx(0, abs=1e-12)
    assert torch.autograd.grad(distance, logits)[0].abs().max() <= 1e-7


# --- properties -------------------------------------------------------------------------------------------------------


@settings(max_examples=50, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    groups=st.integers(2, 4),
    scale=st.floats(1e-3, 1e3),
    shift=st.floats(-5, 5),
    kind=st.sampled_from(["energy", "threshold"]),
)
def test_scale_order_and_names_of_the_groups_do_not_matter(seed, groups, scale, shift, kind) -> None:
    logits, codes, shares = made(seed, groups=groups)
    logits, distance = logits.detach(), DISTANCES[kind]
    contrasts = group_contrasts(codes, shares)
    assert contrasts is not None
    found = distance(logits, contrasts).item()
    assert 0 <= found <= 2
    assert distance(logits * scale, contrasts).item() == pytest.approx(found, rel=1e-9, abs=1e-12)
    if kind == "energy":
        assert distance(logits + shift, contrasts).item() == pytest.approx(found, rel=1e-9, abs=1e-12)
    order = torch.randperm(NODES, generator=torch.Generator().manual_seed(seed))
    moved = group_contrasts((groups - 1 - codes)[order], shares[order])
    assert moved is not None
    assert distance(logits[:, order], moved).item() == pytest.approx(found, rel=1e-9, abs=1e-12)


def test_two_groups_as_three_of_which_one_is_empty_are_two() -> None:
    codes = torch.tensor([0, 2, 2, -1])
    expected = [[1.0, -0.5, -0.5, 0.0]]
    assert group_contrasts(codes).tolist() == expected  # type: ignore[union-attr]
    assert group_contrasts(codes, torch.tensor([3.0, 1.0, 1.0, 9.0])).tolist() == expected  # type: ignore[union-attr]


def test_the_contrasts_of_one_group_or_without_weight_are_none() -> None:
    assert group_contrasts(torch.tensor([1, 1, -1])) is None
    assert group_contrasts(torch.tensor([-1])) is None
    assert group_contrasts(torch.zeros(0, dtype=torch.int64)) is None
    assert group_contrasts(torch.tensor([0, 1]), torch.tensor([1.0, 0.0])) is None


def test_a_second_derivative_is_refused_rather_than_wrong() -> None:
    logits, codes, _ = made(1)
    (gradient,) = torch.autograd.grad(
        energy_distance(logits, group_contrasts(codes)).square(), logits, create_graph=True
    )
    with pytest.raises(RuntimeError, match="once_differentiable"):
        gradient.square().sum().backward()
