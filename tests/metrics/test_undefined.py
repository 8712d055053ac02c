"""Undefined is a value with a reason, and nothing takes it for a number."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from fairview.metrics import METRICS, Evaluator, Undefined

GAP = Undefined("group 'f' has no positive labels")

USES: dict[str, Callable[[], object]] = {
    "float": lambda: float(GAP),  # type: ignore[arg-type]
    "int": lambda: int(GAP),  # type: ignore[call-overload]
    "round": lambda: round(GAP),  # type: ignore[call-overload]
    "abs": lambda: abs(GAP),  # type: ignore[arg-type]
    "negation": lambda: -GAP,  # type: ignore[operator]
    "less": lambda: GAP < 0.1,  # type: ignore[operator]
    "less, reversed": lambda: np.float64(0.1) < GAP,  # type: ignore[operator]
    "at most": lambda: GAP <= 0.1,  # type: ignore[operator]
    "more": lambda: GAP > 0.1,  # type: ignore[operator]
    "at least": lambda: GAP >= 0.1,  # type: ignore[operator]
    "plus": lambda: GAP + 1,  # type: ignore[operator]
    "plus, reversed": lambda: 1.0 + GAP,  # type: ignore[operator]
    "minus": lambda: 1 - GAP,  # type: ignore[operator]
    "times": lambda: 100 * GAP,  # type: ignore[operator]
    "divided": lambda: GAP / 2,  # type: ignore[operator]
    "sum": lambda: sum([GAP]),  # type: ignore[list-item]
    "min": lambda: min(GAP, 0.5),  # type: ignore[type-var]
    "max": lambda: max(0.5, GAP),  # type: ignore[type-var]
    "sorted": lambda: sorted([0.5, GAP]),  # type: ignore[list-item]
    "math.isnan": lambda: math.isnan(GAP),  # type: ignore[arg-type]
    "statistics.mean": lambda: statistics.mean([GAP, 0.5]),  # type: ignore[type-var]
    "np.mean of it": lambda: np.mean([GAP]),  # type: ignore[list-item]
    "np.mean with others": lambda: np.mean([0.5, GAP, 0.1]),  # type: ignore[list-item]
    "np.std": lambda: np.std([0.5, GAP]),  # type: ignore[list-item]
    "np.array of floats": lambda: np.array([0.5, GAP], dtype=np.float64),
    "np.isnan": lambda: np.isnan(GAP),  # type: ignore[call-overload]
    "np comparison": lambda: np.array([0.5]) < GAP,  # type: ignore[operator]
    "pandas mean": lambda: pd.Series([0.5, GAP]).mean(),
    "bool": lambda: bool(GAP),
    "if": lambda: 0 if GAP else 1,
    "not": lambda: not GAP,
    "or": lambda: GAP or 0.0,
    "format": lambda: f"{GAP:.3f}",
    "JSON": lambda: json.dumps(GAP),
}


@pytest.mark.parametrize("use", USES)
def test_undefined_as_a_number_is_a_type_error(use: str) -> None:
    with pytest.raises(TypeError):
        USES[use]()


def test_its_truth_value_says_why_there_is_none() -> None:
    with pytest.raises(TypeError, match=r"an undefined metric has no truth value \(group 'f' has no positive labels\)"):
        bool(GAP)


def test_it_equals_no_number_but_itself() -> None:
    assert all(number != GAP for number in (0, 1, 0.0, 1.0, float("nan"), None, False, True))
    assert Undefined("group 'f' has no positive labels") == GAP != Undefined("another reason")
    assert len({GAP, Undefined("group 'f' has no positive labels")}) == 1
    assert str(GAP) == repr(GAP) == "undefined: group 'f' has no positive labels"


def test_its_reason_can_not_be_changed() -> None:
    with pytest.raises(AttributeError):
        GAP.reason = "none"  # type: ignore[misc]


NO_LABELS = "there are no labelled nodes"
NO_GROUPS = "no node's sensitive group is known"
NO_POSITIVES, NO_NEGATIVES = "there are no positive labels", "there are no negative labels"
GAPS = ("statistical_parity_gap", "equal_opportunity_gap", "equalized_odds_gap")

TWO_EACH = ["f", "f", "m", "m"]


def no_positives_in(group: str) -> dict[str, str]:
    return dict.fromkeys(GAPS[1:], f"group '{group}' has no positive labels")


# labels, scores, groups -> what is undefined, and why
CASES: dict[str, tuple[list[int], list[float], list[str | None], dict[str, str]]] = {
    "nothing": ([], [], [], dict.fromkeys(tuple(METRICS)[:5], NO_LABELS) | dict.fromkeys(GAPS, NO_GROUPS)),
    "no positives, none predicted": (
        [0, 0, 0, 0],
        [0, 0.1, 0.2, 0.3],
        TWO_EACH,
        {"auc": NO_POSITIVES, "f1": "there is neither a positive label nor a positive prediction"}
        | {"balanced_accuracy": NO_POSITIVES}
        | no_positives_in("f"),
    ),
    "no positives, some predicted": (
        [0, 0, 0, 0],
        [0, 0.9, 0.2, 0.3],
        TWO_EACH,
        {"auc": NO_POSITIVES, "balanced_accuracy": NO_POSITIVES} | no_positives_in("f"),
    ),
    "no negatives": (
        [1, 1, 1, 1],
        [0, 0.9, 0.2, 0.3],
        TWO_EACH,
        dict.fromkeys(("auc", "balanced_accuracy", "false_positive_rate"), NO_NEGATIVES)
        | {"equalized_odds_gap": "group 'f' has no negative labels"},
    ),
    "a group without positives": ([0, 1, 0, 0], [0.9, 0.9, 0.2, 0.3], TWO_EACH, no_positives_in("m")),
    "a group without negatives": (
        [0, 1, 1, 1],
        [0.9, 0.9, 0.2, 0.3],
        TWO_EACH,
        {"equalized_odds_gap": "group 'm' has no negative labels"},
    ),
    "one group": (
        [0, 1, 0, 1],
        [0.9, 0.9, 0.2, 0.3],
        ["f", "f", "f", None],
        dict.fromkeys(GAPS, "there is only one sensitive group ('f')"),
    ),
    "no group known": ([0, 1], [0.2, 0.9], [None, None], dict.fromkeys(GAPS, NO_GROUPS)),
}


@pytest.mark.parametrize("case", CASES)
def test_every_undefined_case_is_named_and_has_no_number(case: str) -> None:
    labels, scores, sensitive, reasons = CASES[case]
    found = Evaluator(labels, sensitive=np.array(sensitive, dtype=object))(scores)
    assert found.undefined == reasons
    assert all(found[name] == Undefined(reason) for name, reason in reasons.items())
    assert all(isinstance(found[name], float) for name in METRICS if name not in reasons)
    assert [found.to_dict()[name] for name in reasons] == [None] * len(reasons)


def test_a_declared_group_without_nodes_makes_the_gaps_undefined() -> None:
    found = Evaluator.from_codes([0, 1, 0, 1], codes=[0, 0, 1, 1], groups=("f", "m", "x"))([0.1, 0.9, 0.9, 0.9])
    assert found.undefined == dict.fromkeys(GAPS, "group 'x' has no nodes")
    assert found.groups[2].selection_rate == Undefined("group 'x' has no nodes")
    assert found.groups[2].true_positive_rate == Undefined("group 'x' has no positive labels")
    assert found.groups[2].false_positive_rate == Undefined("group 'x' has no negative labels")
    assert found.pairs["statistical_parity_gap"] == {
        ("f", "m"): 0.5,
        ("f", "x"): Undefined("group 'x' has no nodes"),
        ("m", "x"): Undefined("group 'x' has no nodes"),
    }


def test_labels_but_no_positive_prediction_is_an_f1_of_zero_not_undefined() -> None:
    assert Evaluator([1, 0], sensitive=[0, 1])([0.1, 0.1])["f1"] == 0.0
