"""Encoders have the paper's shapes, compute what PyG's layers do, and start from their seed alone."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from torch import Tensor, nn
from torch_geometric.nn import GCNConv, GINConv, SimpleConv

from fairview.data.adjacency import Adjacency
from fairview.errors import InputError
from fairview.nn.encoders import ENCODERS, Encoder, EncoderSpec
from fairview.nn.inputs import GraphInputs

NODES, CHANNELS, HIDDEN = 20, 4, 3


@pytest.fixture(params=[False, True], ids=["plain", "weighted"])
def adjacency(links: Callable[..., Adjacency], request: pytest.FixtureRequest) -> Adjacency:
    return links(NODES, 35, weighted=request.param)


def features(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(NODES, CHANNELS))


def made(adjacency: Adjacency, **settings: object) -> tuple[Encoder, GraphInputs]:
    spec = EncoderSpec(**{"hidden": HIDDEN} | settings)
    inputs = GraphInputs(features(), adjacency, spec.propagation, dtype=torch.float64)
    return spec.build(CHANNELS, seed=5).double(), inputs


def same(found: Tensor, expected: Tensor) -> None:
    assert found.shape == (NODES, HIDDEN)
    assert (found - expected).abs().max() <= 1e-13 * expected.abs().max()


# --- shapes of the paper ----------------------------------------------------------------------------------------------


def shapes(module: nn.Module) -> dict[str, tuple[int, ...]]:
    return {name: tuple(parameter.shape) for name, parameter in module.named_parameters() if parameter.requires_grad}


def test_gcn_is_one_linear_layer() -> None:
    assert shapes(EncoderSpec(kind="gcn").build(27, 0)) == {"layers.0.bias": (16,), "layers.0.lin.weight": (16, 27)}


def test_mlp_is_one_linear_layer() -> None:
    assert shapes(EncoderSpec(kind="mlp").build(27, 0)) == {"layers.0.weight": (16, 27), "layers.0.bias": (16,)}


@pytest.mark.parametrize(("depth", "columns"), [(None, 81), (1, 54), (4, 135)])
def test_sign_is_one_linear_layer_on_every_channel_at_every_hop(depth: int | None, columns: int) -> None:
    encoder = EncoderSpec(kind="sign", depth=depth).build(27, 0)
    assert shapes(encoder) == {"layers.0.weight": (16, columns), "layers.0.bias": (16,)}


def test_a_column_of_sign_is_named_like_that_of_a_propagated_folder() -> None:
    names = EncoderSpec(kind="sign").build(2, 0).columns(("age", "debt"))
    assert names == ("age@0", "debt@0", "age@1", "debt@1", "age@2", "debt@2")
    assert EncoderSpec(kind="gcn").build(2, 0).columns(("age", "debt")) == ("age", "debt")


def test_gin_is_a_linear_layer_and_a_batch_norm() -> None:
    encoder = EncoderSpec(kind="gin").build(27, 0)
    assert shapes(encoder) == {
        "layers.0.nn.0.weight": (16, 27),
        "layers.0.nn.0.bias": (16,),
        "layers.0.nn.1.weight": (16,),
        "layers.0.nn.1.bias": (16,),
    }
    assert not any(isinstance(module, nn.ReLU) for module in encoder.modules())


def test_sage_is_two_layers_with_a_batch_norm_that_is_not_trained_between_them() -> None:
    encoder = EncoderSpec(kind="sage").build(27, 0)
    assert shapes(encoder) == {
        "layers.0.lin_l.weight": (16, 27),
        "layers.0.lin_l.bias": (16,),
        "layers.0.lin_r.weight": (16, 27),
        "layers.1.lin_l.weight": (16, 16),
        "layers.1.lin_l.bias": (16,),
        "layers.1.lin_r.weight": (16, 16),
    }
    (norm,) = (module for module in encoder.modules() if isinstance(module, nn.BatchNorm1d))
    assert norm.weight.tolist() == [1.0] * 16
    assert norm.bias.tolist() == [0.0] * 16
    assert encoder.dropout.rate == 0.5


@pytest.mark.parametrize(
    ("kind", "weights"),
    [
        ("mlp", ["layers.0.weight"]),
        ("gcn", ["layers.0.lin.weight"]),
        ("gin", ["layers.0.nn.0.weight"]),
        ("sage", ["layers.0.lin_l.weight", "layers.0.lin_r.weight"]),
        ("sign", ["layers.0.weight"]),
    ],
)
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_a_clamp_finds_the_first_weights_also_when_all_layers_are_as_wide(
    kind: str, weights: list[str], depth: int
) -> None:
    encoder = EncoderSpec(kind=kind, depth=depth, hidden=4).build(4, 0)
    named = dict(encoder.named_parameters())
    found = encoder.first_weights
    assert len(found) == len(weights)
    assert all(parameter is named[name] for parameter, name in zip(found, weights, strict=True))


def test_gin_with_another_operator_has_the_same_first_weights() -> None:
    encoder = EncoderSpec(kind="gin", operator="gcn").build(5, 0)
    (weight,) = encoder.first_weights
    assert weight is dict(encoder.named_parameters())["layers.0.0.weight"]


# --- what they compute ------------------------------------------------------------------------------------------------


def test_mlp_by_hand(adjacency: Adjacency) -> None:
    encoder, inputs = made(adjacency, kind="mlp", depth=2)
    encoder.eval()
    first, second = encoder.layers
    expected = torch.relu(inputs.x @ first.weight.T + first.bias) @ second.weight.T + second.bias
    same(encoder(inputs.x, inputs), expected)


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("self_loops", [1.0, 2.0])
def test_gcn_equals_that_of_pyg(adjacency: Adjacency, depth: int, self_loops: float) -> None:
    encoder, inputs = made(adjacency, kind="gcn", depth=depth, self_loops=self_loops)
    encoder.eval()
    weights = inputs.edge_weight
    if weights is None:
        weights = torch.ones(adjacency.num_pairs, dtype=torch.float64)  # PyG forgets `improved` without weights
    h = inputs.x
    for number, layer in enumerate(encoder.layers):
        oracle = GCNConv(*layer.lin.weight.T.shape, improved=self_loops == 2.0).double()
        oracle.load_state_dict(layer.state_dict())
        h = oracle(torch.relu(h) if number else h, inputs.edge_index, weights)
    same(encoder(inputs.x, inputs), h)


@pytest.mark.parametrize("operator", ["mean", "sum"])
def test_gcn_with_another_operator_equals_the_dense_product(adjacency: Adjacency, operator: str) -> None:
    encoder, inputs = made(adjacency, kind="gcn", operator=operator)
    s = torch.from_numpy(encoder.spec.propagation.matrix(adjacency).toarray())
    same(encoder(inputs.x, inputs), s @ inputs.x @ encoder.first_weights[0].T + encoder.layer(0).bias)


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("operator", [None, "mean", "sum"])
def test_sign_equals_the_dense_powers_of_its_operator_each_on_its_own_view(
    adjacency: Adjacency, operator: str | None, depth: int
) -> None:
    spec = EncoderSpec(kind="sign", operator=operator, depth=depth, hidden=HIDDEN)
    encoder = spec.build(CHANNELS, seed=5).double()
    inputs = GraphInputs(features(), adjacency, spec.propagation, blocks=spec.blocks, dtype=torch.float64)
    s, x = torch.from_numpy(spec.propagation.matrix(adjacency).toarray()), torch.from_numpy(features())
    masks = torch.rand(depth + 1, CHANNELS, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    weights = encoder.first_weights[0].split(CHANNELS, dim=1)
    hops = [torch.linalg.matrix_power(s, h) @ (x * masks[h]) @ weights[h].T for h in range(depth + 1)]
    same(encoder(inputs.view(masks.flatten()), inputs), sum(hops) + encoder.layer(0).bias)
    powers = [torch.linalg.matrix_power(s, h) @ x for h in range(depth + 1)]
    assert torch.allclose(inputs.propagated, torch.cat(powers, dim=1), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("self_loops", [0.0, 1.0, 2.0])
@pytest.mark.parametrize("operator", [None, "sum", "gcn", "mean"])
def test_gin_equals_the_dense_product_and_a_batch_norm(
    adjacency: Adjacency, operator: str | None, self_loops: float
) -> None:
    encoder, inputs = made(adjacency, kind="gin", operator=operator, self_loops=self_loops)
    s = torch.from_numpy(encoder.spec.propagation.matrix(adjacency).toarray())
    h = s @ inputs.x @ encoder.linear.weight.T + encoder.linear.bias
    expected = (h - h.mean(dim=0)) / (h.var(dim=0, correction=0) + 1e-5).sqrt()
    same(encoder(inputs.x, inputs), expected)
    assert torch.allclose(encoder.norm.running_mean, 0.1 * h.mean(dim=0), rtol=1e-12)
    assert torch.allclose(encoder.norm.running_var, 0.9 + 0.1 * h.var(dim=0), rtol=1e-12)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_gin_equals_that_of_pyg(links: Callable[..., Adjacency], depth: int) -> None:
    adjacency = links(NODES, 35)
    encoder, inputs = made(adjacency, kind="gin", depth=depth, self_loops=1.25)
    encoder.eval()
    h = inputs.x
    for number, layer in enumerate(encoder.layers):
        h = GINConv(layer.nn, eps=0.25)(torch.relu(h) if number else h, inputs.edge_index)
    same(encoder(inputs.x, inputs), h)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_gin_on_weighted_links_adds_up_as_pyg_does(links: Callable[..., Adjacency], depth: int) -> None:
    encoder, inputs = made(links(NODES, 35, weighted=True), kind="gin", depth=depth, self_loops=1.25)
    encoder.eval()
    h, add = inputs.x, SimpleConv(aggr="sum")
    for number, layer in enumerate(encoder.layers):
        h = torch.relu(h) if number else h
        h = layer.nn(1.25 * h + add(h, inputs.edge_index, inputs.edge_weight))
    same(encoder(inputs.x, inputs), h)


@pytest.mark.parametrize("kind", ["gcn", "gin", "sage"])
@pytest.mark.parametrize("depth", [1, 2])
def test_weights_of_one_are_no_weights(links: Callable[..., Adjacency], kind: str, depth: int) -> None:
    plain = links(NODES, 35)
    ones = dataclasses.replace(plain, weights=np.ones(plain.num_pairs, dtype=np.float32))
    outputs = []
    for adjacency in (plain, ones):
        encoder, inputs = made(adjacency, kind=kind, depth=depth)
        outputs.append(encoder.eval()(inputs.x, inputs))
    same(*outputs)


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("self_loops", [0.0, 1.0])
@pytest.mark.parametrize("operator", ["mean", "sum"])
def test_sage_equals_the_dense_product(adjacency: Adjacency, operator: str, self_loops: float, depth: int) -> None:
    """W_l S H + W_r H + b, to length 1; between layers ReLU and BatchNorm."""
    encoder, inputs = made(adjacency, kind="sage", operator=operator, self_loops=self_loops, depth=depth)
    encoder.dropout.rate = 0.0
    s = torch.from_numpy(encoder.spec.propagation.matrix(adjacency).toarray())
    h = inputs.x
    for number, layer in enumerate(encoder.layers):
        if number:
            h = torch.relu(h)
            h = (h - h.mean(dim=0)) / (h.var(dim=0, correction=0) + 1e-5).sqrt()
        h = s @ h @ layer.lin_l.weight.T + layer.lin_l.bias + h @ layer.lin_r.weight.T
        h = h / h.square().sum(dim=1, keepdim=True).sqrt()
    found = encoder(inputs.x, inputs)
    same(found, h)
    assert torch.allclose(found.square().sum(dim=1), torch.ones(NODES, dtype=torch.float64), rtol=1e-13)


@pytest.mark.parametrize("kind", ["mlp", "gcn", "gin", "sage"])
def test_dropout_acts_between_layers_in_training_only(adjacency: Adjacency, kind: str) -> None:
    encoder, inputs = made(adjacency, kind=kind, depth=2)
    encoder.dropout.generator = torch.Generator().manual_seed(1)
    assert not torch.equal(encoder(inputs.x, inputs), encoder(inputs.x, inputs))
    encoder.eval()
    assert torch.equal(encoder(inputs.x, inputs), encoder(inputs.x, inputs))
    shallow, inputs = made(adjacency, kind=kind, depth=1)
    assert torch.equal(shallow(inputs.x, inputs), shallow(inputs.x, inputs))


# --- seeds and settings -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ENCODERS)
def test_the_weights_depend_on_the_seed_alone(kind: str) -> None:
    spec = EncoderSpec(kind=kind)
    torch.manual_seed(123)
    before = torch.get_rng_state()
    first = spec.build(9, seed=3).state_dict()
    assert torch.equal(torch.get_rng_state(), before)
    torch.rand(17)
    again, other = spec.build(9, seed=3).state_dict(), spec.build(9, seed=4).state_dict()
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert any(not torch.equal(first[name], other[name]) for name in first)


@pytest.mark.parametrize(
    ("settings", "kind", "layers"),
    [
        ({"kind": "mlp"}, None, 1),
        ({"kind": "gcn"}, "gcn", 1),
        ({"kind": "gin"}, "sum", 1),
        ({"kind": "sage"}, "mean", 2),
        ({"kind": "sage", "depth": 1}, "mean", 1),
        ({"kind": "gin", "operator": "gcn", "depth": 3}, "gcn", 3),
        ({"kind": "sign", "depth": 3}, "gcn", 1),
    ],
)
def test_defaults_are_those_of_the_paper(settings: dict[str, object], kind: str | None, layers: int) -> None:
    spec = EncoderSpec(**settings)
    assert (spec.propagation.kind if spec.propagation else None) == kind
    assert spec.layers == layers
    assert spec.hidden == 16


@pytest.mark.parametrize(
    "settings", [{"kind": "gat"}, {"hidden": 0}, {"depth": 0}, {"dropout": 1.0}, {"self_loops": -1.0}, {"width": 3}]
)
def test_what_no_encoder_can_be_is_refused(settings: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        EncoderSpec(**settings)


@pytest.mark.parametrize(
    ("settings", "given"),
    [
        ({"operator": "gcn"}, "operator 'gcn' with 1 self-loops"),
        ({"self_loops": 2.0}, "operator 'mean' with 2 self-loops"),
    ],
)
def test_sage_says_which_operators_it_takes(settings: dict[str, object], given: str) -> None:
    with pytest.raises(InputError) as caught:
        EncoderSpec(kind="sage", **settings).build(3, 0)
    assert str(caught.value) == f"sage: {given}; it takes the operators mean and sum, and 0 or 1 self-loops."
