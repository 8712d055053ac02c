"""S X is what a dense matrix gives, and what PyG's convolutions do before their weights."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from pydantic import ValidationError
from torch import nn
from torch_geometric.nn import GCNConv, GINConv, GraphConv, SAGEConv
from torch_geometric.nn.conv.gcn_conv import gcn_norm

from fairview.data.adjacency import Adjacency
from fairview.errors import InputError
from fairview.propagation import OPERATORS, Operator, propagate

SELF_LOOPS = (0.0, 1.0, 2.0, 1.5)


both = pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])


def random_adjacency(
    seed: int, *, nodes: int = 30, pairs: int = 45, directed: bool = False, weighted: bool = False
) -> Adjacency:
    """The last three nodes are isolated. Weights lie between 1/8 and 8, the same both ways unless directed."""
    rng = np.random.default_rng(seed)
    ends = rng.integers(0, nodes - 3, size=(2, pairs))
    if weighted and not directed:
        ends = np.unique(np.sort(ends, axis=0), axis=1)
    weights = 2 ** rng.uniform(-3, 3, size=ends.shape[1]) if weighted else None
    return Adjacency.from_pairs(*ends, num_nodes=nodes, directed=directed, weights=weights)[0]


def weights_of(adjacency: Adjacency) -> torch.Tensor:
    """One for each pair, ones if it has none: PyG forgets `improved` when edges have no weights."""
    values = np.ones(adjacency.num_pairs) if adjacency.weights is None else adjacency.weights
    return torch.tensor(values, dtype=torch.float64)


def random_features(seed: int, nodes: int = 30, channels: int = 4) -> np.ndarray:
    return np.random.default_rng(seed + 1000).normal(size=(nodes, channels)) * [1.0, 100.0, 0.01, 1.0]


def dense_operator(adjacency: Adjacency, kind: str, self_loops: float) -> np.ndarray:
    """The definition, entry by entry."""
    n = adjacency.num_nodes
    a = np.zeros((n, n))
    for i in range(n):
        for k in range(adjacency.indptr[i], adjacency.indptr[i + 1]):  # indices[k] gathers from i
            a[adjacency.indices[k], i] = 1.0 if adjacency.weights is None else adjacency.weights[k]
        a[i, i] = self_loops
    degree = [sum(row) for row in a]
    s = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if a[i, j] == 0 or kind == "sum":
                s[i, j] = a[i, j]
            elif kind == "mean":
                s[i, j] = a[i, j] / degree[i]
            else:
                s[i, j] = a[i, j] / (degree[i] * degree[j]) ** 0.5 if degree[j] else 0.0
    return s


def pyg_edges(adjacency: Adjacency) -> torch.Tensor:
    """Source above target, as `NodeGraph.to_pyg` has it."""
    return torch.from_numpy(np.stack([adjacency.sources, adjacency.indices]).astype(np.int64))


# --- by hand ----------------------------------------------------------------------------------------------------------

PATH = Adjacency.from_pairs([0, 1], [1, 2], num_nodes=4)[0]  # 0 - 1 - 2, and 3 alone


def test_gcn_of_a_path_by_hand() -> None:
    r6, half = 6**-0.5, 1 / 2
    assert np.allclose(
        Operator(kind="gcn").matrix(PATH).toarray(),
        [[half, r6, 0, 0], [r6, 1 / 3, r6, 0], [0, r6, half, 0], [0, 0, 0, 1]],
        rtol=1e-15,
        atol=0,
    )


def test_gcn_with_two_loops_by_hand() -> None:
    r12 = 12**-0.5
    assert np.allclose(
        Operator(kind="gcn", self_loops=2.0).matrix(PATH).toarray(),
        [[2 / 3, r12, 0, 0], [r12, 1 / 2, r12, 0], [0, r12, 2 / 3, 0], [0, 0, 0, 1]],
        rtol=1e-15,
        atol=0,
    )


def test_mean_of_a_path_by_hand() -> None:
    third, half = 1 / 3, 1 / 2
    with_itself = [[half, half, 0, 0], [third, third, third, 0], [0, half, half, 0], [0, 0, 0, 1]]
    assert np.allclose(Operator(kind="mean").matrix(PATH).toarray(), with_itself, rtol=1e-15, atol=0)
    neighbours = [[0, 1, 0, 0], [half, 0, half, 0], [0, 1, 0, 0], [0, 0, 0, 0]]
    assert Operator(kind="mean", self_loops=0.0).matrix(PATH).toarray().tolist() == neighbours


def test_a_weighted_path_by_hand() -> None:
    """0 - 1 with weight 3, 1 - 2 with weight 1/2: the nodes gather 4, 4.5, 1.5 and 1, each once itself."""
    adjacency, _ = Adjacency.from_pairs([0, 1], [1, 2], num_nodes=4, weights=[3.0, 0.5])
    r18, r6 = 3 * 18**-0.5, 0.5 * 6.75**-0.5
    gcn = [[1 / 4, r18, 0, 0], [r18, 1 / 4.5, r6, 0], [0, r6, 1 / 1.5, 0], [0, 0, 0, 1]]
    assert np.allclose(Operator(kind="gcn").matrix(adjacency).toarray(), gcn, rtol=1e-15, atol=0)
    mean = [[1 / 4, 3 / 4, 0, 0], [3 / 4.5, 1 / 4.5, 0.5 / 4.5, 0], [0, 0.5 / 1.5, 1 / 1.5, 0], [0, 0, 0, 1]]
    assert np.allclose(Operator(kind="mean").matrix(adjacency).toarray(), mean, rtol=1e-15, atol=0)
    total = [[1, 3, 0, 0], [3, 1, 0.5, 0], [0, 0.5, 1, 0], [0, 0, 0, 1]]
    assert Operator(kind="sum").matrix(adjacency).toarray().tolist() == total


def test_sum_of_a_path_by_hand() -> None:
    with_loops = [[1.5, 1, 0, 0], [1, 1.5, 1, 0], [0, 1, 1.5, 0], [0, 0, 0, 1.5]]
    assert Operator(kind="sum", self_loops=1.5).matrix(PATH).toarray().tolist() == with_loops


def test_a_directed_node_gathers_from_those_that_point_to_it() -> None:
    adjacency, _ = Adjacency.from_pairs([1, 2], [0, 0], num_nodes=3, directed=True)
    x = np.array([[1.0], [10.0], [100.0]])
    _, mean = propagate(adjacency, x, Operator(kind="mean", self_loops=0.0))
    assert mean.ravel().tolist() == [55.0, 0.0, 0.0]


def test_two_hops_of_a_sum_by_hand() -> None:
    hops = propagate(PATH, np.array([[1.0], [0.0], [0.0], [7.0]]), Operator(kind="sum"), hops=2)
    assert [x.ravel().tolist() for x in hops] == [[1, 0, 0, 7], [1, 1, 0, 7], [2, 2, 1, 7]]


# --- oracles ----------------------------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("self_loops", SELF_LOOPS)
@pytest.mark.parametrize("kind", OPERATORS)
def test_every_hop_equals_the_dense_matrix(kind: str, self_loops: float, directed: bool, weighted: bool) -> None:
    adjacency, x = random_adjacency(1, directed=directed, weighted=weighted), random_features(1)
    s = dense_operator(adjacency, kind, self_loops)
    operator = Operator(kind=kind, self_loops=self_loops)
    assert np.allclose(operator.matrix(adjacency).toarray(), s, rtol=1e-14, atol=0)
    found = propagate(adjacency, x, operator, hops=3)
    assert len(found) == 4
    for hop, got in enumerate(found):
        expected = np.linalg.matrix_power(s, hop) @ x
        assert np.abs(got - expected).max() <= 1e-13 * np.abs(expected).max()


@both
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("self_loops", [1.0, 2.0])
def test_gcn_equals_the_norm_of_pyg(self_loops: float, directed: bool, weighted: bool) -> None:
    adjacency = random_adjacency(2, directed=directed, weighted=weighted)
    edges, weights = pyg_edges(adjacency), weights_of(adjacency)
    index, weight = gcn_norm(edges, weights, adjacency.num_nodes, improved=self_loops == 2.0)
    found = np.zeros((adjacency.num_nodes,) * 2)
    found[index[1], index[0]] = weight
    assert np.allclose(Operator(kind="gcn", self_loops=self_loops).matrix(adjacency).toarray(), found, atol=1e-15)


@both
@pytest.mark.parametrize("self_loops", [0.0, 1.0, 2.0])
def test_gcn_equals_the_convolution_of_pyg_with_identity_weights(self_loops: float, weighted: bool) -> None:
    adjacency, x = random_adjacency(3, weighted=weighted), random_features(3)
    layer = GCNConv(4, 4, improved=self_loops == 2.0, add_self_loops=self_loops > 0, bias=False).double()
    with torch.no_grad():
        layer.lin.weight.copy_(torch.eye(4))
        expected = layer(torch.from_numpy(x), pyg_edges(adjacency), weights_of(adjacency)).numpy()
    _, found = propagate(adjacency, x, Operator(kind="gcn", self_loops=self_loops))
    assert np.allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("self_loops", SELF_LOOPS)
def test_sum_equals_gin_of_pyg_with_eps_one_less_than_the_loops(self_loops: float, directed: bool) -> None:
    adjacency, x = random_adjacency(4, directed=directed), random_features(4)
    expected = GINConv(nn.Identity(), eps=self_loops - 1)(torch.from_numpy(x), pyg_edges(adjacency)).numpy()
    _, found = propagate(adjacency, x, Operator(kind="sum", self_loops=self_loops))
    assert np.allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("directed", [False, True])
def test_mean_without_loops_equals_sage_of_pyg(directed: bool) -> None:
    adjacency, x = random_adjacency(5, directed=directed), random_features(5)
    layer = SAGEConv(4, 4, root_weight=False, bias=False).double()
    with torch.no_grad():
        layer.lin_l.weight.copy_(torch.eye(4))
        expected = layer(torch.from_numpy(x), pyg_edges(adjacency)).numpy()
    _, found = propagate(adjacency, x, Operator(kind="mean", self_loops=0.0))
    assert np.allclose(found, expected, rtol=1e-12, atol=1e-12)
    assert not found[-3:].any()  # isolated nodes keep nothing


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("self_loops", [0.0, 1.0, 2.0])
def test_weighted_sum_and_mean_equal_those_of_pyg(self_loops: float, directed: bool) -> None:
    """PyG's GraphConv adds up weighted neighbours; the mean is that sum over the sum of the weights."""
    adjacency, x = random_adjacency(5, directed=directed, weighted=True), random_features(5)
    layer = GraphConv(4, 4, aggr="add", bias=False).double()
    with torch.no_grad():
        layer.lin_rel.weight.copy_(torch.eye(4))
        layer.lin_root.weight.copy_(self_loops * torch.eye(4))
        given = pyg_edges(adjacency), weights_of(adjacency)
        total = layer(torch.from_numpy(x), *given).numpy()
        received = layer(torch.ones(30, 4, dtype=torch.float64), *given).numpy()
    found = propagate(adjacency, x, Operator(kind="sum", self_loops=self_loops))[1]
    assert np.allclose(found, total, rtol=1e-12, atol=1e-12)
    mean = np.divide(total, received, out=np.zeros_like(total), where=received > 0)
    found = propagate(adjacency, x, Operator(kind="mean", self_loops=self_loops))[1]
    assert np.allclose(found, mean, rtol=1e-12, atol=1e-12)


