"""Matrices divided by their spectral norm."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from fairview.nn.lipschitz import FreeWeights, unit_spectral_norm


def random_matrix(rows: int, columns: int, seed: int) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).normal(size=(rows, columns)))


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 100))
def test_no_difference_gets_longer(rows, columns, seed):
    weight = unit_spectral_norm(random_matrix(rows, columns, seed))
    x, y = random_matrix(columns, 1, seed + 1), random_matrix(columns, 1, seed + 2)
    np.testing.assert_allclose(np.linalg.norm(weight.numpy(), 2), 1)
    assert (weight @ x - weight @ y).norm() <= (x - y).norm() * (1 + 1e-12)


def test_the_gradient_is_that_of_the_quotient():
    assert torch.autograd.gradcheck(unit_spectral_norm, random_matrix(4, 3, 0).requires_grad_())


def test_zeros_stay_zeros():
    assert unit_spectral_norm(torch.zeros(2, 3)).equal(torch.zeros(2, 3))


def test_the_module_holds_the_normalised_matrices_and_the_free_ones_are_trained():
    module = nn.Linear(2, 2)
    with torch.no_grad():
        module.weight.copy_(torch.diag(torch.tensor([3.0, 4.0])))
    free = FreeWeights(module)
    assert module.weight.tolist() == [[0.75, 0], [0, 1]]
    assert free.free[0].tolist() == [[3, 0], [0, 4]]
    assert [parameter is module.bias for parameter in free.others] == [True]
    with torch.no_grad():
        free.free[0][0, 0] = 8.0
    free.write()
    assert module.weight.tolist() == [[1, 0], [0, 0.5]]


def test_without_normalisation_all_parameters_are_trained_as_they_are():
    module = nn.Linear(2, 2)
    before = module.weight.detach().clone()
    free = FreeWeights(module, normalise=False)
    assert module.weight.equal(before)
    assert len(list(free.parameters())) == 0
    assert len(free.others) == 2
