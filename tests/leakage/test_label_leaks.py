from __future__ import annotations

import numpy as np
import pytest

import fairview as fv
from fairview.leakage.label_leaks import LabelLeak, label_leaks


def graph_with(column, labels):
    rng = np.random.default_rng(0)
    features = np.column_stack([rng.standard_normal(len(labels)), column])
    return fv.NodeGraph.from_arrays(
        features=features, edges=np.empty((2, 0), int), labels=labels, channels=["noise", "time"]
    )


LABELS = np.arange(200) % 2


def test_the_label_in_disguise_is_named():
    rng = np.random.default_rng(1)
    days = np.where(LABELS == 1, rng.integers(1, 80, 200), 0)  # TIME > 0 is the label
    assert label_leaks(graph_with(days, LABELS)) == (LabelLeak("time", 1.0),)


def test_a_disguise_that_is_not_monotone_is_named_too():
    middle = np.where(LABELS == 1, 0.0, np.random.default_rng(1).choice([-1.0, 1.0], 200))
    assert [leak.name for leak in label_leaks(graph_with(middle, LABELS))] == ["time"]


def test_a_good_predictor_is_no_leak_until_the_threshold_says_so():
    good = LABELS + 0.7 * np.random.default_rng(1).standard_normal(200)
    graph = graph_with(good, LABELS)
    assert label_leaks(graph) == ()
    (leak,) = label_leaks(graph, threshold=0.75)
    assert leak.name == "time"
    assert 0.75 < leak.auc < 0.95


def test_unlabelled_nodes_say_nothing():
    labels = np.where(np.arange(200) < 150, LABELS, -1)
    assert [leak.name for leak in label_leaks(graph_with(np.where(labels == 1, 1.0, 0.0), labels))] == ["time"]


def test_few_labels_are_undefined_rather_than_an_alarm():
    labels = np.where(np.arange(200) < 30, LABELS, -1)
    found = label_leaks(graph_with(LABELS, labels))
    assert found == fv.Undefined("a group or class has 15 nodes only; 20 are needed for 5 folds")
    assert label_leaks(graph_with(LABELS, np.ones(200, dtype=int))) == fv.Undefined(
        "fewer than two groups or classes have nodes"
    )


def test_german_names_none():
    assert label_leaks(fv.load_dataset("german")) == ()


@pytest.mark.parametrize("threshold", [0.4, 1.0])
def test_a_threshold_that_means_nothing_is_an_error(threshold):
    with pytest.raises(fv.InputError, match=f"label_leak_threshold: {threshold}; expected an AUC of 0.5 or more"):
        label_leaks(fv.load_dataset("german"), threshold=threshold)
