from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fairview as fv
from fairview.propagation.correlation import group_correlation, known_groups, sensitive_correlation
from fairview.propagation.operators import OPERATORS, Operator


def dense_correlations(graph, hops, *, kind="gcn"):
    """The definition, with full matrices and NumPy's corrcoef; two groups, all known."""
    n = graph.num_nodes
    links = np.zeros((n, n))
    weights = graph.adjacency.weights
    links[graph.adjacency.sources, graph.adjacency.indices] = 1 if weights is None else weights
    links = (links.T if graph.adjacency.directed else links) + np.eye(n)
    degree = links.sum(axis=1)
    operator = {
        "gcn": links / np.sqrt(np.outer(degree, degree)),
        "mean": links / degree[:, None],
        "sum": links,
    }[kind]
    values, found = graph.features.astype(np.float64), []
    for hop in range(hops + 1):
        values = operator @ values if hop else values
        found.append([np.corrcoef(column, graph.sensitive)[0, 1] if np.ptp(column) else 0.0 for column in values.T])
    return np.array(found)


@pytest.mark.parametrize("kind", OPERATORS)
def test_german_equals_an_independent_dense_computation(kind, weighing_or_not):
    graph = weighing_or_not(fv.load_dataset("german"))
    ours = sensitive_correlation(graph, Operator(kind=kind), 2)
    assert ours.shape == (3, 27)
    np.testing.assert_allclose(ours, dense_correlations(graph, 2, kind=kind), atol=1e-6)


def test_directed_links_are_followed_from_source_to_target():
    rng = np.random.default_rng(1)
    graph = fv.NodeGraph.from_arrays(
        features=rng.standard_normal((30, 4)), edges=rng.integers(0, 30, (2, 60)), sensitive=rng.integers(0, 2, 30),
        directed=True,
    )  # fmt: skip
    expected = dense_correlations(graph, 2)
    np.testing.assert_allclose(sensitive_correlation(graph, hops=2), expected, atol=1e-12)
    turned = fv.NodeGraph.from_arrays(
        features=graph.features, edges=np.stack([graph.adjacency.indices, graph.adjacency.sources]),
        sensitive=graph.sensitive, directed=True,
    )  # fmt: skip
    assert not np.allclose(sensitive_correlation(turned, hops=1), expected[:2])


def test_planted_correlations_are_found():
    graph = fv.synthetic_graph(500, channels=[fv.Channel("a", before=0.3, after=0.1), fv.Channel("b", before=-0.2)])
    found = sensitive_correlation(graph, hops=1)
    assert found[0] == pytest.approx([0.3, -0.2], abs=1e-5)
    assert found[1, 0] == pytest.approx(0.1, abs=1e-5)


def test_three_groups_have_the_correlation_ratio():
    values = np.array([[1.0], [3.0], [2.0], [2.0], [6.0], [6.0]])  # group means 2, 2, 6; overall 10/3
    codes = np.array([0, 0, 1, 1, 2, 2])
    between, total = 4 * (4 / 3) ** 2 + 2 * (8 / 3) ** 2, ((values - 10 / 3) ** 2).sum()
    assert group_correlation(values, codes)[0] == pytest.approx(np.sqrt(between / total))
    graph = fv.synthetic_graph(
        300, groups={"a": 0.3, "b": 0.3, "c": 0.4}, channels=[fv.Channel("p", before=0.4)], label_signal=0.0
    )
    assert sensitive_correlation(graph, hops=0)[0, 0] == pytest.approx(0.4, abs=1e-5)


def test_unknown_nodes_are_propagated_but_not_correlated():
    features, edges = [[0.0], [1.0], [5.0], [9.0]], [[0, 1], [3, 2]]
    graph = fv.NodeGraph.from_arrays(features=features, edges=edges, sensitive=["f", "m", "m", None])
    found = sensitive_correlation(graph, Operator(kind="mean"), 1)
    assert found[0, 0] == pytest.approx(np.corrcoef([0, 1, 5], [0, 1, 1])[0, 1])
    assert found[1, 0] == pytest.approx(np.corrcoef([4.5, 3, 3], [0, 1, 1])[0, 1])  # 4.5: from the unknown neighbour


