"""A weight on the distance between the groups brings their scores together, whatever the encoder."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import fairview as fv
from fairview.methods.penalised import GroupDistance
from fairview.methods.positive_probability import positive_probability
from fairview.methods.vanilla import VanillaNetwork, shares_of_classes
from fairview.nn.calibration import calibrated_loss
from fairview.nn.group_distance import DISTANCES, group_contrasts
from fairview.nn.losses import classifier_loss
from fairview.training.checkpoint import load_checkpoint, save_checkpoint

ENCODERS = ("gcn", "gin", "sage", "sign", "mlp")
WEIGHTS = {  # and the classes of the nodes whose scores it brings together
    "statistical_parity_weight": ([0, 1],),
    "equal_opportunity_weight": ([1],),
    "equalized_odds_weight": ([0], [1]),
}


class Own(nn.Module):
    """A user's own module."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.first, self.second = nn.Linear(8, 6), nn.Linear(6, 5)

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
        spread = torch.zeros_like(x).index_add(0, edge_index[1], x[edge_index[0]])
        return self.second(torch.tanh(self.first(x + 0.1 * spread)))


@pytest.fixture(scope="module")
def unfair() -> fv.NodeGraph:
    """Labels follow merit and group; links join nodes of like merit in a group; 500 nodes are in no split."""
    draw = np.random.default_rng(5)
    group, merit = (draw.random(1500) < 0.6).astype(int), draw.normal(size=1500)
    labels = merit + 2 * (group - 0.5) + 0.5 * draw.normal(size=1500) > 0
    noise = 0.7 * draw.normal(size=(1500, 8))
    features = np.stack([merit] * 3 + [group] * 3 + [0 * merit] * 2, axis=1) + noise
    order = np.lexsort([merit, group])
    made = fv.NodeGraph.from_arrays(
        features=features, edges=np.stack([order[1:], order[:-1]]), labels=labels.astype(int), sensitive=group
    )
    split = draw.permutation(np.repeat(["train", "val", "test", "none"], [400, 300, 300, 500]))
    return made.with_splits({name: split == name for name in ("train", "val", "test")})


def same(a: fv.Vanilla, b: fv.Vanilla) -> bool:
    first, second = a.tensors(), b.tensors()
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


def fitted(graph: fv.NodeGraph, **settings: Any) -> fv.Vanilla:
    return fv.Vanilla(**{"epochs": 3, "hidden": 4, "learning_rate": 0.02} | settings).fit(graph)


def gap(model: fv.Vanilla, graph: fv.NodeGraph, name: str = "statistical_parity_gap") -> float:
    return float(fv.evaluate(model, graph, split="test")[name])  # type: ignore[arg-type]


# --- what it does -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("penalty", ["energy", "threshold"])
@pytest.mark.parametrize("encoder", [*ENCODERS, Own()], ids=lambda e: e if isinstance(e, str) else "own")
def test_the_penalty_closes_a_planted_gap_on_nodes_it_has_not_seen(unfair, encoder, penalty):
    settings = {"encoder": encoder, "epochs": 100, "hidden": 8, "dropout": 0.0, "selection": "objective"}
    plain = fitted(unfair, **settings)
    fair = fitted(unfair, **settings, penalty=penalty, statistical_parity_weight=20.0)
    assert gap(plain, unfair) > 0.25
    assert gap(fair, unfair) < gap(plain, unfair) / 2
    assert fv.evaluate(fair, unfair, split="test")["auc"] > 0.6


@pytest.mark.parametrize(("weight", "classes"), WEIGHTS.items())
def test_each_weight_brings_the_scores_of_its_classes_together(unfair, weight, classes):
    def apart(model: fv.Vanilla) -> float:
        """The mean difference of the groups' mean scores, among the test nodes of each kind."""
        scores, found = model.predict_proba(unfair)[:, 1], []
        for kind in classes:
            there = unfair.splits["test"] & np.isin(unfair.labels, kind)
            found.append(abs(np.diff([scores[there & (unfair.sensitive == group)].mean() for group in (0, 1)])[0]))
        return float(np.mean(found))

    settings = {"epochs": 100, "hidden": 8, "selection": "objective"}
    assert apart(fitted(unfair, **settings, **{weight: 20.0})) < apart(fitted(unfair, **settings)) / 2


