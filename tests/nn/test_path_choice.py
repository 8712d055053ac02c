"""The collapsed path is chosen where it is exact; the general one is the encoder itself, view by view."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch_geometric.nn import GCNConv

from fairview.data.adjacency import Adjacency
from fairview.errors import InputError
from fairview.nn.encoders import EncoderSpec
from fairview.nn.foreign_encoder import ForeignEncoder
from fairview.nn.inputs import GraphInputs
from fairview.nn.linear_path import LinearPath, NormalisedPath
from fairview.nn.paths import GeneralPath, choose_path
from fairview.nn.sage_path import SagePath

CHANNELS, HIDDEN = 6, 5


def features(nodes: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(nodes, CHANNELS))


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"kind": "mlp"}, LinearPath),
        ({"kind": "gcn"}, LinearPath),
        ({"kind": "gin"}, NormalisedPath),
        ({"kind": "sage"}, SagePath),
        ({"kind": "sage", "depth": 3}, SagePath),
        ({"kind": "sign"}, LinearPath),
        ({"kind": "sign", "depth": 3}, LinearPath),
        ({"kind": "mlp", "depth": 2}, GeneralPath),
        ({"kind": "gcn", "depth": 2}, GeneralPath),
        ({"kind": "gin", "depth": 2}, GeneralPath),
    ],
)
def test_the_collapsed_path_is_chosen_where_it_is_exact(
    spec: dict[str, Any], path: type, links: Callable[..., Adjacency]
) -> None:
    made = EncoderSpec(**spec)
    inputs, encoder = (
        GraphInputs(features(10), links(10, 20), made.propagation, blocks=made.blocks),
        made.build(CHANNELS, 0),
    )
    assert type(choose_path(encoder, inputs)) is path
    assert type(choose_path(encoder, inputs, "general")) is GeneralPath


def test_no_path_is_collapsed_that_is_not_exact(links: Callable[..., Adjacency]) -> None:
    inputs = GraphInputs(features(10), links(10, 20), None)
    encoder = ForeignEncoder(GCNConv(CHANNELS, HIDDEN), CHANNELS)
    assert type(choose_path(encoder, inputs)) is GeneralPath
    with pytest.raises(InputError) as caught:
        choose_path(encoder, inputs, "collapsed")
    assert str(caught.value) == "path: no collapsed path for this encoder; use 'general' or 'auto'."


def test_the_general_path_is_the_encoder_view_by_view(links: Callable[..., Adjacency]) -> None:
    inputs = GraphInputs(features(10), links(10, 20), None, dtype=torch.float64)
    encoder, head = ForeignEncoder(GCNConv(CHANNELS, HIDDEN), CHANNELS).double(), nn.Linear(HIDDEN, 2).double()
    masks = torch.rand(3, CHANNELS, dtype=torch.float64, generator=torch.Generator().manual_seed(9))
    found = choose_path(encoder, inputs).on(np.array([4, 1])).logits(masks, head)
    assert found.shape == (3, 2, 2)
    for view, mask in enumerate(masks):
        expected = head(encoder.module(inputs.x * mask, inputs.edge_index))[[4, 1]]
        assert torch.allclose(found[view], expected, rtol=1e-13, atol=1e-14)


def test_dropout_between_the_layers_of_the_general_path_differs_between_views(links: Callable[..., Adjacency]) -> None:
    spec = EncoderSpec(kind="gcn", depth=2, hidden=8)
    inputs = GraphInputs(features(10), links(10, 20), spec.propagation)
    encoder, head = spec.build(CHANNELS, 0), nn.Linear(8, 1)
    encoder.dropout.generator = torch.Generator().manual_seed(1)
    masks = torch.ones(2, CHANNELS)
    rows = choose_path(encoder, inputs).on()
    first, second = rows.logits(masks, head)
    assert not torch.equal(first, second)
    assert not torch.equal(rows.logits(masks, head)[0], first)
    encoder.eval()
    first, second = rows.logits(masks, head)
    assert torch.equal(first, second)
