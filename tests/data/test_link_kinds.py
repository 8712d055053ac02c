"""A link has one kind, the same both ways; kinds travel with the links and are part of the hash only where they are."""

from __future__ import annotations

import dataclasses
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fairview as fv
from fairview.data.adjacency import Adjacency
from fairview.data.link_kinds import MOST_KINDS, LinkKinds
from fairview.propagation.node_order import reordered


def linked(source, target, kinds, *, num_nodes=3, **options):
    return Adjacency.from_pairs(source, target, num_nodes=num_nodes, kinds=kinds, **options)[0]


def refused(*pairs, **options) -> str:
    with pytest.raises(fv.InputError) as caught:
        linked(*pairs, **options)
    return str(caught.value)


def by_ends(adjacency: Adjacency) -> dict[tuple[int, int], str]:
    ends = zip(adjacency.sources.tolist(), adjacency.indices.tolist(), strict=True)
    return {pair: adjacency.kinds.names[code] for pair, code in zip(ends, adjacency.kinds.codes, strict=True)}


def graph_of(kinds, **options) -> fv.NodeGraph:
    return fv.NodeGraph.from_arrays(
        features=[[0.0], [1.0], [2.0]], edges=[[0, 1], [1, 2]], sensitive=["f", "m", "f"], link_kind=kinds, **options
    )


# --- what becomes of them ---------------------------------------------------------------------------------------------


def test_a_path_by_hand():
    assert by_ends(linked([1, 1], [0, 2], ["kin", "work"])) == {
        (0, 1): "kin", (1, 0): "kin", (1, 2): "work", (2, 1): "work",
    }  # fmt: skip


def test_whole_numbers_are_kinds_and_sorted_as_numbers():
    assert linked([0, 1], [1, 2], [10, 9]).kinds.names == ("9", "10")
    assert linked([0, 1], [1, 2], np.array([[10.0], [9.0]])).kinds.names == ("9", "10")


def test_directed_links_may_have_another_kind_back():
    found = linked([0, 1], [1, 0], ["likes", "pays"], directed=True)
    assert by_ends(found) == {(0, 1): "likes", (1, 0): "pays"}


def test_the_same_kind_twice_or_both_ways_is_one_link():
    found = linked([0, 0, 1], [1, 1, 0], ["kin", "kin", "kin"])
    assert by_ends(found) == {(0, 1): "kin", (1, 0): "kin"}


def test_self_loops_and_edges_of_weight_0_go_with_their_kinds():
    found, _ = Adjacency.from_pairs([0, 0, 1], [0, 1, 2], num_nodes=3, weights=[1, 0, 2], kinds=["own", "none", "real"])
    assert by_ends(found) == {(1, 2): "real", (2, 1): "real"}


@given(
    st.dictionaries(st.tuples(st.integers(0, 5), st.integers(0, 5)), st.sampled_from("abc"), max_size=20),
    st.booleans(),
    st.randoms(use_true_random=False),
)
def test_any_pairs_give_what_a_dictionary_gives_in_any_order(given_kinds, directed, random):
    pairs = {(a, b): kind for (a, b), kind in given_kinds.items() if directed or a < b}
    expected = {ends: kind for ends, kind in pairs.items() if ends[0] != ends[1]}
    if not directed:
        expected |= {(b, a): kind for (a, b), kind in expected.items()}
    rows = [(a, b, kind) for (a, b), kind in pairs.items()] * 2
    random.shuffle(rows)
    found = linked(*([row[place] for row in rows] for place in range(3)), num_nodes=6, directed=directed)
    assert by_ends(found) == expected
    again = Adjacency.from_csr(found.indptr, found.indices, directed=directed, kinds=found.kinds)
    assert again.equals(found)


# --- what is refused --------------------------------------------------------------------------------------------------


def test_a_link_with_two_kinds_is_refused_with_its_ends():
    expected = (
        "link_kind: 1 links were given with two kinds (0 to 1: 'kin', 'work'). Give each link one kind, such as one "
        "that stands for both."
    )
    assert refused([0, 0], [1, 1], ["work", "kin"]) == expected
    assert refused([0, 1], [1, 0], ["work", "kin"]) == expected
    assert refused([0, 0], [1, 1], ["work", "kin"], names=["ann", "bob", "cy"]) == expected.replace(
        "0 to 1", "ann to bob"
    )


@pytest.mark.parametrize("kinds", [["kin", None], np.array([1.0, np.nan]), ["kin", float("nan")]])
def test_links_without_a_kind_are_refused(kinds):
    assert refused([0, 1], [1, 2], kinds) == (
        "link_kind: 1 of 2 edges have no kind. Give them one, such as 'other', or leave them out."
    )


def test_other_values_and_lengths_are_refused():
    assert refused([0, 1], [1, 2], ["kin"]) == "link_kind: shape (1,); expected (2,), one kind for each edge."
    assert refused([0, 1], [1, 2], [0.5, 1.0]) == "link_kind: float64 values; a kind is a text or a whole number."
    assert "need different names that are not empty" in refused([0, 1], [1, 2], ["", "kin"])


def test_many_values_are_no_kinds():
    number = MOST_KINDS + 1
    message = refused(range(number), range(1, number + 1), range(number), num_nodes=number + 1)
    assert message == (
        f"link_kind: {number} different kinds of links; at most {MOST_KINDS}. Cut numbers into few bands, or pass them "
        "as weights (edge_weight)."
    )


