"""Reports of several sensitive attributes: a part for each, and one for all combinations of their groups."""

from __future__ import annotations

import json
import re
import shutil

import pytest

import fairview as fv
from fairview.leakage.graph_audit import audit
from fairview.report import render
from fairview.report.attributes import attribute_names, by_attribute
from fairview.report.documents import MetricsRow
from fairview.report.figures import figures_of
from fairview.report.folder import read_folder
from fairview.report.model_card import model_card
from fairview.report.tuning_documents import LimitRow, TuningDocument
from fairview.report.verdict import verdict_of
from fairview.report.verdict.certificate import certificate_frame
from fairview.report.verdict.measured import largest
from fairview.report.verdict.tuning_verdict import limit_words
from fairview.runs.evidence import audit_run, write_audit
from fairview.runs.run import train_run

NAMES = ["race", "sex", "race & sex"]
PARTS = ("leak", "groups", "thresholds")


@pytest.fixture(scope="module")
def graph(crossed):
    return crossed(600, rare=12)


@pytest.fixture(scope="module")
def trained(graph, tmp_path_factory):
    folder = tmp_path_factory.mktemp("several") / "run"
    train_run(fv.LogisticRegression(), graph, folder)
    found = audit(graph, hops=1, permutations=19, probes=False)
    audit_run(folder, graph, of_graph=found, probes=False)
    return folder


@pytest.fixture
def run(trained, tmp_path):
    """A copy that may be changed; without its hashes, as a folder from elsewhere."""
    return shutil.copytree(trained, tmp_path / "run")


def changed(path, change):
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))
    for name in ("run.json", "files.json"):
        record = path.parent / name
        if record.exists() and record != path:
            record.unlink()


@pytest.fixture(scope="module")
def content(trained):
    return read_folder(trained)


def test_the_content_of_an_attribute_is_what_a_run_with_it_alone_would_show(content, graph):
    model = fv.LogisticRegression().fit(graph)
    assert attribute_names(content) == NAMES
    for name, view in by_attribute(content).items():
        alone = fv.evaluate(model, graph, intervals=True)
        part = alone.attributes[name]
        test = view.run.test
        for gap in ("statistical_parity_gap", "equal_opportunity_gap"):
            value = part[gap]
            assert test.value(gap) == (pytest.approx(value) if isinstance(value, float) else None)
        assert test.value("auc") == pytest.approx(alone["auc"])
        assert [row.group for row in test.groups] == list(graph.attribute(name).groups)
        assert view.audit.sensitive == name
        assert view.audit.attributes == view.audit.model.attributes == {}
        assert [row.group for row in view.audit.homophily_by_group] == list(graph.attribute(name).groups)
        assert [row.group for row in view.audit.model.groups] == list(graph.attribute(name).groups)


def test_every_attribute_has_its_figures_and_so_have_the_combinations(content):
    figures = figures_of(content)
    keys = [figure.key for figure in figures]
    assert keys[0] == "attributes"
    assert len(set(keys)) == len(keys)
    for place, name in enumerate(NAMES, 1):
        own = [figure for figure in figures if figure.part == name]
        assert [figure.key for figure in own if figure.key != f"probes-{place}"] == [f"{key}-{place}" for key in PARTS]
    panels = [panel.key for figure in figures for panel in figure.panels]
    assert len(set(panels)) == len(panels)
    groups = next(figure for figure in figures if figure.key == "groups-3")
    assert [row[0] for row in groups.tables[0].rows] == [
        f"race={race} & sex={sex}" for race in ("black", "other", "white") for sex in "fm"
    ]


def test_one_attribute_has_no_parts(graph, tmp_path):
    alone = graph.attribute("sex")
    train_run(fv.LogisticRegression(), alone, tmp_path / "run")
    found = audit(alone, hops=1, permutations=19, probes=False)
    audit_run(tmp_path / "run", alone, of_graph=found, probes=False)
    content = read_folder(tmp_path / "run")
    assert attribute_names(content) == []
    assert {figure.part for figure in figures_of(content)} == {""}
    assert "attributes" not in [figure.key for figure in figures_of(content)]


def test_the_figure_of_attributes_has_every_gap_and_names_the_largest(content):
    figure = figures_of(content)[0]
    assert re.fullmatch(
        r"The largest statistical parity gap is that of (race|race & sex): \d+\.\d points\. "
        r"The largest equal opportunity gap is that of (race|race & sex): \d+\.\d points\.",
        figure.answer,
    )
    gaps, leaks = figure.tables
    assert [row[0] for row in gaps.rows] == [row[0] for row in leaks.rows] == NAMES
    drawn = json.dumps(figure.panels[0].spec())
    assert all(f'"name": "{name}"' in drawn for name in NAMES)


