"""How much quicker are the paper's five numbers than with scikit-learn and fairlearn?

Run with ``python -m benchmarks.metrics``. AUC, F1, accuracy, statistical parity and equal opportunity on 30,000 nodes
(the size of Credit, its share of positives), as after an epoch of training: new scores for labels and groups that stay.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from fairlearn.metrics import demographic_parity_difference, equal_opportunity_difference
from sklearn.metrics import accuracy_score, f1_score, roc_auc_score

from fairview.metrics import Evaluation, Evaluator

NUM_NODES = 30_000
ROUNDS = 25
TARGET = 5.0
FIVE = ("auc", "f1", "accuracy", "statistical_parity_gap", "equal_opportunity_gap")

Array = npt.NDArray[Any]
Result = TypeVar("Result")


def measure() -> dict[str, object]:
    """Time all three in turns, on new scores each round, and hold their numbers equal; medians count."""
    rng = np.random.default_rng(0)
    labels = (rng.random(NUM_NODES) < 0.78).astype(np.int64)
    sensitive = (rng.random(NUM_NODES) < 0.09 + 0.02 * labels).astype(np.int64)
    evaluator = Evaluator(labels, sensitive=sensitive)
    ours, anew, baseline = [], [], []
    for _ in range(ROUNDS + 1):
        scores = 1 / (1 + np.exp(-(rng.normal(size=NUM_NODES) + labels + 0.3 * sensitive)))
        evaluation, seconds = _timed(lambda scores=scores: evaluator(scores))  # type: ignore[misc]
        ours.append(seconds)
        again, seconds = _timed(lambda scores=scores: Evaluator(labels, sensitive=sensitive)(scores))  # type: ignore[misc]
        anew.append(seconds)
        expected, seconds = _timed(lambda scores=scores: _other_libraries(labels, scores, sensitive))  # type: ignore[misc]
        baseline.append(seconds)
        if np.abs(np.array([_five(evaluation), _five(again)]) - expected).max() > 1e-12:
            raise RuntimeError(f"{evaluation.metrics} differ from {expected}")
    # the first round only warms up
    ours_seconds, anew_seconds, baseline_seconds = (statistics.median(t[1:]) for t in (ours, anew, baseline))
    return {
        "name": "metrics",
        "ours_seconds": ours_seconds,
        "baseline_seconds": baseline_seconds,
        "ratio": baseline_seconds / ours_seconds,
        "target": TARGET,
        "note": f"baseline / ours, at least {TARGET:g}: {', '.join(FIVE)} of {NUM_NODES:,} nodes with one evaluator, "
        f"against scikit-learn and fairlearn, equal to 1e-12; {baseline_seconds / anew_seconds:.1f} with the evaluator "
        f"built anew each time; medians of {ROUNDS} rounds in turns",
    }


def _other_libraries(labels: Array, scores: Array, sensitive: Array) -> list[float]:
    predictions = (scores > 0.5).astype(np.int64)
    return [
        float(roc_auc_score(labels, scores)),
        float(f1_score(labels, predictions)),
        float(accuracy_score(labels, predictions)),
        float(demographic_parity_difference(labels, predictions, sensitive_features=sensitive)),
        float(equal_opportunity_difference(labels, predictions, sensitive_features=sensitive)),
    ]


def _five(evaluation: Evaluation) -> list[float]:
    return [float(evaluation[name]) for name in FIVE]  # type: ignore[arg-type]  # an undefined one raises, as it should


def _timed(work: Callable[[], Result]) -> tuple[Result, float]:
    start = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start


if __name__ == "__main__":
    print(json.dumps(measure(), indent=2))
