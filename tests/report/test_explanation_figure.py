"""The figure of an explanation, and what its reader refuses."""

from __future__ import annotations

import json
from typing import Any

import pytest
import vl_convert

import fairview as fv
from fairview.manifest import write_recorded
from fairview.report.figures import figures_of
from fairview.report.folder import read_folder


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    graph = fv.synthetic_graph(80, groups={"f": 0.4, "m": 0.6}, seed=1)
    return fv.explain(fv.Vanilla(epochs=5).fit(graph), graph, top=5).to_dict()


def written(folder, document):
    folder.mkdir(exist_ok=True)
    write_recorded(folder / "explanation.json", json.dumps(document))
    return folder


def test_the_figure_has_both_charts_and_every_table(document, tmp_path):
    (figure,) = figures_of(read_folder(written(tmp_path / "one", document)))
    assert (figure.key, figure.contents) == ("explanation", "Links behind the gap")
    assert [panel.key for panel in figure.panels] == ["explanation-removed", "explanation-channels"]
    assert [len(table.rows) for table in figure.tables] == [len(document["removed"]) + 1, 5, 5, 8]
    assert figure.answer.startswith(f"The mean logit of '{document['groups'][0]}' is ")
    assert "links widen this gap" in figure.answer


def test_of_a_score_that_is_not_linear_the_channels_have_one_part(document, tmp_path):
    channels = [row | {"home": None, "links": None} for row in document["channels"]]
    content = read_folder(written(tmp_path / "one", document | {"channels": channels, "exact": False}))
    (figure,) = figures_of(content)
    assert "gradient times value" in json.dumps(figure.panels[1].spec())
    assert figure.tables[3].rows[0][2:] == ("–", "–")


def test_of_a_model_that_weighs_kinds_of_links_they_are_a_table(document, tmp_path):
    kinds = [{"kind": "kin", "links": 800, "gap": 0.5, "effect": 0.25}, {"kind": "itself", "links": 0, "gap": None}]
    links = [row | {"kind": "kin"} for row in document["links"]]
    (figure,) = figures_of(read_folder(written(tmp_path / "one", document | {"kinds": kinds, "links": links})))
    (table,) = [table for table in figure.tables if table.columns[0] == "kind of links"]
    assert [list(row) for row in table.rows] == [["kin", "800", "0.500", "0.250"], ["itself", "0", "–", "–"]]
    (table,) = [table for table in figure.tables if table.columns[0] == "link"]
    assert table.columns == ("link", "groups", "kind", "effect")
    assert {row[2] for row in table.rows} == {"kin"}


def test_of_a_model_that_weighs_none_links_have_no_kind(document, tmp_path):
    (figure,) = figures_of(read_folder(written(tmp_path / "one", document)))
    assert [table.columns for table in figure.tables if table.columns[0] == "link"] == [("link", "groups", "effect")]


def test_without_removals_the_channels_are_left(document, tmp_path):
    content = read_folder(written(tmp_path / "one", document | {"removed": [], "closing": None}))
    (figure,) = figures_of(content)
    assert [panel.key for panel in figure.panels] == ["explanation-channels"]


def test_names_from_the_data_never_get_into_an_expression(document, tmp_path):
    channels = [row | {"channel": f"MARK{place}"} for place, row in enumerate(document["channels"])]
    (figure,) = figures_of(read_folder(written(tmp_path / "one", document | {"channels": channels})))
    compiled = json.dumps(vl_convert.vegalite_to_vega(figure.panels[1].spec())["scales"])
    assert "MARK0" in compiled
    assert "expr" not in compiled


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"gap": "large"}, "gap: input should be a valid number"),
        ({"groups": ["f"]}, "groups: list should have at least 2 items"),
        ({"version": 2}, "version: input should be 1"),
        ({"widening": 10**6}, "1000000 of 800 links widen the gap; expected at most all"),
        (
            {"kinds": [{"kind": "kin", "links": 700, "gap": 1.0, "effect": 0.5}]},
            "700 links of all kinds together; expected num_links, 800",
        ),
        ({"num_links": 0}, "num_links: input should be greater than or equal to 1"),
        ({"removed": [{"k": 1, "chosen": "effect", "gap_before": 1.0}]}, "removed.0.gap_after: field required"),
    ],
)
def test_a_wrong_document_is_one_error(change, said, document, tmp_path):
    folder = written(tmp_path / "wrong", document | change)
    with pytest.raises(fv.InputError) as caught:
        read_folder(folder)
    assert said in str(caught.value).lower()


def test_an_explanation_of_another_graph_is_refused(document, tmp_path):
    other = {"kind": "audit", "version": 1, "graph": document["graph"] | {"sha256": "0" * 64}}
    folder = written(tmp_path / "two", document)
    write_recorded(folder / "audit.json", json.dumps(other))
    with pytest.raises(fv.InputError, match=r"about different graphs \(audit.json, explanation.json\)"):
        read_folder(folder)


def test_verify_compares_it_with_the_graph(document, tmp_path):
    graph = fv.synthetic_graph(80, groups={"f": 0.4, "m": 0.6}, seed=1)
    graph = graph.with_splits(fv.stratified_splits(graph)[0])
    model = fv.Vanilla(epochs=2).fit(graph)
    folder = written(tmp_path / "right", fv.explain(model, graph).to_dict())
    found = fv.verify(folder, graph)
    assert found.ok, found.problems
    assert "explanation.json: its effects were not measured again." in found.notes
    other = fv.synthetic_graph(80, groups={"f": 0.4, "m": 0.6}, seed=2)
    assert fv.verify(folder, other).problems == (
        "explanation.json: the explanation is of another graph than the one given.",
    )
