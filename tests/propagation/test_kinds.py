"""S, kind by kind: every entry of S is in one of the parts, and dense matrices give the same."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from fairview.data.adjacency import Adjacency
from fairview.data.link_kinds import LinkKinds
from fairview.nn.inputs import GraphInputs
from fairview.propagation.kinds import ITSELF, Kinds
from fairview.propagation.operators import OPERATORS, Operator, propagate

NAMES = ("kin", "work", "club")


def links(*, directed: bool, weighted: bool, nodes: int = 30) -> Adjacency:
    rng = np.random.default_rng(3)
    pairs = np.unique(np.sort(rng.integers(0, nodes - 2, (60, 2)), axis=1), axis=0)  # some nodes are alone
    if directed:
        pairs = pairs[:, ::-1] if rng.random() < 0.5 else pairs
    weights = rng.integers(1, 9, len(pairs)) / 4 if weighted else None
    kinds = np.array(NAMES)[rng.integers(0, 3, len(pairs))]
    return Adjacency.from_pairs(*pairs.T, num_nodes=nodes, directed=directed, weights=weights, kinds=kinds)[0]


@pytest.mark.parametrize("self_loops", [0.0, 1.0, 2.5])
@pytest.mark.parametrize("kind", OPERATORS)
@pytest.mark.parametrize(("directed", "weighted"), [(False, False), (True, False), (False, True), (True, True)])
def test_the_parts_add_up_to_s_exactly(kind, self_loops, directed, weighted):
    adjacency = links(directed=directed, weighted=weighted)
    operator = Operator(kind=kind, self_loops=self_loops)
    blocks = Kinds(operator=operator, names=adjacency.kinds.names)
    parts = blocks.matrices(adjacency)
    s = operator.matrix(adjacency).toarray()
    together = np.array([part.toarray() for part in parts])
    assert ((together != 0).sum(axis=0) <= 1).all()
    np.testing.assert_allclose(together.sum(axis=0), s, rtol=1e-15, atol=0)
    # by hand: A_t of one kind, between the degrees of the whole graph
    a = adjacency.to_scipy().toarray().astype(np.float64)
    degree = (a.T if directed else a).sum(axis=1) + self_loops
    power = {"gcn": -0.5, "mean": -1.0, "sum": 0.0}[kind]
    left = np.diag(np.where(degree > 0, np.where(degree > 0, degree, 1) ** power, 0))
    right = left if kind == "gcn" else np.eye(len(a))
    codes = np.full(a.shape, -1)
    codes[adjacency.sources, adjacency.indices] = adjacency.kinds.codes
    for code, part in enumerate(parts[:-1]):
        of_kind = np.where(codes == code, a, 0)
        dense = left @ (of_kind.T if directed else of_kind) @ right
        np.testing.assert_allclose(part.toarray(), dense, rtol=1e-14, atol=1e-300)
    np.testing.assert_allclose(parts[-1].toarray(), self_loops * left @ right, rtol=1e-14)


@pytest.mark.parametrize("kind", OPERATORS)
def test_blocks_add_up_to_the_propagated_features(kind):
    adjacency, x = links(directed=False, weighted=True), np.random.default_rng(0).normal(size=(30, 4))
    operator = Operator(kind=kind)
    blocks = Kinds(operator=operator, names=adjacency.kinds.names)
    parts = blocks.of(adjacency, x)
    np.testing.assert_allclose(sum(parts), propagate(adjacency, x, operator)[1], rtol=1e-13)
    inputs = GraphInputs(x, adjacency, operator, blocks=blocks)
    assert inputs.propagated.shape == (30, 16)
    assert blocks.columns(["a", "b"])[:3] == (f"a@{adjacency.kinds.names[0]}", f"b@{adjacency.kinds.names[0]}",
                                             f"a@{adjacency.kinds.names[1]}")  # fmt: skip
    assert blocks.columns(["a"])[-1] == f"a@{ITSELF}"


def test_links_of_other_kinds_are_a_bug_of_the_caller():
    adjacency = links(directed=False, weighted=False)
    blocks = Kinds(operator=Operator(), names=("x",))
    for other in (adjacency, dataclasses.replace(adjacency, kinds=None)):
        with pytest.raises(ValueError, match="other kinds than the blocks"):
            blocks.matrices(other)
    empty = dataclasses.replace(adjacency, kinds=LinkKinds(("x",), np.zeros(adjacency.num_pairs)))
    assert len(blocks.matrices(empty)) == 2


@pytest.mark.parametrize("directed", [False, True])
def test_a_hop_takes_a_column_for_each_kind_and_its_transpose_gives_one(directed):
    adjacency, rng = links(directed=directed, weighted=True), np.random.default_rng(0)
    blocks = Kinds(operator=Operator(), names=adjacency.kinds.names)
    hop, parts = blocks.hop(adjacency), [part.toarray() for part in blocks.matrices(adjacency)]
    y, t = rng.normal(size=(30, 4)), rng.normal(size=(30, 1))
    np.testing.assert_allclose(hop(y)[:, 0], sum(part @ column for part, column in zip(parts, y.T, strict=True)))
    np.testing.assert_allclose(hop.transposed(t), np.stack([part.T @ t[:, 0] for part in parts], axis=1))
