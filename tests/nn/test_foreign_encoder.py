"""A module of the user's is called with what it takes, and the weights that act on the channels are found."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch_geometric.nn import (
    GAT,
    GCN,
    GATConv,
    GATv2Conv,
    GCNConv,
    GINConv,
    GraphSAGE,
    SAGEConv,
    Sequential,
    SimpleConv,
)

from fairview.data.adjacency import Adjacency
from fairview.errors import InputError
from fairview.nn.foreign_encoder import ForeignEncoder
from fairview.nn.inputs import GraphInputs

NODES, CHANNELS, HIDDEN = 20, 4, 3


def features() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(NODES, CHANNELS))


class Plain(nn.Module):
    """No links: a module that only knows features."""

    def __init__(self) -> None:
        super().__init__()
        self.drop = nn.Dropout(0.5)
        self.body = nn.Sequential(nn.LayerNorm(CHANNELS), nn.Linear(CHANNELS, CHANNELS), nn.ReLU())
        self.out = nn.Linear(CHANNELS, CHANNELS)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return self.out(self.body(self.drop(x)))


class OwnParameter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(HIDDEN, CHANNELS))
        self.out = nn.Linear(HIDDEN, CHANNELS)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return self.out(x @ self.weight.T)


class OtherWidth(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.out = nn.Linear(CHANNELS + 1, HIDDEN)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return self.out(x)


def first_weights(module: nn.Module) -> list[str]:
    names = {id(parameter): name for name, parameter in module.named_parameters()}
    return [names[id(weight)] for weight in ForeignEncoder(module, CHANNELS).first_weights]


@pytest.mark.parametrize(
    ("module", "weights"),
    [
        (GCNConv(CHANNELS, HIDDEN), ["lin.weight"]),
        (SAGEConv(CHANNELS, HIDDEN), ["lin_l.weight", "lin_r.weight"]),
        (GATConv(CHANNELS, HIDDEN, heads=2), ["lin.weight"]),
        (GATv2Conv(CHANNELS, HIDDEN), ["lin_l.weight", "lin_r.weight"]),
        (GINConv(nn.Sequential(nn.Linear(CHANNELS, CHANNELS), nn.Linear(CHANNELS, 2))), ["nn.0.weight"]),
        (GCN(CHANNELS, CHANNELS, num_layers=3, out_channels=CHANNELS), ["convs.0.lin.weight"]),
        (GAT(CHANNELS, 8, num_layers=2, heads=2), ["convs.0.lin.weight"]),
        (Plain(), ["body.1.weight"]),
        (OwnParameter(), ["weight"]),
        (OtherWidth(), []),
    ],
    ids=["GCNConv", "SAGEConv", "GATConv", "GATv2Conv", "GINConv", "GCN", "GAT", "plain", "own-parameter", "none"],
)
def test_the_first_weights_of_any_module_are_found(module: nn.Module, weights: list[str]) -> None:
    assert first_weights(module) == weights


@pytest.mark.parametrize("module", [GAT(CHANNELS, 8, num_layers=2, heads=2), GCN(CHANNELS, HIDDEN, 2), Plain()])
def test_any_module_is_called_with_features_and_links(module: nn.Module, links: Callable[..., Adjacency]) -> None:
    inputs = GraphInputs(features(), links(NODES, 35), None, dtype=torch.float64)
    encoder = ForeignEncoder(module.double(), CHANNELS).eval()
    assert torch.equal(encoder(inputs.x, inputs), module(inputs.x, inputs.edge_index))


class OwnSum(nn.Module):
    """Takes weights by name, and by name alone."""

    def __init__(self) -> None:
        super().__init__()
        self.linear, self.add = nn.Linear(CHANNELS, HIDDEN), SimpleConv(aggr="sum")

    def forward(self, x: Tensor, edge_index: Tensor, *, edge_weight: Tensor | None = None) -> Tensor:
        return self.add(self.linear(x), edge_index, edge_weight)


@pytest.mark.parametrize(
    "module",
    [
        OwnSum(),
        GCNConv(CHANNELS, HIDDEN),
        GCN(CHANNELS, HIDDEN, 2),
        Sequential("x, edge_index, edge_weight", [(GCNConv(CHANNELS, HIDDEN), "x, edge_index, edge_weight -> x")]),
    ],
    ids=["own", "GCNConv", "GCN", "Sequential"],
)
def test_a_module_that_takes_weights_gets_them(module: nn.Module, links: Callable[..., Adjacency]) -> None:
    inputs = GraphInputs(features(), links(NODES, 35, weighted=True), None, dtype=torch.float64)
    encoder = ForeignEncoder(module.double(), CHANNELS).eval()
    weights = torch.from_numpy(inputs.adjacency.weights.copy()).double()
    found = encoder(inputs.x, inputs)
    assert torch.equal(found, module(inputs.x, inputs.edge_index, edge_weight=weights))
    assert not torch.allclose(found, module(inputs.x, inputs.edge_index, edge_weight=torch.ones_like(weights)))


@pytest.mark.parametrize(
    "module",
    [Plain(), SAGEConv(CHANNELS, HIDDEN), GraphSAGE(CHANNELS, HIDDEN, 2)],
    ids=["own", "SAGEConv", "GraphSAGE: a parameter that is ignored"],
)
def test_a_module_that_takes_no_weights_is_refused_on_weighted_links(
    module: nn.Module, links: Callable[..., Adjacency]
) -> None:
    inputs = GraphInputs(features(), links(NODES, 35, weighted=True), None)
    with pytest.raises(InputError) as caught:
        ForeignEncoder(module, CHANNELS)(inputs.x, inputs)
    assert str(caught.value) == (
        f"encoder: the links have weights, but {type(module).__name__} takes none. Let it have "
        "forward(x, edge_index, edge_weight), or leave the weights out."
    )
