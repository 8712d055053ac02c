"""Clamped weights respect their bound, keep their sign, and are left alone inside it."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from torch import nn

from fairview.nn.regularisers import clamp_all, clamp_columns, limit_spectral_norm

numbers = st.floats(-5, 5, width=32)
matrices = arrays.arrays(np.float32, arrays.array_shapes(min_dims=2, max_dims=2, max_side=6), elements=numbers)


@settings(deadline=None)
@given(weight=matrices, threshold=st.floats(0.0078125, 4, width=32), data=st.data())
def test_the_adaptive_clamp_is_that_of_the_paper(weight: np.ndarray, threshold: float, data: st.DataObject) -> None:
    """Section 4.2, entry by entry: bound, sign, untouched inside the bound."""
    kept = data.draw(arrays.arrays(np.float32, weight.shape[1], elements=st.floats(0, 1, width=32)))
    bound = np.float32(threshold) * kept
    clamped = torch.from_numpy(weight.copy())
    clamp_columns([clamped], torch.from_numpy(bound))
    found = clamped.numpy()
    assert (np.abs(found) <= bound).all()
    inside = np.abs(weight) <= bound
    assert (found[inside] == weight[inside]).all()
    assert (found[~inside] == (np.sign(weight) * bound)[~inside]).all()
    again = clamped.clone()
    clamp_columns([again], torch.from_numpy(bound))
    assert torch.equal(again, clamped)


def test_each_column_has_a_bound_of_its_own_in_every_matrix() -> None:
    first, second = torch.tensor([[3.0, -3.0, 3.0]]), torch.tensor([[-0.4, 0.4, 0.4], [9.0, 9.0, 0.0]])
    clamp_columns([first, second], torch.tensor([1.0, 0.5, 0.0]))
    assert first.tolist() == [[1.0, -0.5, 0.0]]
    assert second.tolist() == [[pytest.approx(-0.4), pytest.approx(0.4), 0.0], [1.0, 0.5, 0.0]]


@settings(deadline=None)
@given(weight=matrices, bound=st.floats(0.0078125, 8, width=32))
def test_the_spectral_norm_is_at_most_the_bound(weight: np.ndarray, bound: float) -> None:
    limited = torch.from_numpy(weight.copy())
    limit_spectral_norm([limited], bound)
    before, after = (np.linalg.svd(w.astype(np.float64), compute_uv=False)[0] for w in (weight, limited.numpy()))
    assert after <= bound * (1 + 1e-5)
    if before <= bound * (1 - 1e-5):
        assert (limited.numpy() == weight).all()
    elif before > bound * (1 + 1e-5):
        assert np.allclose(limited.numpy(), weight * (bound / before), rtol=1e-4, atol=1e-6)
    again = limited.clone()
    limit_spectral_norm([again], bound)
    assert torch.allclose(again, limited, rtol=1e-5, atol=0)


def test_a_matrix_of_zeros_has_no_norm_to_limit() -> None:
    weight = torch.zeros(2, 3)
    limit_spectral_norm([weight], 0.1)
    assert not weight.any()


def test_the_classifier_clamp_bounds_weight_and_bias() -> None:
    head = nn.Linear(2, 1)
    with torch.no_grad():
        head.weight.copy_(torch.tensor([[0.05, -7.0]]))
        head.bias.fill_(3.0)
    clamp_all(head.parameters(), 0.1)
    assert head.weight.tolist() == [[pytest.approx(0.05), pytest.approx(-0.1)]]
    assert head.bias.tolist() == [pytest.approx(0.1)]


def test_parameters_are_changed_in_place_and_stay_parameters() -> None:
    layer = nn.Linear(3, 2)
    address = layer.weight.data_ptr()
    clamp_columns([layer.weight], torch.full((3,), 0.01))
    limit_spectral_norm([layer.weight], 0.001)
    clamp_all([layer.weight], 0.0001)
    assert layer.weight.data_ptr() == address
    assert layer.weight.requires_grad
    assert layer.weight.grad_fn is None
    assert layer.weight.abs().max() <= 0.0001
