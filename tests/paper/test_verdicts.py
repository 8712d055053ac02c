from __future__ import annotations

import pytest

from fairview.paper.cells import CellResult
from fairview.paper.numbers import Number
from fairview.paper.verdicts import falls_short, in_words, judge, shortfalls, verdicts

PRINTED = {"auc": Number(72.0, 1.0), "statistical_parity_gap": Number(2.0, 0.5)}


@pytest.mark.parametrize(
    ("metric", "ours", "word"),
    [
        ("auc", 74.0, "within"),
        ("auc", 74.1, "better"),
        ("auc", 69.9, "worse"),
        ("statistical_parity_gap", 1.0, "within"),
        ("statistical_parity_gap", 0.9, "better"),
        ("statistical_parity_gap", 3.1, "worse"),
    ],
)
def test_two_deviations_are_allowed_and_gaps_are_better_when_small(metric, ours, word):
    assert judge(metric, ours, PRINTED[metric]).word == word


def test_without_a_printed_deviation_ours_counts():
    assert judge("auc", 70.0, Number(72.0), own_std=1.0).word == "within"
    assert judge("auc", 69.0, Number(72.0), own_std=1.0).word == "worse"
    assert judge("auc", 71.9, Number(72.0)).word == "not judged"
    assert judge("auc", None, Number(72.0)).word == "undefined"


def test_a_row_is_judged_in_words(make_row):
    row = make_row("fairvgnn", auc=[75.0, 76.0], statistical_parity_gap=[5.0, 5.0], printed=PRINTED)
    assert in_words(row) == "worse: SP gap +3.00; better: AUC +3.50"
    assert falls_short(row)
    fine = make_row("fairvgnn", auc=[72.5], statistical_parity_gap=[2.0], printed=PRINTED)
    assert (in_words(fine), falls_short(fine)) == ("within two deviations", False)


def test_what_is_not_compared_says_why_and_cannot_fall_short(make_row):
    row = make_row("fairvgnn", auc=[10.0], printed=PRINTED, not_compared="a smoke test")
    assert (in_words(row), verdicts(row), falls_short(row)) == ("not compared: a smoke test", {}, False)


def test_shortfalls_name_the_row(make_row, make_document):
    bad = make_row("fairvgnn", auc=[60.0], statistical_parity_gap=[2.0], printed=PRINTED)
    assert shortfalls(make_document("table3", [bad])) == ["table3 german gcn fairvgnn (worse: AUC -12.00)"]
    failed = CellResult(bad.cell, reason="1 of 5 runs failed: it diverged")
    assert shortfalls(make_document("table3", [failed])) == [
        "table3 german gcn fairvgnn (1 of 5 runs failed: it diverged)"
    ]
    not_compared = CellResult(make_row("fairvgnn", printed=PRINTED, not_compared="other splits").cell, reason="not run")
    assert shortfalls(make_document("table3", [not_compared])) == []
    sizes = [
        {"dataset": "german", "size": "nodes", "verdict": "differs by +1"},
        {"dataset": "credit-small", "size": "edges", "verdict": "differs by -9"},
        {"dataset": "german", "size": "edges", "verdict": "the same"},
    ]
    assert shortfalls(make_document("table2", series=sizes)) == ["table2 german nodes differs by +1"]
