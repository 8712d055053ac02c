"""Random links: exact counts, sound rows, and pairs that are equally likely."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairview.data.adjacency import Adjacency
from fairview.data.synthetic.random_edges import _distinct_numbers, _ranks, apportion, random_edges


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(1, 12), min_size=1, max_size=4),
    st.floats(0, 1),
    st.floats(0, 1),
    st.integers(0, 2**32 - 1),
)
def test_any_possible_number_of_edges_is_met_by_a_sound_structure(
    sizes: list[int], fill_within: float, fill_across: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    sensitive = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    within = round(fill_within * sum(size * (size - 1) // 2 for size in sizes))
    across = round(fill_across * sum(a * b for a, b in itertools.combinations(sizes, 2)))
    adjacency = random_edges(sensitive, within=within, across=across, rng=rng)
    again = Adjacency.from_csr(adjacency.indptr, adjacency.indices)  # raises unless sorted, symmetric, free of loops
    same = sensitive[again.sources] == sensitive[again.indices]
    assert (int(same.sum()), int((~same).sum())) == (2 * within, 2 * across)


@pytest.mark.parametrize("size", range(2, 12))
def test_every_pair_of_a_group_has_one_number(size: int) -> None:
    first, second = _ranks(np.arange(size * (size - 1) // 2), size, same_group=True)
    pairs = {frozenset(pair) for pair in zip(first.tolist(), (second % size).tolist(), strict=True)}
    assert pairs == {frozenset(pair) for pair in itertools.combinations(range(size), 2)}
    assert second.max() < 2 * size


@pytest.mark.parametrize(("size", "other"), [(1, 1), (1, 4), (3, 3), (3, 7), (4, 6)])
def test_every_pair_across_two_groups_has_one_number(size: int, other: int) -> None:
    first, second = _ranks(np.arange(size * other), size, same_group=False)
    pairs = set(zip(first.tolist(), (second % other).tolist(), strict=True))
    assert pairs == set(itertools.product(range(size), range(other)))
    assert second.max() < 2 * other


@given(st.integers(0, 400), st.integers(0, 400), st.integers(0, 2**32 - 1))
def test_drawn_numbers_are_different_and_in_range(count: int, more: int, seed: int) -> None:
    pieces = list(_distinct_numbers(count, count + more, np.random.default_rng(seed)))
    numbers = np.concatenate(pieces) if pieces else np.empty(0)
    assert len(numbers) == len(set(numbers.tolist())) == count
    assert count == 0 or (numbers.min() >= 0 and numbers.max() < count + more)


@pytest.mark.parametrize("count", [3, 5, 8])  # of 11: stretches of different lengths; more than half is left out
def test_all_numbers_are_equally_likely(count: int) -> None:
    rng, rounds = np.random.default_rng(1), 5000
    times = np.zeros(11)
    for _ in range(rounds):
        times[np.concatenate(list(_distinct_numbers(count, 11, rng)))] += 1
    share = count / 11
    assert np.abs(times / rounds - share).max() < 4 * np.sqrt(share * (1 - share) / rounds)


@given(st.lists(st.tuples(st.integers(1, 50), st.integers(0, 30)), min_size=1, max_size=6), st.floats(0, 1))
def test_apportioned_numbers_add_up_and_stay_below_the_capacity(entries: list[tuple[int, int]], fill: float) -> None:
    weights, capacity = np.array(entries).T
    total = int(fill * capacity.sum())
    counts = apportion(total, weights, capacity)
    assert counts.sum() == total
    assert ((counts >= 0) & (counts <= capacity)).all()
