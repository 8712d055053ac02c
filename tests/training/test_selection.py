"""Utility minus gaps; what is undefined is left out, and named."""

from __future__ import annotations

import pytest

from fairview.errors import InputError
from fairview.metrics.evaluation import Evaluation, Evaluator
from fairview.training.selection import LowestLoss, SelectionRule


def found(labels: list[int], sensitive: list[str | None], scores: list[float]) -> Evaluation:
    return Evaluator(labels, sensitive=sensitive)(scores)


# Predictions 0 1 1 1 0: three of five are right; two of the three positives, by three answers "1"; five of the six
# pairs (positive, negative) are in order.
EXAMPLE = found([0, 1, 1, 0, 1], ["f", "f", "m", "m", "m"], [0.2, 0.9, 0.8, 0.7, 0.4])
AUC, F1, ACCURACY = 5 / 6, 2 / 3, 3 / 5
PARITY, OPPORTUNITY = 2 / 3 - 1 / 2, 1 - 1 / 2


@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0, 2.0])
def test_the_score_by_hand(weight: float) -> None:
    expected = AUC + F1 + ACCURACY - weight * (PARITY + OPPORTUNITY)
    assert SelectionRule(weight).score(EXAMPLE) == pytest.approx(expected, rel=1e-12)
    assert SelectionRule(weight).left_out(EXAMPLE) == []


def test_the_weight_of_the_published_runs_is_the_default() -> None:
    assert SelectionRule().score(EXAMPLE) == SelectionRule(1.0).score(EXAMPLE)


def test_an_undefined_gap_is_left_out_and_named() -> None:
    no_positives = found([0, 0, 1, 0, 1], ["f", "f", "m", "m", "m"], [0.2, 0.9, 0.8, 0.7, 0.4])
    rule = SelectionRule()
    expected = 3 / 6 + 2 * 1 / (3 + 2) + 2 / 5 - (2 / 3 - 1 / 2)
    assert rule.score(no_positives) == pytest.approx(expected, rel=1e-12)
    assert rule.left_out(no_positives) == ["equal_opportunity_gap: group 'f' has no positive labels"]


def test_without_weight_an_undefined_gap_does_not_matter() -> None:
    one_group = found([0, 1], ["f", "f"], [0.1, 0.9])
    assert SelectionRule(0.0).score(one_group) == 3.0
    assert SelectionRule(0.0).left_out(one_group) == []
    assert [text.split(":")[0] for text in SelectionRule().left_out(one_group)] == [
        "statistical_parity_gap",
        "equal_opportunity_gap",
    ]


def test_an_undefined_auc_is_left_out_and_named() -> None:
    one_class = found([1, 1], ["f", "m"], [0.9, 0.2])
    assert SelectionRule().score(one_class) == pytest.approx(2 / 3 + 1 / 2 - 1 - 1)
    (note,) = SelectionRule().left_out(one_class)
    assert note.startswith("auc: ")


def test_without_positive_labels_every_model_has_the_same_terms() -> None:
    """F1 is undefined without positive predictions and 0 with them: no difference to the score."""
    none, one = (found([0, 0], ["f", "m"], scores) for scores in ([0.1, 0.2], [0.1, 0.9]))
    rule = SelectionRule(0.0)
    assert rule.score(none) == 1.0
    assert rule.score(one) == 0.5


def test_a_val_split_without_labels_chooses_nothing() -> None:
    with pytest.raises(InputError) as caught:
        SelectionRule().score(found([], [], []))
    assert str(caught.value) == "selection: no utility metric is defined on the val split; it has no labelled nodes."


def test_the_lowest_loss_is_the_largest_score() -> None:
    losses = iter([0.7, 0.2, 0.5])
    rule = LowestLoss(lambda: next(losses))
    assert [rule.score(EXAMPLE) for _ in range(3)] == [-0.7, -0.2, -0.5]
    assert rule.left_out(EXAMPLE) == []
