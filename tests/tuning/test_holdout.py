"""The division of the nodes: who learns, who ranks, who certifies, and who sees what."""

from __future__ import annotations

import numpy as np
import pytest

import fairview as fv
from fairview.tuning.certificate import nodes_sha256
from fairview.tuning.holdout import check_certifiable, hold_out
from fairview.tuning.limits import Limit

SP, EO = (Limit("statistical_parity", 0.1),), (Limit("equal_opportunity", 0.1),)


def mask(graph, rows):
    return np.isin(np.arange(graph.num_nodes), rows)


def test_methods_see_no_label_and_no_group_of_a_certification_or_test_node(many, column):
    fv.tune(many, max_gap=0.2, methods="column", trials=2)
    holdout = hold_out(many, seed=1)
    held_out = mask(many, holdout.everybody) | mask(many, holdout.labelled) | many.split("test")
    held_out |= many.split("val") & ~mask(many, holdout.tuning)
    assert len(column.graphs) == 2
    for given in column.graphs:
        assert (given.labels[held_out] == -1).all()
        assert (given.sensitive[held_out] == -1).all()
        assert not given.split("train")[held_out].any()
        assert not given.split("val")[held_out].any()
        np.testing.assert_array_equal(given.labels[~held_out], many.labels[~held_out])


def test_parity_and_encoders_see_no_more(many, monkeypatch):
    seen = []
    for method in (fv.Parity, fv.Vanilla):
        fit = method.fit
        monkeypatch.setattr(
            method, "fit", lambda self, graph, *, _fit=fit, **k: (seen.append(graph), _fit(self, graph, **k))[1]
        )
    monkeypatch.setattr(fv.Vanilla, "search_space", {"epochs": (2,)})
    fv.tune(many, max_gap=0.2, methods=["parity", "vanilla"], trials=1)
    holdout = hold_out(many, seed=1)
    assert len(seen) > 16
    for given in seen:
        assert (given.sensitive[mask(many, holdout.unseen)] == -1).all()
        assert (given.labels[mask(many, holdout.unseen)] == -1).all()


def test_parts_are_disjoint_and_nobody_is_lost(many):
    holdout = hold_out(many, seed=5)
    design = holdout.design
    parts = np.stack([design.split(name) for name in ("train", "val", "test", "certify")])
    assert parts.sum(axis=0).max() == 1
    certifying = mask(many, holdout.everybody) | mask(many, holdout.labelled)
    assert (design.split("certify") >= certifying).all()
    assert not (many.split("train") & certifying).any()
    assert not (many.split("test") & certifying).any()
    assert not mask(many, holdout.tuning)[certifying].any()
    np.testing.assert_array_equal(design.split("train"), many.split("train"))
    np.testing.assert_array_equal(design.split("test"), many.split("test"))
    unlabelled = many.labels == -1
    learning = mask(many, holdout.learning)
    np.testing.assert_array_equal(unlabelled & ~learning, unlabelled & design.split("certify"))


def test_the_number_of_nodes_in_each_part_adds_up(many):
    holdout = hold_out(many, seed=1)
    nodes = holdout.nodes()
    assert nodes["train"] == 600
    assert nodes["test"] == 300
    assert nodes["tuning"] == 90
    assert nodes["penalty"] == 600 + 200
    unlabelled = int((many.labels[holdout.everybody] == -1).sum())
    assert nodes["certification"] == 210 + unlabelled


def test_every_val_node_certifies_about_as_often(few):
    draws, share = 400, np.zeros(few.num_nodes)
    for seed in range(draws):
        share[hold_out(few, seed=seed).labelled] += 1 / draws
    val = few.split("val")
    assert share[~val].max() == 0
    assert np.abs(share[val] - 0.7).max() < 5 * np.sqrt(0.7 * 0.3 / draws)
    assert share[val].mean() == pytest.approx(0.7, abs=0.002)


def test_every_spare_node_certifies_about_as_often(many):
    draws, share = 300, np.zeros(many.num_nodes)
    for seed in range(draws):
        share[hold_out(many, seed=seed).everybody] += 1 / draws
    spare = many.labels == -1
    expected = share[spare].mean()
    assert np.abs(share[spare] - expected).max() < 5 * np.sqrt(0.25 / draws)


def test_the_same_seed_gives_the_same_parts_and_another_one_others(many):
    assert nodes_sha256(hold_out(many, seed=3)) == nodes_sha256(hold_out(many, seed=3))
    assert nodes_sha256(hold_out(many, seed=3)) != nodes_sha256(hold_out(many, seed=4))


def test_statistical_parity_is_certified_by_labels_in_the_proportions_of_the_graph(many):
    everybody = hold_out(many, seed=1).everybody
    taken = {label: int((many.labels[everybody] == label).sum()) for label in (-1, 0, 1)}
    totals = {label: int((many.labels == label).sum()) for label in (-1, 0, 1)}
    share = len(everybody) / many.num_nodes
    assert share == pytest.approx(0.175, abs=0.002)  # 70 % of the val split, a quarter of the labelled nodes
    for label, total in totals.items():
        assert taken[label] == pytest.approx(share * total, abs=1)


def test_what_needs_labels_is_certified_by_labelled_nodes_only(many):
    holdout = hold_out(many, seed=1)
    assert (many.labels[holdout.certifying(1)] == 1).all()
    assert (many.labels[holdout.certifying(0)] == 0).all()
    assert len(holdout.certifying(0)) + len(holdout.certifying(1)) == 210


