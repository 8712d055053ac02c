"""Counting arithmetic: by hand where it is small, and linear or not where it grows."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse
from torch import nn

from fairview.nn.sparse import SparseMatrix
from fairview.paper.cost import GRAPHS, series
from fairview.paper.operations import Operations
from fairview.paper.scope import Scope


def test_products_count_their_multiplications_forwards_and_backwards():
    x, weight = torch.ones(50, 30), torch.ones(30, 20, requires_grad=True)
    with Operations() as counted:
        (x @ weight).sum().backward()
    products = 2 * 50 * 30 * 20  # X W, and X^T G for the gradient of W
    passes = counted.count - products
    assert 50 * 20 <= passes <= 5 * 50 * 20  # the sum and its gradient


def test_a_sparse_product_counts_what_is_stored():
    links = SparseMatrix(sparse.csr_array(np.eye(40)), dtype=torch.float64)
    dense = torch.ones(40, 7, dtype=torch.float64)
    with Operations() as counted:
        links @ dense
    assert counted.count == 40 * 7


def test_views_cost_nothing():
    x = torch.ones(10, 10)
    with Operations() as counted:
        x.T.reshape(10, 10)[2:5].unsqueeze(0)
    assert counted.count == 0


def test_a_quadratic_step_is_seen():
    counts = []
    for nodes in (100, 200):
        x = torch.ones(nodes, 4)
        with Operations() as counted:
            x @ x.T  # every pair of nodes
        counts.append(counted.count)
    assert counts[1] == 4 * counts[0]


def test_a_layer_is_what_its_sizes_say():
    layer, x = nn.Linear(16, 8, bias=False), torch.ones(100, 16)
    with torch.no_grad(), Operations() as counted:
        layer(x)
    assert counted.count == pytest.approx(100 * 16 * 8)


def test_the_counted_graphs_grow_in_nodes_alone_and_in_links_alone():
    assert len({nodes for nodes, _ in GRAPHS}) >= 3
    assert len({degree for _, degree in GRAPHS}) >= 2
    records = series(Scope(encoders=("gcn",), quick=True))
    assert [record["nodes"] for record in records] == [1_000, 4_000]
    assert records[1]["operations"] < 4.2 * records[0]["operations"]
