from __future__ import annotations

import numpy as np

import fairview as fv
from fairview.data.few import few_nodes


def graph_of(nodes: int, tested: int) -> fv.NodeGraph:
    return fv.NodeGraph.from_arrays(
        features=np.zeros((nodes, 1)),
        edges=[[], []],
        labels=np.arange(nodes) % 2,
        sensitive=["fm"[place // 2 % 2] for place in range(nodes)],
        splits={"test": np.arange(nodes) < tested},
    )


def test_fifty_labelled_nodes_and_five_of_each_group_need_no_warning():
    assert few_nodes(graph_of(50, 12)) == ()


def test_fewer_are_counted_in_words():
    assert few_nodes(graph_of(49, 5)) == (
        "Only 49 labelled nodes: the numbers say little about anybody else.",
        "test: only 3 nodes of group 'f', 2 of group 'm': the gaps rest on very little.",
    )


def test_nodes_without_a_label_or_a_group_do_not_count():
    whole = graph_of(60, 12)
    assert few_nodes(whole.replace(sensitive=np.full(60, -1))) == (
        "test: only 0 nodes of group 'f', 0 of group 'm': the gaps rest on very little.",
    )
    assert few_nodes(whole.replace(labels=np.full(60, -1)))[0].startswith("Only 0 labelled nodes")
