"""The losses are torch's own on the same logits, finite for any logit, and mean what the paper means."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from fairview.nn.losses import (
    agreement_loss,
    balanced_weights,
    classifier_loss,
    discriminator_loss,
    generator_loss,
    reconstruction_loss,
)

VIEWS, NODES = 3, 11


def draws(seed: int, *shape: int) -> Tensor:
    found = torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)) * 4
    return found.requires_grad_()


def codes(seed: int, groups: int = 2) -> Tensor:
    return torch.randint(groups, (NODES,), generator=torch.Generator().manual_seed(seed))


def same(found: Tensor, expected: Tensor, logits: Tensor) -> None:
    """Values and gradients, to 1e-12."""
    gradient, oracle = (torch.autograd.grad(loss, logits)[0] for loss in (found, expected))
    assert abs(found.item() - expected.item()) <= 1e-12 * abs(expected.item())
    assert (gradient - oracle).abs().max() <= 1e-12 * oracle.abs().max()
    assert oracle.abs().max() > 0


# --- torch's own ------------------------------------------------------------------------------------------------------


def test_the_classifier_loss_is_the_cross_entropy_over_views_and_nodes() -> None:
    logits, labels = draws(1, VIEWS, NODES, 1), codes(1).double()
    expected = functional.binary_cross_entropy_with_logits(logits[..., 0], labels.expand(VIEWS, -1))
    same(classifier_loss(logits, labels), expected, logits)


def test_the_discriminator_loss_of_two_groups_is_the_binary_cross_entropy() -> None:
    logits, groups = draws(2, VIEWS, NODES, 1), codes(2).double()
    expected = functional.binary_cross_entropy_with_logits(logits[..., 0], groups.expand(VIEWS, -1))
    same(discriminator_loss(logits, groups), expected, logits)


def test_weights_multiply_each_node() -> None:
    logits, groups = draws(3, VIEWS, NODES, 1), codes(3).double()
    weights = torch.linspace(0, 2, NODES, dtype=torch.float64)
    oracle = functional.binary_cross_entropy_with_logits
    expected = oracle(logits[..., 0], groups.expand(VIEWS, -1), weight=weights)
    same(discriminator_loss(logits, groups, weights), expected, logits)


def test_the_discriminator_loss_of_more_groups_is_the_cross_entropy() -> None:
    logits, groups = draws(4, VIEWS, NODES, 3), codes(4, 3)
    expected = functional.cross_entropy(logits.permute(0, 2, 1), groups.expand(VIEWS, -1))
    same(discriminator_loss(logits, groups), expected, logits)
    weights = torch.linspace(0, 2, NODES, dtype=torch.float64)
    each = functional.cross_entropy(logits.permute(0, 2, 1), groups.expand(VIEWS, -1), reduction="none")
    same(discriminator_loss(logits, groups, weights), (each * weights).mean(), logits)


def test_the_generator_loss_is_the_squared_distance_from_guessing() -> None:
    logits = draws(5, VIEWS, NODES, 1)
    same(generator_loss(logits), functional.mse_loss(torch.sigmoid(logits), torch.full_like(logits, 0.5)), logits)
    logits = draws(6, VIEWS, NODES, 4)
    expected = functional.mse_loss(torch.softmax(logits, dim=-1), torch.full_like(logits, 0.25))
    same(generator_loss(logits), expected, logits)


def test_one_loss_by_hand() -> None:
    logits = torch.tensor([[[0.0], [math.log(3)]]], dtype=torch.float64)  # probabilities 1/2 and 3/4
    groups = torch.tensor([1.0, 0.0], dtype=torch.float64)
    assert discriminator_loss(logits, groups).item() == pytest.approx((math.log(2) + math.log(4)) / 2)
    assert generator_loss(logits).item() == pytest.approx(0.25**2 / 2)
    masks = torch.tensor([[1.0, 0.5, 0.0, 1.0]], dtype=torch.float64)
    assert generator_loss(logits, masks, density_weight=2.0).item() == pytest.approx(1 / 32 + 2 * 1.25 / 4)


@pytest.mark.parametrize("weights", [None, torch.linspace(0.5, 2, NODES, dtype=torch.float64)])
def test_the_closed_gradients_are_those_of_finite_differences(weights: Tensor | None) -> None:
    targets = codes(7).double()
    assert torch.autograd.gradcheck(lambda z: discriminator_loss(z, targets, weights), draws(7, VIEWS, NODES, 1))
    assert torch.autograd.gradcheck(lambda z: 3 * classifier_loss(z, targets), draws(8, VIEWS, NODES, 1))
    assert torch.autograd.gradcheck(lambda z: -2 * generator_loss(z), draws(9, VIEWS, NODES, 1))


@pytest.mark.parametrize("loss", [generator_loss, lambda z: classifier_loss(z, codes(7).double())])
def test_a_second_derivative_is_refused_rather_than_wrong(loss: object) -> None:
    logits = draws(7, VIEWS, NODES, 1)
    (gradient,) = torch.autograd.grad(loss(logits).square(), logits, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        gradient.square().sum().backward()


# --- large logits -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_huge_logits_give_the_right_finite_loss(dtype: torch.dtype) -> None:
    logits = torch.tensor([[[1e4], [1e4], [-1e4], [-1e4]]], dtype=dtype, requires_grad=True)
    targets = torch.tensor([1.0, 0.0, 1.0, 0.0], dtype=dtype)
    loss = discriminator_loss(logits, targets)
    (gradient,) = torch.autograd.grad(loss, logits)
    assert loss.item() == 5_000.0
    assert gradient.flatten().tolist() == [0.0, 0.25, -0.25, 0.0]
    guessing = generator_loss(logits)
    assert guessing.item() == 0.25
    assert not torch.autograd.grad(guessing, logits)[0].any()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_huge_logits_of_more_groups_too(dtype: torch.dtype) -> None:
    logits = torch.tensor([[[1e4, -1e4, 0.0], [1e4, -1e4, 0.0]]], dtype=dtype, requires_grad=True)
    loss = discriminator_loss(logits, torch.tensor([0, 1]))
    (gradient,) = torch.autograd.grad(loss, logits)
    assert loss.item() == 10_000.0
    assert gradient[0].tolist() == [[0.0, 0.0, 0.0], [0.5, -0.5, 0.0]]
    assert generator_loss(logits).item() == pytest.approx((4 / 9 + 1 / 9 + 1 / 9) / 3)


def test_float32_stays_close_to_float64_for_every_logit() -> None:
    for size in (1e-6, 1e-3, 1.0, 10.0, 30.0, 60.0, 1e3, 1e30):
        logits = torch.tensor([[[size], [-size]]])
        for target in (0.0, 1.0):
            targets = torch.full((2,), target)
            narrow, wide = classifier_loss(logits, targets), classifier_loss(logits.double(), targets.double())
            assert narrow.item() == pytest.approx(wide.item(), rel=1e-6)
            single = classifier_loss(logits[:, :1], targets[:1]), classifier_loss(logits[:, :1].double(), targets[:1])
            assert single[0].item() == pytest.approx(single[1].item(), abs=1e-7 * max(size, 1.0))


# --- two groups and more ----------------------------------------------------------------------------------------------


def test_two_outputs_mean_what_one_does() -> None:
    """softmax(0, z) = (1 - σ(z), σ(z))."""
    one, groups = draws(10, VIEWS, NODES, 1), codes(10)
    two = torch.cat([torch.zeros_like(one), one], dim=-1)
    same(discriminator_loss(two, groups), discriminator_loss(one, groups.double()), one)
    same(generator_loss(two), generator_loss(one), one)
    weights = balanced_weights(groups, 2, torch.float64)
    same(discriminator_loss(two, groups, weights), discriminator_loss(one, groups.double(), weights), one)


def test_the_loss_of_guessing_is_the_least_for_the_generator() -> None:
    assert generator_loss(torch.zeros(2, 5, 1)).item() == 0.0
    assert generator_loss(torch.full((2, 5, 3), 7.0)).item() == pytest.approx(0.0, abs=1e-14)
    assert generator_loss(torch.tensor([[[0.1]]])).item() > 0


# --- balance and density ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", [(69, 31), (5, 1, 44), (10, 10)])
def test_balanced_weights_average_1_and_give_every_group_the_same_weight(sizes: tuple[int, ...]) -> None:
    groups = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    weights = balanced_weights(groups, len(sizes), torch.float64)
    assert weights.mean().item() == pytest.approx(1.0, rel=1e-14)
    totals = torch.zeros(len(sizes), dtype=torch.float64).index_add(0, groups, weights)
    assert totals.tolist() == pytest.approx([sum(sizes) / len(sizes)] * len(sizes), rel=1e-14)


def test_a_group_that_nobody_belongs_to_does_no_harm() -> None:
    weights = balanced_weights(torch.tensor([0, 0, 2]), 3, torch.float32)
    assert weights.tolist() == [0.5, 0.5, 1.0]


def best_constant_logit(groups: Tensor, weights: Tensor | None) -> float:
    """Newton's method on the discriminator loss of one logit for everybody."""
    z = torch.zeros((), dtype=torch.float64)
    for _ in range(50):
        z = z.detach().requires_grad_()
        loss = discriminator_loss(z.expand(1, len(groups), 1), groups, weights)
        z = z - 4 * torch.autograd.grad(loss, z)[0]
    return z.item()


