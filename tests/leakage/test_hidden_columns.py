from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.metrics import r2_score

import fairview as fv
from fairview.data.datasets import table_columns
from fairview.leakage.hidden_columns import hidden_findings, r_squared
from fairview.report.audit_documents import AuditDocument


@pytest.fixture(scope="module")
def graph():
    return fv.synthetic_graph(600, seed=1)


def neighbours_mean(graph, values):
    return (graph.adjacency.to_scipy() @ values) / np.maximum(graph.adjacency.degree, 1)


def test_what_the_neighbours_columns_say_is_readable_from_the_graph_alone(graph):
    sent = neighbours_mean(graph, graph.features[:, 0].astype(float))
    (found,) = hidden_findings(graph, {"sent": sent})
    assert (found.kind, found.measure, found.nodes) == ("number", "R²", 600)
    assert found.readable
    assert found.from_channels.high < 0.2
    assert found.from_graph.low > 0.5
    assert found.difference.score == pytest.approx(found.from_graph.score - found.from_channels.score)


def test_the_sum_of_a_nodes_weights_is_readable_from_weighted_links_only(graph):
    links = graph.adjacency
    one_way = links.sources < links.indices
    ends = np.stack([links.sources, links.indices])[:, one_way]
    rng = np.random.default_rng(0)
    weights = np.exp(2 * rng.standard_normal(ends.shape[1]))
    weighted = graph.replace(adjacency=fv.Adjacency.from_pairs(*ends, num_nodes=600, weights=weights)[0])
    total = np.log1p(weighted.adjacency.to_scipy().sum(axis=1))
    (without,), (found,) = (hidden_findings(some, {"hours": total}) for some in (graph, weighted))
    assert found.from_graph.low > 0.9
    assert without.from_graph.high < found.from_graph.low


def test_what_the_channels_say_already_is_not_the_links_doing(graph):
    noise = np.random.default_rng(0).standard_normal(600)
    (found,) = hidden_findings(graph, {"copy": graph.features[:, 0] + 0.3 * noise})
    assert found.from_channels.low > 0.7
    assert not found.readable


def test_two_values_and_categories_have_an_auc(graph):
    high = neighbours_mean(graph, graph.features[:, 0].astype(float))
    cut = np.digitize(high, np.quantile(high, [0.3, 0.7]))
    two, three = hidden_findings(graph, {"two": cut == 2, "three": np.array(["low", "middle", "high"])[cut]})
    assert (two.kind, two.measure) == ("two values", "AUC")
    assert (three.kind, three.measure) == ("categories", "AUC")
    assert two.readable
    assert three.readable
    assert two.from_graph.high <= 1


def test_a_heavy_tail_is_scored_by_ranks_and_so_is_blind_to_its_scale(graph):
    high = neighbours_mean(graph, graph.features[:, 0].astype(float))
    rich = np.exp(12 * high)
    (found,), (other,) = hidden_findings(graph, {"rich": rich}), hidden_findings(graph, {"rich": rich**2})
    assert found.measure == other.measure == "R² of ranks"
    assert found.from_graph == other.from_graph
    assert found.readable


def test_unknown_values_are_left_out(graph):
    values = neighbours_mean(graph, graph.features[:, 0].astype(float))
    some = [None if place % 3 == 0 else float(value) for place, value in enumerate(values)]
    (found,) = hidden_findings(graph, {"some": some})
    assert found.nodes == 400


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([1.0] * 600, "it is constant: all its values are the same"),
        ([None] * 600, "it has no value"),
        ([1.0, 2.0, 3.0] + [None] * 597, "3 nodes have a value only; 50 are needed"),
        ([1] * 4 + [0] * 596, "one of its values has 4 nodes only; 10 are needed for 5 folds"),
        ([0.5, 0.7] + [0.0] * 598, "nearly all its values are the same: one of the folds has no others"),
    ],
)
def test_what_can_not_be_measured_is_undefined_with_the_reason(graph, values, reason):
    (found,) = hidden_findings(graph, {"c": values})
    assert found.undefined == reason
    assert (found.from_graph, found.difference, found.readable) == (None, None, False)


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        (
            "plain_1",
            [0.0] * 600,
            "hidden: 'plain_1' is a channel, and every model sees it. Drop it to ask what the links know.",
        ),
        ("group", [0.0] * 600, "hidden: 'group' is the sensitive attribute; the probes say how well it can be read."),
        ("c", [1.0, 2.0], "hidden: column 'c': 2 values for 600 nodes."),
        ("c", [[1, 2]] * 600, "hidden: column 'c': expected one number or text for each node."),
        (
            "c",
            [np.inf] * 600,
            "hidden: column 'c': has infinite values, or texts that say NaN. Leave such cells empty.",
        ),
        (
            "c",
            [f"name {place}" for place in range(600)],
            "hidden: column 'c': texts with 600 different values, such as 'name 0'; expected numbers, or at most 12 "
            "different texts. Turn it into numbers or a few categories first.",
        ),
    ],
)
def test_bad_input_is_explained(graph, name, values, message):
    with pytest.raises(fv.InputError) as caught:
        fv.audit(graph, hidden={name: values}, permutations=19, probes=False)
    assert str(caught.value) == message


def test_r_squared_is_scikit_learns_and_its_error_the_bootstraps():
    rng = np.random.default_rng(0)
    truth = rng.standard_normal(2000)
    predicted = 0.7 * truth + 0.3 * rng.standard_normal(2000)
    score, errors = r_squared(truth, predicted)
    assert score == pytest.approx(r2_score(truth, predicted))
    draws = rng.integers(0, 2000, (1000, 2000))
    spread = np.std([r2_score(truth[draw], predicted[draw]) for draw in draws])
    assert np.sqrt(errors @ errors) == pytest.approx(spread, rel=0.15)


def test_the_audit_carries_it_into_words_document_and_notebook(graph):
    sent = neighbours_mean(graph, graph.features[:, 0].astype(float))
    found = fv.audit(graph, hidden={"sent": sent, "none": [None] * 600}, permutations=19, probes=False)
    assert "THE GRAPH KNOWS A HIDDEN COLUMN: sent (R² 0." in str(found)
    assert found.undefined["hidden 'none'"] == "it has no value"
    document = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert [column["readable"] for column in document["hidden"]] == [True, False]
    assert set(document["hidden"][0]["difference"]) == {"score", "low", "high"}
    assert [row.readable for row in AuditDocument.model_validate(document).hidden] == [True, False]
    assert "known to the links" in found._repr_html_()


def test_the_links_of_bail_without_time_know_it_and_rebuilt_ones_do_not(real_dataset):
    published, rebuilt = real_dataset("bail-no-time"), real_dataset("bail-no-time-links")
    hidden = table_columns("bail-no-time", ["TIME"])
    (known,), (unknown,) = hidden_findings(published, hidden), hidden_findings(rebuilt, hidden)
    assert known.readable
    assert known.from_channels.score < 0.06
    assert known.from_graph.low > 0.85
    assert not unknown.readable
    assert unknown.from_graph.score < 0.06
