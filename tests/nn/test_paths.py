"""Two paths, one meaning: the collapsed path gives the logits, gradients and running statistics of the general one."""

from __future__ import annotations

import copy
import dataclasses
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import fairview as fv
from fairview.data.adjacency import Adjacency
from fairview.data.link_kinds import LinkKinds
from fairview.nn.encoders import Encoder, EncoderSpec
from fairview.nn.inputs import GraphInputs
from fairview.nn.losses import discriminator_loss, generator_loss
from fairview.nn.mask import ChannelMask
from fairview.nn.paths import PathKind, choose_path

CHANNELS, HIDDEN, VIEWS = 6, 5, 4

SPECS = {
    "mlp": {"kind": "mlp"},
    "gcn": {"kind": "gcn"},
    "gcn-two-loops": {"kind": "gcn", "self_loops": 2.0},
    "gcn-mean": {"kind": "gcn", "operator": "mean"},
    "gcn-sum": {"kind": "gcn", "operator": "sum", "self_loops": 1.5},
    "gin": {"kind": "gin"},
    "gin-two-loops": {"kind": "gin", "self_loops": 2.0},
    "gin-gcn": {"kind": "gin", "operator": "gcn"},
    "gin-gcn-two-loops": {"kind": "gin", "operator": "gcn", "self_loops": 2.0},
    "gin-mean": {"kind": "gin", "operator": "mean", "self_loops": 0.0},
    "sage-1": {"kind": "sage", "depth": 1},
    "sage-2": {"kind": "sage", "depth": 2},
    "sage-3": {"kind": "sage", "depth": 3},
    "sage-no-loops": {"kind": "sage", "self_loops": 0.0},
    "sage-sum": {"kind": "sage", "operator": "sum"},
    "sage-no-dropout": {"kind": "sage", "dropout": 0.0},
    "sign": {"kind": "sign"},
    "sign-1": {"kind": "sign", "depth": 1},
    "sign-mean-3": {"kind": "sign", "operator": "mean", "depth": 3, "self_loops": 0.0},
    "gcn-kinds": {"kind": "gcn", "kinds": ("a", "b")},
    "gcn-mean-kinds": {"kind": "gcn", "operator": "mean", "kinds": ("a", "b")},
    "gin-kinds": {"kind": "gin", "kinds": ("a", "b"), "self_loops": 2.0},
}


def features(nodes: int, seed: int = 0) -> np.ndarray:
    """Channels of different sizes, none of them centred."""
    x = np.random.default_rng(seed).normal(size=(nodes, CHANNELS))
    return (x + np.array([0, 1, -2, 5, 0, 1])) * [1, 1, 10, 0.1, 1, 3]


def in_kinds(adjacency: Adjacency, names: tuple[str, ...]) -> Adjacency:
    """The same links, each of some kind, the same both ways."""
    codes = (adjacency.sources + adjacency.indices) % len(names)
    return dataclasses.replace(adjacency, kinds=LinkKinds(names, codes.astype(np.int16)))


def inputs_for(
    spec: dict[str, Any], x: np.ndarray, adjacency: Adjacency, dtype: torch.dtype = torch.float64
) -> GraphInputs:
    made = EncoderSpec(**spec)
    if made.kinds is not None:
        adjacency = in_kinds(adjacency, made.kinds)
    return GraphInputs(x, adjacency, made.propagation, blocks=made.blocks, dtype=dtype)