def test_an_uninformed_discriminator_answers_the_prior_unless_it_is_balanced() -> None:
    """German's 31 %: the generator steers towards the answer 1/2, which only the balanced loss gives."""
    codes_ = torch.repeat_interleave(torch.arange(2), torch.tensor([690, 310]))
    groups = codes_.double()
    assert best_constant_logit(groups, None) == pytest.approx(math.log(0.31 / 0.69), rel=1e-9)
    weights = balanced_weights(codes_, 2, torch.float64)
    assert best_constant_logit(groups, weights) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("channels", [1, 10, 1000])
def test_the_density_term_is_a_mean_over_channels_and_views(channels: int) -> None:
    masks = torch.full((VIEWS, channels), 0.25, dtype=torch.float64, requires_grad=True)
    logits = torch.zeros(VIEWS, NODES, 1, dtype=torch.float64)
    loss = generator_loss(logits, masks, density_weight=0.5)
    assert loss.item() == pytest.approx(0.5 * 0.75**2, rel=1e-12)
    (gradient,) = torch.autograd.grad(loss, masks)
    assert gradient.sum().item() == pytest.approx(-0.5 * 2 * 0.75, rel=1e-12)


def test_dense_masks_cost_nothing() -> None:
    logits = draws(11, VIEWS, NODES, 1)
    ones = torch.ones(VIEWS, 4, dtype=torch.float64)
    assert generator_loss(logits, ones, density_weight=5.0).item() == generator_loss(logits).item()
    assert generator_loss(logits, ones * 0, density_weight=0.0).item() == generator_loss(logits).item()


