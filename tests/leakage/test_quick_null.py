"""Quick shuffles against exact ones, shuffle by shuffle; `python -m benchmarks.quick_null` does it at length."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.quick_null import LEVEL, draw
from scipy.stats import binom

import fairview as fv
from fairview.leakage import leaks
from fairview.leakage.exact_null import shuffled_correlations
from fairview.leakage.graph_audit import audit
from fairview.leakage.leaks import leak_tests
from fairview.leakage.quick_null import TOLERANCE, quick_null
from fairview.propagation.correlation import known_groups, sensitive_correlation
from fairview.propagation.one_hop import one_hop
from fairview.propagation.operators import Operator


def both(graph, *, operator="gcn", hops=2, **more):
    settings = {"operator": Operator(kind=operator), "hops": hops, "permutations": 99, "seed": 3}
    parts = graph.features, graph.adjacency
    (exact,) = shuffled_correlations(*parts, [graph.codes], **settings)
    return quick_null(*parts, graph.codes, **settings, **more), exact


@pytest.mark.parametrize("degrees", ["regular", "poisson", "power"])
@pytest.mark.parametrize(("operator", "hops"), [("gcn", 2), ("mean", 1), ("mean", 3)])
@pytest.mark.parametrize(("seed", "groups"), [(0, 2), (1, 3)], ids=["plain", "directed, three groups"])
def test_quick_shuffles_are_those_of_the_exact_test(degrees, operator, hops, seed, groups):
    """The numerators are the same; the norms are off by the few percent by which they move between shuffles.

    A tenth of a standard deviation moves a p-value by about sqrt(0.4 * 0.1 / 99) = 0.02, for so many of 99 shuffles
    are as near to X; the largest of some dozens is less than four times that.
    """
    graph = draw(10_000, degrees, seed, groups=groups)
    quick, exact = both(graph, operator=operator, hops=hops, tolerance=np.inf)
    assert quick.quick.all()
    np.testing.assert_allclose(quick.correlations[0], exact[0], atol=1e-5)
    apart = np.sqrt(((quick.correlations - exact) ** 2).mean(axis=0)) / exact.std(axis=0)
    assert apart.max() < TOLERANCE
    p_value = [(np.abs(each) >= np.abs(each[0]) - 1e-5).mean(axis=0) for each in (quick.correlations, exact)]
    assert np.abs(p_value[0] - p_value[1]).max() < 0.08


def test_channels_for_which_it_is_too_coarse_are_propagated():
    """On hubs, sums of a channel with mean 0 have a norm that moves much; with a large mean, the norm is that of it."""
    graph = draw(4000, "power", 0)
    graph.features[:] = np.random.default_rng(0).standard_normal(graph.features.shape)
    graph.features[:, 2:] += 35
    quick, exact = both(graph, operator="sum")
    assert quick.quick.tolist() == [False] * 2 + [True] * 6
    np.testing.assert_allclose(quick.correlations, exact, atol=1e-6)
    coarse, _ = both(graph, operator="sum", tolerance=np.inf)
    assert np.abs(coarse.correlations - exact)[:, :, :2].max() > 0.1


def test_where_the_graph_is_the_reason_every_channel_is_propagated():
    graph = draw(4000, "power", 0)
    graph.features[:] = np.random.default_rng(0).standard_normal(graph.features.shape)
    graph.features[:, 5:] += 35
    quick, exact = both(graph, operator="sum")
    assert not quick.quick.any()
    np.testing.assert_array_equal(quick.correlations, exact)


def test_where_propagation_leaves_nothing_it_is_propagated_too():
    """In a complete graph all nodes have the same mean."""
    first, second = np.triu_indices(40, 1)
    graph = fv.NodeGraph.from_arrays(
        features=np.random.default_rng(0).standard_normal((40, 2)), edges=[first, second], sensitive=[0, 1] * 20
    )
    (test,) = leak_tests(
        graph.features, graph.adjacency, [known_groups(graph)],
        operator=Operator(kind="mean"), hops=1, permutations=19, seed=0, shuffling="quick",
    )  # fmt: skip
    assert not test.quick.any()
    assert test.leak_p_value.tolist() == [[1.0, 1.0]]


def test_shuffling_a_constant_changes_nothing():
    graph = draw(800, "poisson", 0)
    graph.features[:, 2] = 7
    quick, exact = both(graph)
    np.testing.assert_array_equal(quick.correlations[:, :, 2], np.repeat(quick.correlations[:1, :, 2], 100, axis=0))
    np.testing.assert_allclose(quick.correlations[:, :, 2], exact[:, :, 2], atol=1e-5)


def test_a_graph_without_channels_has_nothing_to_shuffle():
    graph = fv.NodeGraph.from_arrays(features=np.zeros((30, 0)), edges=[[0], [1]], sensitive=[0, 1] * 15)
    assert audit(graph, shuffling="quick", permutations=19, probes=False).channels == ()


def test_smooth_channels_keep_their_own_norm():
    """Alike among neighbours, they have a larger norm than their shuffles; with the shuffles' norm they would leak."""
    graph = fv.synthetic_graph(3000, average_degree=10, homophily=0.8, seed=0)
    hop = one_hop(graph.adjacency, Operator(kind="mean"))
    noise = hop(hop(np.random.default_rng(1).standard_normal((3000, 8))))
    smooth = graph.with_features(noise / noise.std(axis=0), [f"c{j}" for j in range(8)])
    quick, exact = (audit(smooth, shuffling=how, permutations=99, probes=False) for how in ("quick", "exact"))
    for channel, same in zip(quick.channels, exact.channels, strict=True):
        assert channel.leak_p_value == pytest.approx(same.leak_p_value, abs=0.08)


