"""Weights of links are numbers from 0 on; parallel ones add up, both directions agree, and 0 is no link."""

from __future__ import annotations

import pickle
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import fairview as fv
from fairview.data.adjacency import Adjacency, EdgeCounts

RULE = "a weight is 0 or a number from 1e-12 to 1e+12"
REMEDY = f"{RULE}. Correct them, or rescale all weights."


def weighted(source, target, weights, *, num_nodes=3, **options):
    return Adjacency.from_pairs(source, target, num_nodes=num_nodes, weights=weights, **options)


def refused(*pairs, **options) -> str:
    with pytest.raises(fv.InputError) as caught:
        weighted(*pairs, **options)
    return str(caught.value)


# --- what becomes of them ---------------------------------------------------------------------------------------------


def test_a_path_by_hand():
    adjacency, counts = weighted([1, 1], [0, 2], [0.5, 4])
    assert adjacency.to_scipy().toarray().tolist() == [[0, 0.5, 0], [0.5, 0, 4], [0, 4, 0]]
    assert (adjacency.weights.dtype, adjacency.weighted, adjacency.num_edges) == (np.float32, True, 2)
    assert adjacency.degree.tolist() == [1, 2, 1]
    assert counts == EdgeCounts(given=2, one_direction=2, weighted=True)


def test_directed_weights_stay_as_they_are():
    adjacency, _ = weighted([0, 1, 1], [1, 0, 2], [1, 2, 3], directed=True)
    assert adjacency.to_scipy().toarray().tolist() == [[0, 1, 0], [2, 0, 3], [0, 0, 0]]


def test_parallel_edges_add_up_and_both_directions_of_a_link_do_not():
    adjacency, counts = weighted([0, 0, 1], [1, 1, 0], [1, 2, 3])
    assert adjacency.weights.tolist() == [3, 3]
    assert counts.notes(directed=False) == ["1 parallel edges merged, weights added up"]


def test_edges_of_weight_0_are_none_and_counted():
    adjacency, counts = weighted([0, 1, 0, 0], [1, 2, 2, 2], [0, 2, 0.0, -0.0])
    assert (adjacency.sources.tolist(), adjacency.indices.tolist(), adjacency.weights.tolist()) == (
        [1, 2],
        [2, 1],
        [2, 2],
    )
    assert counts == EdgeCounts(given=4, parallel=1, weightless=2, one_direction=1, weighted=True)
    assert counts.notes(directed=False) == [
        "1 parallel edges merged, weights added up",
        "2 edges of weight 0 dropped",
        "1 edges given in one direction only, made symmetric, with the same weight both ways",
    ]


def test_self_loops_go_with_their_weights():
    adjacency, counts = weighted([0, 1], [0, 2], [9, 2])
    assert adjacency.weights.tolist() == [2, 2]
    assert counts.self_loops == 1


def test_no_edges_may_have_no_weights():
    adjacency, _ = weighted([], [], [])
    assert (adjacency.num_edges, adjacency.weighted, adjacency.weights.shape) == (0, True, (0,))


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 64)), max_size=30),
    st.booleans(),
    st.randoms(use_true_random=False),
)
def test_any_weighted_pairs_give_what_a_dictionary_gives_in_any_order(pairs, directed, random):
    if not directed:  # each link in one direction only
        pairs = [(min(a, b), max(a, b), w) for a, b, w in pairs]
    expected = defaultdict(float)
    for a, b, w in pairs:
        for ends in {(a, b)} if directed else {(a, b), (b, a)}:
            expected[ends] += w / 8
    expected = {ends: w for ends, w in sorted(expected.items()) if ends[0] != ends[1] and w}
    found, _ = weighted(*_columns(pairs), num_nodes=6, directed=directed)
    ends = zip(found.sources.tolist(), found.indices.tolist(), strict=True)
    assert dict(zip(ends, found.weights.tolist(), strict=True)) == expected
    random.shuffle(pairs)
    assert weighted(*_columns(pairs), num_nodes=6, directed=directed)[0].equals(found)
    again = Adjacency.from_csr(found.indptr, found.indices, directed=directed, weights=found.weights)
    assert again.equals(found)


def _columns(pairs):
    return [a for a, _, _ in pairs], [b for _, b, _ in pairs], [w / 8 for _, _, w in pairs]


@given(st.permutations([0.1, 0.2, 0.3, 1e12 / 2, 1e-12, 7.0]))
def test_sums_are_the_same_bits_in_any_order(weights):
    found, _ = weighted([0] * 6, [1] * 6, weights)
    assert found.weights[0] == np.float32(sum(sorted(weights)))


@pytest.mark.parametrize("directed", [False, True])
def test_a_hundred_thousand_edges_equal_scipy(directed):
    rng = np.random.default_rng(0)
    n, m = 5_000, 100_000
    source, target = rng.integers(0, n, (2, m))
    if not directed:
        source, target = np.minimum(source, target), np.maximum(source, target)
    values = rng.integers(1, 100, m) / 4
    matrix = sparse.coo_array((values, (source, target)), shape=(n, n)).tocsr()
    matrix = matrix if directed else matrix + matrix.T
    matrix.setdiag(0)
    found, _ = weighted(source, target, values, num_nodes=n, directed=directed)
    assert abs(found.to_scipy() - matrix).max() == 0


# --- what is made of it -----------------------------------------------------------------------------------------------


