"""Rows of length one, with the gradient of `functional.normalize`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from fairview.data.adjacency import Adjacency
from fairview.nn.encoders import EncoderSpec
from fairview.nn.inputs import GraphInputs
from fairview.nn.sage_path import SagePath, unit_length


def draws(*shape: int) -> torch.Tensor:
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1)).requires_grad_()


def test_unit_length_by_hand() -> None:
    assert unit_length(torch.tensor([[[3.0, 4.0], [0.0, -2.0]]])).tolist() == [
        [[pytest.approx(0.6), pytest.approx(0.8)], [0.0, -1.0]]
    ]


@pytest.mark.parametrize("size", [1e-11, 1.0, 1e8])
def test_unit_length_equals_that_of_torch_with_its_gradient(size: float) -> None:
    h, weights = (draws(5, 3, 4) * size).detach().requires_grad_(), draws(5, 3, 4).detach().flip(0)
    found, expected = unit_length(h), functional.normalize(h, dim=-1)
    assert torch.allclose(found, expected, rtol=1e-14, atol=0)
    gradients = [torch.autograd.grad((y * weights).sum(), h)[0] for y in (found, expected)]
    assert torch.allclose(*gradients, rtol=1e-9, atol=1e-12 / size)


def test_the_gradient_is_that_of_finite_differences() -> None:
    assert torch.autograd.gradcheck(unit_length, draws(4, 2, 3))


def test_rows_of_zeros_and_tiny_rows_follow_torch() -> None:
    h = torch.tensor([[0.0, 0.0], [3e-14, 4e-14], [1.0, 0.0]], dtype=torch.float64, requires_grad=True)
    found, expected = unit_length(h), functional.normalize(h, dim=-1)
    assert torch.equal(found, expected)
    weights = torch.tensor([[1.0, 2.0], [1.0, 2.0], [1.0, 2.0]], dtype=torch.float64)
    gradients = [torch.autograd.grad((y * weights).sum(), h)[0] for y in (found, expected)]
    assert torch.allclose(*gradients, rtol=1e-12, atol=0)


def test_a_second_derivative_is_refused_rather_than_wrong() -> None:
    h = draws(3, 2)
    (gradient,) = torch.autograd.grad(unit_length(h).square().mul(torch.tensor([1.0, 2.0])).sum(), h, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        gradient.sum().backward()


def test_the_draws_of_dropout_do_not_depend_on_the_rows(links: Callable[..., Adjacency]) -> None:
    spec = EncoderSpec(kind="sage", hidden=4, depth=3)
    x = np.random.default_rng(1).normal(size=(20, 3))
    inputs = GraphInputs(x, links(20, 40), spec.propagation, dtype=torch.float64)
    encoder, head, masks = spec.build(3, 0).double(), nn.Linear(4, 1).double(), torch.rand(2, 3, dtype=torch.float64)
    found = []
    for rows in (None, np.array([3, 17, 5])):
        encoder.dropout.generator = torch.Generator().manual_seed(1)
        found.append(SagePath(encoder, inputs).on(rows).logits(masks, head))
    assert torch.allclose(found[0][:, [3, 17, 5]], found[1], rtol=1e-12, atol=1e-14)