@pytest.mark.parametrize("seed", [0, 1])
def test_planted_leaks_are_named_and_nothing_else_is(seed):
    graph = fv.synthetic_graph(6000, average_degree=10, homophily=0.7, seed=seed)
    seen = audit(graph, shuffling="quick", permutations=199, probes=False)
    assert seen.shuffling == "quick"
    assert set(seen.leaking) == {"leak_weak", "leak_strong"}


def test_a_few_graphs_without_leaks_raise_hardly_an_alarm():
    alarms, graphs = 0, 30
    for seed in range(graphs):
        test = draw(1000, ("poisson", "power")[seed % 2], seed).test("quick", operator="gcn", hops=2, seed=seed)
        alarms += bool(test.leak_p_value.min() <= LEVEL)
    assert alarms <= binom.ppf(0.999, graphs, LEVEL)


def test_large_graphs_are_shuffled_quickly_and_small_ones_exactly(monkeypatch):
    graph = fv.synthetic_graph(5000, seed=0)
    small = audit(graph, permutations=19, probes=False)
    assert (small.shuffling, small.to_dict()["shuffling"]) == ("exact", "exact")
    monkeypatch.setattr(leaks, "MOST_EXACT_WORK", 1000)
    large = audit(graph, permutations=19, probes=False)
    assert (large.shuffling, large.to_dict()["shuffling"]) == ("quick", "quick")
    assert "at any hop (quick shuffles: products with vectors that are propagated once)." in large.rule
    assert any(note.startswith("quick shuffles: in the 10 shuffles that were propagated") for note in large.notes)
    np.testing.assert_allclose(
        [channel.correlation for channel in large.channels], sensitive_correlation(graph).T, atol=1e-12
    )


def test_channels_that_were_propagated_after_all_are_named_in_a_note():
    graph = fv.synthetic_graph(100, seed=0)
    seen = audit(graph, shuffling="quick", permutations=19, probes=False)
    (note,) = [note for note in seen.notes if note.startswith("all shuffles of")]
    assert note.endswith("quick ones were off by more than 0.2 standard deviations")


def test_an_unknown_shuffling_is_refused():
    with pytest.raises(fv.InputError) as caught:
        audit(fv.synthetic_graph(100, seed=0), shuffling="quik")
    assert str(caught.value) == "shuffling: no 'quik'. Did you mean 'quick'?"