def test_three_groups_come_together(unfair):
    codes = np.where(unfair.sensitive == 0, 0, 1 + np.arange(unfair.num_nodes) % 2)
    three = unfair.replace(sensitive=codes, groups=("a", "b", "c"))
    settings = {"epochs": 100, "hidden": 8, "selection": "objective"}
    assert gap(fitted(three, **settings), three) > 0.25
    assert gap(fitted(three, **settings, statistical_parity_weight=20.0), three) < 0.13


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("path", ["auto", "general"])
def test_without_a_weight_nothing_changes(unfair, encoder, path):
    settings = {"encoder": encoder, "path": path}
    other = fitted(unfair, **settings, penalty="threshold", penalty_sample=7)
    assert same(fitted(unfair, **settings), other)
    assert not same(fitted(unfair, **settings, statistical_parity_weight=1e-3), other)


# --- what is minimised ------------------------------------------------------------------------------------------------


def network(graph: fv.NodeGraph, **settings: Any) -> VanillaNetwork:
    return VanillaNetwork(fv.Vanilla(**{"hidden": 4, "dropout": 0.0, "precision": "float64"} | settings), graph)


@pytest.mark.parametrize("penalty", ["energy", "threshold"])
def test_the_loss_of_a_step_is_cross_entropy_and_the_weighted_distances(unfair, penalty):
    weights = {"statistical_parity_weight": 2.0, "equal_opportunity_weight": 3.0, "equalized_odds_weight": 5.0}
    run = network(unfair, penalty=penalty, penalty_ramp=0.0, **weights)
    everyone, distance = run.path.on(), DISTANCES[penalty]
    with torch.no_grad():
        logits = everyone.logits(run.draw_masks(), run.classifier)
    nodes = np.flatnonzero(~(unfair.splits["val"] | unfair.splits["test"]))
    groups, likely = torch.from_numpy(unfair.sensitive[nodes]), torch.from_numpy(positive_probability(unfair)[nodes])
    rates, positives, negatives = (
        distance(logits[:, nodes], group_contrasts(groups, shares)).item() for shares in (None, likely, 1 - likely)
    )
    train = np.flatnonzero(unfair.splits["train"])
    labels = classifier_loss(logits[:, train], torch.from_numpy(unfair.labels[train]).double()).item()
    expected = labels + 2 * rates + 3 * positives + 5 * (positives + negatives) / 2
    assert run.epoch()["classifier"] == pytest.approx(expected, rel=1e-12)
    assert min(rates, positives, negatives) > 1e-5


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("penalty", ["energy", "threshold"])
def test_collapsed_and_general_path_take_the_same_steps(unfair, encoder, penalty):
    settings = {"encoder": encoder, "penalty": penalty, "statistical_parity_weight": 3.0, "dropout": 0.5}
    runs = [network(unfair, **settings, path=path) for path in ("auto", "general")]
    for _ in range(4):
        losses = [run.epoch()["classifier"] for run in runs]
        assert losses[0] == pytest.approx(losses[1], rel=1e-9)
    for first, second in zip(*(run.snapshot().items() for run in runs), strict=True):
        torch.testing.assert_close(first[1], second[1], rtol=1e-6, atol=1e-9)


def test_rows_in_blocks_are_penalised_as_a_whole(unfair, monkeypatch):
    from fairview.nn import linear_path

    whole = fitted(unfair, statistical_parity_weight=3.0, precision="float64")
    monkeypatch.setattr(linear_path, "BLOCK", 100)
    assert same(fitted(unfair, statistical_parity_weight=3.0, precision="float64"), whole)


# --- which nodes it sees ----------------------------------------------------------------------------------------------


