"""Links are sorted, unique, free of loops, and symmetric unless directed, whatever pairs are given."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from fairview.data.adjacency import Adjacency, EdgeCounts
from fairview.errors import InputError


def dense(adjacency: Adjacency) -> list[list[int]]:
    return adjacency.to_scipy().toarray().astype(int).tolist()


def test_a_path_by_hand() -> None:
    adjacency, counts = Adjacency.from_pairs([1, 1], [0, 2], num_nodes=4)
    assert dense(adjacency) == [[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]]
    assert (adjacency.num_nodes, adjacency.num_pairs, adjacency.num_edges) == (4, 4, 2)
    assert adjacency.degree.tolist() == [1, 2, 1, 0]
    assert adjacency.sources.tolist() == [0, 1, 1, 2]
    assert adjacency.indices.tolist() == [1, 0, 2, 1]
    assert counts == EdgeCounts(given=2, one_direction=2)


def test_directed_pairs_stay_as_they_are() -> None:
    adjacency, counts = Adjacency.from_pairs([1, 1, 1, 2], [2, 0, 2, 2], num_nodes=3, directed=True)
    assert dense(adjacency) == [[0, 0, 0], [1, 0, 1], [0, 0, 0]]
    assert (adjacency.num_pairs, adjacency.num_edges, adjacency.directed) == (2, 2, True)
    assert counts == EdgeCounts(given=4, self_loops=1, parallel=1)
    assert counts.notes(directed=True) == ["1 self-loops dropped", "1 parallel edges merged"]


def test_what_was_changed_is_counted_and_said() -> None:
    source = [0, 1, 0, 0, 2, 2, 2]
    target = [1, 0, 1, 2, 2, 2, 3]
    _, counts = Adjacency.from_pairs(source, target, num_nodes=4)
    assert counts == EdgeCounts(given=7, self_loops=2, parallel=1, one_direction=2)
    assert counts.notes(directed=False) == [
        "2 self-loops dropped",
        "1 parallel edges merged",
        "2 edges given in one direction only, made symmetric",
    ]
    assert EdgeCounts(given=3).notes(directed=False) == []


@pytest.mark.parametrize("num_nodes", [0, 1, 5])
def test_no_edges_are_a_graph_too(num_nodes: int) -> None:
    adjacency, counts = Adjacency.from_pairs([], [], num_nodes=num_nodes)
    assert (adjacency.num_nodes, adjacency.num_edges) == (num_nodes, 0)
    assert adjacency.degree.tolist() == [0] * num_nodes
    assert counts == EdgeCounts(given=0)
    assert adjacency.to_scipy().shape == (num_nodes, num_nodes)


def test_a_hub_joined_to_everyone() -> None:
    adjacency, _ = Adjacency.from_pairs(np.zeros(999, dtype=int), np.arange(1, 1000), num_nodes=1000)
    assert adjacency.degree.tolist() == [999] + [1] * 999


PAIRS = st.integers(1, 12).flatmap(
    lambda n: st.tuples(st.just(n), st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=40))
)


@given(PAIRS, st.booleans())
def test_any_pairs_give_what_sets_give(case: tuple[int, list[tuple[int, int]]], directed: bool) -> None:
    n, pairs = case
    source, target = [a for a, _ in pairs], [b for _, b in pairs]
    adjacency, counts = Adjacency.from_pairs(source, target, num_nodes=n, directed=directed)
    given_once = {(a, b) for a, b in pairs if a != b}
    expected = given_once if directed else given_once | {(b, a) for a, b in given_once}
    assert list(zip(adjacency.sources.tolist(), adjacency.indices.tolist(), strict=True)) == sorted(expected)
    assert counts.given == len(pairs)
    assert counts.self_loops == sum(a == b for a, b in pairs)
    assert counts.parallel == sum(a != b for a, b in pairs) - len(given_once)
    assert counts.one_direction == (0 if directed else len(expected) - len(given_once))
    again = Adjacency.from_csr(adjacency.indptr, adjacency.indices, directed=directed)
    assert (again.indptr.tolist(), again.indices.tolist()) == (adjacency.indptr.tolist(), adjacency.indices.tolist())


@pytest.mark.parametrize("directed", [False, True])
def test_a_million_edges_equal_scipy(directed: bool) -> None:
    rng = np.random.default_rng(0)
    n, m = 50_000, 1_000_000
    source, target = rng.integers(0, n, (2, m))
    adjacency, _ = Adjacency.from_pairs(source, target, num_nodes=n, directed=directed)
    matrix = sparse.coo_array((np.ones(m), (source, target)), shape=(n, n)).tocsr()
    if not directed:
        matrix = matrix + matrix.T
    matrix.setdiag(0)
    matrix.eliminate_zeros()
    matrix.sort_indices()
    np.testing.assert_array_equal(adjacency.indptr, matrix.indptr)
    np.testing.assert_array_equal(adjacency.indices, matrix.indices)


def test_node_numbers_whose_product_exceeds_32_bits_are_not_confused() -> None:
    adjacency, _ = Adjacency.from_pairs(
        np.array([99_999, 0], dtype=np.int32), np.array([99_998, 99_999], dtype=np.int32), num_nodes=100_000
    )
    assert adjacency.sources.tolist() == [0, 99_998, 99_999, 99_999]
    assert adjacency.indices.tolist() == [99_999, 99_999, 0, 99_998]


def test_nothing_in_it_can_be_written_to() -> None:
    adjacency, _ = Adjacency.from_pairs([0], [1], num_nodes=2)
    with pytest.raises(ValueError, match="read-only"):
        adjacency.indices[0] = 0
    with pytest.raises(ValueError, match="read-only"):
        adjacency.indptr[0] = 1
    with pytest.raises(AttributeError):
        adjacency.directed = True  # type: ignore[misc]
    matrix = adjacency.to_scipy()
    matrix.indices[:] = 0  # a copy
    assert adjacency.indices.tolist() == [1, 0]


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64, np.uint64])
def test_the_callers_arrays_are_left_alone(dtype: type) -> None:
    source, target = np.array([2, 0, 0], dtype=dtype), np.array([1, 1, 0], dtype=dtype)
    adjacency, _ = Adjacency.from_pairs(source, target, num_nodes=3)
    assert (source.tolist(), target.tolist()) == ([2, 0, 0], [1, 1, 0])
    assert source.flags.writeable
    indptr, indices = adjacency.indptr.copy(), adjacency.indices.copy()
    kept = Adjacency.from_csr(indptr, indices)
    indices[:] = 0
    assert indices.flags.writeable
    assert kept.indices.tolist() == adjacency.indices.tolist()


REFUSED_PAIRS = {
    "outside": (
        ([0, 3, -1], [1, 0, 1]),
        "edges: 2 of 3 edges name a node outside 0..2 ((3, 0), (-1, 1)).",
    ),
    "uneven": (([0, 1], [1]), "edges: 2 sources but 1 targets; they must pair up."),
    "floats": (
        ([0.0], [1.0]),
        "edges: source must be a list of integer node numbers, got float64 with shape (1,).",
    ),
    "texts": (([0], ["a"]), "edges: target must be a list of integer node numbers, got <U1 with shape (1,)."),
    "booleans": (([True], [False]), "edges: source must be a list of integer node numbers, got bool with shape (1,)."),
    "a table": (
        ([[0, 1]], [1, 0]),
        "edges: source must be a list of integer node numbers, got int64 with shape (1, 2).",
    ),
    "beyond 64 bits": (
        ([2**64], [0]),
        "edges: source must be a list of integer node numbers, got object with shape (1,).",
    ),
    "beyond signed 64 bits": (
        (np.array([2**63], dtype=np.uint64), [0]),
        "edges: 1 of 1 edges name a node outside 0..2 ((9223372036854775808, 0)).",
    ),
}


@pytest.mark.parametrize("case", REFUSED_PAIRS)
def test_pairs_that_are_no_edges_are_refused_in_these_words(case: str) -> None:
    (source, target), message = REFUSED_PAIRS[case]
    with pytest.raises(InputError) as refused:
        Adjacency.from_pairs(source, target, num_nodes=3)
    assert str(refused.value) == message


def test_impossible_numbers_of_nodes_are_refused() -> None:
    for num_nodes in (-1, 2**31):
        with pytest.raises(InputError, match="nodes; expected between 0 and what 32-bit node numbers can hold"):
            Adjacency.from_pairs([], [], num_nodes=num_nodes)


UNTIDY = (
    "edges: the rows must be sorted, without self-loops or duplicates, and symmetric unless directed; "
    "use Adjacency.from_pairs to make them so."
)
BOUNDS = "edges: indptr must rise from 0 to the number of indices."
INTEGERS = "must be a list of integer node numbers, got"
REFUSED_ROWS = {
    "one direction": ([0, 1, 1], [1], UNTIDY),
    "a loop": ([0, 1], [0], UNTIDY),
    "unsorted": ([0, 2, 3, 4], [2, 1, 0, 0], UNTIDY),
    "twice": ([0, 2, 4], [1, 1, 0, 0], UNTIDY),
    "falling": ([0, 2, 1, 2], [1, 2], BOUNDS),
    "not from 0": ([1, 1, 2], [1, 0], BOUNDS),
    "not to the end": ([0, 1, 1], [1, 0], BOUNDS),
    "no bounds": ([], [], BOUNDS),
    "a number": ([0], 5, f"edges: indices {INTEGERS} int64 with shape ()."),
    "fractions": ([0, 1, 2], [1.7, 0.2], f"edges: indices {INTEGERS} float64 with shape (2,)."),
    "texts": ([0, 1, 2], ["1", "0"], f"edges: indices {INTEGERS} <U1 with shape (2,)."),
    "beyond 32 bits": ([0, 1, 2], [2**32 + 1, 0], "edges: 1 of 2 edges name a node outside 0..1 ((0, 4294967297))."),
    "outside": ([0, 1, 2], [1, 2], "edges: 1 of 2 edges name a node outside 0..1 ((1, 2))."),
}


@pytest.mark.parametrize("case", REFUSED_ROWS)
def test_rows_that_break_a_promise_are_refused_in_these_words(case: str) -> None:
    indptr, indices, message = REFUSED_ROWS[case]
    with pytest.raises(InputError) as refused:
        Adjacency.from_csr(indptr, indices)
    assert str(refused.value) == message


def test_directed_rows_need_not_be_symmetric() -> None:
    assert Adjacency.from_csr([0, 1, 1], [1], directed=True).num_edges == 1