# --- properties -------------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    kind=st.sampled_from(OPERATORS),
    self_loops=st.sampled_from(SELF_LOOPS),
    hops=st.integers(0, 3),
    mask=arrays.arrays(np.float64, 4, elements=st.floats(0, 1)),
    weighted=st.booleans(),
)
def test_a_channel_mask_commutes_with_propagation(
    seed: int, kind: str, self_loops: float, hops: int, mask: np.ndarray, weighted: bool
) -> None:
    adjacency, x = random_adjacency(seed, weighted=weighted), random_features(seed)
    operator = Operator(kind=kind, self_loops=self_loops)
    before = propagate(adjacency, x * mask, operator, hops=hops)[-1]
    after = propagate(adjacency, x, operator, hops=hops)[-1] * mask
    assert np.abs(before - after).max() <= 1e-13 * max(np.abs(after).max(), 1e-290)


@settings(deadline=None, max_examples=30)
@given(
    seed=st.integers(0, 10**6), self_loops=st.sampled_from(SELF_LOOPS), directed=st.booleans(), weighted=st.booleans()
)
def test_the_rows_of_the_mean_sum_to_one_unless_there_is_nothing_to_average(
    seed: int, self_loops: float, directed: bool, weighted: bool
) -> None:
    adjacency = random_adjacency(seed, directed=directed, weighted=weighted)
    rows = Operator(kind="mean", self_loops=self_loops).matrix(adjacency).sum(axis=1)
    gathered = np.bincount(adjacency.indices, minlength=adjacency.num_nodes)  # links that arrive
    expected = np.where((gathered > 0) | (self_loops > 0), 1.0, 0.0)
    assert np.allclose(rows, expected, rtol=1e-14, atol=0)


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 10**6), self_loops=st.sampled_from(SELF_LOOPS), weighted=st.booleans())
def test_gcn_is_symmetric_and_never_amplifies(seed: int, self_loops: float, weighted: bool) -> None:
    s = Operator(kind="gcn", self_loops=self_loops).matrix(random_adjacency(seed, weighted=weighted)).toarray()
    assert np.allclose(s, s.T, rtol=1e-14, atol=0)
    assert np.abs(np.linalg.eigvalsh(s)).max() <= 1 + 1e-12


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 10**6), kind=st.sampled_from(OPERATORS), factor=st.sampled_from([0.25, 2.0, 1024.0]))
def test_a_common_factor_of_all_weights_counts_beside_self_loops_and_in_sums_only(
    seed: int, kind: str, factor: float
) -> None:
    light = random_adjacency(seed, weighted=True)
    heavy = dataclasses.replace(light, weights=light.weights * np.float32(factor))
    for self_loops in (0.0, 1.0):
        operator = Operator(kind=kind, self_loops=self_loops)
        found, other = (operator.matrix(adjacency).toarray() for adjacency in (light, heavy))
        if kind == "sum" or self_loops:
            assert not np.allclose(found, other)
        else:
            assert np.allclose(found, other, rtol=1e-13, atol=0)
    assert np.allclose(  # a self-loop that grows alike makes up for it
        Operator(kind=kind, self_loops=factor).matrix(heavy).toarray(),
        Operator(kind=kind).matrix(light).toarray() * (factor if kind == "sum" else 1),
        rtol=1e-13,
        atol=0,
    )


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("kind", OPERATORS)
def test_weights_of_one_are_no_weights(kind: str, directed: bool) -> None:
    plain = random_adjacency(1, directed=directed)
    ones = dataclasses.replace(plain, weights=np.ones(plain.num_pairs, dtype=np.float32))
    assert (Operator(kind=kind).matrix(plain) != Operator(kind=kind).matrix(ones)).nnz == 0


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 10**6), kind=st.sampled_from(OPERATORS), weighted=st.booleans())
def test_permuting_the_nodes_permutes_the_result(seed: int, kind: str, weighted: bool) -> None:
    adjacency, x = random_adjacency(seed, weighted=weighted), random_features(seed)
    order = np.random.default_rng(seed).permutation(adjacency.num_nodes)
    place = np.argsort(order)
    ends = place[adjacency.sources], place[adjacency.indices]
    renamed, _ = Adjacency.from_pairs(*ends, num_nodes=adjacency.num_nodes, weights=adjacency.weights)
    expected = propagate(adjacency, x, Operator(kind=kind), hops=2)[-1][order]
    found = propagate(renamed, x[order], Operator(kind=kind), hops=2)[-1]
    assert np.abs(found - expected).max() <= 1e-13 * np.abs(expected).max()


