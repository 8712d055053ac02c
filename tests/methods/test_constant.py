from __future__ import annotations

import numpy as np
import pytest

import fairview as fv


def graph(labels: list[int], train: list[int]) -> fv.NodeGraph:
    mask = np.isin(np.arange(len(labels)), train)
    return fv.NodeGraph.from_arrays(
        features=np.zeros((len(labels), 1)),
        edges=[[], []],
        labels=labels,
        sensitive=["f", "m"] * (len(labels) // 2),
        splits={"train": mask, "test": ~mask},
    )


@pytest.mark.parametrize(("answer", "probabilities"), [("positive", [0, 1]), ("negative", [1, 0])])
def test_every_node_gets_the_same_answer(answer, probabilities):
    found = fv.Constant(answer=answer).fit(graph([0, 1, 1, 0], [0, 1])).predict_proba(graph([0, 1], [0]))
    assert found.tolist() == [probabilities] * 2


@pytest.mark.parametrize(("train", "positive"), [([0, 1, 2], 1.0), ([0, 3, 1], 0.0), ([0, 1], 1.0)])
def test_majority_is_that_of_the_training_labels(train, positive):
    assert fv.Constant().answer == "majority"
    fitted = fv.Constant().fit(graph([0, 1, 1, 0, 1, 1], train))
    assert fitted.predict_proba(graph([0, 1], [0]))[:, 1].tolist() == [positive] * 2


def test_as_many_training_labels_of_either_class_leave_it_to_the_validation_labels():
    nodes = graph([0, 1, 0, 0, 1, 0], [0, 1])
    masks = {"train": nodes.split("train"), "val": np.arange(6) > 2}
    assert fv.Constant().fit(nodes.with_splits(masks)).score_ == 0
    assert fv.Constant().fit(fv.load_dataset("german")).score_ == 1, "where the train split is balanced too"


def test_where_most_say_no_it_is_no_straw_man():
    nodes = graph([0, 0, 0, 1], [0, 1])
    assert fv.evaluate(fv.Constant().fit(nodes), nodes, split="all")["accuracy"] == 0.75
    assert fv.evaluate(fv.Constant(answer="positive").fit(nodes), nodes, split="all")["accuracy"] == 0.25
    with pytest.raises(fv.InputError, match=r"^train: no node of the train split has a label; there is no majority\.$"):
        fv.Constant().fit(graph([0, 1], []))


def test_both_gaps_are_0_and_always_yes_has_every_false_positive():
    nodes = graph([0, 1, 1, 0, 1, 0, 1, 0], [0, 1])
    found = fv.evaluate(fv.Constant(answer="positive").fit(nodes), nodes, split="all")
    assert found["statistical_parity_gap"] == 0
    assert found["equal_opportunity_gap"] == 0
    assert found["false_positive_rate"] == 1


def test_on_german_it_looks_good():
    german = fv.load_dataset("german")
    found = fv.evaluate(fv.Constant().fit(german), german)
    assert found["accuracy"] == 0.7
    assert found["f1"] == pytest.approx(0.8235, abs=1e-4)
    assert found["balanced_accuracy"] == 0.5


def test_other_answers_are_refused():
    with pytest.raises(fv.InputError, match=r"answer='maybe'.*'majority', 'positive' or 'negative'"):
        fv.Constant(answer="maybe").fit(graph([0, 1], [0, 1]))


def test_parameters_are_scikit_learns():
    assert fv.Constant(answer="negative").get_params() == {"answer": "negative"}
