from __future__ import annotations

import numpy as np
import pytest
from benchmarks.quick_null import draw

from fairview.leakage.fixed_vectors import fixed_vectors
from fairview.propagation.correlation import group_correlation
from fairview.propagation.one_hop import one_hop
from fairview.propagation.operators import OPERATORS, Operator


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize(("seed", "groups"), [(0, 2), (1, 2), (1, 3)], ids=["plain", "directed", "three groups"])
def test_correlations_after_hops_are_products_with_fixed_vectors(operator, seed, groups):
    graph = draw(300, "power", seed, groups=groups)
    hop = one_hop(graph.adjacency, Operator(kind=operator))
    vectors = fixed_vectors(hop, graph.codes, hops=3)
    values, known = graph.features.astype(np.float64), graph.codes >= 0
    mean, spread = values.mean(axis=0), values.std(axis=0)
    z = (values - mean) / spread
    moved = z
    for number in range(4):
        if number:
            values, moved = hop(values), hop(moved)
        along = mean * vectors.contrast[number].sum(axis=0)[:, None] + spread * (vectors.contrast[number].T @ z)
        rest = moved[known].var(axis=0) * known.sum()
        squared = mean**2 * vectors.constant[number] + 2 * mean * spread * (vectors.tilt[number] @ z) + spread**2 * rest
        eta = along[0] if groups == 2 else np.sqrt((along**2).sum(axis=0))
        np.testing.assert_allclose(eta / np.sqrt(squared), group_correlation(values, graph.codes), atol=1e-9)


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("seed", [0, 1], ids=["plain", "directed"])
def test_weights_of_the_first_hop_are_the_squared_lengths_of_the_columns(operator, seed):
    graph = draw(120, "power", seed)
    matrix = Operator(kind=operator).matrix(graph.adjacency).toarray()[graph.codes >= 0]
    weight = fixed_vectors(one_hop(graph.adjacency, Operator(kind=operator)), graph.codes, hops=1).weight
    np.testing.assert_allclose(weight[1], ((matrix - matrix.mean(axis=0)) ** 2).sum(axis=0), atol=1e-6, rtol=1e-6)