# --- types and manners ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", OPERATORS)
def test_float32_is_rounded_once_at_the_end(kind: str) -> None:
    adjacency, x = random_adjacency(6), random_features(6).astype(np.float32)
    single = propagate(adjacency, x, Operator(kind=kind), hops=3)
    double = propagate(adjacency, x.astype(np.float64), Operator(kind=kind), hops=3)
    for narrow, wide in zip(single, double, strict=True):
        assert narrow.dtype == np.float32
        assert wide.dtype == np.float64
        assert (narrow == wide.astype(np.float32)).all()


def test_whole_numbers_are_not_truncated() -> None:
    adjacency, _ = Adjacency.from_pairs([0], [1], num_nodes=2)
    _, found = propagate(adjacency, np.array([[0], [1]]), Operator(kind="mean"))
    assert found.ravel().tolist() == [0.5, 0.5]


@pytest.mark.parametrize("kind", OPERATORS)
def test_inputs_are_untouched(kind: str) -> None:
    adjacency, x = random_adjacency(7), random_features(7)
    kept = x.copy(), adjacency.indptr.copy(), adjacency.indices.copy()
    x.flags.writeable = False
    propagate(adjacency, x, Operator(kind=kind, self_loops=2.0), hops=2)
    assert (x == kept[0]).all()
    assert (adjacency.indptr == kept[1]).all()
    assert (adjacency.indices == kept[2]).all()


