"""The same operator in three forms: S X, PyG's edges, and a sparse matrix."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch_geometric.utils import to_dense_adj

import fairview as fv
from fairview.data.adjacency import Adjacency
from fairview.nn.inputs import GraphInputs
from fairview.propagation import OPERATORS, Operator

NODES = 15


def features() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(NODES, 3)).astype(np.float32)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("kind", OPERATORS)
def test_every_form_is_the_same_operator(
    kind: str, directed: bool, weighted: bool, links: Callable[..., Adjacency]
) -> None:
    adjacency = links(NODES, 25, directed=directed, weighted=weighted)
    operator = Operator(kind=kind, self_loops=2.0)
    inputs = GraphInputs(features(), adjacency, operator, dtype=torch.float64)
    s = torch.from_numpy(operator.matrix(adjacency).toarray())
    assert torch.allclose(inputs.propagated, s @ inputs.x, rtol=1e-13, atol=1e-14)
    assert torch.allclose(inputs.matrix @ inputs.x, s @ inputs.x, rtol=1e-13, atol=1e-14)
    index, weight = inputs.weighted_edges
    gathered = to_dense_adj(index, edge_attr=weight, max_num_nodes=NODES)[0].T  # PyG: source to target
    assert torch.equal(gathered, s)


def test_links_go_from_source_to_target_as_in_pyg() -> None:
    adjacency, _ = Adjacency.from_pairs([0, 0], [1, 2], num_nodes=3, directed=True)
    inputs = GraphInputs(np.zeros((3, 1)), adjacency, None)
    assert inputs.edge_index.tolist() == [[0, 0], [1, 2]]
    assert inputs.edge_weight is None
    adjacency, _ = Adjacency.from_pairs([0, 0], [2, 1], num_nodes=3, directed=True, weights=[0.5, 3])
    inputs = GraphInputs(np.zeros((3, 1)), adjacency, None)
    assert (inputs.edge_index.tolist(), inputs.edge_weight.tolist()) == ([[0, 0], [1, 2]], [3, 0.5])


def test_without_an_operator_nothing_is_propagated(links: Callable[..., Adjacency]) -> None:
    inputs = GraphInputs(features(), links(NODES, 25), None)
    assert inputs.propagated is inputs.x
    assert torch.equal(inputs.propagated_wide(), torch.from_numpy(features()).double())
    for form in ("matrix", "weighted_edges"):
        with pytest.raises(ValueError, match="without an operator"):
            getattr(inputs, form)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_everything_has_the_asked_precision_and_is_rounded_once(dtype: torch.dtype) -> None:
    graph = fv.load_dataset("german")
    inputs = GraphInputs.of(graph, Operator(kind="sum"), dtype=dtype)
    assert {inputs.x.dtype, inputs.propagated.dtype, inputs.weighted_edges[1].dtype} == {dtype}
    assert torch.equal(inputs.propagated, inputs.propagated_wide().to(dtype))
    assert inputs.num_nodes == 1000


def test_the_tensors_are_copies(links: Callable[..., Adjacency]) -> None:
    x = features()
    inputs = GraphInputs(x, links(NODES, 25), Operator())
    inputs.x.zero_()
    inputs.propagated.zero_()
    assert (x == features()).all()
