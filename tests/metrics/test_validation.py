"""Bad labels, predictions and scores are refused with the value, what is allowed, and what to do."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch

from fairview.errors import InputError
from fairview.metrics import Evaluator, accuracy, auc, pairwise_gaps, statistical_parity_gap

Y, SCORES, S = [0, 1, 1, 0], [0.2, 0.9, 0.4, 0.6], ["f", "f", "m", "m"]
REMEDY = " Make the positive class 1, the other 0, and leave unlabelled nodes out."

REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "labels -1 and 1": (lambda: accuracy([-1, 1], [0, 1]), f"y_true: expected 0 and 1 only, found -1.{REMEDY}"),
    "labels 1 and 2": (lambda: accuracy([2, 1], [0, 1]), f"y_true: expected 0 and 1 only, found 2.{REMEDY}"),
    "NaN labels": (lambda: accuracy([np.nan, 1], [0, 1]), f"y_true: expected 0 and 1 only, found nan.{REMEDY}"),
    "scores for predictions": (
        lambda: accuracy([0, 1], [0.1, 0.9]),
        f"y_pred: expected 0 and 1 only, found 0.1, 0.9.{REMEDY}",
    ),
    "many values": (
        lambda: accuracy(np.arange(9), np.zeros(9)),
        f"y_true: expected 0 and 1 only, found 2, 3, 4, 5, 6 and 2 more.{REMEDY}",
    ),
    "text labels": (lambda: accuracy(["no", "yes"], [0, 1]), "y_true: values of type <U3; expected 0 and 1."),
    "labels with None": (lambda: accuracy([None, 1], [0, 1]), "y_true: values of type object; expected 0 and 1."),
    "a column of labels": (lambda: accuracy([[0], [1]], [0, 1]), "y_true: shape (2, 1); expected one value per node."),
    "a single label": (lambda: accuracy(1, [0, 1]), "y_true: shape (); expected one value per node."),  # type: ignore[arg-type]
    "fewer predictions": (lambda: accuracy([0, 1, 1], [0, 1]), "y_pred: 2 values for 3 labels."),
    "fewer groups": (lambda: Evaluator(Y, sensitive=["f"]), "sensitive: 1 values for 4 labels."),
    "fewer scores": (lambda: auc(Y, [0.5]), "scores: 1 values for 4 labels."),
    "two columns of scores": (
        lambda: auc(Y, np.full((4, 2), 0.5)),
        "scores: shape (4, 2); expected (4,). Pass the positive class only: scores[:, 1].",
    ),
    "a column of scores": (lambda: auc(Y, np.full((4, 1), 0.5)), "scores: shape (4, 1); expected (4,)."),
    "NaN scores": (lambda: auc(Y, [0.1, np.nan, 1, np.nan]), "scores: 2 of 4 are NaN or infinite (rows 1, 3)."),
    "infinite scores": (lambda: auc(Y, [0.1, np.inf, 1, 0]), "scores: 1 of 4 are NaN or infinite (rows 1)."),
    "text scores": (lambda: auc(Y, list("abcd")), "scores: values of type <U1; expected numbers."),
    "complex scores": (lambda: auc(Y, [1j, 1, 1, 1]), "scores: values of type complex128; expected numbers."),
    "groups in a table": (
        lambda: Evaluator(Y, sensitive=[["f"]] * 4),
        "sensitive: shape (4, 1); expected one value per node.",
    ),
    "dates as groups": (
        lambda: Evaluator(Y, sensitive=np.array(["2020-01-01"] * 4, dtype="datetime64[D]")),
        "sensitive: values of type datetime64[D] can't name groups; use numbers or texts.",
    ),
    "masked labels": (
        lambda: Evaluator(np.ma.array(Y, mask=[0, 0, 0, 1]), sensitive=S),
        "y_true: some values are masked, and would be used all the same; leave those nodes out.",
    ),
    "NaN as threshold": (
        lambda: Evaluator(Y, sensitive=S, threshold=float("nan")),
        "threshold: nan; expected a finite number, such as 0.5 for probabilities.",
    ),
    "unknown gap": (
        lambda: pairwise_gaps("statistical_parity", Y, Y, sensitive=S),
        "no gap 'statistical_parity'. Did you mean 'statistical_parity_gap'?",
    ),
    "codes outside": (
        lambda: Evaluator.from_codes(Y, codes=[0, 1, 2, 0], groups=("f", "m")),
        "sensitive: codes must lie between -1 (unknown) and 1.",
    ),
    "codes that are no integers": (
        lambda: Evaluator.from_codes(Y, codes=[0, 1, 0.5, 0], groups=("f", "m")),
        "sensitive: expected 4 integer codes, got float64 with shape (4,).",
    ),
    "groups of one name": (
        lambda: Evaluator.from_codes(Y, codes=[0, 1, 1, 0], groups=("f", "f")),
        "sensitive: the groups' names must differ, got f, f.",
    ),
    "level of 95": (
        lambda: Evaluator(Y, sensitive=S)(SCORES, intervals=True, level=95),
        "level: 95.0; expected a share between 0 and 1, such as 0.95.",
    ),
    "too few resamples": (
        lambda: Evaluator(Y, sensitive=S)(SCORES, intervals=True, resamples=39),
        "resamples: 39; level 0.95 needs at least 40: one beyond each end.",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_input_is_refused_in_these_words(case: str) -> None:
    call, message = REFUSED[case]
    with pytest.raises(InputError) as refused:
        call()
    assert str(refused.value) == message


@pytest.mark.parametrize("name", ["y_true", "y_pred", "sensitive"])
def test_ragged_lists_are_refused_by_name(name: str) -> None:
    arguments: dict[str, object] = {"y_true": [0, 1], "y_pred": [0, 1], "sensitive": [0, 1]}
    arguments[name] = [[0], [1, 2]]
    with pytest.raises(InputError, match=re.escape(f"{name}: can't be read as an array (")):
        statistical_parity_gap(arguments["y_true"], arguments["y_pred"], sensitive=arguments["sensitive"])  # type: ignore[arg-type]


def test_a_tensor_that_still_requires_gradients_is_refused_with_torch_own_advice() -> None:
    with pytest.raises(InputError, match=r"scores: can't be read as an array \(.*detach"):
        auc([0, 1], torch.tensor([0.1, 0.9], requires_grad=True))  # type: ignore[arg-type]


CONTAINERS: dict[str, Callable[[list[float]], object]] = {
    "list": list,
    "tuple": tuple,
    "numpy": np.array,
    "float32": lambda values: np.array(values, dtype=np.float32),
    "pandas": pd.Series,
    "pandas with another index": lambda values: pd.Series(values, index=range(9, 9 - len(values), -1)),
    "polars": pl.Series,
    "torch": torch.tensor,
    "every second of an array": lambda values: np.repeat(values, 2)[::2],
}


@pytest.mark.parametrize("container", CONTAINERS)
def test_any_container_of_numbers_gives_the_same_evaluation(container: str) -> None:
    of = CONTAINERS[container]
    expected = Evaluator(Y, sensitive=[0, 0, 1, 1])(SCORES)
    found = Evaluator(of(Y), sensitive=of([0, 0, 1, 1]))(of(SCORES))  # type: ignore[arg-type]
    assert found.metrics == expected.metrics


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint8, np.uint64, np.float16, np.float64])
def test_labels_and_predictions_may_be_of_any_type_of_number(dtype: type) -> None:
    y, predictions = np.array(Y, dtype=dtype), np.array([0, 1, 0, 1], dtype=dtype)
    assert accuracy(y, predictions) == 0.5
    assert statistical_parity_gap(y, predictions, sensitive=np.array([0, 0, 0, 1], dtype=dtype)) == pytest.approx(2 / 3)


def test_integer_scores_beyond_the_exact_floats_are_not_tied() -> None:
    assert auc([0, 1], [2**53, 2**53 + 1]) == 1.0
