"""The sentences must be true of any results: nothing run, ties, constant-like models, undefined values."""

from __future__ import annotations

import pytest

from fairview.paper.cells import CellResult
from fairview.paper.checklist import CLAIMS
from fairview.paper.claims import Finding
from fairview.paper.plain_words import plain_words, verdicts_counted
from fairview.paper.table3 import LOWEST_LOSS

SP, EO = "statistical_parity_gap", "equal_opportunity_gap"


@pytest.fixture
def said(make_document):
    def say(*rows):
        answers = [answer for part in plain_words(make_document("table3", rows)).values() for answer in part]
        return [answer if isinstance(answer, str) else answer.markdown() for answer in answers]

    return say


def not_run(row):
    return CellResult(row.cell, reason="not run (2 of 5 runs are there)")


def test_of_what_was_not_run_nothing_is_said_but_that(said, make_row):
    methods = ("vanilla", LOWEST_LOSS, "nifty", "fairvgnn")
    found = said(*(not_run(make_row(name, dataset)) for dataset in ("bail", "bail-no-time") for name in methods))
    (table,) = found
    for name in methods:
        assert f"| {name} | bail GCN, bail-no-time GCN | not run (2 of 5 runs are there) |" in table


def test_near_the_majority_answer_or_not_shown_to_beat_it(said, make_row):
    near = make_row("fairvgnn", balanced_accuracy=[50.5, 51.0, 51.5])
    unsure = make_row("fairvgnn", encoder="gin", balanced_accuracy=[52.0, 68.0])  # 60 ± 101.6
    far = make_row("fairvgnn", encoder="sage", balanced_accuracy=[30.0, 30.1, 30.2])  # wrong, but not constant
    sentences = said(near, unsure, far)
    (table,) = [sentence for sentence in sentences if sentence.startswith("|")]
    assert table.splitlines()[2:] == [
        "| german GCN | fairvgnn | 51.0 | 50 | within 2 points |",
        "| german GIN | fairvgnn | 60.0 | 50 | its interval over 2 runs includes 50 |",
    ]
    assert not any("In none of its" in sentence for sentence in sentences)
    assert "In none of its 1 cells is FairVGNN's" in " ".join(said(far))


def test_equal_gaps_are_not_smaller(said, make_row):
    sentences = said(*(make_row(name, **{SP: [0.0], EO: [0.0]}) for name in ("vanilla", "nifty", "fairvgnn")))
    assert (
        "FairVGNN reduces both gaps in 0 of 1 settings, compared with the plain model (same selection rule). In 0 of "
        "them the difference exceeds the noise between seeds."
    ) in sentences
    assert "Both gaps are smaller than those of every baseline in 0 of 1 settings." in sentences


def test_an_undefined_number_is_not_called_zero(said, make_row):
    def lacking(row, *names):
        return CellResult(row.cell, row.draws, {**row.values, **dict.fromkeys(names, (None,))})

    fair = lacking(make_row("fairvgnn", balanced_accuracy=[50.0], **{SP: [1], EO: [1]}), "auc", "false_positive_rate")
    text = " ".join(said(make_row("vanilla", **{SP: [9], EO: [9]}), fair))
    assert "FairVGNN reduces both gaps in 1 of 1 settings" in text
    assert "| german GCN | fairvgnn | 50.0 | undefined |" in text
    trees = lacking(make_row("gradient boosting", encoder=None, block="yardsticks", auc=[60.0]), SP)
    assert "| german | gradient boosting | 60.00 | undefined | 50.0 | 50.00 |" in " ".join(
        said(trees, make_row("fairvgnn"))
    )


def test_time_is_judged_on_the_same_encoders(said, make_row):
    rows = [make_row("fairvgnn", "bail", encoder, auc=[auc]) for encoder, auc in (("gcn", 85.0), ("sage", 91.0))]
    rows += [
        make_row("fairvgnn", "bail-no-time", "gcn", auc=[70.0]),
        not_run(make_row("fairvgnn", "bail-no-time", "sage")),
    ]
    assert "FairVGNN's best AUC is 85.0 with it and 70.0 without (GCN)." in " ".join(said(*rows))


def test_claims_are_counted_by_verdict():
    claims = {claim.name: (claim, Finding("mixed", "")) for claim in CLAIMS[1:]}
    claims["first"] = (CLAIMS[0], Finding("not run", ""))
    count = len(CLAIMS) - 1
    assert verdicts_counted(claims) == (
        f"Of {count} claims of the paper that were checked, 0 hold, {count} are mixed, 0 do not hold and 0 are "
        "undecided."
    )


def test_earlier_rows_take_part_in_the_comparisons(said, make_row):
    fair = make_row("fairvgnn", **{SP: [1.0, 1.2, 80.0], EO: [1.0, 1.2, 80.0]})
    cell = make_row("vanilla").cell
    earlier = CellResult(cell, earlier=dict.fromkeys((SP, EO), (0.05, 0.02)), earlier_runs=2)
    text = " ".join(said(fair, earlier))  # over the two seeds that both have
    assert "reduces both gaps in 1 of 1 settings, compared with the plain model (same selection rule)." in text
    assert "In 1 of them the difference exceeds the noise" not in text  # two runs have too wide an interval
