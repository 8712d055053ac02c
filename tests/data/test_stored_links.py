from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import fairview as fv
from fairview.data.stored_links import WHAT_CAN, StoredLinks
from fairview.propagation.one_hop import one_hop
from fairview.propagation.operators import Operator


def links_of(*by_hop: list[list[float]], **facts: object) -> StoredLinks:
    arrays = tuple(np.array(rows, dtype=np.float32) for rows in by_hop)
    return StoredLinks.of(arrays, **{"kind": "mean", "self_loops": 1.0, "edges": 2} | facts)


def graph_of(links: StoredLinks) -> fv.NodeGraph:
    x = links.by_hop[0]
    n = len(x)
    return fv.NodeGraph(
        features=x, channels=[f"x{j}" for j in range(x.shape[1])], adjacency=links,
        labels=np.full(n, -1, dtype=np.int8), sensitive=np.full(n, -1, dtype=np.int16), groups=(),
    )  # fmt: skip


def test_a_hop_is_looked_up_and_the_next_one_follows_it():
    links = links_of([[1.0]], [[2.0]], [[3.0]])
    hop = one_hop(links, Operator(kind="mean"))
    first = hop(np.array([[1.0]]))
    assert (first.tolist(), hop(first).tolist()) == ([[2.0]], [[3.0]])
    assert hop(np.array([[1.0]])).tolist() == [[2.0]]  # another round


def test_values_that_a_hop_leaves_alone_still_count_as_one_hop_further():
    hop = one_hop(links_of([[1.0]], [[1.0]], [[0.5]]), Operator(kind="mean"))
    assert hop(hop(np.array([[1.0]]))).tolist() == [[0.5]]


def test_a_channel_of_zeros_is_propagated_too():
    """Its neighbours elsewhere may have other values."""
    hop = one_hop(links_of([[0.0, 5.0]], [[0.25, 4.0]]), Operator(kind="mean"))
    assert hop(np.array([[0.0, 5.0]])).tolist() == [[0.25, 4.0]]


def test_channels_with_the_same_values_are_told_apart_by_their_names():
    graph = graph_of(links_of([[7.0, 7.0]], [[1.0, 2.0]]))
    hop = one_hop(graph.without_channels(["x0"]).adjacency, Operator(kind="mean"))
    assert hop(np.array([[7.0]])).tolist() == [[2.0]]
    swapped = graph.with_features(graph.features, ["x1", "x0"]).adjacency
    assert one_hop(swapped, Operator(kind="mean"))(np.array([[7.0, 7.0]])).tolist() == [[2.0, 1.0]]


@pytest.mark.parametrize("values", [[[2.0]], [[1.0, 1.0]], [[0.0]]])
def test_other_columns_are_refused(values):
    hop = one_hop(links_of([[1.0]], [[2.0]]), Operator(kind="mean"))
    message = (
        "propagated folder: it holds the channels as they were read. To propagate other columns, such as splines or "
        f"masked channels, would need the links. {WHAT_CAN}"
    )
    with pytest.raises(fv.InputError) as caught:
        hop(np.array(values))
    assert str(caught.value) == message


def test_features_of_other_channels_are_refused():
    graph = graph_of(links_of([[1.0]], [[2.0]])).with_features([[1.0]], ["new"])
    with pytest.raises(fv.InputError, match="it holds the channels as they were read"):
        one_hop(graph.adjacency, Operator(kind="mean"))(np.array([[1.0]]))


def test_another_operator_is_refused_with_the_command_that_makes_it():
    links = links_of([[1.0]], [[2.0]])
    message = (
        "propagated folder: it was made with the operator 'mean' and 1 self-loops per node, and 'sum' with 1 is "
        "needed. Make such a folder with `fairview propagate --operator sum`."
    )
    with pytest.raises(fv.InputError) as caught:
        one_hop(links, Operator(kind="sum"))
    assert str(caught.value) == message
    with pytest.raises(fv.InputError, match=r"`fairview propagate --operator mean --self-loops 0\.5`\.$"):
        one_hop(links, Operator(kind="mean", self_loops=0.5))


def test_more_hops_than_there_are_are_refused():
    hop = one_hop(links_of([[1.0]], [[2.0]]), Operator(kind="mean"))
    first = hop(np.array([[1.0]]))
    message = (
        "propagated folder: it holds 1 hops, and one more is needed. Make such a folder with "
        "`fairview propagate --hops 2`."
    )
    with pytest.raises(fv.InputError) as caught:
        hop(first)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("ask", "what"),
    [
        (lambda links: links.degree, "the number of neighbours"),
        (lambda links: links.sources, "who is linked to whom"),
        (lambda links: links.to_scipy(), "the adjacency matrix"),
        (lambda links: links.keeping(np.array([True])), "some of the links"),
        (lambda links: Operator(kind="mean").matrix(links), "the adjacency matrix"),
        (lambda links: fv.summarise(graph_of(links)), "the number of neighbours"),
        (lambda links: graph_of(links).to_pyg(), "who is linked to whom"),
    ],
)
def test_what_needs_the_links_is_refused_and_never_taken_for_a_graph_without_any(ask, what):
    with pytest.raises(fv.InputError) as caught:
        ask(links_of([[1.0]], [[2.0]]))
    assert str(caught.value) == f"propagated folder: it holds no links, so that it can't give {what}. {WHAT_CAN}"


def test_what_is_known_of_the_links_is_told():
    links = links_of([[1.0]], [[2.0]], edges=9, same_and_known={"sensitive": (6, 8)}, has_weights=True)
    graph = graph_of(links)
    assert (graph.num_edges, graph.homophily(), links.weighted, links.num_pairs) == (9, 0.75, True, 18)


def test_links_are_equal_if_all_their_rows_are():
    links = links_of([[1.0]], [[2.0]])
    assert links.equals(links_of([[1.0]], [[2.0]]))
    assert not links.equals(links_of([[1.0]], [[3.0]]))
    assert not links.equals(links_of([[1.0]]))
    assert not links.equals(fv.Adjacency.from_pairs([], [], num_nodes=1)[0])


def test_copies_are_the_same_graph(propagated):
    graph = propagated().graph()
    for other in (copy.deepcopy(graph), pickle.loads(pickle.dumps(graph))):
        assert other.sha256 == graph.sha256
        assert other.adjacency.equals(graph.adjacency)
        assert other.adjacency.folder_sha256 == propagated().sha256