def test_plain_and_weighted_links_are_never_equal_nor_are_other_weights():
    plain, _ = Adjacency.from_pairs([0], [1], num_nodes=2)
    ones, twos = (weighted([0], [1], [w], num_nodes=2)[0] for w in (1, 2))
    assert plain.equals(plain)
    assert ones.equals(pickle.loads(pickle.dumps(ones)))
    assert not ones.equals(plain)
    assert not plain.equals(ones)
    assert not ones.equals(twos)


def test_the_hash_of_a_graph_knows_its_weights():
    def made(weights):
        return fv.NodeGraph.from_arrays(features=[[1.0], [2.0]], edges=[[0], [1]], edge_weight=weights).sha256

    assert len({made(None), made([1.0]), made([2.0])}) == 3
    assert made([[2.0]]) == made([2])


def test_the_links_that_are_kept_keep_their_weights():
    adjacency, _ = weighted([0, 1], [1, 2], [3, 5])
    kept = adjacency.keeping(adjacency.weights > 3)
    assert (kept.sources.tolist(), kept.indices.tolist(), kept.weights.tolist()) == ([1, 2], [2, 1], [5, 5])


def test_weights_can_not_be_written_to_and_the_callers_are_left_alone():
    given = np.array([2.0, 3.0], dtype=np.float32)
    adjacency, _ = weighted([0, 1], [1, 2], given)
    with pytest.raises(ValueError, match="read-only"):
        adjacency.weights[0] = 1
    given[:] = 0
    adjacency.to_scipy().data[:] = 0
    assert adjacency.weights.tolist() == [2, 2, 3, 3]


def test_a_graph_says_that_its_links_have_weights():
    graph = fv.NodeGraph.from_arrays(features=[[1.0], [2.0]], edges=[[0], [1]], edge_weight=[0.5])
    assert "1 weighted edges" in repr(graph)
    assert "1, weighted" in graph._repr_html_()
    assert graph.provenance.notes == (
        "1 edges given in one direction only, made symmetric, with the same weight both ways",
    )


# --- what is refused --------------------------------------------------------------------------------------------------

LONG = np.array([1] * 3 + [-1] * 7)
REFUSED = {
    "negative": ([1, -0.5], f"edge_weight: 1 of 2 weights can't be used (edge 1: -0.5); {REMEDY}"),
    "NaN": ([np.nan, 1], f"edge_weight: 1 of 2 weights can't be used (edge 0: nan); {REMEDY}"),
    "infinite": ([1, -np.inf], f"edge_weight: 1 of 2 weights can't be used (edge 1: -inf); {REMEDY}"),
    "too large": ([1, 2e12], f"edge_weight: 1 of 2 weights can't be used (edge 1: 2e+12); {REMEDY}"),
    "too small": ([1e-13, 1], f"edge_weight: 1 of 2 weights can't be used (edge 0: 1e-13); {REMEDY}"),
    "texts": (["1", "2"], f"edge_weight: <U1 values; {RULE}."),
    "booleans": ([True, False], f"edge_weight: bool values; {RULE}."),
    "too few": ([1], "edge_weight: shape (1,); expected (2,), one weight for each edge."),
    "a table": ([[1, 2], [3, 4]], "edge_weight: shape (2, 2); expected (2,), one weight for each edge."),
    "one number": (1.0, "edge_weight: shape (); expected (2,), one weight for each edge."),
}


@pytest.mark.parametrize("case", REFUSED)
def test_weights_that_are_none_are_refused_in_these_words(case):
    weights, message = REFUSED[case]
    assert refused([0, 1], [1, 2], weights) == message


def test_many_bad_weights_are_counted():
    assert refused([0] * 10, [1] * 10, LONG) == (
        "edge_weight: 7 of 10 weights can't be used (edge 3: -1, edge 4: -1, edge 5: -1, edge 6: -1, edge 7: -1 and "
        f"2 more); {REMEDY}"
    )


def test_parallel_edges_that_add_up_to_too_much_are_refused():
    assert refused([0, 0], [1, 1], [1e12, 1e12]) == (
        "edge_weight: parallel edges add up to 2e+12; the largest weight is 1e+12. Rescale the weights."
    )


@pytest.mark.parametrize("back", [2.0, 0.0])
def test_two_directions_of_a_link_with_other_weights_are_refused(back):
    light, heavy = sorted([3.0, back])
    lighter = ("0 to 1", "'a' to 'b'") if back > 3 else ("1 to 0", "'b' to 'a'")
    for names, ends in zip((None, ["a", "b", "c"]), lighter, strict=True):
        assert refused([0, 1], [1, 0], [3, back], names=names) == (
            f"edge_weight: 1 links have another weight in each direction ({ends}: {light:g}, back: {heavy:g}). "
            "Give each link one weight, or pass directed=True."
        )


def test_directions_that_differ_by_rounding_are_the_same():
    found, _ = weighted([0, 1], [1, 0], [0.1 + 0.2, 0.3])
    assert found.weights[0] == found.weights[1]
    third = np.float32(1 / 3)
    found, _ = weighted([0, 1], [1, 0], np.array([third, np.nextafter(third, np.float32(1))]))
    assert found.weights[0] == found.weights[1]


def test_rows_with_weights_that_are_no_links_are_refused():
    with pytest.raises(fv.InputError, match="the rows must be sorted"):
        Adjacency.from_csr([0, 1, 2], [1, 0], weights=[0, 0])
    with pytest.raises(fv.InputError, match=r"expected 2 weights of float32\.$"):
        Adjacency(indptr=np.array([0, 1, 2]), indices=np.array([1, 0], dtype=np.int32), weights=np.ones(2))