class Side:
    """One path with its own copy of everything that is trained; the same seed gives the same start and draws."""

    def __init__(
        self,
        spec: dict[str, Any],
        inputs: GraphInputs,
        kind: PathKind,
        *,
        outputs: int,
        rows: np.ndarray | None,
        hard: bool = False,
        hidden: int = HIDDEN,
    ) -> None:
        channels = inputs.x.shape[1]
        self.encoder = EncoderSpec(**{"hidden": hidden} | spec).build(channels, seed=1).to(inputs.dtype)
        self.encoder.dropout.generator = torch.Generator().manual_seed(2)
        generator = torch.Generator().manual_seed(3)
        self.head = nn.Linear(hidden, outputs, dtype=inputs.dtype)
        self.mask = ChannelMask(channels * self.encoder.blocks, hard=hard).to(inputs.dtype)
        with torch.no_grad():
            for parameter in [*self.head.parameters(), self.mask.scores]:
                parameter.copy_(torch.randn(parameter.shape, dtype=torch.float64, generator=generator))
        self.rows = choose_path(self.encoder, inputs, kind).on(rows)
        nodes = inputs.num_nodes if rows is None else len(rows)
        groups = torch.randint(max(outputs, 2), (nodes,), generator=generator)
        self.groups = groups.to(inputs.dtype) if outputs == 1 else groups

    @property
    def parameters(self) -> dict[str, Tensor]:
        modules = nn.ModuleDict({"encoder": self.encoder, "head": self.head, "mask": self.mask})
        return {name: parameter for name, parameter in modules.named_parameters() if parameter.requires_grad}

    @property
    def buffers(self) -> dict[str, Tensor]:
        return dict(self.encoder.named_buffers())

    def logits_and_gradients(self, masks: Tensor, *, training: bool) -> tuple[Tensor, dict[str, Tensor | None]]:
        """Masks that come from the scores have gradients to them; others have a gradient of their own."""
        self.encoder.train(training)
        sources = self.parameters
        if masks.grad_fn is None:
            sources["mask.scores"] = masks.requires_grad_()
        logits = self.rows.logits(masks, self.head)
        loss = discriminator_loss(logits, self.groups) + generator_loss(logits, masks, density_weight=0.3)
        found = torch.autograd.grad(loss, list(sources.values()), allow_unused=True)
        return logits.detach(), dict(zip(sources, found, strict=True))

    @torch.no_grad()
    def follow(self, gradients: dict[str, Tensor | None]) -> None:
        """A step down, of a size that shows."""
        for name, parameter in self.parameters.items():
            gradient = gradients[name]
            if gradient is not None and gradient.any():
                parameter -= 0.1 * parameter.abs().max() * gradient / gradient.abs().max()


def relative(found: Tensor, truth: Tensor) -> float:
    """max|difference| / max|truth|."""
    assert found.shape == truth.shape
    scale = truth.abs().max().item()
    difference = (found.double() - truth.double()).abs().max().item()
    return difference / scale if scale else difference


def assert_equal_paths(general: Side, collapsed: Side, script: list[bool], tolerance: float) -> None:
    """Steps in training (True) and in evaluation mode, both sides following the general path's gradients."""
    noises = torch.Generator().manual_seed(4)
    for training in script:
        noise = general.mask.noise(VIEWS, noises)
        truth, expected = general.logits_and_gradients(general.mask(noise), training=training)
        logits, found = collapsed.logits_and_gradients(collapsed.mask(noise), training=training)
        assert relative(logits, truth) < tolerance
        largest = max(gradient.abs().max().item() for gradient in expected.values() if gradient is not None)
        for name, gradient in expected.items():
            assert gradient is not None, name
            if found[name] is None:  # it cancels out in the collapsed path; rounding is left of it in the general one
                assert gradient.abs().max() < tolerance * largest, name
            else:
                assert relative(found[name], gradient) < tolerance, name
        for name, buffer in general.buffers.items():
            assert relative(collapsed.buffers[name], buffer) < tolerance, name
        general.follow(expected)
        collapsed.follow(expected)


def two_sides(spec: dict[str, Any], inputs: GraphInputs, **options: Any) -> tuple[Side, Side]:
    general, collapsed = (Side(spec, inputs, kind, **options) for kind in ("general", "collapsed"))
    assert isinstance(general.encoder, Encoder)
    for name, parameter in general.parameters.items():
        assert torch.equal(parameter, collapsed.parameters[name])
    return general, collapsed


@pytest.mark.parametrize("some_rows", [False, True], ids=["all-rows", "some-rows"])
@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("hard", [False, True], ids=["soft", "hard"])
@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
def test_collapsed_equals_general(
    spec: dict[str, Any], hard: bool, outputs: int, some_rows: bool, links: Callable[..., Adjacency]
) -> None:
    inputs = inputs_for(spec, features(40), links(40, 80))
    rows = np.array([7, 3, 39, 12, 3, 30, 3, 0]) if some_rows else None  # unsorted, repeated, one isolated
    sides = two_sides(spec, inputs, outputs=outputs, rows=rows, hard=hard)
    assert_equal_paths(*sides, script=[False, True, True, False, True], tolerance=1e-10)


