"""Parity against scikit-learn where it is convex, and against its promises where it is not."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression as SkLogisticRegression

import fairview as fv
from fairview.methods.estimated_labels import leave_one_out_scores, shifted_to_its_share
from fairview.methods.parity import Parity
from fairview.methods.parity_heads import plain_model
from fairview.methods.parity_objective import balanced_weights
from fairview.methods.parity_penalty import penalty_nodes

PLAIN = {"statistical_parity_weight": 0.0}


def biased_graph(nodes: int = 1500, groups: dict[str, float] | None = None, seed: int = 3) -> fv.NodeGraph:
    shares = groups or {"f": 0.4, "m": 0.6}
    made = fv.synthetic_graph(nodes, groups=shares, average_degree=6, homophily=0.7, label_bias=0.4, seed=seed)
    return made.with_splits(fv.stratified_splits(made, repeats=1)[0])


@pytest.fixture(scope="module")
def biased() -> fv.NodeGraph:
    return biased_graph()


def gap(model: fv.Estimator, graph: fv.NodeGraph) -> float:
    """Mean over thresholds of the statistical parity gap, over all nodes: less noisy than at one threshold."""
    scores = model.predict_proba(graph)[:, 1]
    cuts = np.quantile(scores, np.linspace(0.05, 0.95, 19))
    rates = np.array([(scores[graph.sensitive == g, None] > cuts).mean(axis=0) for g in range(len(graph.groups))])
    return float(np.ptp(rates, axis=0).mean())


# --- convex -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("class_balanced", [True, False])
@pytest.mark.parametrize("hops", [0, 2])
def test_without_a_penalty_it_is_scikit_learns_logistic_regression(biased, class_balanced, hops):
    model = Parity(**PLAIN, hops=hops, l2=0.02, class_balanced=class_balanced).fit(biased)
    z, train = model.features_(biased), biased.splits["train"]
    oracle = SkLogisticRegression(
        C=1 / (2 * 0.02 * train.sum()), class_weight="balanced" if class_balanced else None, tol=1e-12, max_iter=10_000
    )
    oracle.fit(z[train], biased.labels[train])
    np.testing.assert_allclose(model.predict_proba(biased), oracle.predict_proba(z), atol=1e-6)


@pytest.mark.parametrize("hops", [1, 2])
def test_it_sees_the_weighted_mean_of_the_neighbours(graph, with_weights, hops):
    weighted = with_weights(graph)
    links = weighted.adjacency.to_scipy().toarray() + np.eye(graph.num_nodes)
    mean = links / links.sum(axis=1, keepdims=True)
    z = Parity(**PLAIN, hops=hops).fit(weighted).features_.unscaled(weighted)
    own, *others = np.split(z, hops + 1, axis=1)
    for hop, found in enumerate(others, start=1):
        np.testing.assert_allclose(found, np.linalg.matrix_power(mean, hop) @ own, atol=1e-12)


def test_prepared_columns_of_other_weights_are_refused(graph, with_weights):
    model = Parity(**PLAIN)
    prepared = model.prepare(with_weights(graph))
    model.fit(with_weights(graph), prepared=prepared)
    for other in (graph, with_weights(graph, 1.0)):
        with pytest.raises(fv.InputError, match="prepared"):
            model.fit(other, prepared=prepared)


def test_the_convex_minimum_has_no_gradient(biased):
    model = Parity(**PLAIN, l2=0.001).fit(biased)
    z, train = model.features_(biased), biased.splits["train"]
    positive = biased.labels[train] == 1
    errors = balanced_weights(positive) * (model.predict_proba(biased)[train, 1] - positive)
    w = model.weights_[0, :-1]
    assert np.abs(np.append(errors @ z[train] + 2 * 0.001 * w, errors.sum())).max() < 1e-9


def test_columns_are_standardised_and_sensitive_channels_left_out(graph):
    model = Parity().fit(graph)
    assert model.facts().channels == tuple(c for c in graph.channels if c != "proxy_strong")
    z = model.features_(graph)
    np.testing.assert_allclose(z.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(z.std(axis=0), 1, atol=1e-12)
    assert Parity(sensitive_channels=True).fit(graph).facts().channels == graph.channels


def test_a_constant_channel_changes_nothing(graph):
    constant = np.full((graph.num_nodes, 1), 0.1, dtype=np.float32)
    wider = graph.with_features(np.hstack([graph.features, constant]), [*graph.channels, "constant"])
    np.testing.assert_allclose(
        Parity().fit(wider).predict_proba(wider), Parity().fit(graph).predict_proba(graph), atol=1e-6
    )


def test_too_many_columns_for_second_derivatives_give_the_same_minimum(graph, monkeypatch):
    expected = Parity(**PLAIN).fit(graph).predict_proba(graph)
    monkeypatch.setattr("fairview.methods.parity_heads.WIDEST", 1)
    np.testing.assert_allclose(Parity(**PLAIN).fit(graph).predict_proba(graph), expected, atol=1e-6)


# --- the penalty ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", [{}, {"penalty": "threshold"}, {"head": "mlp", "hidden": 8, "restarts": 1}])
def test_the_gap_shrinks_as_its_weight_grows(biased, settings):
    models = Parity(**settings).path(biased, (0, 1, 10))
    gaps = [gap(model, biased) for model in models]
    assert gaps[0] > gaps[1] > gaps[2]
    assert gaps[2] < 0.35 * gaps[0]
    assert fv.evaluate(models[2], biased)["auc"] > 0.55


def test_three_groups_come_together():
    graph = biased_graph(groups={"a": 0.3, "b": 0.3, "c": 0.4})
    plain, fair = Parity().path(graph, (0, 10))
    assert gap(fair, graph) < 0.5 * gap(plain, graph)


@pytest.mark.parametrize("weight", ["equal_opportunity_weight", "equalized_odds_weight"])
def test_positives_come_together_though_half_of_the_nodes_have_no_label(weight):
    graph = biased_graph(3000)
    split = fv.stratified_splits(graph, repeats=1, train_labels=400)[0]
    graph = graph.with_splits(split)
    plain, fair = Parity(**PLAIN).path(graph, (0, 10), of=weight)
    positives = graph.labels == 1
    among = graph.replace(
        sensitive=np.where(positives, graph.sensitive, -1)
    )  # `gap` then compares the positives of the groups only
    assert gap(fair, among) < 0.6 * gap(plain, among)


def test_held_out_groups_and_labels_outside_train_are_not_looked_at(biased):
    weights = {"equal_opportunity_weight": 2.0, "equalized_odds_weight": 2.0}
    held_out = biased.splits["val"] | biased.splits["test"]
    blank = biased.replace(
        sensitive=np.where(held_out, -1, biased.sensitive), labels=np.where(held_out, -1, biased.labels)
    )
    first, second = (Parity(**weights).fit(graph) for graph in (biased, blank))
    np.testing.assert_array_equal(first.weights_, second.weights_)


def test_nodes_in_no_split_are_in_the_penalty_and_certify_is_not():
    graph = biased_graph(400)
    train, val = graph.splits["train"], graph.splits["val"]
    parted = graph.with_splits({"train": train, "certify": val})
    np.testing.assert_array_equal(penalty_nodes(parted), ~val)
    fewer = graph.with_splits({"train": train, "val": val, "test": ~train & ~val})
    assert not np.array_equal(Parity().fit(parted).weights_, Parity().fit(fewer).weights_)


def test_unknown_groups_leave_the_rest_to_the_penalty(biased):
    sensitive = np.where(np.random.default_rng(1).random(biased.num_nodes) < 0.5, -1, biased.sensitive)
    fair = Parity(statistical_parity_weight=10.0).fit(biased.replace(sensitive=sensitive))
    assert gap(fair, biased) < 0.5 * gap(Parity(**PLAIN).fit(biased), biased)


def test_fewer_than_two_known_groups_are_an_error_unless_nothing_is_compared(graph):
    nobody = graph.replace(sensitive=np.full_like(graph.sensitive, -1))
    with pytest.raises(fv.InputError) as caught:
        Parity().fit(nobody)
    assert str(caught.value) == (
        "Parity: statistical_parity_weight=3 compares the groups of 'group', but no group is known among the nodes "
        "that are not held out. Say the group of more nodes, or pass statistical_parity_weight=0.0."
    )
    alone = graph.replace(sensitive=np.where(graph.sensitive == 0, 0, -1))
    with pytest.raises(
        fv.InputError, match=r"equal_opportunity_weight=1 compares .* but only group 'f' is known among"
    ):
        Parity(**PLAIN, equal_opportunity_weight=1.0).fit(alone)
    np.testing.assert_array_equal(Parity(**PLAIN).fit(nobody).weights_, Parity(**PLAIN).fit(graph).weights_)


def test_small_and_absent_groups_are_noted():
    graph = biased_graph(200, groups={"a": 0.1, "b": 0.3, "c": 0.6})
    known = np.where((graph.sensitive == 1) & graph.splits["train"], -1, graph.sensitive)
    few = int((penalty_nodes(graph) & (graph.sensitive == 0)).sum())
    assert Parity().fit(graph.replace(sensitive=known)).notes_ == (
        f"Group 'a' has only {few} nodes in the penalty: on other nodes its gap may be larger.",
        "Group 'b' has no node in the penalty: its scores are not compared.",
    )


def test_a_group_without_positives_is_left_out_of_equal_opportunity(graph):
    everyone = graph.with_splits({"train": np.ones(graph.num_nodes, dtype=bool)})
    labels = np.where(graph.sensitive == 0, 0, np.arange(graph.num_nodes) % 2)
    model = Parity(**PLAIN, equal_opportunity_weight=5.0).fit(everyone.replace(labels=labels))
    assert "The penalty on positives was left out: fewer than two groups have any." in model.notes_


# --- paths and prepared columns ---------------------------------------------------------------------------------------


def test_a_path_is_the_single_fits(biased):
    for settings in ({}, {"head": "mlp", "hidden": 4, "restarts": 2, "hops": 0}):
        for model in Parity(**settings).path(biased, (10, 0, 3)):
            alone = Parity(**model.get_params()).fit(biased)
            np.testing.assert_array_equal(model.weights_, alone.weights_)


def test_prepared_columns_serve_fewer_hops_and_other_splits(biased):
    prepared = Parity(hops=3).prepare(biased)
    resplit = biased.with_splits(fv.stratified_splits(biased, repeats=1, seed=9)[0])
    for hops in (0, 3):
        model = Parity(hops=hops, l2=0.1)
        expected = model.fit(resplit).predict_proba(resplit)
        found = model.fit(resplit, prepared=prepared).predict_proba(resplit)
        np.testing.assert_allclose(found, expected, atol=1e-7)


def test_prepared_columns_of_other_settings_or_graphs_are_refused(biased, graph):
    prepared = Parity(hops=1).prepare(biased)
    with pytest.raises(fv.InputError) as caught:
        Parity(hops=2, knots=5).fit(biased, prepared=prepared)
    assert str(caught.value) == (
        "prepared: made with other settings of 'knots', 'hops'; call prepare(graph) of this model."
    )
    with pytest.raises(fv.InputError, match=r"^prepared: made from a graph with other channels or links; call prepare"):
        Parity(hops=1).fit(graph, prepared=prepared)


def test_a_path_of_an_unknown_weight_is_refused(graph):
    with pytest.raises(
        fv.InputError, match=r"^of: no weight 'equal_odds_weight'\. Did you mean 'equalized_odds_weight'"
    ):
        Parity().path(graph, of="equal_odds_weight")


def test_an_interrupted_fit_leaves_the_model_as_it_was(graph, monkeypatch):
    model = Parity().fit(graph)
    before = model.weights_

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("fairview.methods.parity_fitting.minimised", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(graph)
    assert model.weights_ is before


# --- a basis of one's own ---------------------------------------------------------------------------------------------


def squares(graph: fv.NodeGraph) -> np.ndarray:
    assert not graph.splits
    assert (graph.labels == -1).all()
    assert (graph.sensitive == -1).all()
    return np.hstack([graph.features, graph.features**2])


def test_a_basis_of_ones_own_is_saved_without_its_code(graph, other_graph, tmp_path):
    model = Parity(basis=squares, hops=1).fit(graph)
    assert model.weights_.shape == (1, 2 * 2 * (graph.num_channels - 1) + 1)
    model.save(tmp_path)
    assert json.loads((tmp_path / "model.json").read_text())["parameters"]["basis"] == {"foreign": True}
    with pytest.raises(fv.ModelFileError) as caught:
        fv.load_model(tmp_path)
    assert str(caught.value) == f"{tmp_path}: its basis is a function of the user's own; pass it: basis=function."
    loaded = fv.load_model(tmp_path, basis=squares)
    np.testing.assert_array_equal(loaded.predict_proba(other_graph), model.predict_proba(other_graph))
    narrow = fv.load_model(tmp_path, basis=lambda graph: graph.features)
    with pytest.raises(fv.InputError, match=r"^predict: the basis has \d+ columns; the model was fitted with \d+\.$"):
        narrow.predict_proba(other_graph)


@pytest.mark.parametrize(
    ("basis", "message"),
    [
        (
            lambda g: g.features[:5],
            r"^basis: returned float32 with shape \(5, \d+\); expected numbers with shape \(120, ",
        ),
        (lambda g: np.full((g.num_nodes, 1), np.nan), r"^basis: returned values that are not finite"),
    ],
)
def test_a_basis_that_returns_no_columns_is_refused(basis, message, graph):
    with pytest.raises(fv.InputError, match=message):
        Parity(basis=basis).fit(graph)


# --- contributions ----------------------------------------------------------------------------------------------------


def test_contributions_add_up_to_the_difference_of_mean_logits(biased):
    model = Parity(statistical_parity_weight=1.0).fit(biased)
    found = model.contributions(biased, split="val", groups=("m", "f"))
    scores = model.predict_proba(biased)[:, 1]
    logits, val = np.log(scores / (1 - scores)), biased.splits["val"]
    first, second = (logits[val & (biased.sensitive == biased.groups.index(name))].mean() for name in ("m", "f"))
    assert sum(row.gap for row in found.rows) == pytest.approx(first - second, abs=1e-9)
    assert found.gap == pytest.approx(first - second, abs=1e-9)
    assert {(row.channel, row.hop) for row in found.rows} == {(c, h) for c in biased.channels for h in range(3)}
    assert sum(found.nodes) == val.sum()
    assert found.to_frame().columns == ["channel", "hop", "score", "gap"]
    assert len(found.to_frame()) == len(found.to_dict()["contributions"]) == 3 * biased.num_channels
    assert repr(found).startswith(f"Mean logit of 'm' less that of 'f' on val: {found.gap:+.3f}\nchannel")


def test_contributions_by_hand_on_raw_channels():
    features = np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0], [3.0, 1.0]])
    graph = fv.NodeGraph.from_arrays(
        features=features, edges=[[], []], labels=[0, 0, 1, 1], sensitive=list("abab"), splits={"train": [True] * 4}
    )
    model = Parity(basis="raw", hops=0, statistical_parity_weight=0.0).fit(graph)
    found = model.contributions(graph, split="train")
    weight = model.weights_[0, 0] / features[:, 0].std()
    assert found.groups == ("b", "a")
    assert [(row.channel, row.gap) for row in found.rows] == [("x0", pytest.approx(weight)), ("x1", 0.0)]
    assert found.rows[0].score == pytest.approx(weight)  # |x - 1.5| is 1 on average


def test_contributions_need_a_sum_and_two_groups(graph):
    with pytest.raises(fv.InputError) as caught:
        Parity(head="mlp", hidden=2, restarts=1).fit(graph).contributions(graph)
    assert str(caught.value) == (
        "contributions: the score of head='mlp' is no sum over channels; fit a model with head='linear'."
    )
    model = Parity().fit(graph)
    alone = graph.replace(sensitive=np.zeros_like(graph.sensitive))
    with pytest.raises(fv.InputError) as caught:
        model.contributions(alone)
    assert str(caught.value) == "contributions: two groups with nodes in 'test' are needed; there are 'f'."


# --- estimated labels -------------------------------------------------------------------------------------------------


def test_leave_one_out_scores_are_nearly_those_of_refitting():
    random = np.random.default_rng(1)
    z = random.normal(size=(40, 5))
    signs = np.where(z[:, 0] + random.normal(size=40) > 0, 1.0, -1.0)
    weights = np.full(40, 1 / 40)
    found = leave_one_out_scores(plain_model(z, signs, weights, 0.05), z, signs, weights)
    for i in range(40):
        rest = np.arange(40) != i
        theta = plain_model(z[rest], signs[rest], weights[rest], 0.05).theta
        assert found[i] == pytest.approx(z[i] @ theta[:-1] + theta[-1], abs=0.05)


def test_the_share_of_positives_is_found_though_training_was_even():
    random = np.random.default_rng(2)
    positive = random.random(20_000) < 0.85
    odds = random.normal(np.where(positive, 1.0, -1.0), np.sqrt(2))  # log-odds of N(1, 2) against N(-1, 2) are x itself
    found = shifted_to_its_share(odds, 0.5)
    assert found.mean() == pytest.approx(0.85, abs=0.01)


# --- machines ---------------------------------------------------------------------------------------------------------

SCRIPT = """
import json, sys, warnings
warnings.simplefilter("ignore")
import torch, fairview as fv
torch.set_num_threads(int(sys.argv[1]))
made = fv.synthetic_graph(2000, groups={"f": 0.4, "m": 0.6}, average_degree=6, homophily=0.7, seed=3)
graph = made.with_splits(fv.stratified_splits(made, repeats=1)[0])
models = fv.Parity().path(graph, (0, 3, 30))
print(json.dumps([model.predict_proba(graph)[:, 1].tolist() for model in models]))
"""


@pytest.mark.slow
def test_convex_fits_agree_over_processors_and_threads_and_penalised_ones_nearly():
    found = []
    for kernels, threads in (("Haswell", "1"), ("Nehalem", "2"), ("SkylakeX", "1"), ("Haswell", "2")):
        settings = {"OPENBLAS_CORETYPE": kernels, "OPENBLAS_NUM_THREADS": threads, "OMP_NUM_THREADS": threads}
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, threads],
            env=os.environ | settings,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode == 0:  # a processor without the kernels' instructions can't run them
            found.append(np.array(json.loads(done.stdout)))
    assert len(found) >= 2
    spread = np.max([np.abs(other - found[0]).max(axis=1) for other in found[1:]], axis=0)
    assert spread[0] < 1e-6
    assert spread[1] < 1e-4, "measured: 2e-7"
    assert spread[2] < 1e-2, "measured: 7e-4"
