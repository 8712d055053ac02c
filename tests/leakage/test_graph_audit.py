from __future__ import annotations

import inspect
import json
import os
import re

import numpy as np
import pytest
from scipy.stats import spearmanr

import fairview as fv
from fairview.leakage.channel_findings import correlation_intervals
from fairview.leakage.graph_audit import audit
from fairview.leakage.leaks import leak_tests
from fairview.propagation.correlation import known_groups, sensitive_correlation
from fairview.propagation.operators import Operator


@pytest.fixture(scope="module")
def german():
    return audit(fv.load_dataset("german"), permutations=99)


def quick(graph, **more):
    return audit(graph, **({"permutations": 19, "probes": False} | more))


def real(name):
    if not os.environ.get("FAIRVIEW_DATA"):
        pytest.skip("needs bail.zip and credit.csv: name their folder in FAIRVIEW_DATA")
    try:
        return fv.load_dataset(name)
    except fv.DataNotFoundError as error:
        pytest.skip(str(error))


def rank_agreement(graph, hop):
    """Spearman's correlation of the channels' |correlation| before and after; the sensitive channel left out."""
    size = np.abs(sensitive_correlation(graph, hops=hop))
    kept = [j for j, name in enumerate(graph.channels) if name not in graph.sensitive_channels]
    return float(spearmanr(size[0, kept], size[hop, kept]).statistic)


# --- real data --------------------------------------------------------------------------------------------------------


def test_german_has_the_homophily_of_the_paper(german):
    assert round(german.homophily, 4) == 0.8048
    assert [round(place.mean_degree, 1) for place in german.groups] == [44.8, 40.5]


def test_german_names_no_single_channel_but_the_probes_read_gender_better_after_propagation(german):
    assert german.leaking == ()
    assert german.label_leaks == ()
    linear = {probe.on: probe for probe in german.probes if probe.probe == "linear"}
    assert list(linear) == ["X", "S X", "S² X"]
    assert linear["X"].high < linear["S X"].low


def test_german_the_attribute_itself_ranks_first_and_is_not_tested(german):
    gender = german.channel("Gender")
    assert (gender.sensitive, gender.rank, gender.leak_p_value) == (True, (1, 1, 1), None)
    assert gender.correlation[0] == pytest.approx(1)


def test_ranks_change_on_german_and_even_more_on_the_small_credit_graph():
    graph = fv.load_dataset("german")
    assert [round(rank_agreement(graph, hop), 2) for hop in (1, 2)] == [0.91, 0.84]
    credit = real("credit-small")
    assert [round(rank_agreement(credit, hop), 2) for hop in (1, 2)] == [0.71, 0.55]


def test_bail_gives_the_label_away_in_time():
    (leak,) = quick(real("bail")).label_leaks
    assert leak.name == "TIME"
    assert leak.auc > 0.99


def test_credit_gives_no_label_away():
    assert quick(real("credit-small")).label_leaks == ()


# --- the document -----------------------------------------------------------------------------------------------------


def test_the_document_has_the_agreed_keys_and_is_json(german):
    document = json.loads(json.dumps(german.to_dict(), allow_nan=False))
    assert (document["kind"], document["version"], document["operator"], document["hops"]) == ("audit", 1, "gcn", 2)
    assert set(document) >= {
        "graph", "homophily", "homophily_by_group", "self_loops", "rule", "level", "permutations", "channels", "probe",
        "label_leaks", "label_leak_threshold", "undefined", "notes",
    }  # fmt: skip
    assert document["graph"]["groups"] == {"Male": 690, "Female": 310}
    channel = document["channels"][2]
    assert channel["name"] == "Single"
    assert [len(channel[name]) for name in ("correlation", "low", "high", "rank", "p_value")] == [3] * 5
    assert channel["change"] == pytest.approx(abs(channel["correlation"][2]) - abs(channel["correlation"][0]))
    assert channel["rank_change"] == channel["rank"][0] - channel["rank"][2]
    assert set(document["probe"][0]) >= {"on", "hop", "probe", "auc", "low", "high"}
    assert document["undefined"] == {}


