from __future__ import annotations

import numpy as np
import pytest

from fairview.data.adjacency import Adjacency
from fairview.propagation.one_hop import one_hop
from fairview.propagation.operators import OPERATORS, Operator


@pytest.mark.parametrize("kind", OPERATORS)
@pytest.mark.parametrize("self_loops", [0.0, 1.0, 2.5])
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_hop_is_the_product_with_the_operators_matrix(kind, self_loops, directed, weighted):
    rng = np.random.default_rng(0)
    source, target = rng.integers(0, 30, (2, 60))  # some nodes are isolated, or have links in one direction only
    weights = 1 + (source + target) ** 2 / 7 if weighted else None  # the same both ways
    if weighted and not directed:
        (source, target), first = np.unique(
            [np.minimum(source, target), np.maximum(source, target)], axis=1, return_index=True
        )
        weights = weights[first]
    adjacency, _ = Adjacency.from_pairs(source, target, num_nodes=40, directed=directed, weights=weights)
    operator = Operator(kind=kind, self_loops=self_loops)
    values, matrix = rng.standard_normal((40, 3)), operator.matrix(adjacency).toarray()
    hop = one_hop(adjacency, operator)
    np.testing.assert_allclose(hop(values), matrix @ values, atol=1e-13)
    np.testing.assert_allclose(hop.transposed(values), matrix.T @ values, atol=1e-13)
    np.testing.assert_allclose(hop.squared.transposed(values), (matrix**2).T @ values, rtol=1e-12, atol=1e-13)


def test_the_dtype_is_kept():
    adjacency, _ = Adjacency.from_pairs([0], [1], num_nodes=2)
    hop = one_hop(adjacency, Operator(), np.float32)
    assert hop(np.ones((2, 1), dtype=np.float32)).dtype == np.float32


def test_without_links_a_node_keeps_its_value_or_nothing():
    adjacency, _ = Adjacency.from_pairs([], [], num_nodes=2)
    values = np.array([[1.0], [2.0]])
    assert one_hop(adjacency, Operator())(values).tolist() == [[1.0], [2.0]]
    assert one_hop(adjacency, Operator(self_loops=0.0))(values).tolist() == [[0.0], [0.0]]
