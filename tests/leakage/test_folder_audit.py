from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import fairview as fv
from fairview.leakage import folder_audit
from fairview.leakage.probe import probe_auc
from fairview.leakage.sentences import headline, summary
from fairview.propagation.operators import Operator
from fairview.report.audit_documents import AuditDocument
from fairview.report.verdict.graph_verdict import graph_verdict


@pytest.fixture(scope="module")
def audited(propagated) -> fv.GraphAudit:
    return fv.audit(propagated())


def test_correlations_and_homophily_are_those_of_the_graph(audited, own_tables):
    graph = own_tables.graph()
    expected = fv.sensitive_correlation(graph)
    found = np.array([channel.correlation for channel in audited.channels]).T
    assert np.abs(found - expected).max() < 1e-6
    assert audited.homophily == graph.homophily()
    ranks = np.array([channel.rank for channel in audited.channels]).T
    assert [sorted(row) for row in ranks.tolist()] == [list(range(1, 9))] * 3


def test_probes_and_label_leaks_are_those_of_the_graph(audited, own_tables):
    expected = fv.audit(own_tables.graph(), permutations=19)
    assert [probe.auc for probe in audited.probes] == pytest.approx([probe.auc for probe in expected.probes], abs=0.005)
    assert [(probe.on, probe.probe) for probe in audited.probes] == [(p.on, p.probe) for p in expected.probes]
    assert audited.label_leaks == expected.label_leaks


def test_a_sample_is_the_one_that_the_audit_of_the_graph_takes(propagated, own_tables, monkeypatch):
    monkeypatch.setattr(folder_audit, "SAMPLE", 300)
    found, graph = fv.audit(propagated(), hops=0), own_tables.graph()
    assert "probes saw a stratified sample of 300 of 1,4" in " ".join(found.notes)
    assert "label leaks were sought in a stratified sample of 300 labelled nodes" in found.notes
    expected = probe_auc(graph.features, graph.sensitive, kind="linear", sample=300)
    assert (found.probes[0].auc, found.probes[0].nodes) == (pytest.approx(expected.auc, abs=1e-6), 300)


def test_what_needs_links_is_undefined_and_says_why(audited):
    reason = "needs the links themselves, and a propagated folder holds none"
    assert audited.undefined["leaking"] == audited.undefined["intervals"] == f"the permutation test {reason}"
    assert audited.undefined["degree_correlation"] == audited.undefined["homophily_by_group"] == f"it {reason}"
    assert audited.leaking == ()
    assert all(channel.p_value is None and channel.low is None for channel in audited.channels)
    assert "No single column is" not in str(audited)


def test_without_probes_no_verdict_is_given(propagated):
    document = fv.audit(propagated(), probes=False).to_dict()
    assert headline(document).kind == "undefined"
    assert headline(document).text.startswith("Leakage is undefined: the permutation test needs the links")
    json.dumps(document, allow_nan=False)


def test_it_displays_itself(audited):
    assert "GraphAudit of people.parquet" in audited._repr_html_()
    assert audited.to_frame().height == 24


def test_fewer_hops_and_the_folders_operator(propagated):
    found = fv.audit(propagated("sum"), operator="sum", hops=1, probes=False)
    assert (found.hops, found.operator) == (1, "sum")
    assert len(found.channels[0].correlation) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"operator": "mean"},
            "operator: 'mean'; the folder was made with 'gcn' and 1 self-loops per node. Make another with "
            "`fairview propagate --operator mean`.",
        ),
        ({"operator": Operator(self_loops=2.0)}, "operator: 'gcn'; the folder was made with 'gcn' and 1 self-loops"),
        ({"hops": 3}, "hops: 3; expected a whole number, from 0 to 2."),
        ({"hidden": {"age": [1]}}, "hidden: it needs the links themselves, and a propagated folder holds none."),
    ],
)
def test_what_the_folder_can_t_tell_is_refused(options, message, propagated):
    with pytest.raises(fv.InputError) as caught:
        fv.audit(propagated(), **options)
    assert str(caught.value).startswith(message)


def test_loaded_nodes_are_not_audited_as_if_they_had_links(propagated):
    with pytest.raises(fv.InputError, match=r"^audit: the graph was loaded from a propagated folder; audit that: "):
        fv.audit(propagated().graph())


def test_a_folder_without_groups_or_labels(own_tables, tmp_path):
    people = pl.read_parquet(own_tables.nodes).drop("ok", "sex")
    folder = fv.propagate(people, pl.read_parquet(own_tables.edges), folder=tmp_path)
    found = fv.audit(folder)
    assert "no node's group is known" in found.undefined["correlation"]
    assert "label_leaks" in found.undefined
    assert "homophily" in found.undefined


