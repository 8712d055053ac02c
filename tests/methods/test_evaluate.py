from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import fairview as fv


class Fixed:
    """A fitted model with given probabilities."""

    def __init__(self, probabilities: object) -> None:
        self.probabilities = np.asarray(probabilities)

    def fit(self, graph: fv.NodeGraph) -> Fixed:
        return self

    def predict_proba(self, graph: fv.NodeGraph) -> np.ndarray:
        return self.probabilities


@pytest.fixture
def graph() -> fv.NodeGraph:
    test = np.array([False, True, True, True, True, True])
    return fv.NodeGraph.from_arrays(
        features=np.zeros((6, 1)),
        edges=[[], []],
        labels=[1, 1, 0, 1, 0, -1],
        sensitive=["f", "f", "f", "m", "m", "m"],
        splits={"train": ~test, "test": test},
    )


def test_only_labelled_nodes_of_the_split_count(graph):
    scores = np.array([0.0, 0.9, 0.8, 0.7, 0.1, 0.99])
    found = fv.evaluate(Fixed(np.column_stack([1 - scores, scores])), graph)
    assert found["auc"] == roc_auc_score([1, 0, 1, 0], [0.9, 0.8, 0.7, 0.1])
    assert found["accuracy"] == 0.75
    assert found["statistical_parity_gap"] == 0.5  # both of f, one of two of m
    assert found["equal_opportunity_gap"] == 0.0
    assert fv.evaluate_scores(scores, graph).to_dict() == found.to_dict()


def test_all_is_every_labelled_node(graph):
    scores = np.array([0.0, 0.9, 0.8, 0.7, 0.1, 0.99])
    assert fv.evaluate_scores(scores, graph, split="all")["accuracy"] == 0.6


def test_all_of_new_data_needs_no_split(graph):
    new = graph.replace(splits={}, labels=np.array([1, -1, -1, -1, -1, -1]))  # one label can't be divided
    assert fv.evaluate_scores([0.9] * 6, new, split="all")["accuracy"] == 1.0


def test_the_threshold_is_the_callers(graph):
    scores = np.array([0.0, 0.9, 0.8, 0.7, 0.1, 0.99])
    assert fv.evaluate_scores(scores, graph, threshold=0.85)["f1"] == pytest.approx(2 / 3)


def test_unknown_groups_are_left_out_of_gaps_only(graph):
    unknown = graph.replace(sensitive=np.where(np.arange(6) == 2, -1, graph.sensitive))
    scores = np.array([0.0, 0.9, 0.8, 0.7, 0.1, 0.99])
    found = fv.evaluate_scores(scores, unknown)
    assert found["accuracy"] == 0.75
    assert found["statistical_parity_gap"] == 0.5
    assert found.to_dict()["group_unknown"] == 1


def test_wrong_shapes_are_refused(graph):
    with pytest.raises(fv.InputError, match=r"^predict_proba: shape \(6,\); expected \(6, 2\): one row per node"):
        fv.evaluate(Fixed(np.zeros(6)), graph)
    with pytest.raises(fv.InputError, match=r"^scores: shape \(5,\); expected \(6,\): one per node of the graph\.$"):
        fv.evaluate_scores(np.zeros(5), graph)


def test_a_mistyped_split_is_refused(graph):
    with pytest.raises(fv.InputError, match=r"^no split 'tets'\. Did you mean 'test'\?$"):
        fv.evaluate_scores(np.zeros(6), graph, split="tets")


def test_scores_are_not_changed(graph):
    scores = np.array([0.0, 0.9, 0.8, 0.7, 0.1, 0.99])
    before = scores.copy()
    fv.evaluate_scores(scores, graph, intervals=True)
    np.testing.assert_array_equal(scores, before)
