"""The dials of a synthetic graph: what is measured on the graph is what was asked for."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt
import pytest
from scipy import sparse
from sklearn.metrics import roc_auc_score

from fairview.data.adjacency import Adjacency
from fairview.data.graph import NodeGraph
from fairview.data.synthetic.generator import DEFAULT_CHANNELS, Channel, synthetic_graph
from fairview.errors import InputError

ROUNDING = 2e-5  # of a correlation of float32 features
THREE = {"a": 0.5, "b": 0.3, "c": 0.2}


def propagated(graph: NodeGraph) -> npt.NDArray[np.float64]:
    """D^-1/2 (A + I) D^-1/2 X with dense float64 matrices: the oracle."""
    matrix = np.eye(graph.num_nodes)
    matrix[graph.adjacency.sources, graph.adjacency.indices] = 1
    scale = np.diag(matrix.sum(axis=1) ** -0.5)
    return scale @ matrix @ scale @ graph.features.astype(np.float64)


def correlations(values: npt.NDArray[np.floating], graph: NodeGraph) -> npt.NDArray[np.float64]:
    return np.array([np.corrcoef(column, graph.sensitive)[0, 1] for column in values.T])


def correlation_ratios(values: npt.NDArray[np.floating], graph: NodeGraph) -> npt.NDArray[np.float64]:
    """η: the root of the share of the variance that a prediction by the group's mean explains."""
    values = values.astype(np.float64)
    fitted = np.empty_like(values)
    for group in range(len(graph.groups)):
        fitted[graph.sensitive == group] = values[graph.sensitive == group].mean(axis=0)
    return fitted.std(axis=0) / values.std(axis=0)


# --- size, degree, homophily ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("homophily", [0.0, 0.3, 0.5, 0.8048, 1.0])
@pytest.mark.parametrize("groups", [{"a": 0.5, "b": 0.5}, {"a": 0.1, "b": 0.9}, THREE])
def test_edges_degree_homophily_and_shares_are_what_was_asked(homophily: float, groups: dict[str, float]) -> None:
    graph = synthetic_graph(700, groups=groups, homophily=homophily, average_degree=7.3, channels=[], label_signal=0)
    assert graph.num_edges == round(700 * 7.3 / 2)
    assert graph.homophily() == pytest.approx(homophily, abs=0.5 / graph.num_edges + 1e-12)
    assert graph.group_sizes == {name: round(700 * share) for name, share in groups.items()}


def test_a_graph_of_many_chunks_is_sound() -> None:
    graph = synthetic_graph(30_000, groups=THREE, average_degree=40, channels=[], label_signal=0)
    assert Adjacency.from_csr(graph.adjacency.indptr, graph.adjacency.indices).num_edges == 600_000
    assert graph.homophily() == 0.8


def test_all_nodes_expect_equally_many_neighbours_of_their_own_group() -> None:
    graph = synthetic_graph(20_000, groups={"a": 0.1, "b": 0.9}, homophily=1.0, average_degree=10)
    degree = graph.adjacency.degree
    assert degree[graph.sensitive == 0].mean() == 10.0
    assert degree[graph.sensitive == 1].mean() == 10.0


@pytest.mark.parametrize("homophily", [0.0, 1.0])
def test_degrees_vary_as_chance_makes_them(homophily: float) -> None:
    degree = synthetic_graph(20_000, homophily=homophily, average_degree=10).adjacency.degree
    assert degree.var() == pytest.approx(10, rel=0.05)  # Poisson; the standard error is sqrt(2 / n) = 1 %


def test_groups_are_spread_over_the_rows() -> None:
    graph = synthetic_graph(10_000)
    assert graph.sensitive[:5000].mean() == pytest.approx(0.5, abs=0.02)
    assert abs(np.corrcoef(graph.sensitive[1:], graph.sensitive[:-1])[0, 1]) < 0.05


# --- channels ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("groups", [{"a": 0.5, "b": 0.5}, {"a": 0.2, "b": 0.8}, {"a": 0.93, "b": 0.07}])
@pytest.mark.parametrize("homophily", [0.1, 0.5, 0.8, 0.95])
@pytest.mark.parametrize("average_degree", [4, 25])
def test_correlations_before_and_after_one_hop_are_what_was_asked(
    groups: dict[str, float], homophily: float, average_degree: float
) -> None:
    asked = [(0.0, 0.0), (0.0, 0.35), (0.0, -0.3), (0.1, 0.3), (-0.05, 0.25), (0.15, 0.15)]
    channels = [Channel(f"x{k}", before, after) for k, (before, after) in enumerate(asked)]
    graph = synthetic_graph(600, groups=groups, homophily=homophily, average_degree=average_degree, channels=channels)
    assert correlations(graph.features, graph) == pytest.approx([before for before, _ in asked], abs=ROUNDING)
    assert correlations(propagated(graph), graph) == pytest.approx([after for _, after in asked], abs=ROUNDING)


