from __future__ import annotations

import hashlib
import itertools
import math
import random
from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairview as fv
from fairview.data.graph import NodeGraph
from fairview.data.splits import Split, published_split, split_from_column, stratified_splits, with_default_split
from fairview.errors import InputError
from fairview.groups import UNKNOWN


def graph_of(labels, sensitive) -> NodeGraph:
    graph = NodeGraph.from_arrays(
        features=np.zeros((len(labels), 1)),
        edges=[[], []],
        sensitive=[None if code == UNKNOWN else code for code in sensitive],
    )
    return graph.replace(labels=np.array(labels, dtype=np.int8))  # -1 and 1 alone are refused by from_arrays


def disjoint(split: Split) -> bool:
    return not any((first & second).any() for first, second in itertools.combinations(split.values(), 2))


# --- the published split ----------------------------------------------------------------------------------------------


def test_published_split_is_what_the_global_generator_of_the_published_runs_draws():
    labels = np.random.default_rng(1).integers(0, 2, size=301)
    state = random.getstate()
    try:
        random.seed(20)
        expected = {"train": set(), "val": set(), "test": set()}
        for label in (0, 1):
            rows = np.where(labels == label)[0]  # the published runs shuffle arrays, not lists
            random.shuffle(rows)
            expected["train"].update(rows[: min(int(0.5 * len(rows)), 50 // 2)].tolist())
            expected["val"].update(rows[int(0.5 * len(rows)) : int(0.75 * len(rows))].tolist())
            expected["test"].update(rows[int(0.75 * len(rows)) :].tolist())
    finally:
        random.setstate(state)
    split = published_split(labels, train_labels=50)
    assert {name: set(np.flatnonzero(mask).tolist()) for name, mask in split.items()} == expected


def test_published_split_does_not_depend_on_the_python_version():
    labels = [0, 1, 1] * 333
    masks = published_split(labels, train_labels=100)
    digest = hashlib.sha256(b"".join(np.packbits(masks[name]).tobytes() for name in ("train", "val", "test")))
    assert digest.hexdigest() == "d1f61350b14a4e9d8ec7a9144ab079a1bb0f88e5662557535398d3d550733db2"


def test_published_split_leaves_the_global_generator_alone():
    random.seed(7)
    before = random.getstate()
    published_split([0, 1] * 10, train_labels=4)
    assert random.getstate() == before


def test_published_split_takes_half_a_small_class_for_training_and_ignores_the_unlabelled():
    split = published_split([0] * 7 + [UNKNOWN] * 3 + [1] * 40, train_labels=20)
    labels = np.array([0] * 7 + [UNKNOWN] * 3 + [1] * 40)
    assert [int(split[name][labels == 0].sum()) for name in ("train", "val", "test")] == [3, 2, 2]
    assert [int(split[name][labels == 1].sum()) for name in ("train", "val", "test")] == [10, 10, 10]
    assert not any(mask[labels == UNKNOWN].any() for mask in split.values())


@pytest.mark.parametrize("train_labels", [0, 1, 7, -2])
def test_an_odd_or_empty_number_of_training_labels_is_refused(train_labels):
    with pytest.raises(InputError, match=f"^train_labels: {train_labels}; expected an even number, at least 2"):
        published_split([0, 1], train_labels=train_labels)


def test_labels_of_another_kind_are_refused():
    with pytest.raises(InputError, match=r"^labels: expected a list of 0, 1 and -1 \(unlabelled\)\.$"):
        published_split([1, 2, 3], train_labels=2)


# --- stratified splits ------------------------------------------------------------------------------------------------

people = st.lists(st.tuples(st.sampled_from([UNKNOWN, 0, 1]), st.integers(UNKNOWN, 3)), min_size=1, max_size=80)
hundredths = st.tuples(st.integers(1, 100), st.integers(0, 99)).filter(lambda pair: sum(pair) <= 100)


@settings(deadline=None)
@given(people=people, shares=hundredths, seed=st.integers(0, 2**32))
def test_every_stratum_class_and_the_whole_get_their_fractions(people, shares, seed):
    labels, sensitive = (np.array(column) for column in zip(*people, strict=True))
    if not (labels != UNKNOWN).any():
        return
    train, val = shares[0] / 100, shares[1] / 100
    test = max(0.0, 1 - train - val)
    (split,) = stratified_splits(graph_of(labels, sensitive), repeats=1, seed=seed, train=train, val=val, test=test)
    assert disjoint(split)
    assert (split["train"] | split["val"] | split["test"]).tolist() == (labels != UNKNOWN).tolist()
    kept = labels != UNKNOWN
    strata = [kept, *(labels == label for label in (0, 1))]
    strata += [(labels == label) & (sensitive == group) for label, group in set(people) if label != UNKNOWN]
    for stratum in strata:
        size = int(stratum.sum())
        trained, chosen = int(split["train"][stratum].sum()), int(split["val"][stratum].sum())
        assert abs(trained - size * train) < 1 + 1e-9
        assert abs(chosen - (size - trained) * (val / (val + test) if val else 0)) < 1 + 1e-9


@settings(deadline=None)
@given(people=people, seed=st.integers(0, 2**32))
def test_half_and_two_quarters_are_rounded_up_or_down_in_every_stratum(people, seed):
    labels, sensitive = (np.array(column) for column in zip(*people, strict=True))
    if not (labels != UNKNOWN).any():
        return
    (split,) = stratified_splits(graph_of(labels, sensitive), repeats=1, seed=seed)
    for label, group in set(people):
        if label != UNKNOWN:
            stratum = (labels == label) & (sensitive == group)
            for name, fraction in (("train", 0.5), ("val", 0.25), ("test", 0.25)):
                exact = fraction * int(stratum.sum())
                assert int(split[name][stratum].sum()) in (math.floor(exact), math.ceil(exact))


def test_a_fraction_that_gives_whole_nodes_gives_exactly_those():
    graph = graph_of([0] * 10 + [1] * 30, [0, 1] * 20)
    for split in stratified_splits(graph, repeats=5, train=0.7, val=0.2, test=0.1):
        assert [int(split[name].sum()) for name in ("train", "val", "test")] == [28, 8, 4]
        assert Counter(graph.labels[split["train"]].tolist()) == {0: 7, 1: 21}


def test_split_k_depends_on_the_seed_and_k_only():
    graph = graph_of([0, 1] * 50, [0, 0, 1, 1] * 25)
    few, many = stratified_splits(graph, repeats=2, seed=3), stratified_splits(graph, repeats=6, seed=3)
    assert all((few[k][name] == many[k][name]).all() for k in range(2) for name in few[k])


def test_repeats_and_seeds_differ():
    graph = graph_of([0, 1] * 50, [0, 0, 1, 1] * 25)
    tests = [split["test"].tobytes() for seed in (0, 1) for split in stratified_splits(graph, repeats=10, seed=seed)]
    assert len(set(tests)) == 20


def test_every_node_is_as_likely_as_its_fraction_to_be_tested():
    graph = graph_of([0] * 17 + [1] * 14 + [0, 1], [0, 1] * 15 + [0, 2, 3])  # strata of one node among them
    tested = np.mean([split["test"] for split in stratified_splits(graph, repeats=2000, seed=5)], axis=0)
    assert abs(tested - 0.25).max() < 0.06  # six standard errors


def test_training_labels_are_capped_per_class_with_each_groups_share():
    graph = graph_of([0] * 100 + [1] * 300, ([0] * 3 + [1]) * 100)
    for split in stratified_splits(graph, repeats=3, train_labels=40):
        trained = np.stack([graph.labels[split["train"]], graph.sensitive[split["train"]]], axis=1)
        assert Counter(map(tuple, trained.tolist())) == {(0, 0): 15, (0, 1): 5, (1, 0): 15, (1, 1): 5}
        assert [int(split[name].sum()) for name in ("val", "test")] == [100, 100]


def test_a_class_with_fewer_training_nodes_than_the_cap_keeps_them_all():
    graph = graph_of([0] * 8 + [1] * 100, [0, 1] * 54)
    (split,) = stratified_splits(graph, repeats=1, train_labels=20)
    assert Counter(graph.labels[split["train"]].tolist()) == {0: 4, 1: 10}


def test_a_capped_split_is_part_of_the_uncapped_one():
    graph = graph_of([0, 1] * 50, [0, 0, 1, 1] * 25)
    (capped,), (whole,) = (stratified_splits(graph, repeats=1, seed=9, train_labels=cap) for cap in (10, None))
    assert (whole["train"] >= capped["train"]).all()
    assert (whole["test"] == capped["test"]).all()


def test_all_wrong_requests_are_named_together():
    graph = NodeGraph.from_arrays(features=np.zeros((3, 1)), edges=[[], []])
    with pytest.raises(InputError) as caught:
        stratified_splits(graph, repeats=0, seed=-1, train=0.8, val=0.4, test=-0.2)
    assert caught.value.problems == (
        "repeats: 0; expected a whole number, at least 1.",
        "seed: -1; expected a whole number, at least 0 and below 2**64.",
        "splits: the fractions train 0.8, val 0.4 and test -0.2 must not be negative, train must be above 0, "
        "and they must sum to 1. (Use train_labels to train on fewer labels.)",
        "splits: no node has a label; there is nothing to divide.",
    )


@pytest.mark.parametrize("fractions", [(0.5, 0.2, 0.2), (0.0, 0.5, 0.5), (float("nan"), 0.5, 0.5)])
def test_fractions_that_do_not_divide_the_nodes_are_refused(fractions):
    train, val, test = fractions
    with pytest.raises(InputError, match="they must sum to 1"):
        stratified_splits(graph_of([0, 1], [0, 1]), train=train, val=val, test=test)


# --- a user's own column ----------------------------------------------------------------------------------------------


def test_a_column_may_use_any_common_word_in_any_case():
    words = ["train", "TRAIN", " Train ", "val", "valid", "Validation", "test", "", None, "  "]
    split = split_from_column(words)
    assert {name: np.flatnonzero(mask).tolist() for name, mask in split.items()} == {
        "train": [0, 1, 2],
        "val": [3, 4, 5],
        "test": [6],
    }
    assert all(mask.dtype == np.bool_ and mask.shape == (10,) for mask in split.values())


def test_unknown_words_are_listed_with_their_counts():
    with pytest.raises(InputError) as caught:
        split_from_column(["train", "dev", "dev", "holdout", None], name="part")
    assert str(caught.value) == (
        "column 'part': 3 of 5 rows name no split ('dev' in 2, 'holdout' in 1). "
        "Use train, val (or valid, validation) or test, or leave the cell empty to keep a node out of all."
    )


@settings(deadline=None)
@given(st.lists(st.sampled_from(["train", "val", "Valid", "TEST", "", None])))
def test_a_column_always_gives_disjoint_masks(words):
    split = split_from_column(words)
    assert disjoint(split)
    assert sum(int(mask.sum()) for mask in split.values()) == sum(bool(word) for word in words)


def test_the_split_of_a_graph_without_one_is_that_of_seed_0():
    table = {"id": [str(i) for i in range(40)], "x": list(range(40)), "sex": ["f", "m"] * 20, "ok": [0, 0, 1, 1] * 10}
    plain, seeded = (
        fv.read_graph(pl.DataFrame(table), label="ok", sensitive="sex", split_seed=seed) for seed in (None, 0)
    )
    assert with_default_split(plain)[0].sha256 == seeded.sha256
    assert with_default_split(seeded) == (seeded, ())