def test_the_distance_sees_nodes_without_labels_and_none_that_are_held_out(unfair):
    hidden = unfair.replace(sensitive=np.where(np.arange(1500) < 100, -1, unfair.sensitive))
    held_out = unfair.splits["val"] | unfair.splits["test"]
    found = network(hidden, statistical_parity_weight=1.0).distance.nodes
    assert found.tolist() == np.flatnonzero((np.arange(1500) >= 100) & ~held_out).tolist()
    certified = {**unfair.splits, "certify": ~(held_out | unfair.splits["train"])}
    inside = network(unfair.with_splits(certified), statistical_parity_weight=1.0).distance.nodes
    assert inside.tolist() == np.flatnonzero(unfair.splits["train"]).tolist()


def test_groups_of_held_out_nodes_choose_the_epoch_at_most(unfair):
    held_out = unfair.splits["val"] | unfair.splits["test"]
    blank = unfair.replace(sensitive=np.where(held_out, -1, unfair.sensitive))
    settings = {"statistical_parity_weight": 3.0, "selection": "score", "selection_weight": 0.0}
    assert same(fitted(blank, **settings), fitted(unfair, **settings))


def test_labels_of_nodes_in_no_split_do_not_matter(unfair):
    outside = ~(unfair.splits["train"] | unfair.splits["val"] | unfair.splits["test"])
    blank = unfair.replace(labels=np.where(outside, -1, unfair.labels))
    assert same(fitted(blank, equal_opportunity_weight=3.0), fitted(unfair, equal_opportunity_weight=3.0))


@pytest.mark.parametrize("encoder", ["gcn", "sage"])
def test_a_sample_takes_other_steps_and_a_sample_of_all_the_same(unfair, encoder):
    settings = {"encoder": encoder, "statistical_parity_weight": 3.0}
    few = fitted(unfair, **settings, penalty_sample=200)
    assert same(few, fitted(unfair, **settings, penalty_sample=200))
    assert not same(few, fitted(unfair, **settings))
    assert same(fitted(unfair, **settings, penalty_sample=10_000), fitted(unfair, **settings))


def test_a_sample_of_one_node_has_no_distance(unfair):
    one = fitted(unfair, statistical_parity_weight=3.0, penalty_sample=1, selection="score", precision="float64")
    none = fitted(unfair, selection="score", precision="float64")
    np.testing.assert_allclose(one.predict_proba(unfair), none.predict_proba(unfair), atol=1e-12)


def test_one_group_among_the_nodes_it_may_see_is_refused(unfair):
    held_out = unfair.splits["val"] | unfair.splits["test"]
    codes = np.where(held_out, unfair.sensitive, np.where(unfair.sensitive == 0, 0, -1))
    count = int((codes[~held_out] == 0).sum())
    with pytest.raises(fv.InputError) as caught:
        fitted(unfair.replace(sensitive=codes), statistical_parity_weight=1.0)
    assert str(caught.value) == (
        f"train: the distance between groups needs two of them; 'sensitive' is known for {count} nodes that are not "
        "held out, of fewer than two groups. Set the weights of the distance to 0, or draw other splits."
    )


# --- which epoch is kept ----------------------------------------------------------------------------------------------


def test_the_kept_epoch_has_the_lowest_objective_on_validation(unfair):
    model = fitted(unfair, epochs=30, statistical_parity_weight=5.0, precision="float64")
    scores = [row["score"] for row in model.history_]
    assert model.best_epoch_ == 1 + scores.index(max(scores))
    val = np.flatnonzero(unfair.splits["val"])
    probabilities = torch.from_numpy(model.predict_proba(unfair)[val, 1])
    logits, labels = torch.logit(probabilities), torch.from_numpy(unfair.labels[val]).double()
    train_labels = torch.from_numpy(unfair.labels[unfair.splits["train"]]).double()
    distance = DISTANCES["energy"](logits[None, :, None], group_contrasts(torch.from_numpy(unfair.sensitive[val])))
    expected = calibrated_loss(logits, labels, shares_of_classes(labels, train_labels)) + 5 * distance
    assert -max(scores) == pytest.approx(expected.item(), rel=1e-9)