@pytest.mark.parametrize(
    ("directed", "weighted"), [(True, False), (False, True), (True, True)], ids=["directed", "weighted", "both"]
)
@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
def test_collapsed_equals_general_on_directed_and_weighted_links(
    spec: dict[str, Any], directed: bool, weighted: bool, links: Callable[..., Adjacency]
) -> None:
    adjacency = links(30, 50, directed=directed, weighted=weighted)
    inputs = inputs_for(spec, features(30), adjacency)
    sides = two_sides(spec, inputs, outputs=1, rows=np.array([4, 28, 9, 1, 2]))
    assert_equal_paths(*sides, script=[True, False], tolerance=1e-10)


@pytest.mark.parametrize("name", ["mlp", "gcn", "gin", "gin-two-loops", "sage-2", "sign", "gcn-kinds"])
def test_collapsed_equals_general_on_german(name: str) -> None:
    """Unscaled features: sums of 10^6 beside zeros and ones."""
    graph = fv.load_dataset("german")
    inputs = inputs_for(SPECS[name], graph.features, graph.adjacency)
    sides = two_sides(SPECS[name], inputs, outputs=1, rows=None, hidden=16)
    assert_equal_paths(*sides, script=[True, True, False], tolerance=1e-10)


def test_a_constant_channel_and_an_empty_view_do_no_harm(links: Callable[..., Adjacency]) -> None:
    """No variance at all in one view: BatchNorm divides by its ε alone."""
    x = features(20)
    x[:, 3] = 1e3
    spec = {"kind": "gin", "operator": "mean"}
    inputs = inputs_for(spec, x, links(20, 40))
    general, collapsed = two_sides(spec, inputs, outputs=1, rows=None)
    empty = torch.zeros(2, CHANNELS, dtype=torch.float64)
    empty[1, 3] = 1.0
    for training in (True, False):
        found = []
        for side in (general, collapsed):
            side.encoder.train(training)
            found.append(side.rows.logits(empty, side.head))
        assert found[1].isfinite().all()
        assert relative(found[1], found[0]) < 1e-8
        assert found[0].std(dim=1).max() < 1e-8  # every node has the same logit


# --- float32 ----------------------------------------------------------------------------------------------------------


def scaled(x: np.ndarray) -> np.ndarray:
    """Min-max to [-1, 1], as the published runs scale everything but German."""
    low, high = x.min(axis=0), x.max(axis=0)
    return (2 * (x - low) / (high - low) - 1).astype(np.float32)


@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize(
    ("name", "scaling"),
    [
        (name, "none")
        for name in ("mlp", "gcn", "gcn-mean", "gin", "gin-two-loops", "gin-gcn", "sage-1", "sage-2", "sign")
    ]
    + [("gin-two-loops", "min-max"), ("sage-2", "min-max")],
)
def test_in_float32_the_collapsed_path_is_no_further_from_the_truth(name: str, scaling: str, training: bool) -> None:
    """The truth is the general path in float64, from the same float32 weights and masks.

    Two layers of SAGE on unscaled features are at the limit of float32: their first layer sends all nodes to nearly
    the same point of the sphere, BatchNorm magnifies what is left, and both paths have rounded it alike. There, the
    mean over the draws may differ by chance.
    """
    graph = fv.load_dataset("german")
    x = graph.features if scaling == "none" else scaled(graph.features)
    slack = 1.25 if (name, scaling) == ("sage-2", "none") else 1.0
    narrow, wide = (inputs_for(SPECS[name], x, graph.adjacency, dtype=d) for d in (torch.float32, torch.float64))
    options = {"outputs": 1, "rows": np.arange(0, 1000, 2), "hidden": 16}
    general, collapsed = two_sides(SPECS[name], narrow, **options)
    truth = Side(SPECS[name], wide, "general", **options)
    with torch.no_grad():
        for parameter, source in zip(truth.parameters.values(), general.parameters.values(), strict=True):
            parameter.copy_(source)
    draws = torch.Generator().manual_seed(5)
    errors: dict[str, list[tuple[float, float]]] = defaultdict(list)  # by tensor: general, collapsed
    for step in range(5):  # the first one makes statistics for the evaluation mode
        masks = torch.rand(VIEWS, len(general.mask.scores), generator=draws)
        mode = training or step == 0
        exact, gradients = truth.logits_and_gradients(masks.double(), training=mode)
        (logits, found), (quick_logits, quick) = (
            side.logits_and_gradients(masks.clone(), training=mode) for side in (general, collapsed)
        )
        errors["logits"].append((relative(logits, exact), relative(quick_logits, exact)))
        for tensor, gradient in gradients.items():
            if quick[tensor] is not None:
                errors[tensor].append((relative(found[tensor], gradient), relative(quick[tensor], gradient)))
        for tensor, exactly in truth.buffers.items():
            both = (relative(side.buffers[tensor], exactly) for side in (general, collapsed))
            errors[tensor].append(tuple(both))
    for tensor, pairs in errors.items():
        usual, ours = np.mean(pairs, axis=0)
        assert ours <= max(slack * usual, 1e-5), tensor


