"""Is the study of the frontier run, resumed and read as its page says?"""

from __future__ import annotations

import json
import time

import numpy as np
import pytest
from benchmarks.frontier.__main__ import journal, main
from benchmarks.frontier.graphs import blanked, division
from benchmarks.frontier.measure import MAJORITY, chosen, frontier, hypervolume, measure, points
from benchmarks.frontier.methods import COMPETITORS, linear_scores, parity
from benchmarks.frontier.tables import MEASURES, Study, as_csv, markdown

import fairview as fv

SMALL = ["--graphs", "neighbours", "--methods", "parity,logistic-regression", "--splits", "2", "--budget", "0.1"]


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    folder = tmp_path_factory.mktemp("frontier")
    main([*SMALL, "--nodes", "1000", "--out", str(folder)])
    return folder


def test_a_line_for_each_graph_split_and_method(out):
    rows = list(journal(out))
    assert [(row["split"], row["method"]) for row in rows] == [
        (1, "parity"), (1, "logistic-regression"), (2, "parity"), (2, "logistic-regression")
    ]  # fmt: skip
    assert all(row["models"] >= 1 and row["seconds"] > 0 for row in rows)


def test_a_rerun_does_only_what_is_missing(out):
    path = out / "journal.jsonl"
    lines = path.read_text().splitlines()
    path.write_text("\n".join(lines[:3]) + "\n" + lines[3][:40])  # the last line is torn
    begun = time.perf_counter()
    main([*SMALL, "--nodes", "1000", "--out", str(out)])
    assert time.perf_counter() - begun < 5
    again = list(journal(out))
    assert [json.dumps(row) for row in again[:3]] == lines[:3]
    assert [(row["split"], row["method"]) for row in again[3:]] == [(2, "logistic-regression")]


def test_another_budget_needs_another_folder(out):
    with pytest.raises(SystemExit, match=r"its journal has a budget of 0.1 s, not 3; use another --out."):
        main([*SMALL, "--budget", "3", "--out", str(out)])


def test_unknown_names_are_refused(out, capsys):
    with pytest.raises(SystemExit):
        main(["--methods", "parity,nobody", "--out", str(out)])
    assert "'nobody': expected some of parity, parity-finer" in capsys.readouterr().err


def test_methods_see_neither_labels_nor_groups_of_test_nodes():
    holdout = division("population", 1, 2000)
    test = holdout.graph.split("test")
    train_or_val = holdout.graph.split("train") | holdout.graph.split("val")
    assert (holdout.design.labels[~train_or_val] == -1).all()
    assert (holdout.design.sensitive[test] == -1).all()
    assert np.array_equal(holdout.design.sensitive[~test], holdout.graph.sensitive[~test])


def test_points_are_the_metrics_of_the_package():
    graph = fv.load_dataset("german")
    holdout = blanked(graph)
    model = fv.LogisticRegression().fit(holdout.design)
    scores = model.predict_proba(graph)[:, 1]
    rows = points(scores, holdout, 0)
    row = rows["statistical_parity"][7]
    for place, split in enumerate(("val", "test")):
        found = fv.evaluate(model.with_threshold(row[5]), graph, split=split)
        assert row[2 * place : 2 * place + 2] == pytest.approx(
            [found["statistical_parity_gap"], found["balanced_accuracy"]]
        )
        assert rows["equal_opportunity"][7][2 * place] == pytest.approx(found["equal_opportunity_gap"])


def test_scores_on_prepared_columns_are_those_of_predict_proba():
    holdout = division("population", 1, 2000)
    settings, scores = next(iter(parity(holdout, 0.1, 1)))
    zero = {"statistical_parity_weight": 0.0}
    model = fv.Parity(**settings, **zero).fit(holdout.design)
    assert scores == pytest.approx(model.predict_proba(holdout.graph)[:, 1], abs=1e-9)
    prepared = fv.Parity(**settings).prepare(holdout.design)
    assert linear_scores(model, prepared) == pytest.approx(scores, abs=1e-9)


def test_the_choice_looks_at_val_only():
    rows = frontier(
        np.array([[0.01, 0.6, 0.5, 0.1, 0, 0.5], [0.03, 0.7, 0.0, 0.9, 1, 0.5], [0.04, 0.65, 0, 1, 2, 0.5]])
    )
    assert rows[:, 4].tolist() == [0, 1]
    assert chosen(rows, 0.02).test_utility == 0.1
    assert chosen(rows, 0.05).test_gap == 0.0
    assert chosen(rows, 0.005) == MAJORITY


def test_hypervolume_is_the_area_under_the_test_points():
    rows = [(0, 0, 0.05, 0.8), (0, 0, 0.15, 0.9), (0, 0, 0.1, 0.7), (0, 0, 0.3, 1.0), (0, 0, 0.0, 0.4)]
    grid = (np.arange(200_000) + 0.5) / 1e6
    best = np.max([np.where(grid >= row[2], row[3] - 0.5, 0) for row in rows], axis=0)
    assert hypervolume(rows) == pytest.approx(best.mean() / 0.5, abs=1e-4)
    assert hypervolume([]) == 0


QUICK = ("parity", "parity-finer", "parity-mlp", "masking", "logistic-regression", "group-thresholds")


@pytest.mark.parametrize(
    "method", [method if method in QUICK else pytest.param(method, marks=pytest.mark.slow) for method in COMPETITORS]
)
def test_every_method_has_a_model_for_the_smallest_budget(method):
    found = measure(COMPETITORS[method], division("neighbours", 1, 300), seconds=0.0, seed=1)
    assert found["models"] == 1
    assert set(found["frontiers"]) == {"statistical_parity", "equal_opportunity"}


def test_tables_pair_the_splits(out):
    rows = list(journal(out))
    study = Study(rows)
    values = [MEASURES[0].value(row) for row in rows]  # parity, logistic regression, and again
    cell = study.cell("neighbours", "logistic-regression", MEASURES[0])
    assert cell.difference == pytest.approx((values[1] - values[0] + values[3] - values[2]) / 2)
    parts = markdown(study, [{"graph": "german", "row": "ours", "values": [1, 2, 3, 4, 5]}])
    assert "| Logistic regression |" in parts["graphs"]
    assert "| german | ours | 1.0 | 2.0 | 3.0 | 4.0 | 5.0 |" in parts["published"]
    assert len(as_csv(study).splitlines()) == 1 + 2 * len(MEASURES)
