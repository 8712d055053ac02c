"""Which random links give a graph an exact number of edges, and an exact share of them within the groups?

Every unordered pair of nodes within a group, and every pair across two groups, has a number. The numbers are cut into
as many stretches as edges are asked for, and one number is drawn from each: nothing is drawn twice, so there is nothing
to reject or to draw again, from the empty graph to the complete one.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from fairview.data.adjacency import Adjacency
from fairview.errors import InputError

IntArray = npt.NDArray[np.int64]

_CHUNK = 1 << 17  # pairs whose intermediate results stay in the processor's cache


def random_edges(
    sensitive: npt.NDArray[np.integer], *, within: int, across: int, rng: np.random.Generator
) -> Adjacency:
    """A random symmetric graph with `within` edges inside the groups and `across` edges between them.

    Edges inside go to the groups in proportion to their sizes, so that all nodes expect equally many neighbours of
    their own group; a group that is full passes the rest on. Edges across go to the pairs of groups in proportion to
    the number of node pairs. Within such a block all pairs are equally likely, and the degrees are close to binomial.

    Raises:
        InputError: there are not as many pairs.

    Example:
        >>> adjacency = random_edges(np.array([0, 1, 0, 1]), within=2, across=0, rng=np.random.default_rng(0))
        >>> adjacency.sources.tolist(), adjacency.indices.tolist()
        ([0, 1, 2, 3], [2, 3, 0, 1])
    """
    members = [np.flatnonzero(sensitive == group) for group in range(int(sensitive.max(initial=-1)) + 1)]
    members.sort(key=len)  # `_ranks` wants the smaller group first
    sizes = np.array([len(nodes) for nodes in members], dtype=np.int64)
    couples = list(itertools.combinations(range(len(members)), 2))
    pairs_within = sizes * (sizes - 1) // 2
    pairs_across = np.array([sizes[a] * sizes[b] for a, b in couples], dtype=np.int64)
    _check_room("within the groups", within, int(pairs_within.sum()))
    _check_room("across the groups", across, int(pairs_across.sum()))

    blocks = [(group, group) for group in range(len(members))] + couples
    counts = np.concatenate([apportion(within, sizes, pairs_within), apportion(across, pairs_across, pairs_across)])
    capacities = np.concatenate([pairs_within, pairs_across])
    around = [np.concatenate([nodes, nodes]) for nodes in members]  # ranks past the end begin again: no modulus needed
    keys = np.empty(2 * (within + across), dtype=np.int64)  # first node in the high half, second in the low half
    filled = 0
    for (a, b), count, capacity in zip(blocks, counts.tolist(), capacities.tolist(), strict=True):
        for numbers in _distinct_numbers(count, capacity, rng):
            ranks, other_ranks = _ranks(numbers, int(sizes[a]), same_group=a == b)
            first, second = around[a].take(ranks), around[b].take(other_ranks)
            middle, end = filled + len(numbers), filled + 2 * len(numbers)
            np.bitwise_or(first << 32, second, out=keys[filled:middle])
            np.bitwise_or(second << 32, first, out=keys[middle:end])
            filled = end
    keys.sort()
    return _adjacency(keys, len(sensitive))


def apportion(total: int, weights: IntArray | npt.NDArray[np.float64], capacity: IntArray) -> IntArray:
    """Whole numbers in proportion to `weights` that add up to `total` (largest remainder), none above its capacity.

    What a full entry can't take goes to the others, again in proportion.

    Example:
        >>> apportion(10, np.array([1, 1, 2]), np.array([100, 100, 100])).tolist()
        [3, 2, 5]
        >>> apportion(10, np.array([1, 1, 2]), np.array([100, 100, 4])).tolist()
        [3, 3, 4]
    """
    full = np.zeros(len(weights), dtype=np.bool_)
    while True:
        rest = total - int(capacity[full].sum())
        open_weights = np.where(full, 0.0, weights)
        exact = open_weights * (rest / max(open_weights.sum(), np.finfo(np.float64).tiny))
        counts = np.floor(exact).astype(np.int64)
        by_remainder = np.argsort(counts - exact, kind="stable")
        counts[by_remainder[: rest - int(counts.sum())]] += 1
        counts[full] = capacity[full]
        if (counts <= capacity).all():
            return np.asarray(counts, dtype=np.int64)
        full |= counts > capacity


def _check_room(where: str, wanted: int, possible: int) -> None:
    if wanted > possible:
        raise InputError(
            f"edges: {wanted:,} edges {where} are asked for, but only {possible:,} pairs of nodes exist {where}. "
            "Lower average_degree, or change homophily, num_nodes or the shares of the groups."
        )


def _distinct_numbers(count: int, capacity: int, rng: np.random.Generator) -> Iterator[IntArray]:
    """`count` different numbers below `capacity`, each equally likely, in pieces of at most about `_CHUNK`.

    One number from each of `count` stretches that cover a circle of `capacity` places, rotated at random. If more than
    half of the numbers are wanted, the others are drawn so and left out.
    """
    if 2 * count > capacity:
        wanted = np.ones(capacity, dtype=np.bool_)
        for numbers in _distinct_numbers(capacity - count, capacity, rng):
            wanted[numbers] = False
        for start in range(0, capacity, _CHUNK):
            yield np.flatnonzero(wanted[start : start + _CHUNK]) + start
        return
    rotation = int(rng.integers(capacity)) if count else 0
    for start in range(0, count, _CHUNK):
        stop = min(start + _CHUNK, count)
        bounds = np.floor(np.arange(start, stop + 1) * (capacity / count))
        if stop == count:
            bounds[-1] = capacity
        numbers = (rng.random(stop - start) * np.diff(bounds)).astype(np.int64)
        numbers += bounds[:-1].astype(np.int64)
        numbers += rotation
        if numbers[-1] >= capacity:  # they rise, so the last tells whether any has come round the circle
            numbers[numbers >= capacity] -= capacity
        yield numbers


def _ranks(numbers: IntArray, size: int, *, same_group: bool) -> tuple[IntArray, IntArray]:
    """The pairs that have these numbers: rank in a group of `size` nodes, and rank, going round, in the other group.

    Number rank + size * step stands for the pair of `rank` and `rank + step`, the latter modulo the size of the other
    group, which must not be smaller. In one group it stands for `rank` and `rank + step + 1`: on a circle two places
    are joined by one shorter arc, and opposite places by two equal ones, of which only the one that begins in the first
    half has a number below size (size - 1) / 2. Neighbouring numbers are pairs that have no node in common, so that
    drawing one from each stretch of numbers leaves the degrees free.
    """
    steps = numbers // size
    ranks = numbers - steps * size
    steps += ranks
    if same_group:
        steps += 1
    return ranks, steps


def _adjacency(keys: IntArray, num_nodes: int) -> Adjacency:
    """Rows from sorted, different, symmetric keys ``first << 32 | second``."""
    indptr = np.full(num_nodes + 1, len(keys), dtype=np.int64)
    row = 0  # the first whose start is not known yet
    for start in range(0, len(keys), _CHUNK):  # many rows in few keys: far quicker than to search all keys for all rows
        part = keys[start : start + _CHUNK]
        last = int(part[-1]) >> 32
        indptr[row : last + 1] = start + np.searchsorted(part, np.arange(row, last + 1, dtype=np.int64) << 32)
        row = last + 1
    return Adjacency(indptr=indptr, indices=keys.astype(np.int32))  # the cast keeps the low half
