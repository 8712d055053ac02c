"""Methods with several sensitive attributes: what each does with race and sex at once, or why it does not."""

from __future__ import annotations

import copy
import importlib.util

import numpy as np
import pytest
import torch
from studies.graphs import crossed_graph
from torch.nn import functional

import fairview as fv
from fairview.attributes import Attribute
from fairview.methods.compared_groups import compared_groups
from fairview.methods.fairvgnn import FairVGNNNetwork
from fairview.methods.guessed_groups import GuessedGroups
from fairview.methods.registry import METHODS
from fairview.methods.settings import settings_model

GAP = "statistical_parity_gap"


def with_split(graph):
    return graph.with_splits(fv.stratified_splits(graph, repeats=1)[0])


@pytest.fixture(scope="module")
def both() -> fv.NodeGraph:
    """240 nodes, race in three groups, sex in two; some of either are not known."""
    graph = crossed_graph(240, seed=3)
    race, sex = graph.attributes
    third = Attribute("race", np.where(np.arange(240) % 5 == 0, 2, race.codes).astype(np.int16), ("a", "b", "c"))
    place = np.arange(240)
    return with_split(graph.with_attributes([third.hidden(place < 12), sex.hidden(place % 20 == 3)]))


def gaps(model, graph, split="all"):
    return {name: each.metrics[GAP] for name, each in fv.evaluate(model, graph, split=split).attributes.items()}


# --- every method -----------------------------------------------------------------------------------------------------

SMALL = {"epochs": 3, "hidden": 4, "views": 2, "seed": 1}
INSIDE = {"ensemble": {"model": "vanilla", "model_settings": {"epochs": 3}, "members": 2},
          "group-thresholds": {"model": "logistic-regression"}}  # fmt: skip


@pytest.mark.parametrize("name", METHODS)
def test_every_method_works_on_two_attributes_and_comes_back_from_its_file(both, name, tmp_path):
    if name in ("exponentiated-gradient", "threshold-optimizer") and not importlib.util.find_spec("fairlearn"):
        pytest.skip("needs fairlearn")
    method = METHODS[name].method
    settings = {key: value for key, value in SMALL.items() if key in settings_model(method).model_fields}
    model = method(**INSIDE.get(name, {}) | settings).fit(both)
    scores = model.predict_proba(both)
    assert scores.shape == (240, 2)
    assert np.isfinite(scores).all()
    assert model.facts_.groups == both.groups
    assert list(fv.evaluate(model, both, split="val").attributes) == ["race", "sex", "race & sex"]
    model.save(tmp_path)
    again = fv.load_model(tmp_path, method=method)
    np.testing.assert_array_equal(again.predict_proba(both), scores)


def test_an_attribute_with_one_group_is_refused(both):
    one = both.with_attributes([both.attributes[0], Attribute("sex", np.zeros(240, dtype=np.int16), ("f", "m"))])
    with pytest.raises(fv.InputError) as caught:
        fv.FairVGNN(**SMALL).fit(one)
    assert str(caught.value) == "train: the sensitive attribute 'sex' has fewer than two groups."


# --- FairVGNN's heads -------------------------------------------------------------------------------------------------


def network(graph, **settings):
    return FairVGNNNetwork(fv.FairVGNN(encoder="gcn", precision="float64", **SMALL, **settings), graph)


@pytest.mark.parametrize("balanced", [True, False])
def test_the_discriminators_loss_is_the_mean_over_heads_of_the_mean_over_the_nodes_that_each_knows(both, balanced):
    run = network(both, balanced_discriminator=balanced)
    assert run.discriminator.out_features == 3 + 1
    with torch.no_grad():
        masks = run.draw_masks()
        logits = run.everyone.logits(masks, run.discriminator)
        rows, groups, weights = run.adversary_rows()
        found = run.guessed.discriminator_loss(rows.logits(masks, run.discriminator), groups, weights)
    expected = []
    for attribute, part in zip(both.attributes, (logits[..., :3], logits[..., 3:]), strict=True):
        known = np.flatnonzero(attribute.codes >= 0)
        codes = torch.from_numpy(attribute.codes[known].astype(np.int64))
        each = torch.stack([
            functional.cross_entropy(view[known], codes, reduction="none") if view.shape[1] == 3
            else functional.binary_cross_entropy_with_logits(view[known, 0], codes.double(), reduction="none")
            for view in part
        ]).mean(dim=0)  # fmt: skip
        by_group = [each[codes == code].mean() for code in range(len(attribute.groups))]
        expected.append(torch.stack(by_group).mean() if balanced else each.mean())
    assert found.item() == pytest.approx(torch.stack(expected).mean().item(), rel=1e-12)


