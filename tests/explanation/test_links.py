from __future__ import annotations

import numpy as np
import pytest

import fairview as fv
from fairview.explanation.links import LinkList


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_every_pair_belongs_to_its_link(directed: bool, weighted: bool) -> None:
    rng = np.random.default_rng(0)
    ends = rng.integers(0, 30, (2, 80))
    ends = np.unique(ends if directed else np.sort(ends, axis=0), axis=1)
    weights = rng.random(ends.shape[1]) + 0.5 if weighted else None
    adjacency, _ = fv.Adjacency.from_pairs(*ends, num_nodes=30, directed=directed, weights=weights)
    links = LinkList.of(adjacency)
    assert len(links) == adjacency.num_edges
    source, target = adjacency.sources, adjacency.indices
    for pair, link in enumerate(links.of_pair):
        assert {links.source[link], links.target[link]} == {source[pair], target[pair]}
        if directed:
            assert links.source[link] == source[pair]
        assert links.weight[link] == (1 if adjacency.weights is None else adjacency.weights[pair])


def test_removal_takes_both_directions_and_keeps_the_weights_of_the_others() -> None:
    adjacency, _ = fv.Adjacency.from_pairs([0, 1, 0], [1, 2, 2], num_nodes=3, weights=[1.0, 2.0, 4.0])
    links = LinkList.of(adjacency)
    assert links.without(np.array([1])).to_scipy().toarray().tolist() == [[0, 1, 0], [1, 0, 2], [0, 2, 0]]


def test_sums_by_node_count_both_ends() -> None:
    links = LinkList.of(fv.Adjacency.from_pairs([0, 1], [1, 2], num_nodes=4)[0])
    assert links.by_node(np.array([1.0, 10.0])).tolist() == [1, 11, 10, 0]
    assert links.at(1).tolist() == [0, 1]
