"""Comparisons and epochs on a graph with several sensitive attributes: the plain keys hold the largest gap."""

from __future__ import annotations

import pytest
from studies.graphs import crossed_graph

import fairview as fv

GAPS = ("statistical_parity_gap", "equal_opportunity_gap")


@pytest.fixture(scope="module")
def graph() -> fv.NodeGraph:
    made = crossed_graph(600, seed=1)
    return made.with_splits(fv.stratified_splits(made, repeats=1)[0])


def test_a_row_of_a_comparison_has_the_largest_gap_of_all_attributes(graph, tmp_path):
    found = fv.compare(graph, methods="logistic-regression", seeds=1, folder=tmp_path, workers=1, plain=False)
    means = {(row["method"], row["metric"]): row["mean"] for row in found.to_frame().iter_rows(named=True)}
    evaluation = fv.evaluate(fv.LogisticRegression().fit(graph), graph)
    for gap in GAPS:
        largest = max(part.metrics[gap] for part in evaluation.attributes.values())
        assert means["logistic-regression", gap] == pytest.approx(largest, abs=1e-9)
        assert largest == evaluation.attributes["race & sex"].metrics[gap]


def test_the_epoch_that_is_kept_is_chosen_by_the_largest_gaps(graph):
    model = fv.Vanilla(encoder="mlp", epochs=20, selection="score").fit(graph)
    for row in model.history_:
        utility = sum(row["val"][name] for name in ("auc", "f1", "accuracy"))
        assert row["score"] == pytest.approx(utility - sum(row["val"][gap] for gap in GAPS))
    best = max(model.history_, key=lambda row: row["score"])
    assert model.best_epoch_ == best["epoch"]
    evaluation = fv.evaluate(model, graph, split="val")
    assert best["val"]["statistical_parity_gap"] == pytest.approx(
        max(part.metrics["statistical_parity_gap"] for part in evaluation.attributes.values()), abs=1e-6
    )