def test_the_verdict_names_the_attribute_with_the_largest_gap_and_all_gaps(content):
    verdict = verdict_of(content)
    test = content.run.test
    of = largest(test.attributes, "statistical_parity_gap")
    said = [
        sentence for sentence in verdict.sentences if sentence.startswith("The largest gap in positive predictions")
    ]
    assert said[0].startswith(f"The largest gap in positive predictions is that of {of}, between ")
    each = next(sentence for sentence in verdict.sentences if sentence.startswith("By attribute, the gap in positive"))
    assert all(name in each for name in NAMES)
    assert "With several sensitive attributes, the gap of a model is the largest" in verdict.rule
    assert verdict.facts[0].name == "Largest gap in positive predictions"
    assert verdict.facts[0].detail.startswith(f"{of}; ")


def test_small_groups_and_combinations_are_named_in_the_verdict(content):
    warnings = " ".join(verdict_of(content).warnings)
    assert "Small group: race=other has" in warnings
    left_out = content.run.test.attributes["race & sex"].left_out["statistical_parity_gap"]
    assert left_out
    assert "Too few tested nodes, and left out of the statistical parity gap" in warnings
    assert all(name in warnings for name in left_out)


def test_the_pair_that_is_named_has_the_gap(content):
    """Not the widest of all pairs: that may be between two combinations of three people."""
    verdict = verdict_of(content)
    test = content.run.test
    for gap, place in (("statistical_parity_gap", "positive predictions is"), ("equal_opportunity_gap", "positive is")):
        part = test.attributes[largest(test.attributes, gap)]
        sentence = next(s for s in verdict.sentences if s.startswith("The largest gap") and place in s)
        groups = next((pair.groups for pair in part.pairs[gap] if pair.gap == test.value(gap)), None)
        assert groups is not None
        if len(part.pairs[gap]) > 1:
            assert f"between {groups[0]} and {groups[1]}:" in sentence
        assert not set(groups) & set(part.left_out.get(gap, ()))


def test_the_page_has_a_part_for_each_attribute(content):
    page = render(content)
    heads = re.findall(r'<header class="part">\s*<p class="kind">([^<]*)</p>\s*<h2>([^<]*)</h2>', page)
    assert heads == [
        ("Sensitive attribute", "race"),
        ("Sensitive attribute", "sex"),
        ("Combinations of the groups", "race &amp; sex"),
    ]
    assert "Only the named attributes are compared" in page
    assert "Groups within groups" not in page
    assert page.count('<section id="leak-') == len(NAMES)
    assert '<li>race: <a href="#leak-1">Leak</a> · ' in page
    ids = re.findall(r'\sid="([^"]+)"', page)
    assert len(set(ids)) == len(ids)


def test_the_model_card_has_the_gaps_and_groups_of_each_attribute(content):
    card = model_card(content)
    assert "By race:" in card
    assert "By race & sex: all combinations of the groups:" in card.replace("\\&", "&")
    assert card.count("| statistical parity gap") == 1 + len(NAMES)
    assert "(too few tested nodes)" in card
    assert "race=other & sex=f" in card.replace("\\&", "&")
    assert "groups within groups" not in card


def test_an_audit_of_a_graph_leads_with_the_worst_attribute_and_tells_of_each(graph, tmp_path):
    write_audit(tmp_path / "audit", audit(graph, hops=1, permutations=99, probes=False).to_dict())
    content = read_folder(tmp_path / "audit")
    verdict = verdict_of(content)
    assert verdict.status == "bad"
    assert verdict.headline.startswith("Message passing reveals race & sex in")
    said = " ".join(verdict.sentences)
    assert "No single column is shown to reveal race after" in said
    assert "No single column is shown to reveal sex after" in said
    assert said.count("of the links join nodes of the same group of") == 3
    figures = {figure.key: figure for figure in figures_of(content)}
    assert "Message passing reveals race & sex in" in figures["attributes"].answer
    assert {"leak-1", "leak-2", "leak-3"} <= set(figures)


def test_the_chart_of_an_audit_is_that_of_the_combinations(graph):
    found = audit(graph, hops=1, permutations=19, probes=False)
    titles = [fv.chart(each, "leak").vconcat[0].title for each in (found, found.attributes["race"])]
    assert titles == [f"Correlation with {name}, before and after message passing" for name in ("race & sex", "race")]


