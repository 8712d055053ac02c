from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.stats import norm
from studies.theorem1 import Game

from fairview.nn.losses import balanced_weights, discriminator_loss

GRID = np.linspace(0, 1, 21).tolist()
GERMAN = 0.31  # share of the smaller group


def density(game: Game, h: np.ndarray, group: int, keep: float) -> np.ndarray:
    mean, spread = keep * (game.centre + game.shift * group), np.sqrt(keep**2 * game.spread**2 + 1)
    return norm.pdf(h, mean, spread)


@pytest.mark.parametrize("balanced", [False, True])
@pytest.mark.parametrize("keep", [0.0, 0.4, 1.0])
def test_the_optimal_discriminator_is_the_posterior_of_the_densities(balanced: bool, keep: float) -> None:
    game = Game(prior=GERMAN, balanced=balanced)
    h = np.linspace(-3, 5, 50)
    prior = 0.5 if balanced else GERMAN
    one, zero = prior * density(game, h, 1, keep), (1 - prior) * density(game, h, 0, keep)
    found = torch.sigmoid(game.optimal_logit(torch.from_numpy(h), keep=keep)).numpy()
    np.testing.assert_allclose(found, one / (one + zero), rtol=1e-12)


@pytest.mark.parametrize("balanced", [False, True])
def test_no_other_linear_discriminator_has_a_smaller_loss(balanced: bool) -> None:
    """The loss of FairVGNN itself, at the closed form and a little away from it in every direction."""
    game = Game(prior=GERMAN, balanced=balanced, nodes=4000)
    groups, x, noise = game.sample()
    h = 0.7 * x + noise
    weights = balanced_weights(groups.long(), 2, torch.float64) if balanced else None

    def loss(slope: float, bias: float) -> float:
        logits = game.optimal_logit(h, keep=0.7) + slope * h + bias
        return discriminator_loss(logits[None, :, None], groups, weights).item()

    for angle in np.linspace(0, 2 * np.pi, 8, endpoint=False):
        assert loss(0, 0) < loss(0.1 * np.cos(angle), 0.1 * np.sin(angle))


def test_with_equal_groups_the_optimum_is_where_they_are_alike_and_the_answer_is_one_half() -> None:
    game = Game(prior=0.5)
    losses = [game.loss_against_optimum(keep) for keep in GRID]
    assert losses[0] == pytest.approx(0.0, abs=1e-15)
    assert losses == sorted(losses)
    assert torch.sigmoid(game.optimal_logit(torch.tensor([3.0]), keep=0.0)).item() == 0.5


@pytest.mark.parametrize("prior", [0.1, GERMAN, 0.69])
def test_with_unequal_groups_the_optimum_stays_but_the_answer_is_the_prior(prior: float) -> None:
    """L_g = (π - 1/2)² + Var D*: the theorem's conclusion outlives its proof."""
    game = Game(prior=prior, nodes=2000)
    losses = [game.loss_against_optimum(keep) for keep in GRID]
    assert int(np.argmin(losses)) == 0
    assert losses[0] == pytest.approx((prior - 0.5) ** 2)
    assert torch.sigmoid(game.optimal_logit(torch.tensor([3.0]), keep=0.0)).item() == pytest.approx(prior)
    _, x, noise = game.sample()
    answers = torch.sigmoid(game.optimal_logit(x + noise, keep=1.0))
    assert answers.mean().item() == pytest.approx(prior, abs=2e-3)
    assert losses[-1] == pytest.approx((prior - 0.5) ** 2 + answers.var(correction=0).item(), abs=2e-3)


def test_a_step_against_a_fixed_discriminator_pulls_towards_the_leak_unless_it_is_balanced() -> None:
    assert all(Game(prior=GERMAN).step_gradient(keep) < 0 for keep in GRID[1:])
    assert all(Game(prior=GERMAN, balanced=True).step_gradient(keep) > 0 for keep in GRID[1:])
    assert all(Game(prior=0.5).step_gradient(keep) > 0 for keep in GRID[1:])


def test_the_pull_depends_on_which_group_is_small_and_on_the_channels_mean() -> None:
    assert Game(prior=1 - GERMAN).step_gradient(0.5) > 0
    assert Game(prior=GERMAN, centre=2.0, shift=-1.0).step_gradient(0.5) > 0
    assert Game(prior=GERMAN, centre=-GERMAN).step_gradient(0.5) > 0  # the channel's mean over everybody is 0


def test_training_in_turns_keeps_the_leak_as_published_and_masks_it_when_balanced() -> None:
    assert Game(prior=GERMAN).play(0.5, rounds=100, rate=0.1) > 0.95
    assert Game(prior=GERMAN, balanced=True).play(0.5, rounds=100, rate=0.1) < 0.2
    assert Game(prior=0.5).play(0.5, rounds=100, rate=0.1) < 0.2
