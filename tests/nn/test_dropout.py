"""Dropout drops at its rate, keeps the mean, draws from its own generator, and does not mind how views come."""

from __future__ import annotations

import pytest
import torch

from fairview.nn.dropout import DropoutSource

LIKE = torch.zeros(1, dtype=torch.float64)


def source(rate: float, seed: int = 1) -> DropoutSource:
    return DropoutSource(rate, torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("rate", [1 / 256, 0.25, 0.5, 0.875])
def test_entries_are_0_at_the_rate_and_scaled_otherwise(rate: float) -> None:
    found = source(rate).all_views(2_000, 4, 25, LIKE)
    assert found.shape == (2_000, 4, 25)
    assert found.unique().tolist() == [0.0, 1 / (1 - rate)]
    dropped = (found == 0).double().mean().item()
    assert abs(dropped - rate) < 5 * (rate * (1 - rate) / found.numel()) ** 0.5


def test_neighbouring_entries_are_independent() -> None:
    """Eight of them share a word of the generator."""
    survives = (source(0.5).all_views(40_000, 1, 8, LIKE)[:, 0] > 0).double()
    correlation = torch.corrcoef(survives.T) - torch.eye(8)
    assert correlation.abs().max() < 5 / 40_000**0.5


@pytest.mark.parametrize(
    ("rate", "rounded"), [(0.1, 26 / 256), (0.5, 0.5), (0.0, 0.0), (0.001, 0.0), (0.999, 255 / 256)]
)
def test_the_rate_is_rounded_to_256ths_and_never_to_1(rate: float, rounded: float) -> None:
    made = source(rate)
    assert made.rate == rounded
    assert made.all_views(10, 1, 10, LIKE).isfinite().all()


def test_no_rate_drops_nothing() -> None:
    assert (source(0.0).all_views(3, 2, 5, LIKE) == 1).all()


def test_views_one_by_one_see_the_draws_of_all_at_once() -> None:
    nodes, views, hidden = 7, 3, 5
    together = source(0.5)
    layers = [together.all_views(nodes, views, hidden, LIKE) for _ in range(2)]
    single, h = source(0.5), torch.zeros(nodes, hidden, dtype=torch.float64)
    for _ in range(2):  # a second pass draws anew
        single.begin(views)
        for view in range(views):
            single.next_view()
            for layer in layers:
                assert torch.equal(single.draw(h), layer[:, view])
        layers = [together.all_views(nodes, views, hidden, LIKE) for _ in range(2)]


def test_an_encoder_called_by_itself_draws_anew_each_time() -> None:
    """Without `begin`, or after `end`, each call of `draw` is one view."""
    made, h, oracle = source(0.5), torch.zeros(50, 4), source(0.5)
    assert torch.equal(made.draw(h), oracle.all_views(50, 1, 4, h)[:, 0])
    made.begin(3)
    made.next_view()
    assert torch.equal(made.draw(h), oracle.all_views(50, 3, 4, h)[:, 0])
    made.end()
    assert torch.equal(made.draw(h), oracle.all_views(50, 1, 4, h)[:, 0])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_draws_do_not_depend_on_the_precision(dtype: torch.dtype) -> None:
    found = source(0.5).all_views(9, 2, 3, torch.zeros(1, dtype=dtype))
    assert found.dtype == dtype
    assert torch.equal(found.double(), source(0.5).all_views(9, 2, 3, LIKE))


def test_only_the_given_generator_is_used() -> None:
    before = torch.get_rng_state()
    first, again, other = (source(0.5, seed).all_views(9, 2, 3, LIKE) for seed in (1, 1, 2))
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
