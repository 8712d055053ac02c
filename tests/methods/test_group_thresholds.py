from __future__ import annotations

import json
import logging

import numpy as np
import pytest
import torch

import fairview as fv
from fairview.methods.model_files import canonical, checked


@pytest.fixture(scope="module")
def biased() -> fv.NodeGraph:
    """Two groups with other labels, a channel that tells them apart, some groups unknown, and nodes in no split."""
    made = fv.synthetic_graph(2000, groups={"f": 0.4, "m": 0.6}, label_bias=0.4, average_degree=6, seed=1)
    proxy = made.sensitive[:, None] + np.random.default_rng(0).normal(scale=0.5, size=(2000, 1))
    made = made.with_features(np.hstack([made.features, proxy]), [*made.channels, "proxy"])
    sensitive = made.sensitive.copy()
    sensitive[:3] = -1
    made = made.replace(sensitive=sensitive)
    return made.with_splits(fv.stratified_splits(made, repeats=1, train_labels=400)[0])


def not_held_out(graph: fv.NodeGraph) -> np.ndarray:
    return ~(graph.splits["val"] | graph.splits["test"]) & (graph.sensitive >= 0)


def rates(model: fv.Estimator, graph: fv.NodeGraph, rows: np.ndarray) -> list[float]:
    predicted = model.predict(graph)
    return [float(predicted[rows & (graph.sensitive == code)].mean()) for code in range(len(graph.groups))]


@pytest.mark.parametrize("kind", ["quantile", "thresholds"])
def test_selection_rates_are_equal_on_the_nodes_that_are_not_held_out(biased, kind):
    rows = not_held_out(biased)
    plain = rates(fv.LogisticRegression().fit(biased), biased, rows)
    aligned = rates(fv.GroupThresholds(map=kind).fit(biased), biased, rows)
    assert plain[0] - plain[1] > 0.2
    assert aligned[0] == pytest.approx(aligned[1], abs=0.005)
    assert fv.evaluate(fv.GroupThresholds(map=kind).fit(biased), biased)["statistical_parity_gap"] < 0.08


@pytest.mark.parametrize("kind", ["quantile", "thresholds"])
def test_the_share_of_positive_predictions_stays_that_of_the_model(biased, kind):
    rows = not_held_out(biased)
    before, after = (
        m.fit(biased).predict(biased)[rows] for m in (fv.LogisticRegression(), fv.GroupThresholds(map=kind))
    )
    assert after.mean() == pytest.approx(before.mean(), abs=0.005)


@pytest.mark.parametrize("kind", ["quantile", "thresholds"])
def test_true_positive_rates_are_equal_among_the_labels_of_train_and_val(biased, kind):
    rows = (biased.splits["train"] | biased.splits["val"]) & (biased.labels == 1)
    aligned = rates(fv.GroupThresholds(map=kind, gap="equal_opportunity").fit(biased), biased, rows)
    assert aligned[0] == pytest.approx(aligned[1], abs=0.01)


@pytest.mark.parametrize("kind", ["quantile", "thresholds"])
def test_the_gap_shrinks_with_the_relaxation_from_the_model_s_own(biased, kind):
    own = fv.LogisticRegression().fit(biased).predict_proba(biased)
    gaps = []
    for relaxation in (0.0, 0.25, 0.5, 0.75, 1.0):
        model = fv.GroupThresholds(map=kind, relaxation=relaxation).fit(biased)
        if relaxation == 0:
            np.testing.assert_array_equal(model.predict_proba(biased), own)
        first, second = rates(model, biased, not_held_out(biased))
        gaps.append(abs(first - second))
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[0] > gaps[2] > gaps[4]


def test_groups_and_labels_that_are_held_out_do_not_matter(biased):
    held = biased.splits["val"] | biased.splits["test"]
    other = biased.replace(sensitive=np.where(held, -1, biased.sensitive).astype(np.int16))
    first, second = (fv.GroupThresholds().fit(graph) for graph in (biased, other))
    np.testing.assert_array_equal(first.predict_proba(biased), second.predict_proba(biased))


