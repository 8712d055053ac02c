from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import pytest
from scipy.special import logit

import fairview as fv
from fairview.explanation.links import LinkList

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # PyG's import is not ours to judge
    import torch_geometric.nn  # noqa: F401


def gap_of(model: fv.Estimator, graph: fv.NodeGraph, first: str, split: str = "all") -> float:
    """Mean logit of the first group less that of the other one, from the predictions alone."""
    logits = logit(model.predict_proba(graph)[:, 1])
    chosen = graph.split(split)
    other = next(name for name in graph.groups if name != first)
    high, low = (logits[chosen & (graph.sensitive == graph.groups.index(name))].mean() for name in (first, other))
    return float(high - low)


def without(graph: fv.NodeGraph, gone: np.ndarray) -> fv.NodeGraph:
    """The graph built anew from the pairs that stay."""
    links = LinkList.of(graph.adjacency)
    stays = np.ones(len(links), dtype=bool)
    stays[gone] = False
    adjacency, _ = fv.Adjacency.from_pairs(
        links.source[stays], links.target[stays], num_nodes=graph.num_nodes, directed=graph.adjacency.directed,
        weights=None if graph.adjacency.weights is None else links.weight[stays],
        kinds=None if links.kinds is None else links.kinds.at(stays),
    )  # fmt: skip
    return graph.replace(adjacency=adjacency)


@pytest.fixture(scope="session")
def gap() -> Callable[..., float]:
    return gap_of


@pytest.fixture(scope="session")
def removing() -> Callable[..., fv.NodeGraph]:
    return without


@pytest.fixture(scope="session")
def small() -> fv.NodeGraph:
    """60 nodes in two groups, a split, and a node without links."""
    made = fv.synthetic_graph(60, groups={"f": 0.4, "m": 0.6}, average_degree=5, homophily=0.7, seed=4)
    lonely = LinkList.of(made.adjacency).at(7)
    made = without(made, lonely)
    return made.with_splits(fv.stratified_splits(made)[0])
