"""One flat vector, and the numbers of torch.optim.Adam."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from fairview.training.adam import Adam


def network(dtype: torch.dtype = torch.float64) -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        made = nn.Sequential(nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 1))
    return made.to(dtype)


def loss(module: nn.Module, step: int, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    x = torch.randn(8, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(step)).to(dtype)
    return module(x).square().mean() + module(x + 1).mean()


def train(module: nn.Module, optimiser: Adam, steps: range, dtype: torch.dtype = torch.float64) -> None:
    for step in steps:
        optimiser.step(torch.autograd.grad(loss(module, step, dtype), optimiser.parameters))


@pytest.mark.parametrize("weight_decay", [0.0, 1e-5, 0.3])
@pytest.mark.parametrize("rate", [0.001, 0.1])
def test_fifty_steps_are_those_of_torch(rate: float, weight_decay: float) -> None:
    ours, theirs = network(), network()
    start = [parameter.detach().clone() for parameter in theirs.parameters()]
    train(ours, Adam(ours.parameters(), rate, weight_decay=weight_decay), range(50))
    oracle = torch.optim.Adam(theirs.parameters(), lr=rate, weight_decay=weight_decay)
    for step in range(50):
        oracle.zero_grad()
        loss(theirs, step).backward()
        oracle.step()
    for found, expected, before in zip(ours.parameters(), theirs.parameters(), start, strict=True):
        assert (found - expected).abs().max() <= 1e-12 * expected.abs().max()
        assert (expected - before).abs().max() > rate  # they went somewhere


def test_in_float32_too() -> None:
    ours, theirs = network(torch.float32), network(torch.float32)
    train(ours, Adam(ours.parameters(), 0.01), range(20), torch.float32)
    oracle = torch.optim.Adam(theirs.parameters(), lr=0.01)
    for step in range(20):
        oracle.zero_grad()
        loss(theirs, step, torch.float32).backward()
        oracle.step()
    for found, expected in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert found.dtype == torch.float32
        assert torch.allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("weight_decay", [0.0, 0.3])
def test_no_gradient_counts_as_zero(weight_decay: float) -> None:
    ours, theirs = network(), network()
    optimiser = Adam(ours.parameters(), 0.01, weight_decay=weight_decay)
    oracle = torch.optim.Adam(theirs.parameters(), lr=0.01, weight_decay=weight_decay)
    for step in range(6):
        gradients = list(torch.autograd.grad(loss(ours, step), optimiser.parameters))
        for parameter, gradient in zip(theirs.parameters(), gradients, strict=True):
            parameter.grad = gradient.clone()
        if step % 2:
            list(theirs.parameters())[1].grad.zero_()
            gradients[1] = None
        optimiser.step(gradients)
        oracle.step()
    for found, expected in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert torch.allclose(found, expected, rtol=1e-12, atol=1e-14)


def test_the_first_step_by_hand() -> None:
    """m / (sqrt(v) + ε) is the gradient's sign at first, whatever its size."""
    parameter = nn.Parameter(torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64))
    Adam([parameter], 0.1).step([torch.tensor([5.0, -1e-3, 0.0], dtype=torch.float64)])
    assert parameter.tolist() == pytest.approx([0.9, 2.1, 3.0], abs=1e-5)


def test_parameters_stay_those_of_their_modules() -> None:
    module = network()
    before = copy.deepcopy(module.state_dict())
    named = dict(module.named_parameters())
    optimiser = Adam(module.parameters(), 0.01)
    assert all(torch.equal(module.state_dict()[name], before[name]) for name in before)
    train(module, optimiser, range(1))
    assert all(parameter is named[name] for name, parameter in module.named_parameters())
    assert not torch.equal(module.state_dict()["0.weight"], before["0.weight"])
    module.load_state_dict(before)  # what is loaded is what is trained on
    assert torch.equal(optimiser.flat, torch.cat([value.reshape(-1) for value in before.values()]))
    with torch.no_grad():
        module[0].weight.clamp_(-0.01, 0.01)  # and so is what is clamped
    assert optimiser.flat[:20].abs().max() <= 0.01


def test_frozen_parameters_are_left_out() -> None:
    module = network()
    module[0].requires_grad_(False)
    kept = module[0].weight.clone()
    optimiser = Adam(module.parameters(), 0.01)
    assert len(optimiser.parameters) == 2
    train(module, optimiser, range(3))
    assert torch.equal(module[0].weight, kept)


def test_nothing_to_train_is_nothing_to_do() -> None:
    optimiser = Adam(nn.Identity().parameters(), 0.01)
    optimiser.step([])
    optimiser.load_state(optimiser.state())
    assert optimiser.steps == 0


def test_a_gradient_too_few_is_an_error() -> None:
    module = network()
    with pytest.raises(ValueError, match="zip"):
        Adam(module.parameters(), 0.01).step([None])


def test_a_state_goes_on_bit_by_bit() -> None:
    straight, stopped = network(), network()
    train(straight, Adam(straight.parameters(), 0.01, weight_decay=0.1), range(20))
    first = Adam(stopped.parameters(), 0.01, weight_decay=0.1)
    train(stopped, first, range(8))
    state, weights = first.state(), copy.deepcopy(stopped.state_dict())
    train(stopped, first, range(8, 11))  # neither of them may notice
    resumed = network()
    resumed.load_state_dict(weights)
    second = Adam(resumed.parameters(), 0.01, weight_decay=0.1)
    second.load_state(state)
    train(resumed, second, range(8, 20))
    for found, expected in zip(resumed.parameters(), straight.parameters(), strict=True):
        assert torch.equal(found, expected)