def test_a_val_split_without_groups_is_judged_by_the_distance_of_the_penalty(unfair):
    blank = unfair.replace(sensitive=np.where(unfair.splits["val"], -1, unfair.sensitive))
    run = network(blank, statistical_parity_weight=5.0)
    run.validate()
    assert run.val_contrasts is None
    val, distance = run.evaluation_logits(run.val_rows), run.distance
    loss = calibrated_loss(val[0, :, 0], run.val_labels, shares_of_classes(run.val_labels, run.train_labels))
    apart = DISTANCES["energy"](run.evaluation_logits(distance.rows), distance.contrasts)
    assert run.validation_loss == pytest.approx((loss + 5 * apart).item(), rel=1e-12)


def test_classes_of_validation_get_the_shares_of_training():
    labels = torch.tensor([0.0, 0.0, 0.0, 1.0])
    weights = shares_of_classes(labels, torch.tensor([0.0, 1.0, 1.0, 1.0]))
    assert weights is not None
    assert (weights * labels).sum() / weights.sum() == pytest.approx(0.75)
    assert weights.mean() == pytest.approx(1)
    assert shares_of_classes(torch.ones(3), labels) is None


# --- files ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", [{}, {"penalty_sample": 100}, {"encoder": "sage"}], ids=str)
def test_a_resumed_run_ends_like_an_uninterrupted_one(unfair, settings, tmp_path):
    settings = {"epochs": 6, "statistical_parity_weight": 3.0, "equal_opportunity_weight": 1.0} | settings
    file = tmp_path / "checkpoint.safetensors"

    def keep(progress, network):
        if progress.epochs == 3:
            save_checkpoint(file, progress, network.state(), identity="run")

    model = fv.Vanilla(**settings, hidden=4)
    whole = model.fit(unfair, watch=keep)
    resumed = fv.Vanilla(**settings, hidden=4).fit(unfair, resume=load_checkpoint(file, identity="run"))
    assert resumed.history_ == whole.history_
    assert same(resumed, whole)


def test_a_saved_model_predicts_alike(unfair, tmp_path):
    model = fitted(unfair, penalty="threshold", equalized_odds_weight=2.0)
    model.save(tmp_path)
    loaded = fv.load_model(tmp_path)
    assert (loaded.penalty, loaded.equalized_odds_weight) == ("threshold", 2.0)  # type: ignore[attr-defined]
    np.testing.assert_array_equal(loaded.predict_proba(unfair), model.predict_proba(unfair))


# --- positives --------------------------------------------------------------------------------------------------------


def test_the_probability_of_the_positive_class_is_the_label_in_train_and_calibrated_elsewhere(unfair):
    found = positive_probability(unfair)
    train, other = unfair.splits["train"], ~unfair.splits["train"]
    assert (found[train] == unfair.labels[train]).all()
    assert ((found[other] > 0) & (found[other] < 1)).all()
    for low, high in ((0, 0.4), (0.4, 0.6), (0.6, 1)):
        there = other & (found >= low) & (found < high)
        assert there.sum() > 100
        assert abs(found[there].mean() - unfair.labels[there].mean()) < 0.1


def test_the_probability_of_the_positive_class_needs_no_second_label_of_a_class_and_no_channel(unfair):
    rows = np.flatnonzero(unfair.splits["train"])
    positives = rows[unfair.labels[rows] == 1]
    labels = unfair.labels.copy()
    labels[positives[1:]] = 0
    found = positive_probability(unfair.replace(labels=labels))
    assert np.isfinite(found).all()
    assert found[rows].sum() == 1
    bare = positive_probability(unfair.replace(sensitive_channels=unfair.channels))
    others = ~unfair.splits["train"]
    assert bare[others] == pytest.approx(unfair.labels[rows].mean())


def test_shares_of_the_weights_compose_the_distance(unfair):
    run = network(unfair, statistical_parity_weight=1.0, equalized_odds_weight=3.0)
    assert GroupDistance(run).shares == [0.25, 0.0, 0.75]
    assert run.distance.contrasts.shape == (3, 900)
    assert run.method.penalty_weight == 4.0
