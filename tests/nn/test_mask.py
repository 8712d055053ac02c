"""Masks are Gumbel-softmax samples: kept with the softmax of the scores, differentiable, and drawn from one stream."""

from __future__ import annotations

import pytest
import torch

from fairview.nn.mask import ChannelMask

CHANNELS = 6


def mask_of(scores: list[list[float]], *, dtype: torch.dtype = torch.float64, **options: object) -> ChannelMask:
    made = ChannelMask(len(scores), **options).to(dtype)
    with torch.no_grad():
        made.scores.copy_(torch.tensor(scores))
    return made


SCORES = [[0.0, 0.0], [2.0, 0.0], [0.0, 2.0], [-1.0, -1.5], [3.0, 2.0], [-4.0, 0.0]]


@pytest.mark.parametrize("temperature", [0.3, 1.0, 2.5])
def test_the_noise_is_the_difference_of_two_gumbel_variables(temperature: float) -> None:
    """The sigmoid of the module equals the softmax over two columns, as the paper prints it."""
    mask = mask_of(SCORES, temperature=temperature)
    uniform = torch.rand((7, CHANNELS, 2), dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    gumbel = -torch.log(-torch.log(uniform))
    expected = torch.softmax((mask.scores + gumbel) / temperature, dim=-1)[..., 0]
    found = mask(gumbel[..., 0] - gumbel[..., 1])
    assert torch.allclose(found, expected, rtol=1e-13, atol=1e-15)


def test_the_noise_is_distributed_like_the_difference_of_two_gumbel_variables() -> None:
    """Quantiles of 120,000 draws beside those of gumbel - gumbel; the logistic variable has variance π²/3."""
    noise = ChannelMask(CHANNELS).double().noise(20_000, torch.Generator().manual_seed(2)).flatten()
    uniform = torch.rand((2, len(noise)), dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    gumbel = -torch.log(-torch.log(uniform))
    levels = torch.tensor([0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99], dtype=torch.float64)
    density = levels * (1 - levels)  # of the logistic distribution at its quantiles
    error = 5 * (2 * levels * (1 - levels) / len(noise)).sqrt() / density
    difference = noise.quantile(levels) - (gumbel[0] - gumbel[1]).quantile(levels)
    assert (difference.abs() < error).all()
    assert noise.var().item() == pytest.approx(torch.pi**2 / 3, rel=0.03)


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
def test_hard_samples_keep_a_channel_with_its_keep_probability(temperature: float) -> None:
    mask = mask_of(SCORES, hard=True, temperature=temperature)
    draws = 40_000
    found = mask(mask.noise(draws, torch.Generator().manual_seed(4))).detach().mean(dim=0)
    expected = mask.keep_probability
    assert ((found - expected).abs() < 5 * (expected * (1 - expected) / draws).sqrt()).all()


def test_the_keep_probability_is_the_softmax_of_the_scores() -> None:
    found = mask_of(SCORES).keep_probability
    expected = [0.5, 0.880797077977882, 0.119202922022118, 0.622459331201855, 0.731058578630005, 0.0179862099620916]
    assert found.tolist() == pytest.approx(expected, rel=1e-12)
    assert not found.requires_grad


def test_a_low_temperature_rounds_and_a_high_one_halves() -> None:
    noise = ChannelMask(CHANNELS).double().noise(50, torch.Generator().manual_seed(5))
    cold, hot = mask_of(SCORES, temperature=1e-9), mask_of(SCORES, temperature=1e9)
    assert torch.equal(cold(noise).detach(), cold.rounded(noise))
    assert (hot(noise) - 0.5).abs().max() < 1e-7


def test_soft_masks_lie_strictly_between_0_and_1_and_hard_ones_are_0_or_1() -> None:
    noise = ChannelMask(CHANNELS).double().noise(200, torch.Generator().manual_seed(6))
    soft, hard = mask_of(SCORES)(noise), mask_of(SCORES, hard=True)(noise)
    assert ((soft > 0) & (soft < 1)).all()
    assert set(hard.flatten().tolist()) == {0.0, 1.0}
    assert torch.equal(hard, (soft > 0.5).double())


def test_straight_through_has_the_gradient_of_the_soft_mask() -> None:
    soft, hard = mask_of(SCORES, temperature=0.7), mask_of(SCORES, temperature=0.7, hard=True)
    noise = soft.noise(9, torch.Generator().manual_seed(7))
    weights = torch.randn(noise.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(8))
    (soft_gradient,) = torch.autograd.grad((soft(noise) * weights).sum(), soft.scores)
    (hard_gradient,) = torch.autograd.grad((hard(noise) * weights).sum(), hard.scores)
    assert torch.equal(soft_gradient, hard_gradient)
    assert soft_gradient.abs().min() > 0


def test_the_gradient_is_that_of_the_formula() -> None:
    """dm/dπ1 = m (1 - m) / τ = -dm/dπ2."""
    mask = mask_of(SCORES, temperature=0.7)
    noise = mask.noise(1, torch.Generator().manual_seed(9))
    found = mask(noise)
    (gradient,) = torch.autograd.grad(found.sum(), mask.scores)
    slope = (found * (1 - found))[0] / 0.7
    assert torch.allclose(gradient, torch.stack([slope, -slope], dim=1), rtol=1e-12, atol=0)


def test_rounding_keeps_what_is_more_likely_kept_under_the_noise() -> None:
    mask = mask_of([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    found = mask.rounded(torch.tensor([[0.0, -1.5, 0.0], [-0.9, 0.0, 1.1]], dtype=torch.float64))
    assert found.tolist() == [[1.0, 0.0, 0.0], [1.0, 1.0, 1.0]]
    assert not found.requires_grad


def test_float32_sees_the_draws_of_float64() -> None:
    narrow, wide = ChannelMask(CHANNELS), ChannelMask(CHANNELS).double()
    draws = [mask.noise(11, torch.Generator().manual_seed(10)) for mask in (narrow, wide)]
    assert [noise.dtype for noise in draws] == [torch.float32, torch.float64]
    assert torch.equal(draws[0], draws[1].float())


def test_the_noise_has_the_resolution_of_float64() -> None:
    """Uniform float32 numbers are multiples of 2^-24: the tails of the noise would be steps."""
    noise = ChannelMask(CHANNELS).double().noise(11, torch.Generator().manual_seed(10))
    steps = torch.sigmoid(noise) * 2**24
    assert ((steps - steps.round()).abs() > 1e-3).double().mean() > 0.9


def test_the_noise_is_finite_even_at_the_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    ends = torch.tensor([[0.0, 1 - 2**-53]], dtype=torch.float64)
    monkeypatch.setattr(torch, "rand", lambda *args, **options: ends)
    mask = ChannelMask(2)
    noise = mask.noise(1)
    assert noise.isfinite().all()
    assert (noise.abs() > 20).all()
    (gradient,) = torch.autograd.grad(mask(noise).sum(), mask.scores)
    assert gradient.isfinite().all()


def test_draws_come_from_the_given_generator_alone() -> None:
    mask = ChannelMask(CHANNELS)
    before = torch.get_rng_state()
    first, again = (mask.noise(3, torch.Generator().manual_seed(11)) for _ in range(2))
    other = mask.noise(3, torch.Generator().manual_seed(12))
    mask.reset_parameters(torch.Generator().manual_seed(11))
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_scores_start_uniform_as_xavier_says() -> None:
    mask = ChannelMask(2_000)
    mask.reset_parameters(torch.Generator().manual_seed(13))
    bound = (6 / 2_002) ** 0.5
    assert mask.scores.abs().max() <= bound
    assert mask.scores.std().item() == pytest.approx(bound / 3**0.5, rel=0.05)
    kept = mask.scores.detach().clone()
    mask.reset_parameters(torch.Generator().manual_seed(13))
    assert torch.equal(mask.scores, kept)