@pytest.mark.parametrize("homophily", [0.4, 0.8])
def test_correlation_ratios_of_three_groups_are_what_was_asked(homophily: float) -> None:
    asked = [(0.0, 0.25), (0.1, 0.3), (0.3, 0.5), (0.0, 0.0)]
    channels = [Channel(f"x{k}", before, after) for k, (before, after) in enumerate(asked)]
    graph = synthetic_graph(900, groups=THREE, homophily=homophily, channels=channels, seed=3)
    assert correlation_ratios(graph.features, graph) == pytest.approx([before for before, _ in asked], abs=ROUNDING)
    after = correlation_ratios(propagated(graph), graph)
    assert after[:3] == pytest.approx([0.25, 0.3, 0.5], abs=ROUNDING)
    assert after[3] <= np.sqrt(2 / 900)  # zero is met within chance


def test_the_planted_leak_shows_only_after_propagation() -> None:
    graph = synthetic_graph(1000, channels=[Channel("leak", before=0.0, after=0.4), Channel("plain")])
    leak, plain = correlations(graph.features, graph)
    assert (leak, plain) == pytest.approx((0, 0), abs=ROUNDING)
    assert correlations(propagated(graph), graph) == pytest.approx([0.4, 0.0], abs=ROUNDING)


def test_homophily_turns_a_proxy_into_a_stronger_one() -> None:
    """What a channel without `after` does: the groups' signal adds up over the neighbours, the noise averages out."""
    after = {}
    for homophily in (0.5, 0.9):
        graph = synthetic_graph(1000, homophily=homophily, channels=[Channel("proxy", before=0.3)])
        assert correlations(graph.features, graph) == pytest.approx([0.3], abs=ROUNDING)
        after[homophily] = correlations(propagated(graph), graph)[0]
    assert after[0.5] < 0.15
    assert after[0.9] > 0.7


def test_the_dials_hold_on_a_larger_graph() -> None:
    graph = synthetic_graph(50_000, groups={"f": 0.3, "m": 0.7}, seed=5)
    matrix = sparse.csr_array(graph.adjacency.to_scipy(), dtype=np.float64) + sparse.eye_array(graph.num_nodes)
    scale = sparse.diags_array(matrix.sum(axis=1) ** -0.5)
    hop = scale @ (matrix @ (scale @ graph.features.astype(np.float64)))
    before, after = correlations(graph.features, graph), correlations(hop, graph)
    for column, channel in enumerate(DEFAULT_CHANNELS):
        assert before[column] == pytest.approx(channel.before, abs=ROUNDING)
        if channel.after is not None:
            assert after[column] == pytest.approx(channel.after, abs=ROUNDING)


def test_features_are_standardised_and_mostly_noise_looks_normal() -> None:
    features = synthetic_graph(5000).features.astype(np.float64)
    assert features.mean(axis=0) == pytest.approx(np.zeros(8), abs=1e-5)
    assert features.std(axis=0) == pytest.approx(np.ones(8), abs=1e-5)
    assert (features[:, 0] ** 4).mean() == pytest.approx(3, abs=0.4)
    assert np.abs(np.corrcoef(features[:, :4].T) - np.eye(4)).max() < 4 / np.sqrt(5000)


def test_without_edges_a_hop_changes_nothing() -> None:
    graph = synthetic_graph(100, average_degree=0, channels=[Channel("same", before=0.3, after=0.3)])
    assert graph.num_edges == 0
    assert correlations(propagated(graph), graph) == pytest.approx([0.3], abs=ROUNDING)


def test_a_channel_may_be_the_sensitive_attribute() -> None:
    graph = synthetic_graph(100, channels=[Channel("itself", before=-1.0)])
    assert correlations(graph.features, graph) == pytest.approx([-1], abs=ROUNDING)


