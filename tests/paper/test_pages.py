from __future__ import annotations

import csv
import io
import re

import pytest

from fairview.errors import InputError
from fairview.paper import pages
from fairview.paper.artefacts import ArtefactResult, documents, run_artefact
from fairview.paper.cells import CellResult
from fairview.paper.checklist import CLAIMS
from fairview.paper.numbers import Number
from fairview.paper.results_page import CHAPTERS, anchor, results_page
from fairview.paper.scope import Scope
from fairview.paper.table3 import LOWEST_LOSS
from fairview.paper.tables_page import tables_page

SP, EO = "statistical_parity_gap", "equal_opportunity_gap"


def not_run(row):
    return CellResult(row.cell, reason="not run (2 of 5 runs are there)")


@pytest.fixture
def table3(make_row, make_document):
    printed = {"auc": Number(72.0, 1.0), SP: Number(2.0, 0.5)}
    rows = [
        make_row("constant", encoder=None, block="yardsticks", auc=[50.0], not_compared="not in the paper"),
        make_row("gradient boosting", encoder=None, block="yardsticks", auc=[99.0]),
        make_row("vanilla", auc=[55.0, 56.0, 54.0], balanced_accuracy=[50.0, 50.2, 50.1], **{SP: [9, 9, 9]}),
        make_row(LOWEST_LOSS, auc=[75.0, 76.0, 74.0], **{SP: [30.0, 31.0, 32.0], EO: [30.0, 31.0, 33.0]}),
        make_row("nifty", auc=[65.0, 66.0, 64.0], balanced_accuracy=[60, 61, 62], **{SP: [5, 6, 7], EO: [5, 6, 8]}),
        make_row("fairvgnn", auc=[71.0, 73.0, 72.0], balanced_accuracy=[60.0, 62.0, 64.0], printed=printed,
                 **{SP: [3.5, 4.0, 4.5], EO: [1.0, 2.0, 3.0]}),
    ]  # fmt: skip
    return make_document("table3", rows)


def test_markdown_has_ours_above_the_papers(table3):
    lines = pages.markdown(table3).splitlines()
    ours = next(place for place, line in enumerate(lines) if line.startswith("| gcn | fairvgnn"))
    assert "| ours | 72.00±0.82 |" in lines[ours]
    assert lines[ours].endswith("worse: SP gap +2.00 |")
    assert lines[ours + 1].startswith("|  |  | paper | 72.00±1.00 | - |")
    assert "- a note" in lines
    assert "| gcn | fairvgnn | 1.33 | 5.67 | 6.06 (+0.39) |" in lines  # average rank among three


def test_csv_has_one_line_per_row_and_metric(table3):
    records = list(csv.DictReader(io.StringIO(pages.tidy(table3))))
    assert len(records) == 6 * 7
    (found,) = [r for r in records if r["row"] == "fairvgnn" and r["metric"] == SP]
    assert (found["mean"], found["paper_mean"], found["difference"], found["verdict"]) == ("4", "2", "2", "worse")


def test_a_document_survives_its_file(table3, tmp_path):
    table3.save(tmp_path)
    assert list(documents(tmp_path)) == ["table3"]
    assert pages.markdown(documents(tmp_path)["table3"]) == pages.markdown(table3)
    (tmp_path / "table1.json").write_text('{"kind": "paper", "version": 1}')
    with pytest.raises(InputError, match=r"table1\.json: is not what `fairview paper` writes"):
        documents(tmp_path)


def test_tables_without_training(tmp_path):
    scope = Scope(datasets=("german",))
    sizes = run_artefact("table2", scope, tmp_path)
    assert {r["verdict"] for r in sizes.series if r["size"] in ("nodes", "edges", "channels", "homophily")} == {
        "the same"
    }
    hops = run_artefact("fig5", scope, tmp_path)
    assert len(hops.series) == 13 * 5
    assert hops.series[0]["correlation"] == pytest.approx(1.0)
    assert "| german | 0.8048 | 1 | Gender | 1.000 | 0.880 |" in pages.markdown(hops)


