"""The charts of the paper's figures, and the page that holds everything."""

from __future__ import annotations

import dataclasses
import json

import pytest

from fairview.paper.artefacts import ArtefactResult
from fairview.paper.cells import SHOWN, Cell, CellResult
from fairview.paper.numbers import Number
from fairview.paper.pages import PageTable
from fairview.paper.table3 import LOWEST_LOSS
from fairview.report.paper_charts import charts, write_charts, write_page

SCOPE = {"splits": 0, "seeds": 2, "quick": False}


def row(name, **more):
    cell = Cell(dataset="german", encoder="gcn", row=name, method="fairvgnn", not_compared="no numbers", **more)
    return CellResult(cell, ((0, 1), (0, 2)), dict.fromkeys(SHOWN, (0.2, 0.4)))


SERIES = tuple(
    {"dataset": "german", "homophily": 0.8048, "place": place, "channel": f"<b>c{place}", "sensitive": place == 1,
     "hop": hop, "correlation": 0.5 - 0.1 * hop}
    for place in (1, 2) for hop in (0, 1)
)  # fmt: skip

DOCUMENTS = {
    "fig1": ArtefactResult("fig1", "Figure 1", SCOPE, (
        row("nothing masked", facts={"rank": 0}),
        row("without Age", masked="Age", facts={"rank": 1, "correlation": -0.16}),
    ), SERIES),
    "fig3": ArtefactResult("fig3", "Figure 3", SCOPE, (row("without-wc", block="untuned"), row("x", block="untuned"))),
    "fig4": ArtefactResult(
        "fig4", "Figure 4", SCOPE, tuple(row(f"ε = {e}", facts={"threshold": e}) for e in (1.0, 2.0))
    ),
    "fig5": ArtefactResult("fig5", "Figure 5", SCOPE, series=SERIES),
    "table2": ArtefactResult("table2", "<i>Table 2</i>", SCOPE, series=({"dataset": "german", "size": "nodes"},)),
}  # fmt: skip


def test_each_figure_is_drawn_and_a_table_is_not(tmp_path):
    written = [path.name for document in DOCUMENTS.values() for path in write_charts(document, tmp_path)]
    assert written == ["fig1-ab.svg", "fig1-cd.svg", "fig3.svg", "fig4.svg", "fig5.svg"]
    for name in written:
        text = (tmp_path / name).read_text()
        assert text.startswith("<svg")
        assert "<b>" not in text


def test_a_chart_shows_the_means_in_percent():
    values = charts(DOCUMENTS["fig4"])["fig4"].to_dict()
    (records,) = values["datasets"].values() if "datasets" in values else (values["data"]["values"],)
    assert [record["mean"] for record in records] == pytest.approx([30.0] * 8)
    assert {record["threshold"] for record in records} == {1.0, 2.0}


def test_a_threshold_alone_is_no_line():
    alone = row("ε = 9", facts={"threshold": 9.0})
    alone = CellResult(dataclasses.replace(alone.cell, encoder="sage"), alone.draws, alone.values)
    values = charts(dataclasses.replace(DOCUMENTS["fig4"], rows=(*DOCUMENTS["fig4"].rows, alone)))["fig4"].to_dict()
    assert "sage" not in json.dumps(values)


def test_the_gaps_of_table_3_have_the_papers_beside_them():
    printed = {"statistical_parity_gap": Number(1.71, 1.68), "equal_opportunity_gap": Number(0.88, 0.58)}
    rows = (row(LOWEST_LOSS), row("vanilla"), row("fairvgnn", printed=printed), row("nifty"))
    text = json.dumps(charts(ArtefactResult("table3", "Table 3", SCOPE, rows))["table3"].to_dict())
    for name in ("plain, lowest loss", "FairVGNN", "FairVGNN, in the paper"):
        assert f'"series": "{name}"' in text
    assert '"mean": 1.71' in text
    assert "nifty" not in text
    assert charts(ArtefactResult("table3", "Table 3", SCOPE, (row("nifty"),))) == {}


def test_modules_are_drawn_as_differences():
    full, without = row("full", block="untuned"), row("without-fm", block="untuned")
    more = CellResult(without.cell, without.draws, dict.fromkeys(SHOWN, (0.3, 0.6)))
    chart = charts(ArtefactResult("table4", "Table 4", SCOPE, (full, more)))["table4"].to_dict()
    (records,) = chart["datasets"].values() if "datasets" in chart else (chart["data"]["values"],)
    assert {record["series"] for record in records} == {"without-fm"}
    assert [record["mean"] for record in records] == pytest.approx([15.0, 15.0])
    assert charts(ArtefactResult("table4", "Table 4", SCOPE, (full,))) == {}


def test_other_splits_have_files_of_their_own(tmp_path):
    document = ArtefactResult("fig3", "Figure 3", SCOPE | {"splits": 10}, DOCUMENTS["fig3"].rows)
    assert [path.name for path in write_charts(document, tmp_path)] == ["fig3-10-splits.svg"]


def test_a_figure_without_rows_draws_nothing(tmp_path):
    assert write_charts(ArtefactResult("fig3", "Figure 3", SCOPE), tmp_path) == []


def test_the_page_is_whole_and_names_cannot_become_markup(tmp_path):
    path = write_page(DOCUMENTS, PageTable("Claims", ["claim"], [["<script>alert(1)</script>"]]), tmp_path)
    text = path.read_text(encoding="utf-8")
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    assert "&lt;i&gt;Table 2&lt;/i&gt;" in text
    assert "default-src 'none'" in text
    assert "http://" not in text
    assert "https://" not in text
    assert text.count("data:image/svg+xml;base64,") == 5