def test_a_node_of_unknown_group_keeps_the_model_s_own_score_and_a_note_says_so(biased, caplog):
    model = fv.GroupThresholds().fit(biased)
    with caplog.at_level(logging.INFO, logger="fairview"):
        found = model.predict_proba(biased)
    np.testing.assert_array_equal(found[:3], fv.LogisticRegression().fit(biased).predict_proba(biased)[:3])
    assert "3 of 2,000 nodes have no known group: they keep the model's own score." in caplog.messages


def test_groups_are_matched_by_name(biased):
    model = fv.GroupThresholds().fit(biased)
    turned = biased.replace(groups=("x", "m", "f"), sensitive=np.array([2, 1, -1], dtype=np.int16)[biased.sensitive])
    np.testing.assert_array_equal(model.predict_proba(turned), model.predict_proba(biased))


def test_a_group_that_was_never_seen_is_refused(biased):
    model = fv.GroupThresholds().fit(biased)
    with pytest.raises(fv.InputError) as caught:
        model.predict_proba(biased.replace(groups=("f", "x")))
    assert str(caught.value) == (
        "predict: GroupThresholds was not fitted with the group 'x'; it knows 'f', 'm'. Correct these nodes' group, or "
        "leave it unknown."
    )


def test_a_group_without_a_node_to_fit_on_keeps_the_model_s_scores(biased):
    sensitive = biased.sensitive.copy()
    sensitive[np.flatnonzero(biased.splits["test"])[:20]] = 2
    graph = biased.replace(groups=("f", "m", "n"), sensitive=sensitive)
    model = fv.GroupThresholds().fit(graph)
    assert model.notes_ == ("No node to fit a map on: 'n'. These groups keep the model's own scores.",)
    own = fv.LogisticRegression().fit(graph).predict_proba(graph)
    np.testing.assert_array_equal(model.predict_proba(graph)[sensitive == 2], own[sensitive == 2])


@pytest.mark.parametrize(
    ("gap", "what"),
    [("statistical_parity", "node that is not held out"), ("equal_opportunity", "positive label of train or val")],
)
def test_one_group_can_not_be_aligned(biased, gap, what):
    sensitive = np.where(biased.splits["test"], biased.sensitive, np.minimum(biased.sensitive, 0)).astype(np.int16)
    with pytest.raises(fv.InputError) as caught:
        fv.GroupThresholds(gap=gap).fit(biased.replace(sensitive=sensitive))
    assert str(caught.value) == (
        "train: GroupThresholds needs nodes of two groups to align; fewer than two groups of 'group' have a "
        + what
        + "."
    )


# --- the model inside -------------------------------------------------------------------------------------------------


def test_a_name_with_settings_and_an_instance_give_the_same_model(graph):
    named = fv.GroupThresholds(model="vanilla", model_settings={"epochs": 3, "hidden": 4}, encoder="gin", seed=5)
    given = fv.GroupThresholds(model=fv.Vanilla(epochs=3, hidden=4, encoder="gin", seed=5))
    np.testing.assert_array_equal(named.fit(graph).predict_proba(graph), given.fit(graph).predict_proba(graph))
    assert not hasattr(given.model, "fitted_"), "the user's instance is left unfitted"
    assert given.best_epoch_ == given.model_.best_epoch_


def test_an_instance_is_saved_by_name_and_settings(graph, tmp_path):
    model = fv.GroupThresholds(model=fv.FairVGNN(epochs=2, hidden=3, views=2, encoder_updates=("classifier",))).fit(
        graph
    )
    model.save(tmp_path)
    loaded = fv.load_model(tmp_path)
    assert loaded.model == "fairvgnn"
    assert loaded.model_settings["encoder_updates"] == ("classifier",)
    np.testing.assert_array_equal(loaded.predict_proba(graph), model.predict_proba(graph))
    document = json.loads((tmp_path / "model.json").read_text())
    assert document["parameters"]["model"] == "fairvgnn"
    assert document["group_at_prediction"] is True