def test_no_hops_give_the_features_alone() -> None:
    x = random_features(8)
    (found,) = propagate(random_adjacency(8), x, Operator(), hops=0)
    assert (found == x).all()


@pytest.mark.parametrize("kind", OPERATORS)
def test_graphs_without_edges_or_nodes_work(kind: str) -> None:
    alone, _ = Adjacency.from_pairs([], [], num_nodes=2)
    x = np.array([[1.0], [2.0]])
    assert propagate(alone, x, Operator(kind=kind))[1].tolist() == x.tolist()
    assert propagate(alone, x, Operator(kind=kind, self_loops=0.0))[1].tolist() == [[0.0], [0.0]]
    nobody, _ = Adjacency.from_pairs([], [], num_nodes=0)
    assert propagate(nobody, np.zeros((0, 1)), Operator(kind=kind))[1].shape == (0, 1)


def test_the_matrix_comes_sorted_in_the_asked_precision() -> None:
    s = Operator(self_loops=2.0).matrix(random_adjacency(9), dtype=np.float32)
    assert s.dtype == np.float32
    assert s.has_sorted_indices
    assert (np.concatenate([np.diff(s.indices[a:b]) for a, b in zip(s.indptr, s.indptr[1:], strict=False)]) > 0).all()


def test_a_negative_number_of_hops_is_refused() -> None:
    with pytest.raises(InputError) as caught:
        propagate(PATH, np.zeros((4, 1)), Operator(), hops=-1)
    assert str(caught.value) == "hops: -1; expected 0 or more."


def test_features_of_another_graph_are_refused() -> None:
    with pytest.raises(InputError) as caught:
        propagate(PATH, np.zeros((1200, 1)), Operator())
    assert str(caught.value) == "features: 1,200 rows for 4 nodes."


@pytest.mark.parametrize(
    "settings_", [{"kind": "max"}, {"self_loops": -1.0}, {"self_loops": float("nan")}, {"loops": 1.0}]
)
def test_an_operator_that_does_not_exist_is_refused(settings_: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Operator(**settings_)
