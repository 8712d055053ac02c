"""Counts at many thresholds: against a loop, and against the evaluator."""

from __future__ import annotations

import numpy as np
import pytest

import fairview as fv
from fairview.methods.evaluate import evaluate_scores
from fairview.tuning.counts import cells_of, positive_counts, utility_of


@pytest.fixture(scope="module")
def patchy() -> fv.NodeGraph:
    """300 nodes in three groups; some groups and some labels are not known."""
    graph = fv.synthetic_graph(300, groups={"a": 0.5, "b": 0.3, "c": 0.2}, average_degree=4, seed=3)
    rng = np.random.default_rng(0)
    hidden, unlabelled = rng.random(300) < 0.1, rng.random(300) < 0.2
    return graph.replace(
        sensitive=np.where(hidden, -1, graph.sensitive), labels=np.where(unlabelled, -1, graph.labels), splits={}
    )


@pytest.fixture(scope="module")
def scores() -> np.ndarray:
    """With many ties, so that scores lie on thresholds."""
    return np.random.default_rng(1).integers(0, 21, size=300) / 20


THRESHOLDS = np.array([0.0, 0.25, 0.5, 0.75, 0.95])


def test_cells_are_what_a_loop_counts(patchy, scores):
    rows = np.random.default_rng(2).permutation(300)[:200]
    expected = np.zeros((len(THRESHOLDS), 4, 3, 2), dtype=np.int64)
    for t, threshold in enumerate(THRESHOLDS):
        for row in rows:
            expected[t, patchy.sensitive[row] + 1, patchy.labels[row] + 1, int(scores[row] > threshold)] += 1
    np.testing.assert_array_equal(cells_of(scores, patchy, rows, THRESHOLDS), expected)


def test_a_score_on_the_threshold_is_negative(patchy):
    cells = cells_of(np.full(300, 0.5), patchy, np.arange(300), np.array([0.4999, 0.5, 0.5001]))
    assert cells[..., 1].sum(axis=(1, 2)).tolist() == [300, 0, 0]


def test_no_nodes_are_counted_as_none(patchy, scores):
    assert cells_of(scores, patchy, np.array([], dtype=np.intp), THRESHOLDS).sum() == 0


@pytest.mark.parametrize("utility", ["balanced_accuracy", "accuracy", "f1"])
def test_utilities_and_gaps_are_those_of_the_evaluator(patchy, scores, utility):
    cells = cells_of(scores, patchy, np.arange(300), THRESHOLDS)
    found = utility_of(cells, utility)
    for t, threshold in enumerate(THRESHOLDS):
        oracle = evaluate_scores(scores, patchy.replace(splits={"val": np.ones(300, dtype=bool)}), split="val",
                                 threshold=float(threshold))  # fmt: skip
        assert found[t] == pytest.approx(oracle[utility], abs=1e-12)
        positive, nodes = positive_counts(cells, 1)
        rates = positive[t] / nodes[t]
        assert np.ptp(rates) == pytest.approx(oracle["equal_opportunity_gap"], abs=1e-12)


def test_statistical_parity_counts_unlabelled_nodes_too(patchy, scores):
    positive, nodes = positive_counts(cells_of(scores, patchy, np.arange(300), THRESHOLDS), None)
    for code in range(3):
        members = patchy.sensitive == code
        assert (nodes[:, code] == members.sum()).all()
        assert positive[:, code].tolist() == [int((scores[members] > t).sum()) for t in THRESHOLDS]


def test_a_utility_of_ranks_is_no_function_of_counts(patchy, scores):
    with pytest.raises(fv.InputError, match=r"utility: 'auc' is not a function of counts\."):
        utility_of(cells_of(scores, patchy, np.arange(300), THRESHOLDS), "auc")