def test_the_report_can_read_the_document(german):
    from fairview.report.audit_documents import AuditDocument

    read = AuditDocument.model_validate(german.to_dict())
    assert len(read.channels) == 27
    AuditDocument.model_validate(
        quick(fv.NodeGraph.from_arrays(features=[[0.0]], edges=np.empty((2, 0), int))).to_dict()
    )


def test_weighted_links_are_audited_with_their_weights(with_weights):
    graph = fv.load_dataset("german")
    plain, ones, weighted = (quick(some) for some in (graph, with_weights(graph, 1.0), with_weights(graph)))
    assert [found.graph["weighted"] for found in (plain, ones, weighted)] == [False, True, True]
    same, other, document = (found.to_dict() for found in (ones, weighted, plain))
    assert same["channels"] == document["channels"]
    expected = sensitive_correlation(with_weights(graph), hops=2).T
    np.testing.assert_allclose([channel["correlation"] for channel in other["channels"]], expected, atol=1e-12)
    assert not np.allclose([channel["correlation"] for channel in document["channels"]], expected, atol=1e-3)
    assert (other["homophily"], other["homophily_by_group"]) == (document["homophily"], document["homophily_by_group"])


def test_ranks_are_by_absolute_correlation(german):
    for hop in range(3):
        ordered = sorted(german.channels, key=lambda channel: channel.rank[hop])
        sizes = [abs(channel.correlation[hop]) for channel in ordered]
        assert sizes == sorted(sizes, reverse=True)


def test_it_reads_as_sentences(german):
    text = str(german)
    assert text.splitlines()[1] == (
        "Message passing reveals Gender: from all columns together it can be guessed with AUC 0.996 after two hops, "
        "0.91 before."
    )
    assert "No single column is flagged." in text
    assert len(re.findall(r"^  \w+: [-\d]", text, re.MULTILINE)) == 15
    assert "80.48 % of the links join two nodes of the same group." in text
    leaking = quick(fv.synthetic_graph(2000, seed=1), permutations=99)
    assert "\nMessage passing reveals group in 1 of 8 columns: leak_strong.\n" in repr(leaking)
    assert "Flagged, with the correlation with group by hop: leak_strong (0.000 → 0.400 →" in repr(leaking)


def test_the_package_attribute_is_a_plain_function_with_its_signature():
    graph = fv.synthetic_graph(100)
    assert inspect.isfunction(fv.audit)
    assert {"operator", "hops", "permutations", "probes", "seed"} <= inspect.signature(fv.audit).parameters.keys()
    assert fv.audit(graph, permutations=19, probes=False).to_dict() == quick(graph).to_dict()


# --- intervals --------------------------------------------------------------------------------------------------------


def test_intervals_cover_what_repeated_channels_have_on_average():
    graph = fv.synthetic_graph(400, homophily=0.8, average_degree=10, seed=3)
    codes = known_groups(graph)
    z = (codes - codes.mean()) / codes.std()
    noise = np.random.default_rng(0).standard_normal((400, 200))
    many = graph.with_features(0.1 * z[:, None] + np.sqrt(0.99) * noise, [f"c{j}" for j in range(200)])
    correlation = sensitive_correlation(many, hops=2)
    (test,) = leak_tests(many.features, many.adjacency, [codes], operator=Operator(), hops=2, permutations=49, seed=0)
    low, high = correlation_intervals(correlation, test, codes)
    truth = np.tanh(np.arctanh(correlation).mean(axis=1, keepdims=True))
    covered = ((low <= truth) & (truth <= high)).mean(axis=1)
    assert (covered > 0.9).all()
    usual = np.abs(np.arctanh(correlation) - np.arctanh(truth)) <= 1.96 / np.sqrt(397)
    assert usual.mean(axis=1)[2] < 0.6  # as if nodes were independent


def test_more_than_two_groups_have_no_intervals():
    graph = fv.synthetic_graph(200, groups={"a": 0.4, "b": 0.3, "c": 0.3}, channels=[fv.Channel("x")])
    found = quick(graph, hops=1)
    assert found.channels[0].low is None
    assert found.undefined == {"intervals": "the correlations have intervals with two groups only"}
    assert all(0 <= value <= 1 for value in found.channels[0].correlation)


