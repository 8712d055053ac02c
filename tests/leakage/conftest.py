from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np
import pytest

import fairview as fv

GROUPS = ({"a": 0.5, "b": 0.5}, {"a": 0.2, "b": 0.8}, {"a": 0.5, "b": 0.3, "c": 0.2})


def graph_without_leaks(seed: int) -> fv.NodeGraph:
    """A random graph, mostly homophilous, whose eight channels and labels have nothing to do with groups or links.

    Sizes, degrees, homophily and number of groups go through their combinations with the seed; in every second graph
    one group has more links than the others.
    """
    rng = np.random.default_rng(seed)
    n = int(rng.integers(150, 601))
    graph = fv.synthetic_graph(
        n,
        groups=GROUPS[seed % 3],
        average_degree=(4, 10, 20)[seed // 3 % 3],
        homophily=(0.5, 0.7, 0.8, 0.95)[seed % 4],
        seed=seed,
    )
    edges = np.stack([graph.adjacency.sources, graph.adjacency.indices])
    if seed % 2:
        popular = np.flatnonzero(graph.sensitive == 0)
        more = np.stack([rng.choice(popular, 3 * len(popular)), rng.integers(0, n, 3 * len(popular))])
        edges = np.hstack([edges, more[:, more[0] != more[1]]])
    noise = rng.standard_normal((n, 8))
    noise[:, 1] = noise[:, 0] + 0.3 * noise[:, 1]  # two channels that know each other
    noise[:, 2] = noise[:, 2] > 1.5  # rare
    noise[:, 3] = np.exp(2 * noise[:, 3])  # heavy tail
    noise[:, 4] = 35 + 11 * noise[:, 4]  # mean far from zero
    noise[:, 5] = np.round(noise[:, 5])
    return fv.NodeGraph.from_arrays(
        features=noise, edges=edges, labels=rng.integers(0, 2, n), sensitive=np.array(graph.groups)[graph.sensitive]
    )


@pytest.fixture
def real_dataset() -> Callable[[str], fv.NodeGraph]:
    """Loads a known dataset, or skips the test where its files are not at hand."""

    def load(name: str) -> fv.NodeGraph:
        if not os.environ.get("FAIRVIEW_DATA"):
            pytest.skip("needs bail.zip and credit.csv: name their folder in FAIRVIEW_DATA")
        return fv.load_dataset(name)

    return load


@pytest.fixture
def without_leaks() -> Callable[[int], fv.NodeGraph]:
    return graph_without_leaks