def test_parts_of_the_nodes_add_up_to_the_loss_over_all(both):
    guessed = GuessedGroups.of(both, both.split("all"), balanced=True, dtype=torch.float64)
    logits = torch.randn(2, len(guessed.nodes), 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    whole = guessed.discriminator_loss(logits, guessed.groups, guessed.weights)
    parts = [slice(0, 50), slice(50, 51), slice(51, None)]
    shares = [
        guessed.discriminator_loss(logits[:, part], guessed.groups[part], guessed.weights[part])
        * (len(guessed.nodes[part]) / len(guessed.nodes))
        for part in parts
    ]
    assert sum(shares).item() == pytest.approx(whole.item(), rel=1e-12)


def test_the_generators_loss_is_the_mean_of_how_far_each_head_is_from_guessing(both):
    guessed = GuessedGroups.of(both, both.split("all"), balanced=True, dtype=torch.float64)
    logits = torch.randn(2, 240, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    race = (torch.softmax(logits[..., :3], dim=-1) - 1 / 3).square().mean()
    sex = (torch.sigmoid(logits[..., 3]) - 0.5).square().mean()
    assert guessed.generator_loss(logits).item() == pytest.approx(((race + sex) / 2).item(), rel=1e-12)


def test_one_attribute_has_one_head_with_the_same_bits_as_before(both):
    alone = network(both.attribute("sex"))
    assert alone.discriminator.out_features == 1
    assert alone.groups.ndim == alone.group_weights.ndim == 1
    assert alone.known.tolist() == np.flatnonzero(both.attributes[1].codes >= 0).tolist()


def test_a_head_that_knows_no_train_node_is_refused(both):
    hidden = both.with_attributes([both.attributes[0], both.attributes[1].hidden(both.split("train"))])
    with pytest.raises(fv.InputError, match="'sex' is known for no node of the train split"):
        fv.FairVGNN(sensitive_nodes="train", **SMALL).fit(hidden)


# --- penalties --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def planted() -> tuple[fv.NodeGraph, fv.NodeGraph]:
    """Gaps that are small for each attribute and large between combinations; and fresh nodes of the same kind."""
    return with_split(crossed_graph(3000, seed=1)), crossed_graph(20_000, seed=2)


def test_without_a_penalty_only_the_combinations_are_apart(planted):
    graph, fresh = planted
    found = gaps(fv.Parity(hops=0, statistical_parity_weight=0).fit(graph), fresh)
    assert max(found["race"], found["sex"]) < 0.03
    assert found["race & sex"] > 0.15


@pytest.mark.parametrize("make", [
    lambda **kind: fv.Parity(hops=0, statistical_parity_weight=30.0, **kind),
    lambda **kind: fv.Vanilla(encoder="mlp", epochs=100, statistical_parity_weight=30.0, **kind),
], ids=["parity", "vanilla"])  # fmt: skip
def test_the_default_penalty_closes_the_gap_between_combinations_and_one_on_each_attribute_does_not(planted, make):
    graph, fresh = planted
    closed = gaps(make().fit(graph), fresh)
    assert max(closed.values()) < 0.08
    left = gaps(make(penalise=("race", "sex")).fit(graph), fresh)
    assert left["race & sex"] > 0.12


def test_a_penalty_can_be_on_one_attribute():
    biased = with_split(crossed_graph(3000, together=0.0, race=1.0, sex=1.0, seed=4))
    found = gaps(fv.Parity(hops=0, statistical_parity_weight=100.0, penalise="race").fit(biased), biased)
    assert found["race"] < 0.05 < 0.1 < found["sex"]


def test_a_penalty_on_an_attribute_that_is_not_there_is_refused(both):
    with pytest.raises(fv.InputError) as caught:
        fv.Parity(penalise=("race", "sexx")).fit(both)
    assert str(caught.value) == "penalise: no sensitive attribute 'sexx'. Did you mean 'sex'?"


def test_a_penalty_on_something_else_than_names_is_refused(both):
    with pytest.raises(fv.InputError) as caught:
        fv.Parity(penalise=5).fit(both)
    assert str(caught.value) == "Parity: penalise=5; expected a text, a tuple of texts or None."


def test_a_distance_may_look_at_a_sample_of_the_nodes(both):
    sampled = fv.Vanilla(encoder="mlp", epochs=3, statistical_parity_weight=3.0, penalty_sample=100)
    assert np.isfinite(sampled.fit(both).predict_proba(both)).all()


def test_training_goes_on_from_a_checkpoint_to_the_same_bits(both):
    kept = []

    def watch(progress, network):
        kept.append((copy.deepcopy(progress), network.state()))

    model = fv.FairVGNN(encoder="mlp", epochs=4, views=2).fit(both, watch=watch)
    again = fv.FairVGNN(encoder="mlp", epochs=4, views=2).fit(both, resume=kept[1])
    np.testing.assert_array_equal(again.predict_proba(both), model.predict_proba(both))


def test_of_one_attribute_the_parameter_is_not_in_the_file_and_changes_nothing(both, tmp_path):
    sex = both.attribute("sex")
    plain, named = fv.Parity().fit(sex), fv.Parity(penalise="sex").fit(sex)
    np.testing.assert_array_equal(plain.predict_proba(sex), named.predict_proba(sex))
    plain.save(tmp_path)
    assert "penalise" not in (tmp_path / "model.json").read_text()


def test_tiny_combinations_are_left_out_of_the_penalty_and_named(both):
    race = Attribute("race", np.where(np.arange(240) < 4, 1, 0).astype(np.int16), ("a", "b"))
    sex = Attribute("sex", np.where(np.arange(240) % 2, 1, 0).astype(np.int16), ("f", "m"))
    graph = both.with_attributes([race, sex])
    found, notes = compared_groups(graph, "race & sex", np.ones(240, dtype=np.bool_))
    assert found[0].sizes == {"race=a & sex=f": 118, "race=a & sex=m": 118, "race=b & sex=f": 0, "race=b & sex=m": 0}
    assert notes == (
        "Combinations of fewer than 5 nodes are left out of the penalty: 'race=b & sex=f', 'race=b & sex=m'.",
    )


@pytest.mark.parametrize("method", [fv.Parity, fv.Vanilla])
def test_a_penalty_between_no_groups_is_refused(method):
    with pytest.raises(fv.InputError, match=r"penalise: names no sensitive attribute\. Known: race, sex, race & sex\."):
        method(penalise=(), statistical_parity_weight=1.0).fit(crossed_graph(200, seed=1))