@pytest.mark.parametrize("kind", ["quantile", "thresholds"])
def test_tables_models_survive_saving(biased, kind, tmp_path):
    model = fv.GroupThresholds(map=kind, model="gradient-boosting", model_settings={"trees": 5}).fit(biased)
    model.save(tmp_path)
    np.testing.assert_array_equal(fv.load_model(tmp_path).predict_proba(biased), model.predict_proba(biased))


def test_an_encoder_of_one_s_own_is_handed_over_again(graph, tmp_path):
    class Plain(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(8, 4)

        def forward(self, x, edge_index):
            return self.layer(x)

    model = fv.GroupThresholds(model=fv.Vanilla(encoder=Plain(), epochs=2)).fit(graph)
    model.save(tmp_path)
    loaded = fv.load_model(tmp_path, encoder=Plain())
    np.testing.assert_array_equal(loaded.predict_proba(graph), model.predict_proba(graph))


class Prior(fv.Estimator):
    """Not registered."""

    def fit(self, graph):
        self.share_ = float(graph.labels.mean())
        return self

    def predict_proba(self, graph):
        return np.tile([1 - self.share_, self.share_], (graph.num_nodes, 1))


def test_a_model_of_one_s_own_works_and_is_not_saved_unless_registered(graph, tmp_path):
    model = fv.GroupThresholds(model=Prior()).fit(graph)
    assert model.predict_proba(graph).shape == (120, 2)
    with pytest.raises(fv.FairviewError) as caught:
        model.save(tmp_path)
    assert str(caught.value) == (
        "GroupThresholds can't be saved: its model Prior is not registered; see fairview.register_method."
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model": "group-thresholds"}, "model='group-thresholds': its model can't be GroupThresholds again."),
        (
            {"model": "vanilla", "model_settings": {"seed": 1}},
            "model_settings: 'seed': a parameter of GroupThresholds itself.",
        ),
        (
            {"model": fv.LogisticRegression(), "model_settings": {"inverse_penalty": 2.0}},
            "model_settings: the model is an instance, which has its own settings.",
        ),
    ],
)
def test_settings_that_do_not_fit_each_other(settings, message, graph):
    with pytest.raises(fv.InputError) as caught:
        fv.GroupThresholds(**settings).fit(graph)
    assert str(caught.value) == f"GroupThresholds: {message}"


def test_wrong_settings_of_the_model_are_named(graph):
    with pytest.raises(
        fv.InputError,
        match=r"^LogisticRegression: inverse_penalty=0\.0; expected a number, above 0 and at most 1e\+30\.$",
    ):
        fv.GroupThresholds(model_settings={"inverse_penalty": 0.0}).fit(graph)


@pytest.mark.parametrize("model", ["os:system", "no-such-method"])
def test_a_file_can_not_name_code_to_import(model, graph, tmp_path):
    fv.GroupThresholds().fit(graph).save(tmp_path)
    path = tmp_path / "model.json"
    document = checked(path.read_bytes(), path)
    document["parameters"]["model"] = model
    path.write_bytes(canonical(document))
    with pytest.raises(fv.ModelFileError, match="no method of that name is registered"):
        fv.load_model(tmp_path)


@pytest.mark.parametrize(
    ("name", "value"), [("knots.0", torch.tensor([[0.0, 1.0], [1.0, 0.0]], dtype=torch.float64)), ("thresholds", 2.0)]
)
def test_maps_of_a_file_must_be_maps(name, value, graph):
    model = fv.GroupThresholds(map="quantile" if name == "knots.0" else "thresholds").fit(graph)
    tensors = model.tensors()
    tensors[name] = value if isinstance(value, torch.Tensor) else torch.full_like(tensors[name], value)
    with pytest.raises(ValueError, match=r"do not increase from 0 to 1|not between 0 and 1"):
        fv.GroupThresholds(map=model.map).restore(tensors, model.facts())