def test_three_groups(own_tables, tmp_path):
    people = pl.read_parquet(own_tables.nodes).with_columns(
        sex=pl.when(pl.col("plain_1") > 1).then(pl.lit("x")).otherwise(pl.col("sex"))
    )
    links = pl.read_parquet(own_tables.edges)
    folder = fv.propagate(people, links, folder=tmp_path, **own_tables.reading)
    found = np.array([channel.correlation for channel in fv.audit(folder, probes=False).channels]).T
    expected = fv.sensitive_correlation(fv.read_graph(people, links, **own_tables.reading))
    assert np.abs(found - expected).max() < 1e-6


# --- several sensitive attributes -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def both(crossed, tmp_path_factory):
    """A graph whose combinations are told apart and whose attributes are not, and its folder; race=other is rare."""
    graph = crossed(900, rare=9)
    people = {"id": list(graph.ids), "ok": graph.labels}
    people |= {each.name: np.array(each.groups)[each.codes] for each in graph.attributes}
    people |= {name: graph.features[:, place] for place, name in enumerate(graph.channels)}
    links = {"source": graph.adjacency.sources.astype(str), "target": graph.adjacency.indices.astype(str)}
    reading = {"label": "ok", "sensitive": ["race", "sex"]}
    folder = fv.propagate(people, links, folder=tmp_path_factory.mktemp("f"), **reading)
    return fv.read_graph(people, links, **reading), folder


@pytest.fixture(scope="module")
def parts(both):
    """The audit of the folder and that of the graph, by each attribute and by all together."""
    found, expected = fv.audit(both[1]), fv.audit(both[0], permutations=19)
    return [{**each.attributes, "race & sex": each} for each in (found, expected)]


def test_every_attribute_is_audited_as_in_the_graph(parts):
    found, expected = parts
    assert list(found) == list(expected) == ["race", "sex", "race & sex"]
    for name, part in found.items():
        own, same = (np.array([channel.correlation for channel in each.channels]) for each in (part, expected[name]))
        assert np.abs(own - same).max() < 1e-6
        assert part.homophily == expected[name].homophily
        assert {**part.graph, "sha256": ""} == {**expected[name].graph, "sha256": "", "source": part.graph["source"]}
        assert "correlation" not in part.undefined
        assert part.undefined["leaking"].startswith("the permutation test needs the links themselves")


def test_probes_of_every_attribute_are_those_of_the_graph(parts):
    found, expected = parts
    for name, part in found.items():
        aucs, same = ([probe.auc for probe in each.probes] for each in (part, expected[name]))
        assert len(aucs) == 6
        if name == "race":  # nine of a third one are too few
            assert aucs == same == [None] * 6
            assert part.undefined["probe"] == expected[name].undefined["probe"]
        else:
            assert aucs == pytest.approx(same, abs=0.01)


def test_combinations_too_small_for_the_probes_are_named(both, parts):
    (said,) = [note for note in parts[0]["race & sex"].notes if "left out of the probes" in note]
    assert said in parts[1]["race & sex"].notes
    assert said.endswith("race=other & sex=f, race=other & sex=m")
    probed = sum(size for name, size in both[0].group_sizes.items() if "other" not in name)
    assert {probe.nodes for probe in parts[0]["race & sex"].probes} == {probed}


def test_label_leaks_are_told_once_and_its_document_is_that_of_an_audit(parts):
    found = parts[0]["race & sex"]
    assert found.label_leaks == parts[1]["race & sex"].label_leaks
    document = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert list(document["attributes"]) == list(document["graph"]["attributes"]) == ["race", "sex"]
    assert "label_leaks" not in document["attributes"]["race"]
    assert "Correlation with race over" in found._repr_html_()


def test_what_can_t_be_said_of_any_attribute_is_said_once(parts):
    document = json.loads(json.dumps(parts[0]["race & sex"].to_dict()))
    verdict = graph_verdict(AuditDocument.model_validate(document))
    for told in (summary(document), [verdict.headline, *verdict.sentences], verdict.warnings):
        assert len(set(told)) == len(told)
    assert [each for each in verdict.warnings if "leaking" in each] == [
        "Undefined: leaking: the permutation test needs the links themselves, and a propagated folder holds none."
    ]
    probe = parts[0]["race & sex"].attributes["race"].undefined["probe"]
    assert f"Undefined: race: probe: {probe}." in verdict.warnings


def test_an_attribute_of_one_group_is_undefined_and_the_others_are_not(both, tmp_path):
    frame = both[0].to_frame().rename({"sensitive:race": "race", "sensitive:sex": "sex", "label": "ok"})
    people = frame.drop("sensitive", "split").with_columns(sex=pl.lit("f"))
    links = {"source": ["0", "1"], "target": ["1", "2"]}
    found = fv.audit(fv.propagate(people, links, folder=tmp_path, label="ok", sensitive=["race", "sex"]), probes=False)
    assert "only the group 'f' has nodes" in found.attributes["sex"].undefined["correlation"]
    assert found.attributes["sex"].channels[0].correlation is None
    assert "correlation" not in found.attributes["race"].undefined
    assert "correlation" not in found.undefined  # race & sex: the races of one sex
