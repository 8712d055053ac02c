"""Exact effects, against models that predict the graph without the link."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.special import logit

import fairview as fv
from fairview.explanation.links import LinkList
from fairview.explanation.score_of import score_of

MANY = 1000


def check(model: Any, graph: fv.NodeGraph, gap: Callable[..., float], removing: Callable[..., fv.NodeGraph]) -> None:
    found = fv.explain(model, graph, top=1)
    assert found.exact
    assert found.gap == pytest.approx(gap(model, graph, found.groups[0]), abs=1e-9)
    rng = np.random.default_rng(0)
    for place in rng.choice(found.num_links, min(MANY, found.num_links), replace=False):
        left = gap(model, removing(graph, np.array([place])), found.groups[0])
        assert found.every.effect[place] == pytest.approx(found.gap - left, abs=1e-9)


def summed(ends: np.ndarray, y: np.ndarray, operator: str) -> np.ndarray:
    """S y with one self-loop, term by term: an oracle that is quick, and does not saturate as probabilities do."""
    here, there = np.hstack([ends, ends[::-1], np.tile(np.arange(len(y)), (2, 1))])
    degree = np.bincount(here)
    by = {"gcn": np.sqrt(degree[here] * degree[there]), "mean": degree[here], "sum": 1}[operator]
    return np.bincount(here, y[there] / by)


@pytest.mark.parametrize("operator", ["gcn", "mean", "sum"])
def test_on_german_1000_random_links_have_the_effect_of_their_removal(operator: Any) -> None:
    graph = fv.load_dataset("german")
    model = fv.Vanilla(operator=operator, precision="float64", epochs=20).fit(graph)
    found = fv.explain(model, graph, top=1)
    head, layer = model.fitted_.classifier.weight, model.fitted_.encoder.first_weights[0]
    y = graph.features.astype(float) @ (head @ layer).detach().numpy()[0]
    first = graph.sensitive == graph.groups.index(found.groups[0])
    c = first / first.sum() - ~first / (~first).sum()
    ends = np.stack([found.every.source, found.every.target])
    assert found.gap == pytest.approx(c @ summed(ends, y, operator), abs=1e-9)
    rng = np.random.default_rng(0)
    for place in rng.choice(found.num_links, MANY, replace=False):
        left = c @ summed(np.delete(ends, place, axis=1), y, operator)
        assert found.every.effect[place] == pytest.approx(found.gap - left, abs=1e-9)


@pytest.mark.parametrize("operator", ["gcn", "mean", "sum"])
@pytest.mark.parametrize("encoder", ["gcn", "gin"])
def test_on_a_synthetic_graph_they_do_too(
    operator: Any, encoder: Any, small: fv.NodeGraph, gap: Any, removing: Any, weighing_or_not: Any
) -> None:
    graph = weighing_or_not(small)
    settings: dict[str, Any] = {"views": 3, "discriminator_steps": 1, "classifier_steps": 1, "generator_steps": 1}
    model = fv.FairVGNN(
        encoder=encoder, operator=operator, self_loops=2, precision="float64", epochs=3, **settings
    ).fit(graph)
    check(model, graph, gap, removing)


def test_on_directed_links_they_do_too(small: fv.NodeGraph, gap: Any, removing: Any) -> None:
    links = LinkList.of(small.adjacency)
    rng = np.random.default_rng(0)
    turned = rng.random(len(links)) < 0.5
    source, target = np.where(turned, links.target, links.source), np.where(turned, links.source, links.target)
    both = rng.random(len(links)) < 0.2
    ends = np.append(source, target[both]), np.append(target, source[both])
    adjacency, _ = fv.Adjacency.from_pairs(*ends, num_nodes=60, directed=True)
    graph = small.replace(adjacency=adjacency)
    check(fv.Vanilla(precision="float64", epochs=10).fit(graph), graph, gap, removing)


def test_parity_with_one_hop_is_exact(small: fv.NodeGraph, gap: Any, removing: Any) -> None:
    check(fv.Parity(hops=1).fit(small), small, gap, removing)


def test_sign_with_one_hop_is_exact_with_a_mask_for_each_hop(small: fv.NodeGraph, gap: Any, removing: Any) -> None:
    model = fv.FairVGNN(encoder="sign", depth=1, views=3, precision="float64", epochs=3).fit(small)
    check(model, small, gap, removing)


def test_sign_with_two_hops_has_the_gap_of_its_predictions(small: fv.NodeGraph, gap: Any) -> None:
    model = fv.FairVGNN(encoder="sign", views=3, precision="float64", epochs=3).fit(small)
    found = fv.explain(model, small)
    assert not found.exact
    assert found.gap == pytest.approx(gap(model, small, found.groups[0]), abs=1e-9)
    assert sum(channel.gap for channel in found.channels) == pytest.approx(found.gap)


@pytest.mark.parametrize("basis", ["splines", "raw"])
def test_parity_with_two_hops_is_close_and_says_that_it_is_not_exact(basis: Any, small: fv.NodeGraph, gap: Any) -> None:
    model = fv.Parity(hops=2, basis=basis).fit(small)
    found = fv.explain(model, small, top=small.num_edges)
    assert not found.exact
    assert found.gap == pytest.approx(gap(model, small, found.groups[0]), abs=1e-9)
    real = np.array([link.effect for link in found.links])
    estimates = np.array([link.estimate for link in found.links])
    assert np.corrcoef(real, estimates)[0, 1] > 0.9


@pytest.mark.parametrize("hops", [1, 2, 3])
def test_the_channels_parts_are_a_sum_and_those_at_home_are_the_diagonal(hops: int, small: fv.NodeGraph) -> None:
    model = fv.Parity(hops=hops, basis="raw", operator="gcn").fit(small)
    found = fv.explain(model, small)
    assert sum(channel.gap for channel in found.channels) == pytest.approx(found.gap)
    if hops > 2:
        assert {channel.home for channel in found.channels} == {None}
        return
    s = model.features_.operator.matrix(small.adjacency).toarray()
    weights = (model.weights_[0][:-1] / model.features_.scale).reshape(hops + 1, -1)
    codes = small.sensitive == small.groups.index(found.groups[0])
    c = codes / codes.sum() - ~codes / (~codes).sum()
    x = small.features.astype(float)[:, [small.channel_index(name) for name in model.facts_.channels]]
    powers = [np.linalg.matrix_power(s, hop) for hop in range(hops + 1)]
    whole = sum(c @ power @ x * w for power, w in zip(powers, weights, strict=True))
    home = sum(c @ np.diag(np.diag(power)) @ x * w for power, w in zip(powers, weights, strict=True))
    for place, name in enumerate(model.facts_.channels):
        channel = next(channel for channel in found.channels if channel.channel == name)
        assert (channel.gap, channel.home) == pytest.approx((whole[place], home[place]))
        assert channel.links == pytest.approx(whole[place] - home[place])


def test_channels_that_the_model_never_saw_have_no_part(small: fv.NodeGraph) -> None:
    graph = small.replace(sensitive_channels=("proxy_strong",))
    model = fv.Masking(sensitive_channels=False, top_k=2, epochs=10).fit(graph)
    parts = {channel.channel: channel.gap for channel in fv.explain(model, graph).channels}
    assert "proxy_strong" not in parts
    assert [gap for name, gap in parts.items() if model.keep_probability_[name] == 0] == [0, 0]


@pytest.mark.parametrize("encoder", ["gcn", "gin"])
def test_the_logits_are_those_of_the_model_in_its_own_precision(encoder: Any, small: fv.NodeGraph) -> None:
    model = fv.FairVGNN(encoder=encoder, epochs=3, views=3).fit(small)
    logits = score_of(model, small).logits(small.adjacency)
    assert logits == pytest.approx(logit(model.predict_proba(small)[:, 1]), abs=1e-5)
