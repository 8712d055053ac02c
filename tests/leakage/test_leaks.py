from __future__ import annotations

import numpy as np
import pytest

import fairview as fv
from fairview.leakage.exact_null import shuffled_correlations
from fairview.leakage.leaks import check_permutations, leak_rule, leak_tests
from fairview.propagation.correlation import known_groups, sensitive_correlation
from fairview.propagation.operators import Operator


def shuffle_test(graph, *, operator="gcn", hops=2, permutations=99, seed=0, **more):
    (test,) = leak_tests(
        graph.features, graph.adjacency, [known_groups(graph)],
        operator=Operator(kind=operator), hops=hops, permutations=permutations, seed=seed, **more,
    )  # fmt: skip
    return test


def verdicts(graph, **more):
    correlation = sensitive_correlation(graph, Operator(), 2)
    found = shuffle_test(graph, **more).leaking(correlation, level=0.05, innocuous=0.05)
    return {name for name, leaking in zip(graph.channels, found, strict=True) if leaking}


def test_shuffles_are_propagated_as_a_loop_over_permutations_would(weighing_or_not):
    graph = weighing_or_not(fv.synthetic_graph(200, average_degree=6, seed=1))
    codes = known_groups(graph)
    (found,) = shuffled_correlations(
        graph.features, graph.adjacency, [codes], operator=Operator(), hops=2, permutations=40, seed=5
    )
    assert found.shape == (41, 3, 8)
    rng = np.random.default_rng(5)
    orders = [np.arange(200), *(rng.permutation(200) for _ in range(40))]
    for order, ours in zip(orders, found, strict=True):
        shuffled = graph.with_features(graph.features[order])
        np.testing.assert_allclose(ours, sensitive_correlation(shuffled, hops=2), atol=2e-6)


def test_a_leak_along_heavy_links_is_found_with_their_weights_only():
    """The channel is what the other end of a node's first link has as its group; all other links are noise."""
    rng = np.random.default_rng(0)
    n = 1000
    first, second = rng.permutation(n).reshape(2, -1)  # each node has one heavy link
    group = rng.integers(0, 2, n)
    sent = np.empty(n)
    sent[first], sent[second] = group[second], group[first]
    noise = rng.integers(0, n, (2, 20 * n))
    edges = np.sort(np.hstack([[first, second], noise]), axis=0)
    weights = np.repeat([50.0, 0.1], [n // 2, 20 * n])
    features = (sent / 2 + rng.standard_normal(n))[:, None]
    plain, weighted = (
        fv.NodeGraph.from_arrays(features=features, edges=edges, sensitive=group, edge_weight=given)
        for given in (None, weights)
    )
    assert (verdicts(plain), verdicts(weighted)) == (set(), {"x0"})


@pytest.mark.parametrize(("seed", "homophily"), [(0, 0.5), (1, 0.7), (2, 0.8)])
def test_planted_leaks_are_named_and_open_proxies_are_not(seed, homophily):
    graph = fv.synthetic_graph(3000, average_degree=10, homophily=homophily, seed=seed)
    assert verdicts(graph, permutations=199) == {"leak_weak", "leak_strong"}


def test_a_leak_is_found_in_one_of_three_groups():
    channels = [fv.Channel("plain"), fv.Channel("leak", before=0.0, after=0.4, label_weight=0.0)]
    graph = fv.synthetic_graph(1500, groups={"a": 0.4, "b": 0.3, "c": 0.3}, channels=channels, seed=0)
    assert verdicts(graph) == {"leak"}


def test_an_open_proxy_that_grows_is_correlated_already_and_not_leaking():
    graph = fv.synthetic_graph(2000, channels=[fv.Channel("proxy", before=0.2, after=0.6)], seed=0)
    found = shuffle_test(graph)
    assert found.leak_p_value.min() == pytest.approx(0.01)  # it grows, no doubt
    assert verdicts(graph) == set()


def test_significance_without_growth_is_no_leak():
    graph = fv.synthetic_graph(2000, homophily=0.5, channels=[fv.Channel("fades", before=0.5)], seed=0)
    found = shuffle_test(graph)
    assert found.p_value[:, 0].tolist() == pytest.approx([0.01, 0.01, 0.01])
    assert found.leak_p_value.min() > 0.5


def test_a_leak_below_the_innocuous_size_is_not_named():
    channels = [fv.Channel("faint", before=0.0, after=0.1, label_weight=0.0), fv.Channel("plain")]
    graph = fv.synthetic_graph(4000, homophily=0.5, channels=channels, seed=0)
    found, correlation = shuffle_test(graph, hops=1), sensitive_correlation(graph, hops=1)
    assert found.leaking(correlation, level=0.05, innocuous=0.05).tolist() == [True, False]
    assert found.leaking(correlation, level=0.05, innocuous=0.2).tolist() == [False, False]


def test_channels_that_are_not_tested_neither_leak_nor_hide_others():
    channels = [
        fv.Channel("own", before=0.0, after=0.6, label_weight=0.0),
        fv.Channel("leak", before=0.0, after=0.4, label_weight=0.0),
        fv.Channel("plain"),
    ]
    graph = fv.synthetic_graph(1500, channels=channels, seed=0)
    found = shuffle_test(graph, tested=[np.array([False, True, True])])
    assert found.leak_p_value[:, 0].tolist() == [1.0, 1.0]
    assert found.leak_p_value[:, 1].min() == pytest.approx(0.01)


@pytest.mark.parametrize("operator", ["gcn", "mean"])
def test_without_links_nothing_leaks(operator):
    rng = np.random.default_rng(0)
    graph = fv.NodeGraph.from_arrays(
        features=rng.standard_normal((50, 3)), edges=np.empty((2, 0), int), sensitive=rng.integers(0, 2, 50)
    )
    assert (shuffle_test(graph, operator=operator).leak_p_value == 1).all()


def test_constant_channels_and_complete_graphs_leak_nothing():
    pairs = np.array([[i, j] for i in range(40) for j in range(i)]).T
    features = np.stack([np.ones(40), np.random.default_rng(0).standard_normal(40)], axis=1)
    graph = fv.NodeGraph.from_arrays(features=features, edges=pairs, sensitive=np.arange(40) % 2)
    assert (shuffle_test(graph, operator="mean").leak_p_value == 1).all()


def test_the_same_seed_gives_the_same_p_values_and_another_one_others():
    graph = fv.synthetic_graph(300, seed=0)
    first, again, other = shuffle_test(graph), shuffle_test(graph), shuffle_test(graph, seed=1)
    np.testing.assert_array_equal(first.p_value, again.p_value)
    assert (first.p_value != other.p_value).any()


def test_the_rule_is_one_sentence_with_its_numbers():
    rule = leak_rule(0.01, 0.1, 1000)
    assert rule.count(". ") == 0
    assert all(part in rule for part in ("below 0.1", "p above 0.01", "at most 1 % of 1,000 shuffles"))


@pytest.mark.parametrize(
    ("permutations", "level", "said"),
    [
        (18, 0.05, "permutations: 18; level 0.05 needs at least 19."),
        (98, 0.01, "permutations: 98; level 0.01 needs at least 99."),
        (500, 1.0, "level: 1.0; expected a share between 0 and 1, such as 0.05."),
    ],
)
def test_too_few_shuffles_for_the_level_are_refused(permutations, level, said):
    with pytest.raises(fv.InputError) as caught:
        check_permutations(permutations, level)
    assert str(caught.value) == said
    check_permutations(19, 0.05)
    check_permutations(99, 0.01)