# --- documents from elsewhere -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda test: test.update(attributes=[]), "attributes: input should be"),
        (lambda test: test["attributes"].update(race=3), "attributes.race"),
        (lambda test: test["attributes"]["race"].update(statistical_parity_gap=1.5), "expected a number from 0 to 1"),
        (lambda test: test["attributes"]["race"].update(groups=[{"group": "a", "nodes": -1}]), "nodes"),
        (lambda test: test["attributes"]["race"].update(left_out={"statistical_parity_gap": "a"}), "left_out"),
        (lambda test: test.update(statistical_parity_gap=0.0), "expected the largest gap among its attributes"),
        (lambda test: test["attributes"].update({f"a{i}": {} for i in range(200)}), "at most 100"),
        (
            lambda test: test["attributes"]["sex"]["intervals"].update(statistical_parity_gap={"low": -1, "high": 0.5}),
            "expected a number from 0 to 1",
        ),
    ],
)
def test_attributes_are_checked_as_everything_else(run, change, said):
    changed(run / "metrics.json", lambda document: change(document["test"]))
    with pytest.raises(fv.InputError, match=re.escape(said)):
        read_folder(run)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda audit: audit["attributes"]["race"]["channels"][0].update(correlation=[0.1]), "equally many for all"),
        (lambda audit: audit["attributes"]["race"].update(homophily="high"), "attributes.race.homophily"),
        (lambda audit: audit["graph"]["attributes"]["race"].update(black=-4), "graph.attributes.race.black"),
        (lambda audit: audit["model"]["attributes"]["sex"]["scores"][0].update(edges=[0.0]), "expected one edge more"),
        (lambda audit: audit["model"]["rows"][0]["attributes"]["sex"].update(statistical_parity_gap=7), "from 0 to 1"),
    ],
)
def test_attributes_of_audits_are_checked_too(run, change, said):
    changed(run / "audit.json", change)
    with pytest.raises(fv.InputError, match=re.escape(said)):
        read_folder(run)


def test_names_of_attributes_are_text_whatever_they_contain(graph, tmp_path):
    evil = ["<script>alert(1)</script>", "a\u202eb"]
    renamed = [fv.Attribute(name, each.codes, each.groups) for name, each in zip(evil, graph.attributes, strict=True)]
    write_audit(
        tmp_path / "audit", audit(graph.with_attributes(renamed), hops=1, permutations=19, probes=False).to_dict()
    )
    page = render(read_folder(tmp_path / "audit"))
    assert "<script>alert" not in page
    assert "\u202e" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


def test_attributes_that_only_one_document_has_are_shown_from_there(run):
    changed(run / "audit.json", lambda document: [document.pop("attributes"), document["model"].pop("attributes")])
    figures = {figure.key: figure for figure in figures_of(read_folder(run))}
    assert "leak-1" not in figures
    assert figures["groups-1"].tables[0].rows[0][0] == "black"
    assert "leak-3" in figures


# --- tunings ----------------------------------------------------------------------------------------------------------


def test_limits_by_attribute_are_named_with_it():
    limits = [LimitRow(gap="statistical_parity", limit=0.1, attribute=name) for name in ("race", "sex")]
    assert limit_words(limits) == (
        "statistical parity gap by race of at most 10.0 points and statistical parity gap by sex of at most 10.0 points"
    )


def test_a_tuning_with_several_attributes_is_reported(crossed, tmp_path):
    graph = crossed(1600)
    tuning = fv.tune(
        graph, max_gap={"race": 0.2, "sex": 0.25}, methods=["logistic-regression"], trials=1, folder=tmp_path / "tuned"
    )
    assert tuning.refused is None
    content = read_folder(tmp_path / "tuned")
    verdict = verdict_of(content)
    said = " ".join(verdict.sentences)
    assert verdict.headline.startswith("A model keeps all two limits")
    assert "Statistical parity gap by race: limit 20.0 points" in said
    assert "No limit was set on the statistical parity gap by race & sex" in said
    frame = certificate_frame(content.run.certificate, same_model=True)
    assert [row[0] for row in frame.rows] == ["Statistical parity gap by race", "Statistical parity gap by sex"]
    figures = {figure.key: figure for figure in figures_of(content)}
    assert "Gaps are the largest of race and sex" in figures["frontier"].notes[1]
    assert "By race:" in model_card(content)
    assert "certificate" in render(content)


def test_an_attribute_of_a_limit_is_a_text():
    document = {"kind": "tuning", "version": 1, "limits": [{"gap": "statistical_parity", "limit": 0.1, "attribute": 3}]}
    with pytest.raises(ValueError, match="attribute"):
        TuningDocument.model_validate_json(json.dumps(document))


def test_the_first_of_equal_gaps_is_the_largest():
    row = MetricsRow.model_validate({"statistical_parity_gap": 0.5})
    assert largest({"a": row, "b": row}, "statistical_parity_gap") == "a"