# --- odd graphs -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sensitive", "reason"),
    [
        (["f", "f", "f"], "only the group 'f' has nodes"),
        ([None, None, None], "no node's group is known"),
        (None, "no node's group is known"),
    ],
)
def test_without_two_groups_leakage_is_undefined_and_the_rest_is_there(sensitive, reason):
    graph = fv.NodeGraph.from_arrays(features=[[0.0], [1.0], [2.0]], edges=[[0], [1]], sensitive=sensitive)
    found = audit(graph, permutations=19)
    assert all(reason in found.undefined[name] for name in ("correlation", "leaking", "probe"))
    assert found.leaking == ()
    assert found.to_dict()["channels"][0]["correlation"] == [None, None, None]
    assert str(found).splitlines()[1].startswith("Leakage is undefined: ")


def test_one_node_and_no_node_are_undefined_not_a_crash():
    for n in (0, 1):
        graph = fv.NodeGraph.from_arrays(features=np.ones((n, 2)), edges=np.empty((2, 0), int), sensitive=["f"] * n)
        found = audit(graph, permutations=19)
        assert {"correlation", "homophily", "label_leaks"} <= set(found.undefined)
        json.dumps(found.to_dict(), allow_nan=False)


@pytest.mark.parametrize("n", [2, 3, 4, 6])
def test_tiny_graphs_are_audited_without_alarm(n):
    graph = fv.NodeGraph.from_arrays(
        features=np.arange(n)[:, None], edges=[[0], [1]], sensitive=np.arange(n) % 2, labels=np.arange(n) % 2
    )
    found = audit(graph, permutations=99)
    assert found.leaking == ()
    assert "probe" in found.undefined
    json.dumps(found.to_dict(), allow_nan=False)


def test_unknown_groups_constant_channels_and_missing_links_are_named():
    rng = np.random.default_rng(0)
    features = np.column_stack([rng.standard_normal(60), np.full(60, 3.0)])
    sensitive = [None if i < 10 else "fm"[i % 2] for i in range(60)]
    graph = fv.NodeGraph.from_arrays(features=features, edges=np.empty((2, 0), int), sensitive=sensitive)
    found = audit(graph, permutations=19, hops=1)
    assert found.channel("x1").constant
    assert found.channel("x1").correlation == (0.0, 0.0)
    assert not found.channel("x0").sensitive
    assert found.graph["group_unknown"] == 10
    assert "10 nodes of unknown group are propagated, but in no correlation or probe" in found.notes
    assert found.undefined["homophily"] == "no edge joins two nodes whose sensitive group is known"


def test_when_the_number_of_neighbours_betrays_the_group_a_note_says_so():
    hub = [[0] * 20, list(range(20, 40))]
    ring = [list(range(20)), [*range(1, 20), 0]]
    graph = fv.NodeGraph.from_arrays(
        features=np.ones((40, 1)) * 7, edges=np.hstack([hub, ring]), sensitive=[0] * 20 + [1] * 20
    )
    found = quick(graph)
    assert abs(found.degree_correlation[1]) > 0.3
    assert any("the number of neighbours alone is tied to the group" in note for note in found.notes)


def test_directed_graphs_and_sensitive_channels_only():
    rng = np.random.default_rng(0)
    graph = fv.NodeGraph.from_arrays(
        features=rng.integers(0, 2, (80, 1)), edges=rng.integers(0, 80, (2, 200)), sensitive=rng.integers(0, 2, 80),
        channels=["s"], sensitive_channels=("s",), directed=True,
    )  # fmt: skip
    found = audit(graph, permutations=19)
    assert found.graph["directed"] is True
    assert found.undefined["probe"] == "there is no channel to read it from"
    assert found.leaking == ()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"operator": "gnc"}, "operator: no 'gnc'. Did you mean 'gcn'?"),
        ({"hops": 0}, "hops: 0; expected a whole number, from 1 to 10."),
        ({"hops": 11}, "hops: 11; expected a whole number, from 1 to 10."),
        ({"innocuous": 1.0}, "innocuous: 1.0; expected a correlation from 0 on, below 1."),
        ({"permutations": 3}, "permutations: 3; level 0.05 needs at least 19."),
    ],
)
def test_wrong_arguments_are_named(arguments, said):
    with pytest.raises(fv.InputError) as caught:
        quick(fv.synthetic_graph(50), **arguments)
    assert str(caught.value) == said