@pytest.mark.parametrize("seed", range(1, 7))
def test_one_unlabelled_node_does_not_take_the_certificate_away(few, seed):
    odd = int(np.flatnonzero(few.split("train"))[0])
    splits = {name: part & (np.arange(600) != odd) for name, part in few.splits.items()}
    graph = few.replace(labels=np.where(np.arange(600) == odd, -1, few.labels), splits=splits)
    assert len(hold_out(graph, seed=seed).everybody) >= 100


def test_unlabelled_nodes_that_can_not_certify_do_not_keep_labelled_ones_from_it(few):
    graph = few.replace(labels=np.where(few.split("test"), -1, few.labels))
    holdout = hold_out(graph, seed=1)
    assert graph.labelled[holdout.everybody].all()
    assert holdout.unlabelled_left_out == int(few.split("test").sum())
    check_certifiable(holdout, EO)


def test_nodes_of_unknown_group_do_not_certify(many):
    unknown = np.random.default_rng(4).random(many.num_nodes) < 0.3
    graph = many.replace(sensitive=np.where(unknown, -1, many.sensitive))
    holdout = hold_out(graph, seed=1)
    for rows in (holdout.everybody, holdout.labelled, holdout.unseen):
        assert not unknown[rows].any()
    assert (holdout.design.labels[graph.split("val") & unknown & ~mask(graph, holdout.tuning)] == -1).all()


def test_groups_that_are_unknown_for_most_are_refused(few):
    val = np.flatnonzero(few.split("val"))
    graph = few.replace(sensitive=np.where(mask(few, val[:100]), -1, few.sensitive))
    with pytest.raises(fv.InputError) as caught:
        fv.tune(graph, max_gap=0.2, methods="parity")
    assert str(caught.value) == (
        "tune: the group is known for 50 of 150 val nodes; a certificate would speak for those only, who may differ "
        "from the rest. Fill in more groups, or leave the other nodes out."
    )


def test_one_group_is_refused(few):
    with pytest.raises(fv.InputError) as caught:
        fv.tune(few.replace(sensitive=np.where(few.sensitive == 1, -1, few.sensitive)), max_gap=0.2)
    assert str(caught.value) == "train: the sensitive attribute 'group' has fewer than two groups."


def test_no_val_split_is_refused(few):
    with pytest.raises(fv.InputError) as caught:
        fv.tune(few.replace(splits={"train": few.split("train")}), max_gap=0.2)
    assert str(caught.value) == (
        "train: the graph has no split 'val'; draw one: graph.with_splits(fv.stratified_splits(graph)[0])."
    )


@pytest.mark.parametrize(
    ("limits", "label", "which", "words"),
    [
        (SP, None, "", "statistical parity gap"),
        (EO, 1, " with a positive label", "equal opportunity gap"),
        ((Limit("equalized_odds", 0.1),), 0, " with a negative label", "equalized odds gap"),
    ],
)
def test_a_group_that_has_nobody_to_certify_is_refused(few, limits, label, which, words):
    there = few.split("val") & (few.sensitive == 1) & (True if label is None else few.labels == label)
    splits = dict(few.splits) | {"val": few.split("val") & ~there, "test": few.split("test") | there}
    with pytest.raises(fv.InputError) as caught:
        check_certifiable(hold_out(few.replace(splits=splits), seed=1), limits)
    assert str(caught.value) == (
        f"tune: no node{which} of group 'b' is left to certify the {words}. Give the val split more nodes of that "
        "group."
    )


def test_val_nodes_without_both_labels_can_not_rank(few):
    val = np.flatnonzero(few.split("val") & (few.labels == 0))
    splits = dict(few.splits) | {"val": mask(few, val)}
    with pytest.raises(fv.InputError) as caught:
        fv.tune(few.replace(splits=splits), max_gap=0.3, methods="parity")
    expected = len(hold_out(few.replace(splits=splits), seed=1).tuning)
    assert str(caught.value) == (
        f"tune: 30% of the val split rank the models, and these {expected} nodes don't have both labels. Give the val "
        "split more nodes."
    )


def test_several_groups_are_divided_alike():
    graph = fv.synthetic_graph(900, groups={"a": 0.5, "b": 0.3, "c": 0.2}, average_degree=4, seed=3)
    graph = graph.with_splits(fv.stratified_splits(graph, repeats=1)[0])
    holdout = hold_out(graph, seed=1)
    sizes = np.bincount(graph.sensitive[holdout.everybody], minlength=3)
    np.testing.assert_allclose(sizes / 900, np.array([0.5, 0.3, 0.2]) * 0.175, atol=3 / 900)
    assert [sample.nodes for sample in holdout.samples(sizes // 2, None, "new")] == sizes.tolist()


def test_a_graph_needs_no_test_split_and_no_spare_nodes(few):
    splits = {name: few.split(name) for name in ("train", "val")}
    spare = hold_out(few.replace(splits=splits), seed=1)
    assert spare.nodes()["test"] == 0
    full = few.replace(splits={"train": few.split("train"), "val": ~few.split("train")})
    holdout = hold_out(full, seed=1)
    assert holdout.nodes() == {"train": 300, "penalty": 300, "tuning": 90, "certification": 210, "test": 0}


def test_a_finite_population_is_the_unseen_nodes_of_each_group(many):
    holdout = hold_out(many, seed=1)
    samples = holdout.samples(np.zeros(2, dtype=np.int64), None, "graph")
    for code, sample in enumerate(samples):
        unseen = many.split("test") | many.split("val") & ~mask(many, holdout.tuning)
        unseen |= (many.labels == -1) & holdout.design.split("certify")
        assert sample.population == int((unseen & (many.sensitive == code)).sum())
    assert all(sample.population is None for sample in holdout.samples(np.zeros(2, dtype=np.int64), 1, "graph"))
