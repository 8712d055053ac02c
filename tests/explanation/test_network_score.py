"""Gradients, against predictions on graphs whose links weigh a little more or less, or are gone."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import fairview as fv
from fairview.data.link_kinds import LinkKinds
from fairview.explanation.links import LinkList
from fairview.explanation.score_of import links_seen, score_of


class Own(nn.Module):
    """Two hops of a sum, with a tanh between them."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(channels, 4), nn.Linear(4, 4)

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        weights = torch.ones(edge_index.shape[1], dtype=x.dtype) if edge_weight is None else edge_weight
        for layer in (self.first, self.second):
            x = torch.tanh(layer(x + self.gathered(x, edge_index, weights) / 10))
        return x

    @staticmethod
    def gathered(x: Tensor, edge_index: Tensor, weights: Tensor) -> Tensor:
        return torch.zeros_like(x).index_add(0, edge_index[1], x[edge_index[0]] * weights[:, None])


FINE = {"precision": "float64", "epochs": 5}
MODELS: dict[str, Any] = {
    "sage": lambda _: fv.Vanilla(encoder="sage", **FINE),
    "sage with a sum": lambda _: fv.Vanilla(encoder="sage", operator="sum", self_loops=0.0, **FINE),
    "one layer of sage": lambda _: fv.Vanilla(encoder="sage", depth=1, **FINE),
    "two layers of gcn": lambda _: fv.Vanilla(depth=2, **FINE),
    "two layers of gin": lambda _: fv.Vanilla(encoder="gin", depth=2, **FINE),
    "gin with a mean": lambda _: fv.Vanilla(encoder="gin", depth=2, operator="mean", **FINE),
    "masks": lambda _: fv.FairVGNN(encoder="sage", views=2, **FINE),
    "an ensemble": lambda _: fv.Ensemble("vanilla", members=2, model_settings=FINE),
    "an ensemble of sign": lambda _: fv.Ensemble("vanilla", members=2, encoder="sign", model_settings=FINE),
    "an ensemble with kinds of links": lambda _: fv.Ensemble(
        "fairvgnn", members=2, model_settings=FINE | {"link_kinds": "given", "views": 2}
    ),
    "a module of one's own": lambda channels: fv.Vanilla(encoder=Own(channels).double(), **FINE),
}


@pytest.fixture(scope="module")
def small(small: fv.NodeGraph) -> fv.NodeGraph:
    """Its links have kinds, which one of the models weighs."""
    links = small.adjacency
    kinds = LinkKinds(("odd", "even"), (links.sources + links.indices + 1) % 2)
    return small.replace(adjacency=dataclasses.replace(links, kinds=kinds))


def weighing_one(graph: fv.NodeGraph, place: int, factor: float) -> fv.NodeGraph:
    links = graph.adjacency
    weights = np.ones(links.num_pairs, dtype=np.float32) if links.weights is None else links.weights.copy()
    weights[LinkList.of(links).of_pair == place] *= factor
    return graph.replace(adjacency=dataclasses.replace(links, weights=weights))


@pytest.mark.parametrize("name", MODELS)
def test_the_estimate_is_the_weight_times_the_derivative_by_it(
    name: str, small: fv.NodeGraph, gap: Any, with_weights: Any
) -> None:
    graph = with_weights(small)
    model = MODELS[name](graph.num_channels).fit(graph)
    score, links = score_of(model, graph), LinkList.of(links_seen(model, graph))
    assert not score.exact
    codes = graph.sensitive == 0
    c = codes / codes.sum() - ~codes / (~codes).sum()
    parts = score.parts(links, c)
    effects, channels = parts.links, parts.channels
    assert c @ score.logits(links.adjacency) == pytest.approx(gap(model, graph, "f"), abs=1e-9)
    step = 2.0**-10  # exact in float32
    for place in range(0, len(links), 11):
        more, less = (gap(model, weighing_one(graph, place, 1 + way * step), "f") for way in (1, -1))
        assert effects[place] == pytest.approx((more - less) / (2 * step), abs=5e-3 * np.abs(effects).max())
    largest = max(abs(channel.gap) for channel in channels)
    for place, channel in enumerate(channels):
        moved = [graph.features * (1 + way * step * (np.arange(graph.num_channels) == place)) for way in (1, -1)]
        more, less = (gap(model, graph.with_features(each.astype(np.float32)), "f") for each in moved)
        assert channel.gap == pytest.approx((more - less) / (2 * step), abs=2e-2 * largest)
        assert channel.home is None


@pytest.mark.parametrize("name", MODELS)
def test_what_is_shown_is_what_removal_does(name: str, small: fv.NodeGraph, gap: Any, removing: Any) -> None:
    model = MODELS[name](small.num_channels).fit(small)
    found, links = fv.explain(model, small, top=4), LinkList.of(small.adjacency)
    assert [link.effect for link in found.links] == sorted((link.effect for link in found.links), reverse=True)
    for link in found.links:
        place = np.flatnonzero((links.source == int(link.source)) & (links.target == int(link.target)))
        left = gap(model, removing(small, place), found.groups[0])
        assert link.effect == pytest.approx(found.gap - left, abs=1e-9)
        assert found.every.effect[place] == link.effect
        assert link.estimate is not None
    assert "removed one by one" in found.notes[1]


def test_pruned_links_have_no_effect_and_the_others_are_checked_on_the_graph_itself(
    small: fv.NodeGraph, gap: Any, removing: Any
) -> None:
    graph = small
    model = fv.EDITS(**FINE).fit(graph)
    found, links = fv.explain(model, graph, top=3), LinkList.of(graph.adjacency)
    kept = LinkList.of(model.fair_view(graph).adjacency)
    gone = set(zip(links.source.tolist(), links.target.tolist(), strict=True)) - set(
        zip(kept.source.tolist(), kept.target.tolist(), strict=True)
    )
    assert gone
    effects = dict(zip(zip(links.source.tolist(), links.target.tolist(), strict=True), found.every.effect, strict=True))
    assert {effects[pair] for pair in gone} == {0}
    for link in found.links:
        place = np.flatnonzero((links.source == int(link.source)) & (links.target == int(link.target)))
        assert link.effect == pytest.approx(found.gap - gap(model, removing(graph, place), found.groups[0]), abs=1e-9)


def test_the_model_is_left_as_it_was(small: fv.NodeGraph) -> None:
    model = fv.Vanilla(encoder="sage", epochs=3).fit(small)
    before = model.predict_proba(small)
    fv.explain(model, small)
    assert (model.predict_proba(small) == before).all()
    assert model.fitted_.classifier.weight.dtype == torch.float32
    assert all(parameter.grad is None for parameter in model.fitted_.encoder.parameters())
