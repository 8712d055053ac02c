"""The gaps of several sensitive attributes, beside hand-made counts and fairlearn's intersections."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from fairlearn.metrics import MetricFrame, selection_rate, true_positive_rate

from fairview.errors import InputError
from fairview.metrics import Evaluator
from fairview.metrics.document import checked_metrics
from fairview.metrics.intervals import Interval
from fairview.undefined import Undefined

XOR = {"race": ["a", "a", "b", "b"] * 20, "sex": ["f", "m", "f", "m"] * 20}


def random_people(n: int, seed: int) -> tuple[Any, Any, dict[str, Any]]:
    draw = np.random.default_rng(seed)
    groups = {"race": draw.choice(["a", "b", "c"], n), "sex": draw.choice(["f", "m"], n)}
    return draw.integers(0, 2, n), draw.random(n), groups


def test_gaps_that_are_small_alone_and_large_together() -> None:
    evaluation = Evaluator([1, 1, 1, 1] * 20, sensitive=XOR)([1.0, 0.0, 0.0, 1.0] * 20)
    gaps = {name: part["statistical_parity_gap"] for name, part in evaluation.attributes.items()}
    assert gaps == {"race": 0.0, "sex": 0.0, "race & sex": 1.0}
    assert evaluation["statistical_parity_gap"] == 1.0


@pytest.mark.parametrize("seed", range(5))
def test_each_attribute_and_their_combinations_as_fairlearn_computes_them(seed: int) -> None:
    labels, scores, groups = random_people(600, seed)
    evaluation = Evaluator(labels, sensitive=groups)(scores)
    predictions = scores > 0.5
    for name, rate in (("statistical_parity_gap", selection_rate), ("equal_opportunity_gap", true_positive_rate)):
        largest = []
        for columns in (["race"], ["sex"], ["race", "sex"]):
            frame = MetricFrame(
                metrics=rate, y_true=labels, y_pred=predictions, sensitive_features=pd.DataFrame(groups)[columns]
            )
            found = evaluation.attributes[" & ".join(columns)][name]
            assert found == pytest.approx(frame.difference(method="between_groups"), abs=1e-12)
            largest.append(found)
        assert evaluation[name] == max(largest)


def test_one_attribute_by_name_is_evaluated_like_one() -> None:
    labels, scores, groups = random_people(300, 0)
    alone = Evaluator(labels, sensitive=groups["sex"])(scores, intervals=True)
    named = Evaluator(labels, sensitive={"sex": groups["sex"]})(scores, intervals=True)
    assert alone.to_dict() == named.to_dict()
    assert "attributes" not in alone.to_dict()


def test_the_parts_are_those_of_each_attribute_evaluated_by_itself() -> None:
    labels, scores, groups = random_people(300, 1)
    together = Evaluator(labels, sensitive=groups)(scores, intervals=True)
    for name, values in groups.items():
        alone = Evaluator(labels, sensitive=values)(scores, intervals=True)
        part = together.attributes[name]
        assert dict(part.metrics) == dict(alone.metrics)
        assert (part.counts == alone.counts).all()


def test_a_combination_of_few_is_named_and_left_out_but_counted() -> None:
    groups = {"race": ["a"] * 20 + ["b"] * 24, "sex": ["f"] * 10 + ["m"] * 10 + ["f"] * 20 + ["m"] * 4}
    scores = [1.0] * 10 + [0.0] * 10 + [1.0, 0.0] * 10 + [1.0] * 4
    evaluation = Evaluator([1, 0] * 22, sensitive=groups)(scores)
    together = evaluation.attributes["race & sex"]
    assert together.left_out["statistical_parity_gap"] == ("race=b & sex=m",)
    assert together["statistical_parity_gap"] == 1.0  # between 'a, f' and 'a, m'; 'b, m' says yes to all four
    assert together.groups[-1].nodes == 4
    assert together.groups[-1].selection_rate == 1.0
    assert evaluation.to_dict()["attributes"]["race & sex"]["left_out"]["equal_opportunity_gap"] == ["race=b & sex=m"]


def test_an_undefined_attribute_makes_the_largest_gap_undefined() -> None:
    groups = {"race": ["a", "b"] * 20, "sex": ["f"] * 40}
    evaluation = Evaluator([1, 0, 0, 1] * 10, sensitive=groups)([0.9, 0.1] * 20)
    assert evaluation["statistical_parity_gap"] == Undefined("sex: there is only one sensitive group ('f')")
    assert evaluation.attributes["race"]["statistical_parity_gap"] == 1.0


def test_too_few_of_all_combinations_leaves_the_attributes() -> None:
    groups = {"race": ["a", "a", "b", "b"] * 2, "sex": ["f", "m", "f", "m"] * 2}
    evaluation = Evaluator([1] * 8, sensitive=groups)([0.9, 0.9, 0.1, 0.1] * 2)
    together = evaluation.attributes["race & sex"]["statistical_parity_gap"]
    assert together == Undefined("fewer than two combinations of groups have 5 nodes")
    assert evaluation["statistical_parity_gap"] == 1.0


def test_a_node_counts_for_the_attribute_that_is_known() -> None:
    groups = {"race": ["a", "b"] * 20, "sex": [None] * 20 + ["f", "m"] * 10}
    evaluation = Evaluator([1, 0] * 20, sensitive=groups)([0.9, 0.1] * 20)
    assert evaluation.attributes["race"].group_unknown == 0
    assert evaluation.attributes["sex"].group_unknown == 20
    assert evaluation.group_unknown == 20


def test_the_interval_of_the_largest_gap_holds_as_often_as_it_says() -> None:
    """300 draws of 400 people from known rates: the largest true gap lies within in at least 95 % of them."""
    draw = np.random.default_rng(7)
    rates = {("a", "f"): 0.3, ("a", "m"): 0.5, ("b", "f"): 0.45, ("b", "m"): 0.35}
    truth, covered = 0.2, 0
    for _ in range(300):
        race, sex = draw.choice(["a", "b"], 400), draw.choice(["f", "m"], 400)
        scores = draw.random(400) < np.array([rates[pair] for pair in zip(race, sex, strict=True)])
        evaluation = Evaluator(np.ones(400, dtype=int), sensitive={"race": race, "sex": sex})(
            scores.astype(float), intervals=True, resamples=200
        )
        interval = evaluation.intervals["statistical_parity_gap"]
        assert isinstance(interval, Interval)
        covered += interval.low <= truth <= interval.high
    assert covered >= 285


def test_the_document_is_plain_and_accepted() -> None:
    labels, scores, groups = random_people(200, 3)
    document = Evaluator(labels, sensitive=groups)(scores, intervals=True).to_dict()
    again = json.loads(json.dumps(document, allow_nan=False))
    assert checked_metrics({"test": again})["test"] == document
    assert list(again["attributes"]) == ["race", "sex", "race & sex"]
    assert {"statistical_parity_gap", "undefined", "groups", "pairs", "group_unknown", "intervals"} <= {
        *again["attributes"]["race"]
    }
    assert "auc" not in again["attributes"]["race"]


def test_attributes_may_have_any_names_but_there_must_be_one() -> None:
    found = Evaluator([0, 1], sensitive={1: ["a", "b"], 2: ["c", "d"]})([0.2, 0.8])  # type: ignore[dict-item]
    assert list(found.attributes) == ["1", "2", "1 & 2"]
    with pytest.raises(InputError, match="sensitive: names no attribute"):
        Evaluator([0, 1], sensitive={})