# --- without labels ---------------------------------------------------------------------------------------------------


def test_views_that_agree_cost_nothing_and_one_loss_by_hand() -> None:
    logits = torch.tensor([[[0.0], [math.log(3)]], [[math.log(3)], [math.log(3)]]], dtype=torch.float64)
    assert agreement_loss(logits).item() == pytest.approx((1 / 8) ** 2 / 2)  # 1/2 and 3/4, then twice 3/4
    assert agreement_loss(logits[:1]).item() == 0
    further = torch.cat([logits, torch.full_like(logits, 7.0)], dim=-1)
    assert torch.equal(agreement_loss(further), agreement_loss(logits)), "the first output is the classifier's"


def test_agreement_is_half_the_mean_squared_difference_of_two_different_views() -> None:
    """The mean over all ordered pairs, a view with itself among them, is twice the variance."""
    logits = draws(7, VIEWS, NODES, 1)
    p = torch.sigmoid(logits[..., 0])
    same(agreement_loss(logits), (p[:, None] - p[None]).square().mean() / 2, logits)


def test_reconstruction_counts_what_is_hidden_and_nothing_else() -> None:
    outputs, targets = draws(8, VIEWS, NODES, 4), draws(9, NODES, 4).detach()
    masks = (torch.rand(VIEWS, 4, generator=torch.Generator().manual_seed(3)) > 0.5).double()
    expected = torch.stack(
        [(outputs[k, i, j] - targets[i, j]) ** 2 for k, j in (masks == 0).nonzero().tolist() for i in range(NODES)]
    ).mean()
    same(reconstruction_loss(outputs, masks, targets), expected, outputs)


def test_soft_masks_weigh_by_what_they_hide_and_no_mask_hides_nothing() -> None:
    outputs, targets = torch.tensor([[[1.0, 2.0]]]), torch.tensor([[0.0, 0.0]])
    assert reconstruction_loss(outputs, torch.tensor([[0.25, 0.75]]), targets).item() == 0.75 * 1 + 0.25 * 4
    assert reconstruction_loss(outputs, torch.ones(1, 2), targets).item() == 0


def test_the_means_of_channels_of_variance_one_cost_one() -> None:
    targets = torch.tensor([[1.0], [-1.0], [1.0], [-1.0]])
    assert reconstruction_loss(torch.zeros(3, 4, 1), torch.full((3, 1), 0.3), targets).item() == pytest.approx(1)


def test_agreement_of_a_linear_classifier_is_a_ridge_that_the_nodes_weigh() -> None:
    """docs/self-supervision.md: near a logit of 0, over all masks that keep each channel by a coin's throw."""
    masks = torch.tensor([[k >> j & 1 for j in range(4)] for k in range(16)], dtype=torch.float64)
    x, u = draws(10, NODES, 4).detach(), 1e-4 * draws(11, 4).detach()
    logits = (x @ (masks * u).T).T[..., None]
    ridge = (x.square().mean(dim=0) * u.square()).sum() / 4  # a coin's variance
    assert agreement_loss(logits).item() == pytest.approx(ridge.item() / 16, rel=1e-5)  # (p (1 - p))² at 1/2
