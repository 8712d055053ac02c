from __future__ import annotations

import polars as pl

from fairview.metrics.evaluation import Evaluator
from fairview.metrics.intervals import Interval
from fairview.metrics.registry import METRICS

LABELS, GROUPS, SCORES = [0, 1, 1, 0, 1], ["f", "f", "m", "m", "m"], [0.2, 0.9, 0.8, 0.7, 0.4]


def test_an_evaluation_is_a_frame_with_a_row_per_metric():
    found = Evaluator(LABELS, sensitive=GROUPS)(SCORES)
    frame = found.to_frame()
    assert frame.columns == ["metric", "value", "low", "high", "undefined"]
    assert dict(frame.select("metric", "value").rows()) == dict(found.metrics)
    assert frame.select(pl.col("low", "high", "undefined").is_null().all()).row(0) == (True, True, True)


def test_intervals_and_reasons_are_in_the_frame():
    found = Evaluator([1, 1, 1], sensitive=["f", "f", "m"])([0.2, 0.9, 0.8], intervals=True, resamples=50)
    rows = {row["metric"]: row for row in found.to_frame().rows(named=True)}
    assert rows["auc"]["value"] is None
    assert rows["auc"]["undefined"] == "there are no negative labels"
    interval = found.intervals["accuracy"]
    assert isinstance(interval, Interval)
    assert (rows["accuracy"]["low"], rows["accuracy"]["high"]) == (interval.low, interval.high)


def test_the_html_has_metrics_groups_and_reasons():
    html = Evaluator([1, 1, 1], sensitive=["<b>f", "<b>f", "m"])([0.2, 0.9, 0.8])._repr_html_()
    for text in (
        "Evaluation of 3 nodes",
        ">accuracy</th>",
        ">0.667</td>",
        "AUC is undefined: there are no negative labels",
    ):
        assert text in html, text
    assert "interval" not in html
    assert ">&lt;b&gt;f</th>" in html
    assert "<b>" not in html


def test_the_html_has_the_intervals_if_there_are_any():
    evaluator = Evaluator(LABELS * 20, sensitive=GROUPS * 20)
    html = evaluator(SCORES * 20, intervals=True, resamples=50)._repr_html_()
    assert ">interval</th>" in html
    assert html.count(" to ") == len(METRICS)


def test_on_a_terminal_it_is_one_line():
    found = Evaluator([1, 1, 1], sensitive=["f", "f", "m"])([0.2, 0.9, 0.8])
    assert repr(found).startswith("Evaluation(3 nodes: auc undefined, f1 0.800, accuracy 0.667, ")
