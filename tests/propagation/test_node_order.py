"""Another order of the nodes is the same graph, and neighbours lie closer in it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairview as fv
from fairview.propagation.node_order import closest_order, neighbours_together, reordered


def shuffled_ring(n: int, *, seed: int = 0, directed: bool = False, weighted: bool = False) -> fv.NodeGraph:
    """A ring whose nodes are numbered at random; feature, id, label and weights say where each one stands."""
    rng = np.random.default_rng(seed)
    number = rng.permutation(n)
    place = np.argsort(number)
    return fv.NodeGraph.from_arrays(
        features=place[:, None].astype(float),
        edges=np.stack([number, np.roll(number, 1)]),
        labels=place % 2,
        sensitive=place % 3,
        node_ids=[f"at {k}" for k in place],
        splits={"train": place < n // 2, "val": place >= n // 2},
        directed=directed,
        edge_weight=np.arange(1, n + 1) / 8 if weighted else None,
    )


def pairs(graph: fv.NodeGraph) -> set[tuple[str, str, float]]:
    links = graph.adjacency
    weights = np.ones(links.num_pairs) if links.weights is None else links.weights
    ends = zip(links.sources, links.indices, weights.tolist(), strict=True)
    return {(graph.ids[a], graph.ids[b], weight) for a, b, weight in ends}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("directed", [False, True])
def test_everything_moves_with_its_node(directed, weighted):
    graph = shuffled_ring(30, directed=directed, weighted=weighted)
    moved = neighbours_together(graph)
    assert sorted(moved.ids) == sorted(graph.ids)
    assert pairs(moved) == pairs(graph)
    assert (moved.adjacency.directed, moved.adjacency.weighted) == (directed, weighted)
    places = [int(name.split()[1]) for name in moved.ids]
    assert moved.features[:, 0].tolist() == places
    assert moved.labels.tolist() == [place % 2 for place in places]
    assert moved.sensitive.tolist() == [place % 3 for place in places]
    assert moved.split("train").tolist() == [place < 15 for place in places]


def test_neighbours_lie_close():
    """A ring can be numbered so that links join nodes at most two apart; at random it is about a third of all."""
    graph = shuffled_ring(1000)
    distance = [
        np.abs(g.adjacency.sources.astype(int) - g.adjacency.indices).max() for g in (graph, neighbours_together(graph))
    ]
    assert distance[0] > 300
    assert distance[1] == 2


@settings(max_examples=30)
@given(st.integers(3, 40), st.integers(0, 5), st.booleans())
def test_back_again_is_the_same_graph(n, seed, weighted):
    graph = shuffled_ring(n, seed=seed, weighted=weighted)
    order = closest_order(graph.adjacency)
    assert sorted(order.tolist()) == list(range(n))
    assert reordered(reordered(graph, order), np.argsort(order)).sha256 == graph.sha256


def test_the_order_is_the_same_every_time():
    graph = shuffled_ring(200)
    assert closest_order(graph.adjacency).tolist() == closest_order(graph.adjacency).tolist()