# --- sampled rows -----------------------------------------------------------------------------------------------------


def loss_and_gradients(side: Side, path: Any, rows: np.ndarray, groups: Tensor, noise: Tensor) -> Tensor:
    """Discriminator loss and all its gradients on some rows, in one vector."""
    masks = side.mask(noise)
    loss = discriminator_loss(path.on(rows).logits(masks, side.head), groups[rows])
    gradients = torch.autograd.grad(loss, list(side.parameters.values()), allow_unused=True)
    pieces = [piece.reshape(-1) for piece in gradients if piece is not None]
    return torch.cat([loss.detach().reshape(1), *pieces])


@pytest.mark.parametrize("name", ["mlp", "gcn", "gin", "sage-2", "sign", "gcn-kinds", "gin-kinds"])
def test_a_sampled_loss_is_unbiased_node_by_node(name: str, links: Callable[..., Adjacency]) -> None:
    """The expectation over samples of one node is the mean over all nodes, exactly: BatchNorm sees all of them."""
    spec = SPECS[name] | {"dropout": 0.0}
    inputs = inputs_for(spec, features(25), links(25, 40))
    side = Side(spec, inputs, "collapsed", outputs=1, rows=None)
    path = choose_path(side.encoder, inputs)
    noise = side.mask.noise(VIEWS, torch.Generator().manual_seed(6))
    whole = loss_and_gradients(side, path, np.arange(25), side.groups, noise)
    each = [loss_and_gradients(side, path, np.array([node]), side.groups, noise) for node in range(25)]
    assert relative(torch.stack(each).mean(dim=0), whole) < 1e-12


@pytest.mark.parametrize("name", ["gcn", "gin"])
def test_the_mean_over_random_samples_approaches_the_whole(name: str, links: Callable[..., Adjacency]) -> None:
    spec, size, samples = SPECS[name], 8, 400
    inputs = inputs_for(spec, features(60), links(60, 100))
    side = Side(spec, inputs, "collapsed", outputs=1, rows=None)
    path = choose_path(side.encoder, inputs)
    noise = side.mask.noise(VIEWS, torch.Generator().manual_seed(7))
    whole = loss_and_gradients(side, path, np.arange(60), side.groups, noise)
    generator = torch.Generator().manual_seed(8)
    found = torch.stack(
        [
            loss_and_gradients(side, path, torch.randint(60, (size,), generator=generator).numpy(), side.groups, noise)
            for _ in range(samples)
        ]
    )
    error = found.std(dim=0) / samples**0.5
    assert ((found.mean(dim=0) - whole).abs() <= 5 * error + 1e-12).all()
    assert error.max() > 0


def test_a_path_follows_weights_that_are_changed_in_place_or_loaded(links: Callable[..., Adjacency]) -> None:
    for name in ("gcn", "gin", "sage-2", "sign"):
        inputs = inputs_for(SPECS[name], features(20), links(20, 30))
        general, collapsed = two_sides(SPECS[name], inputs, outputs=1, rows=None)
        other = copy.deepcopy(general.encoder.state_dict())
        for key, value in other.items():
            other[key] = value if key.endswith(("num_batches_tracked", "eps")) else value + 1
        for side in (general, collapsed):
            side.encoder.load_state_dict(other)
        assert_equal_paths(general, collapsed, script=[False, True], tolerance=1e-10)