# --- labels -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("positive_rate", "label_bias"), [(0.5, 0.0), (0.3, 0.2), (0.6, -0.4), (0.0, 0.0), (1.0, 0.0)])
@pytest.mark.parametrize("groups", [{"a": 0.25, "b": 0.75}, THREE])
def test_positive_rates_are_what_was_asked(positive_rate: float, label_bias: float, groups: dict[str, float]) -> None:
    graph = synthetic_graph(1000, groups=groups, positive_rate=positive_rate, label_bias=label_bias)
    rates = [float(graph.labels[graph.sensitive == group].mean()) for group in range(len(groups))]
    rounding = 1 / min(graph.group_sizes.values())
    assert graph.labels.mean() == pytest.approx(positive_rate, abs=rounding)
    assert rates[0] - rates[-1] == pytest.approx(label_bias, abs=rounding)
    assert np.diff(rates) == pytest.approx(np.full(len(rates) - 1, -label_bias / (len(rates) - 1)), abs=2 * rounding)


def test_the_label_follows_the_weighted_channels_and_only_those() -> None:
    channels = [Channel("for"), Channel("against", label_weight=-1), Channel("unused", label_weight=0)]
    graph = synthetic_graph(4000, channels=channels, label_signal=0.9)
    auc = [roc_auc_score(graph.labels, column) for column in graph.features.T]
    assert auc[0] > 0.7
    assert auc[1] < 0.3
    assert auc[2] == pytest.approx(0.5, abs=0.04)


@pytest.mark.parametrize(("label_signal", "expected"), [(0.0, 0.5), (1.0, 1.0)])
def test_label_signal_reaches_from_noise_to_certainty(label_signal: float, expected: float) -> None:
    graph = synthetic_graph(4000, channels=[Channel("x")], label_signal=label_signal, label_bias=0.3)
    for group in (0, 1):
        member = graph.sensitive == group
        assert roc_auc_score(graph.labels[member], graph.features[member, 0]) == pytest.approx(expected, abs=0.04)


# --- randomness, names ------------------------------------------------------------------------------------------------


def test_same_seed_same_bits_and_another_seed_another_graph() -> None:
    assert synthetic_graph(500, seed=7).sha256 == synthetic_graph(500, seed=7).sha256
    assert synthetic_graph(500, seed=7).sha256 != synthetic_graph(500, seed=8).sha256


def test_a_generator_gives_a_new_graph_each_time() -> None:
    rng = np.random.default_rng(7)
    first, second = synthetic_graph(500, seed=rng), synthetic_graph(500, seed=rng)
    assert first.sha256 == synthetic_graph(500, seed=7).sha256
    assert first.sha256 != second.sha256
    assert first.provenance.notes[-1] == "seed: a generator"


def test_turning_one_dial_leaves_the_rest_as_it_was() -> None:
    plain, biased = synthetic_graph(500), synthetic_graph(500, label_bias=0.4)
    assert (plain.features == biased.features).all()
    assert (plain.adjacency.indices == biased.adjacency.indices).all()
    other_edges = synthetic_graph(500, homophily=0.6)
    assert (plain.sensitive == other_edges.sensitive).all()


def test_names_and_provenance_say_how_it_was_made() -> None:
    graph = synthetic_graph(100, groups={"f": 0.4, "m": 0.6}, average_degree=5, channels=[Channel("age", 0.1)], seed=3)
    assert (graph.channels, graph.groups, graph.sensitive_name) == (("age",), ("f", "m"), "group")
    assert (graph.node_ids, dict(graph.splits), graph.sensitive_channels) == (None, {}, ())
    assert graph.provenance.source == "synthetic"
    assert graph.provenance.notes == (
        "num_nodes: 100",
        "groups: {'f': 0.4, 'm': 0.6}",
        "average_degree: 5",
        "homophily: 0.8",
        "channels: [Channel(name='age', before=0.1, after=None, label_weight=1.0)]",
        "positive_rate: 0.5",
        "label_bias: 0.0",
        "label_signal: 0.8",
        "seed: 3",
    )


def test_nothing_of_the_graph_can_be_written_to() -> None:
    graph = synthetic_graph(100, average_degree=4)
    for array in (graph.features, graph.labels, graph.sensitive, graph.adjacency.indptr, graph.adjacency.indices):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


# --- refusals ---------------------------------------------------------------------------------------------------------