def test_codes_beside_the_names_are_refused():
    for codes in ([-1], [2], [[0]]):
        with pytest.raises(fv.InputError, match="expected a code from 0 to 1"):
            LinkKinds(("kin", "work"), np.array(codes))
    with pytest.raises(fv.InputError, match=r"expected 4 kinds\."):
        dataclasses.replace(graph_of(None).adjacency, kinds=LinkKinds(("kin",), np.zeros(3)))


def test_codes_under_other_names_are_matched_by_name_or_refused():
    kinds = LinkKinds(("kin", "never", "work"), np.array([0, 2, 2]))
    assert kinds.named(("work", "club", "kin")).codes.tolist() == [2, 0, 0]
    with pytest.raises(fv.InputError) as caught:
        kinds.named(("kin", "club"))
    assert str(caught.value) == (
        "link_kind: kinds that the model was not fitted with: 'work'. Known: 'kin', 'club'. Correct them, or train "
        "again with such links."
    )


# --- what a graph makes of them ---------------------------------------------------------------------------------------


def test_the_hash_of_a_graph_knows_its_kinds_and_their_names_and_is_as_ever_without():
    assert (
        graph_of(None).sha256 == "64d9164eb17c3908a091918829915cc387e0fb87966aa4f0929560abe8cb6d10"
    )  # of version 0.1.0
    hashes = [graph_of(kinds).sha256 for kinds in (None, ["kin", "work"], ["work", "kin"], ["kin", "club"])]
    assert len(set(hashes)) == 4
    assert graph_of(["kin", "work"]).sha256 == hashes[1]


def test_kinds_are_never_changed_in_place_and_survive_copies():
    graph = graph_of(["kin", "work"])
    other = pickle.loads(pickle.dumps(graph))
    assert other.adjacency.equals(graph.adjacency)
    assert other.sha256 == graph.sha256
    for each in (graph, other):
        with pytest.raises(ValueError, match="read-only"):
            each.adjacency.kinds.codes[0] = 1
    assert not graph.adjacency.equals(graph_of(None).adjacency)
    assert not graph_of(None).adjacency.equals(graph.adjacency)


def test_links_that_are_left_or_moved_keep_their_kinds():
    graph = graph_of(["kin", "work"])
    kept = graph.adjacency.keeping(np.array([False, False, True, True]))
    assert by_ends(kept) == {(1, 2): "work", (2, 1): "work"}
    moved = reordered(graph, np.array([2, 1, 0])).adjacency
    assert by_ends(moved) == {(0, 1): "work", (1, 0): "work", (1, 2): "kin", (2, 1): "kin"}


def test_by_kind_divides_the_links():
    parts = graph_of(["kin", "work"]).adjacency.by_kind()
    assert {name: part.to_scipy().toarray().tolist() for name, part in parts.items()} == {
        "kin": [[0, 1, 0], [1, 0, 0], [0, 0, 0]],
        "work": [[0, 0, 0], [0, 0, 1], [0, 1, 0]],
    }
    assert graph_of(None).adjacency.by_kind() == {}


def test_the_summary_counts_links_and_shared_groups_by_kind():
    graph = fv.NodeGraph.from_arrays(
        features=np.zeros((3, 1)), edges=[[0, 1], [1, 2]], sensitive=["f", "f", "m"], link_kind=["kin", "work"]
    )
    assert fv.summarise(graph)["link_kinds"] == [
        {"kind": "kin", "edges": 1, "homophily": 1.0},
        {"kind": "work", "edges": 1, "homophily": 0.0},
    ]
    assert "2 edges of 2 kinds" in repr(graph)
    assert "Kinds of links" in graph._repr_html_()
    assert fv.summarise(graph_of(None))["link_kinds"] == []


# --- PyTorch Geometric ------------------------------------------------------------------------------------------------


def test_pyg_round_trip():
    graph = graph_of(["kin", "work"])
    data = graph.to_pyg()
    assert (data.edge_type.tolist(), data.link_kinds) == ([0, 0, 1, 1], ["kin", "work"])
    assert fv.from_pyg(data).adjacency.equals(graph.adjacency)
    assert "edge_type" not in graph_of(None).to_pyg()


def test_edge_types_of_others_are_used_when_asked_for():
    data = graph_of(["kin", "work"]).to_pyg()
    del data.link_kinds
    ignored = fv.from_pyg(data)
    assert ignored.adjacency.kinds is None
    assert "data.edge_type is ignored; pass link_kind='edge_type' to use it" in ignored.provenance.notes
    assert fv.from_pyg(data, link_kind="edge_type").link_kinds == {"0": 1, "1": 1}
    assert fv.from_pyg(data, link_kind=["a", "a", "b", "b"]).link_kinds == {"a": 1, "b": 1}
    with pytest.raises(fv.InputError, match="no attribute 'edge_typ' with the kinds of the edges"):
        fv.from_pyg(data, link_kind="edge_typ")


def test_edge_types_that_are_no_codes_of_the_names_are_refused():
    data = graph_of(["kin", "work"]).to_pyg()
    data.edge_type[0] = 2
    with pytest.raises(fv.InputError, match="expected codes from 0 to 1, one for each of link_kinds"):
        fv.from_pyg(data)
    data.edge_type = data.edge_type.float()
    with pytest.raises(fv.InputError, match="expected codes into link_kinds"):
        fv.from_pyg(data)
