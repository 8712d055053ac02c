from __future__ import annotations

import json

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fairview as fv


def test_a_small_graph_counted_by_hand():
    graph = fv.NodeGraph.from_arrays(
        features=[[1.0, 5.0], [2.0, 5.0], [3.0, 5.0], [4.0, 5.0], [5.0, 5.0]],
        edges=[[0, 1, 2], [1, 2, 3]],
        labels=[1, 0, 1, -1, 0],
        sensitive=["f", "f", "m", None, "m"],
        splits={"train": np.array([True, True, True, False, False])},
    )
    facts = fv.summarise(graph)
    assert (facts["nodes"], facts["edges"], facts["components"], facts["isolated_nodes"]) == (5, 3, 2, 1)
    assert (facts["average_degree"], facts["largest_degree"]) == (1.2, 2)
    assert facts["constant_channels"] == ["x1"]
    assert facts["labels"] == {"positive": 2, "negative": 2, "unlabelled": 1}
    assert facts["sensitive_unknown"] == 1
    assert facts["homophily"] == 0.5  # f-f and f-m; the edge to the unknown one does not count
    assert facts["splits"] == {"train": {"nodes": 3, "positives": 2}}
    assert facts["groups"][0] == {
        "group": "f", "nodes": 2, "labelled": 2, "positives": 1, "positive_rate": 0.5, "average_degree": 1.5,
    }  # fmt: skip


def test_what_is_undefined_is_null_with_the_reason():
    facts = fv.summarise(fv.NodeGraph.from_arrays(features=[[1.0], [2.0]], edges=[[], []], sensitive=["f", "m"]))
    assert facts["homophily"] is None
    assert facts["undefined"] == {"homophily": "no edge joins two nodes whose sensitive group is known"}
    assert facts["groups"][0]["positive_rate"] is None


def test_class_names_can_not_collide_with_keys():
    graph = fv.NodeGraph.from_arrays(
        features=[[1.0], [2.0]], edges=[[], []], labels=[0, 1], classes=("unlabelled", "positive")
    )
    facts = fv.summarise(graph)
    assert facts["classes"] == {"positive": "positive", "negative": "unlabelled"}
    assert facts["labels"] == {"positive": 1, "negative": 1, "unlabelled": 0}


@given(st.integers(1, 8).flatmap(lambda n: st.tuples(st.just(n), st.lists(st.tuples(*[st.integers(0, n - 1)] * 2)))))
def test_components_and_degrees_are_what_networkx_counts(drawn):
    n, edges = drawn
    other = networkx.Graph()
    other.add_nodes_from(range(n))
    other.add_edges_from((a, b) for a, b in edges if a != b)
    graph = fv.NodeGraph.from_arrays(features=np.zeros((n, 1)), edges=np.array(edges, dtype=int).reshape(-1, 2).T)
    facts = fv.summarise(graph)
    assert facts["edges"] == other.number_of_edges()
    assert facts["components"] == networkx.number_connected_components(other)
    assert facts["isolated_nodes"] == networkx.number_of_isolates(other)
    assert facts["average_degree"] == pytest.approx(np.mean([degree for _, degree in other.degree]))


@pytest.mark.parametrize("directed", [False, True])
def test_a_node_that_is_only_pointed_at_is_not_isolated(directed):
    graph = fv.NodeGraph.from_arrays(features=np.zeros((3, 1)), edges=[[0], [1]], directed=directed)
    assert fv.summarise(graph)["isolated_nodes"] == 1
    assert fv.summarise(graph)["components"] == 2


def test_the_summary_is_json_with_stable_keys():
    facts = fv.summarise(fv.NodeGraph.from_arrays(features=[[1.0]], edges=[[], []]))
    assert json.loads(json.dumps(facts, allow_nan=False)) == facts
    assert list(facts) == [
        "source", "nodes", "edges", "directed", "weighted", "link_kinds", "average_degree", "largest_degree",
        "isolated_nodes", "components", "channels", "constant_channels", "classes", "labels", "sensitive",
        "sensitive_unknown", "sensitive_channels", "groups", "homophily", "splits", "notes", "sha256", "graph_sha256",
        "undefined", "trainable", "reasons", "hints",
    ]  # fmt: skip