NUM_NODES_MESSAGE = "a whole number from 4 (two more than groups) to 100,000,000 is possible."
EDGES_REMEDY = "Lower average_degree, or change homophily, num_nodes or the shares of the groups."
REFUSALS: list[tuple[dict[str, object], str]] = [
    (
        {"groups": {"a": 1.0}},
        "2 problems:\n  - groups: 1 given; from 2 to 100 are possible.\n"
        "  - groups: a share lies between 0 and 1, got 'a' 1.0.",
    ),
    ({"groups": {"a": 0.5, "b": 0.4}}, "groups: the shares add up to 0.9; they must add up to 1."),
    ({"groups": {"a": -0.5, "b": 1.5}}, "groups: a share lies between 0 and 1, got 'a' -0.5, 'b' 1.5."),
    ({"groups": {"a": 0.9999, "b": 0.0001}}, "groups: 'b' has no node: its share is 0.0001 of 100 nodes."),
    ({"num_nodes": 3}, f"num_nodes: 3; {NUM_NODES_MESSAGE}"),
    ({"num_nodes": 9.5}, f"num_nodes: 9.5; {NUM_NODES_MESSAGE}"),
    ({"average_degree": -1}, "average_degree: -1; it must be a number from 0 on."),
    ({"average_degree": float("nan")}, "average_degree: nan; it must be a number from 0 on."),
    ({"homophily": 1.2}, "homophily: 1.2; it must lie between 0 and 1."),
    ({"positive_rate": -0.1}, "positive_rate: -0.1; it must lie between 0 and 1."),
    ({"label_signal": 2}, "label_signal: 2; it must lie between 0 and 1."),
    ({"label_bias": -2}, "label_bias: -2; it must lie between -1 and 1."),
    ({"seed": -1}, "seed: -1; it must be a whole number from 0 on, or a numpy Generator."),
    ({"seed": "a"}, "seed: 'a'; it must be a whole number from 0 on, or a numpy Generator."),
    (
        {"positive_rate": 0.9, "label_bias": 0.4},
        "label_bias: the positive rate of group 'a' would be 1.100, outside 0 to 1. "
        "Lower label_bias, or move positive_rate towards 0.5.",
    ),
    (
        {"average_degree": 90},
        "edges: 3,600 edges within the groups are asked for, but only 2,450 pairs of nodes exist within the groups. "
        + EDGES_REMEDY,
    ),
    (
        {"average_degree": 60, "homophily": 0.0},
        "edges: 3,000 edges across the groups are asked for, but only 2,500 pairs of nodes exist across the groups. "
        + EDGES_REMEDY,
    ),
    ({"channels": [Channel("x"), Channel("x")]}, "channels: names must be unique; repeated: x."),
    (
        {"channels": []},
        "label_signal: 0.8, but no channel has a label_weight other than 0. Give one a weight, or pass label_signal=0 "
        "for labels that are noise.",
    ),
    (
        {"groups": THREE, "channels": [Channel("x", -0.5)]},
        "channel 'x': with more than two groups a correlation is a ratio between 0 and 1, got before=-0.5 and "
        "after=None.",
    ),
    (
        {"average_degree": 0, "channels": [Channel("x", after=0.4)]},
        "channel 'x': a correlation of 0.4 after one hop is out of reach with 0 before it; on this graph it can be "
        "0.000 to 0.000. Ask for one in this range, or for after=None, or change before, homophily or average_degree.",
    ),
]


@pytest.mark.parametrize(("dials", "message"), REFUSALS)
def test_an_impossible_dial_is_refused(dials: dict[str, object], message: str) -> None:
    with pytest.raises(InputError) as caught:
        synthetic_graph(**{"num_nodes": 100, **dials})
    assert str(caught.value) == message


def test_the_reach_named_in_a_refusal_is_the_reach() -> None:
    with pytest.raises(InputError, match="out of reach with 0 before it") as caught:
        synthetic_graph(400, channels=[Channel("x", after=0.9)])
    found = re.search(r"it can be (\S+) to (\S+)\. Ask", str(caught.value))
    assert found is not None
    low, high = map(float, found.groups())
    assert low < 0 < high < 0.9
    for after in (low + 0.001, high - 0.001):
        graph = synthetic_graph(400, channels=[Channel("x", after=after)])
        assert correlations(propagated(graph), graph) == pytest.approx([after], abs=ROUNDING)


def test_a_channel_checks_its_dials() -> None:
    with pytest.raises(InputError) as caught:
        Channel("x", before=1.5, after=-2, label_weight=float("inf"))
    assert caught.value.problems == (
        "channel 'x': before is 1.5; a correlation lies between -1 and 1.",
        "channel 'x': after is -2; a correlation lies between -1 and 1.",
        "channel 'x': label_weight is inf; it must be a finite number.",
    )