def test_results_page_says_it_in_plain_words(table3, make_row, make_document, tmp_path):
    table3.save(tmp_path)
    runs = {"auc": [70.0, 72.0], SP: [1.0, 3.0], EO: [1.0, 2.0]}
    several = ArtefactResult("table3", "Table 3", table3.scope | {"splits": 2}, rows=tuple(
        make_row(name, **runs) for name in ("vanilla", LOWEST_LOSS, "fairvgnn")
    ), versions=table3.versions)  # fmt: skip
    several.save(tmp_path)
    whole, behind = results_page(tmp_path), tables_page(tmp_path)
    prose = [line for line in (whole + behind).splitlines() if not line.startswith(("|", "#", "!"))]
    assert max(map(len, prose)) < 120
    page = " ".join(whole.split())
    assert "0 of 1 FairVGNN cells meet the paper's numbers" in page
    assert "| german GCN | fairvgnn | worse: SP gap +2.00 | 3 |" in page
    assert "reduces both gaps in 1 of 1 settings, compared with the plain model (lowest loss, as published)." in page
    assert "every baseline in 1 of 1 settings: german GCN" in page
    assert "| german GCN | vanilla | 50.1 | 50 | within 2 points |" in page
    assert "In none of its 1 cells is FairVGNN's balanced accuracy near" in page
    assert "Models that ignore the links have a higher AUC than FairVGNN's best" in page
    assert "| german | gradient boosting | 99.00 | 50.0 | 50.0 | 72.00 |" in page
    assert "| Each module, masks and clamp, lowers bias | section 5.2.2, Table 4 | not run |" in page
    assert "](table3.svg)" in page
    assert "### The published split: FairVGNN and the plain model" in behind
    assert "### 2 splits: FairVGNN and the plain model" in behind
    assert "| german | gcn | FairVGNN - vanilla | +0.00 |" in behind  # equal runs have no interval


def test_in_each_chapter_the_claims_that_hold_come_first(table3, make_row, make_document, tmp_path):
    table3.save(tmp_path)
    chapters = [part for part in results_page(tmp_path).split("\n## ") if "| the paper claims |" in part]
    first = ["**holds**", "mixed", "**does not hold**", "undecided", "not run"]
    claims = 0
    for chapter in chapters:
        order = [line.split(" | ")[2] for line in chapter.splitlines() if line.count(" | ") == 3 and "section" in line]
        assert order == sorted(order, key=first.index)
        claims += len(order)
    assert (len(chapters), claims) == (len(CHAPTERS), len([claim for claim in CLAIMS if "section" in claim.where]))


def test_every_claim_stands_in_one_chapter_and_is_counted_there(table3, tmp_path):
    table3.save(tmp_path)
    page = results_page(tmp_path)
    for claim in CLAIMS:
        assert page.count(f"| {claim.text} |") == 1
    counted = [line for line in page.splitlines() if line.startswith("| [")][: len(CHAPTERS)]
    assert sum(int(cell) for line in counted for cell in line.split("|") if cell.strip().isdigit()) == len(CLAIMS)


def test_every_link_between_the_two_pages_has_its_heading(table3, tmp_path):
    table3.save(tmp_path)
    page, behind = results_page(tmp_path), tables_page(tmp_path)
    for wanted, text in ((r"\(results-tables\.md#([^)]+)\)", behind), (r"\(#([^)]+)\)", page)):
        headings = {anchor(line.lstrip("# ")) for line in text.splitlines() if line.startswith("#")}
        assert set(re.findall(wanted, page))
        assert set(re.findall(wanted, page)) <= headings


def test_ranks_leave_out_a_dataset_on_which_nothing_was_run(table3, make_row):
    whole = pages.our_ranks(table3.rows)
    lacking = [not_run(make_row(name, "bail")) for name in ("vanilla", "nifty", "fairvgnn")]
    assert pages.our_ranks([*table3.rows, *lacking]) == whole
    one_there = [make_row("nifty", "bail"), make_row("vanilla", "bail"), *lacking[2:]]
    assert set(pages.our_ranks([*table3.rows, *one_there])) == {("gcn", "nifty"), ("gcn", "vanilla")}


def test_a_smoke_test_on_several_splits_is_called_one(table3, make_row, make_document, tmp_path):
    table3.save(tmp_path)
    make_document("table3", [make_row("fairvgnn")], splits=2, quick=True).save(tmp_path)
    assert "A smoke test" in tables_page(tmp_path).partition("over 2 splits")[2]


def test_results_page_needs_table_3(tmp_path):
    with pytest.raises(InputError, match=r"no table3\.json"):
        results_page(tmp_path)