def test_an_empty_group_is_no_group():
    graph = fv.NodeGraph.from_arrays(features=[[0.0], [1.0], [3.0]], edges=np.empty((2, 0), int), sensitive=[0, 1, 1])
    wider = graph.replace(groups=("none", "0", "1"), sensitive=graph.sensitive + 1)
    assert known_groups(wider).tolist() == [0, 1, 1]
    assert sensitive_correlation(wider, hops=1).tolist() == sensitive_correlation(graph, hops=1).tolist()


def test_a_channel_that_is_constant_at_a_hop_has_correlation_0_there():
    everyone = [[i, j] for i in range(7) for j in range(i)]
    rng = np.random.default_rng(0)
    features = np.stack([np.full(7, 0.1), rng.standard_normal(7) + 1000], axis=1)
    graph = fv.NodeGraph.from_arrays(features=features, edges=np.array(everyone).T, sensitive=[0, 0, 0, 1, 1, 1, 1])
    found = sensitive_correlation(graph, Operator(kind="mean"), 2)
    assert found[:, 0].tolist() == [0, 0, 0]
    assert found[0, 1] != 0
    assert found[1:, 1].tolist() == [0, 0]  # the mean over all nodes, up to rounding


def test_a_large_mean_costs_no_accuracy():
    rng = np.random.default_rng(0)
    values, codes = rng.standard_normal((2000, 1)), rng.integers(0, 2, 2000)
    expected = group_correlation(values, codes)
    assert group_correlation(values + 1e6, codes) == pytest.approx(expected, abs=1e-9)
    assert group_correlation((values + 100).astype(np.float32), codes) == pytest.approx(expected, abs=1e-4)


def test_rows_beyond_the_first_piece_count_and_their_order_does_not():
    rng = np.random.default_rng(0)
    values, codes = np.sort(rng.standard_normal((20_000, 20)), axis=0), rng.integers(0, 2, 20_000)
    expected = [np.corrcoef(column, codes)[0, 1] for column in values.T]
    np.testing.assert_allclose(group_correlation(values, codes), expected, atol=1e-12)


@given(st.integers(0, 10_000), st.floats(0.01, 100), st.floats(-100, 100))
def test_scale_and_shift_change_nothing_but_the_sign(seed, scale, shift):
    rng = np.random.default_rng(seed)
    codes = np.append(rng.integers(0, 2, 18), [0, 1])
    values = rng.standard_normal((20, 2))
    found = group_correlation(values, codes)
    assert (np.abs(found) <= 1).all()
    assert group_correlation(-scale * values + shift, codes) == pytest.approx(-found, abs=1e-9)


@pytest.mark.parametrize(
    ("sensitive", "said"),
    [
        (["f", "f"], "sensitive attribute 'sex': only the group 'f' has nodes; a correlation needs two groups."),
        ([None, None], "sensitive attribute 'sex': no node's group is known; a correlation needs two groups."),
    ],
)
def test_one_group_is_an_error(sensitive, said):
    graph = fv.NodeGraph.from_arrays(
        features=[[0.0], [1.0]], edges=[[0], [1]], sensitive=sensitive, sensitive_name="sex"
    )
    with pytest.raises(fv.InputError) as caught:
        sensitive_correlation(graph)
    assert str(caught.value) == said


def test_negative_hops_are_an_error():
    with pytest.raises(fv.InputError, match="hops: -1; expected a whole number, at least 0"):
        sensitive_correlation(fv.load_dataset("german"), hops=-1)


def test_no_channels_give_an_empty_table():
    graph = fv.NodeGraph.from_arrays(features=np.empty((3, 0)), edges=[[0], [1]], sensitive=[0, 1, 1])
    assert sensitive_correlation(graph, hops=2).shape == (3, 0)
