from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from torch import nn

import fairview as fv
from fairview.leakage.theorem2 import bounds, theorem2

TINY = {"epochs": 3, "views": 3, "discriminator_steps": 2, "classifier_steps": 3, "generator_steps": 2, "seed": 1}


def regular_edges(size: int, within: int, across: int) -> np.ndarray:
    """Two rings of `size` nodes: each node has `within` neighbours in its own ring (even), `across` in the other."""
    node = np.arange(size)
    pairs = [(node, (node + k) % size) for k in range(1, within // 2 + 1)]
    pairs += [(size + one, size + other) for one, other in pairs]
    pairs += [(node, size + (node + k) % size) for k in range(across)]
    return np.concatenate([np.stack(pair) for pair in pairs], axis=1)


def planted(size: int = 500, within: int = 6, across: int = 3, seed: int = 0, **other: Any) -> fv.NodeGraph:
    """A graph that obeys the theorem: every neighbourhood has the same share of its own group, Gaussian features."""
    rng = np.random.default_rng(seed)
    features = rng.normal(MEANS.repeat(size, axis=0), SPREAD)
    made = fv.NodeGraph.from_arrays(
        features=features,
        edges=regular_edges(size, within, across),
        labels=(features.sum(axis=1) + rng.normal(size=2 * size) > 0).astype(int),
        sensitive=np.repeat(["f", "m"], size),
        **other,
    )
    return made.with_splits(fv.stratified_splits(made, repeats=1)[0])


MEANS = np.array([[1.0, -1.0, 0.5, 0.0], [0.0, 1.0, -0.5, 0.0]])
SPREAD = np.array([1.0, 0.5, 2.0, 1.0])


# --- the inequality ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("chi", [0.2, 0.8])
def test_both_sides_are_the_sums_of_the_paper(chi: float) -> None:
    """Written out as in the proof, unit by unit and channel by channel."""
    rng = np.random.default_rng(3)
    weight, difference, keep = rng.normal(size=(3, 4)), rng.normal(size=4), rng.random(4)
    found = bounds(weight, difference, keep, epsilon=0.3, chi=chi)
    left = sum(sum(weight[i, j] * difference[j] for j in range(4)) ** 2 for i in range(3)) ** 0.5
    printed = sum(sum(0.3 * keep[j] * difference[j] for j in range(4)) ** 2 for i in range(3)) ** 0.5
    corrected = sum(sum(0.3 * keep[j] * abs(difference[j]) for j in range(4)) ** 2 for i in range(3)) ** 0.5
    assert found.left == pytest.approx(abs(2 * chi - 1) * left)
    assert found.printed == pytest.approx((2 * chi - 1) * printed)
    assert found.corrected == pytest.approx(abs(2 * chi - 1) * corrected)


def test_the_corrected_bound_holds_on_a_thousand_clamped_weights_and_the_printed_one_fails_on_most() -> None:
    rng = np.random.default_rng(0)
    failures = 0
    for _ in range(1000):
        channels, epsilon = rng.integers(1, 40), 10 ** rng.uniform(-2, 0)
        keep = rng.random(channels)
        weight = np.clip(rng.normal(size=(rng.integers(1, 20), channels)), -epsilon * keep, epsilon * keep)
        found = bounds(weight, rng.normal(size=channels), keep, epsilon=epsilon, chi=rng.random())
        assert found.corrected_holds
        failures += not found.printed_holds
    assert failures > 500


def test_the_corrected_bound_is_sharp() -> None:
    """The worst weights, each at its bound with the sign of the difference, reach it."""
    difference, keep = np.array([1.0, -2.0, 0.5]), np.array([0.2, 0.9, 0.4])
    found = bounds(np.tile(0.1 * keep * np.sign(difference), (5, 1)), difference, keep, epsilon=0.1, chi=0.9)
    assert found.left == pytest.approx(found.corrected)
    assert not found.printed_holds


# --- trained models ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("regulariser", ["adaptive", "plain"])
@pytest.mark.parametrize("encoder", ["gcn", "gin", "mlp", "sign"])
def test_the_corrected_bound_holds_on_trained_models(encoder: str, regulariser: str) -> None:
    synthetic = fv.synthetic_graph(200, homophily=0.3, seed=2)
    for graph in (fv.load_dataset("german"), synthetic.with_splits(fv.stratified_splits(synthetic, repeats=1)[0])):
        settings = TINY | {"encoder": encoder, "operator": "mean", "weight_regulariser": regulariser}
        found = theorem2(fv.FairVGNN(**settings).fit(graph), graph)
        assert found.corrected_holds
        assert found.left is not None
        assert found.left > 0
        assert found.applies == (encoder in ("gcn", "mlp"))


def test_the_printed_bound_fails_on_a_trained_model() -> None:
    """Differences of both signs, and more neighbours from the other group than from one's own."""
    graph = planted(size=100, within=2, across=4)
    found = theorem2(fv.FairVGNN(operator="mean", **TINY).fit(graph), graph)
    assert found.chi == pytest.approx(3 / 7)
    assert (found.applies, found.printed_holds, found.corrected_holds) == (True, False, True)


# --- the assumptions, planted -----------------------------------------------------------------------------------------


def test_on_a_graph_that_obeys_the_assumptions_the_prediction_is_what_is_measured() -> None:
    graph = planted()
    model = fv.FairVGNN(operator="mean", **TINY).fit(graph)
    found = theorem2(model, graph)
    assert found.chi == pytest.approx(7 / 10)
    assert found.chi_by_group == pytest.approx({"f": 0.7, "m": 0.7})
    assert found.measured == pytest.approx(found.predicted, rel=1e-6)


def test_each_hop_of_sign_shrinks_the_difference_once_more() -> None:
    graph = planted()
    model = fv.FairVGNN(encoder="sign", operator="mean", **TINY).fit(graph)
    found = theorem2(model, graph)
    weight = model.fitted_.encoder.first_weights[0].detach().double().numpy()
    x = graph.features.astype(np.float64)
    delta = x[graph.sensitive == 0].mean(axis=0) - x[graph.sensitive == 1].mean(axis=0)
    hops = np.concatenate([delta, 0.4 * delta, 0.16 * delta])  # 2χ - 1 = 0.4
    assert found.left == pytest.approx(np.linalg.norm(weight @ hops))
    limit = model.clamp_threshold * model.fitted_.clamp_mask.double().numpy()
    assert found.corrected == pytest.approx(np.sqrt(len(weight)) * limit @ np.abs(hops))
    assert found.measured == pytest.approx(found.predicted, rel=1e-6)


def test_links_count_by_their_weight() -> None:
    """Six links of weight 2 within the group, three of weight 4 across, and the node itself."""
    across = regular_edges(500, 6, 3)
    weights = np.where((across < 500).sum(axis=0) == 1, 4.0, 2.0)
    graph = planted(edge_weight=weights)
    found = theorem2(fv.FairVGNN(operator="mean", **TINY).fit(graph), graph)
    assert found.chi == pytest.approx(13 / 25)
    assert found.chi_by_group == pytest.approx({"f": 13 / 25, "m": 13 / 25})
    assert found.measured == pytest.approx(found.predicted, rel=1e-6)


def test_the_groups_representations_differ_by_what_the_planted_means_predict() -> None:
    """Against the population's means, not the sample's: within four standard errors, in every hidden unit."""
    size = 4000
    graph = planted(size=size)
    model = fv.FairVGNN(operator="mean", **TINY | {"epochs": 1}).fit(graph)
    representations = model.representations(graph)
    difference = representations[:size].mean(axis=0) - representations[size:].mean(axis=0)
    weight = (
        model.fitted_.encoder.first_weights[0].detach().numpy() * model.fitted_.evaluation_masks.mean(dim=0).numpy()
    )
    expected = (2 * 0.7 - 1) * weight @ (MEANS[0] - MEANS[1])
    error = (2 * 0.7 - 1) * np.sqrt(2 * (weight**2 @ SPREAD**2) / size)
    assert (np.abs(difference - expected) < 4 * error + 1e-6).all()
    assert (np.abs(expected) > 4 * error).any()


def test_the_difference_of_two_nodes_has_the_mean_and_the_covariance_of_the_proof() -> None:
    """Features drawn 20,000 times on one graph; nodes 0 and 500 + 250 share no neighbour."""
    size, draws = 500, 20_000
    graph = planted()
    rows = mean_rows(graph, [0, size + 250])
    rng = np.random.default_rng(1)
    column = 1
    mean = np.repeat(MEANS[:, column], size)
    near = np.flatnonzero(rows.any(axis=0))
    x = rng.normal(mean[near], SPREAD[column], size=(draws, len(near)))
    difference = x @ (rows[0] - rows[1])[near]
    assert difference.mean() == pytest.approx(
        0.4 * (MEANS[0] - MEANS[1])[column], abs=4 * difference.std() / draws**0.5
    )
    assert difference.var() == pytest.approx(2 * SPREAD[column] ** 2 / 10, rel=0.05)


def mean_rows(graph: fv.NodeGraph, nodes: list[int]) -> np.ndarray:
    """Rows of D⁻¹ (A + I), from the links themselves."""
    dense = np.eye(graph.num_nodes)
    dense[graph.adjacency.sources, graph.adjacency.indices] = 1
    return (dense / dense.sum(axis=1, keepdims=True))[nodes]


def test_what_is_measured_is_the_distance_of_the_mean_representations() -> None:
    graph = fv.load_dataset("german")
    for encoder in ("gcn", "mlp", "sign"):
        model = fv.FairVGNN(encoder=encoder, **TINY).fit(graph)
        h = model.representations(graph)
        distance = np.linalg.norm(h[graph.sensitive == 0].mean(axis=0) - h[graph.sensitive == 1].mean(axis=0))
        assert theorem2(model, graph).measured == pytest.approx(distance, rel=1e-4)


# --- where the theorem is silent --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "reason", "numbers"),
    [
        ({"encoder": "gcn"}, "Outside the theorem: the operator 'gcn' is not row-normalised.", True),
        ({"encoder": "gcn", "depth": 2}, "The encoder has 2 layers; the theorem is about one.", False),
        (
            {"encoder": "sign", "operator": "mean"},
            "Outside the theorem: it is about one hop (the numbers take hop h with the factor (2χ - 1)^h).",
            True,
        ),
        ({"encoder": "sage"}, "The encoder 'sage' is not one linear layer on the channels.", False),
        (
            {"operator": "mean", "weight_regulariser": "none"},
            "Outside the theorem: the weights are not clamped.",
            False,
        ),
    ],
)
def test_where_it_does_not_apply_the_reason_is_given(settings: dict[str, Any], reason: str, numbers: bool) -> None:
    graph = planted(size=60)
    found = theorem2(fv.FairVGNN(**TINY | settings).fit(graph), graph)
    assert (found.applies, found.reason) == (False, reason)
    assert (found.corrected is not None) == numbers
    assert found.to_dict()["corrected_holds"] is (True if numbers else None)


class Own(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 3)

    def forward(self, x: Any, edge_index: Any) -> Any:
        return self.linear(x)


def test_it_is_silent_on_other_methods_other_encoders_and_three_groups() -> None:
    graph = planted(size=60)
    assert theorem2(fv.Constant().fit(graph), graph).reason == "The method has no encoder."
    own = fv.FairVGNN(encoder=Own(), **TINY).fit(graph)
    assert theorem2(own, graph).reason == "The encoder of the user's own is not one linear layer on the channels."
    three = graph.replace(sensitive=np.arange(120) % 3, groups=("a", "b", "c"))
    model = fv.FairVGNN(operator="mean", **TINY).fit(three)
    assert theorem2(model, three).reason == "The theorem is about two groups; here are 3."


def test_a_plain_model_has_the_left_side_only() -> None:
    graph = planted(size=60)
    found = theorem2(fv.Vanilla(operator="mean", epochs=2).fit(graph), graph)
    assert found.left is not None
    assert (found.epsilon, found.printed, found.printed_holds) == (None, None, None)


def test_weights_beyond_the_clamp_are_noticed() -> None:
    graph = planted(size=60)
    model = fv.FairVGNN(operator="mean", **TINY).fit(graph)
    model.set_params(clamp_threshold=1e-6)
    assert "weights lie beyond the clamp" in theorem2(model, graph).reason


def test_nodes_without_a_known_group_are_left_out_of_means_and_homophily() -> None:
    graph = planted(size=60)
    model = fv.FairVGNN(operator="mean", **TINY).fit(graph)
    hidden = graph.replace(sensitive=np.where(np.arange(120) == 0, -1, graph.sensitive))
    found = theorem2(model, hidden)
    same, both = 119 * 7 - 6, 119 * 10 - 9  # node 0 is missing from its own row, and from those of its neighbours
    assert found.chi == pytest.approx(same / both)
    assert "Nodes without a known group are left out: 1." in found.assumptions[2]


def test_nodes_without_neighbours_leave_the_shares_numbers() -> None:
    """Without self-loops nobody is around an isolated node; the shares of the others stand, and JSON has no NaN."""
    rng = np.random.default_rng(0)
    graph = fv.NodeGraph.from_arrays(
        features=rng.normal(size=(60, 3)),
        edges=[[0, 2, 0], [1, 3, 2]],
        labels=np.tile([0, 1, 1], 20),
        sensitive=np.repeat(["f", "m"], 30),
    )
    graph = graph.with_splits(fv.stratified_splits(graph, repeats=1)[0])
    found = theorem2(fv.FairVGNN(operator="mean", self_loops=0.0, **TINY).fit(graph), graph)
    assert found.chi_by_group == {"f": 1.0}
