"""Which points lie within a reach of each point? All of them, with the distances that float64 sums give.

Two ways to the same answer: a k-d tree, which looks at few points where the data have few effective dimensions, and a
blocked matrix product, which looks at all pairs but quickly. Both only *propose* pairs, from distances widened by more
than their rounding errors; the distances handed out are always those of `distances`. So the choice between the two,
made by the clock on a few points, can't change a result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import perf_counter

import numpy as np
import numpy.typing as npt

from fairview.data.similarity.distinct import FloatArray, IntArray

Reach = Callable[[IntArray, FloatArray], FloatArray]
"""(points of a block, upper bounds of the distances to their `at_least` nearest others, ascending) -> reach of each."""

BLOCK = 1 << 19  # pairs looked at in one go: 4 MB for each array of them, which stays in the cache
SMALL = 1000  # up to here all pairs fit into one block, and a tree isn't worth planting
PROBES = 32  # points on which the product is timed, in its race with the tree
TREE_PROBES = 512
"""Points for the tree, which is a matter of microseconds each: with fewer, an interruption would decide the race."""

RELATIVE = 1e-10
"""Far above the rounding error of a tree's distances, (channels + depth) * 2.2e-16; far below what costs time."""

ABSOLUTE = 1e-150
"""Below this the square of a difference leaves the range of normal numbers, and relative errors mean nothing."""

FARTHEST = 1e150
"""No two points may be farther apart: squares must not leave the range of normal numbers at the other end either."""


@dataclass(frozen=True)
class Neighbourhoods:
    """For each point of a block, every other point within its reach (and some beyond)."""

    points: IntArray  # (b,)
    owner: IntArray  # (pairs,) whose neighbour it is, as a position in `points`; ascending
    target: IntArray  # (pairs,)
    distance: FloatArray  # (pairs,)


def distances(points: FloatArray, source: IntArray, target: IntArray) -> FloatArray:
    """Euclidean distance of pairs of rows, summed channel by channel in order, as scipy's `cdist` does.

    Example:
        >>> distances(np.array([[0.0, 0.0], [3.0, 4.0]]), np.array([0]), np.array([1])).tolist()
        [5.0]
    """
    total = np.zeros(len(source))
    for channel in points.T:
        difference = channel[source]
        difference -= channel[target]
        difference *= difference
        total += difference
    return np.sqrt(total, out=total)


def neighbourhoods(points: FloatArray, *, at_least: int, reach: Reach) -> Iterator[Neighbourhoods]:
    """Walk over all points, block by block, and find what lies within the reach of each; a point is in one block.

    Args:
        points: shape (m, d), no two farther apart than `FARTHEST`. Points may coincide, but many that do make it slow.
        at_least: how many nearest others `reach` needs to know; from 1 to m - 1, if there are others.
        reach: how far to look.

    Example:
        >>> line = np.array([[0.0], [1.0], [3.0]])
        >>> twice_as_far_as_the_nearest = lambda _, nearest: 2 * nearest[:, 0]
        >>> for block in neighbourhoods(line, at_least=1, reach=twice_as_far_as_the_nearest):
        ...     print(block.points[block.owner], block.target, block.distance)
        [0 1 1 2 2] [1 0 2 0 1] [1. 1. 2. 3. 2.]
    """
    everyone = np.arange(len(points))
    if len(points) < 2:
        nobody = np.empty(0, dtype=np.int64)
        yield Neighbourhoods(everyone, nobody, nobody, np.empty(0))
        return
    points = np.asfortranarray(points)  # channels contiguous: what `distances` reads
    product = _ProductSearch(points, at_least, reach)
    if len(points) <= SMALL:
        yield from product.search(everyone)
        return
    tree = _TreeSearch(points, at_least, reach)
    few, more = (everyone[:: -(-len(points) // count)] for count in (PROBES, TREE_PROBES))
    if _seconds(tree, more) < _seconds(product, few):
        yield from tree.search(tree.order)  # points of a leaf together: their searches walk the same branches
    else:
        yield from product.search(everyone)


def _seconds(search: _TreeSearch | _ProductSearch, probes: IntArray) -> float:
    """For one of the probes."""
    start = perf_counter()
    for _ in search.search(probes):
        pass
    return (perf_counter() - start) / len(probes)


def _widened(distance: FloatArray) -> FloatArray:
    """At least as far, whatever the rounding on the way; never so far that its square overflows."""
    return np.minimum(distance, 2 * FARTHEST) * (1 + RELATIVE) + ABSOLUTE


def _measured(points: FloatArray, block: IntArray, owner: IntArray, target: npt.NDArray[np.integer]) -> Neighbourhoods:
    others = target.astype(np.int64, copy=False)
    return Neighbourhoods(block, owner, others, distances(points, block[owner], others))


class _TreeSearch:
    """Asks the tree for the k nearest; who has all of them within reach asks again for four times as many."""

    def __init__(self, points: FloatArray, at_least: int, reach: Reach) -> None:
        self._points = points
        self._rows = np.ascontiguousarray(points)
        self._at_least = at_least
        self._reach = reach
        from scipy.spatial import cKDTree  # takes a while to import, and prediction seldom needs it

        self._tree = cKDTree(self._rows, leafsize=16)
        self.order: IntArray = np.asarray(self._tree.indices, dtype=np.int64)

    def search(self, asking: IntArray) -> Iterator[Neighbourhoods]:
        # The point itself, the others that `reach` needs, and one more that shows that there are no further ones.
        k = max(8, self._at_least + 2)
        while len(asking):
            k = min(k, len(self._rows))
            again = []
            size = max(1, BLOCK // (4 * k))
            for start in range(0, len(asking), size):
                block = asking[start : start + size]
                near, target = map(np.asarray, self._tree.query(self._rows[block], k=k, workers=-1))
                # The point itself is one of those at distance 0, so column j bounds the j-th nearest other.
                bound = _widened(near[:, 1 : self._at_least + 1])
                limit = _widened(self._reach(block, bound))
                complete = (near[:, -1] > limit) if k < len(self._rows) else np.ones(len(block), dtype=np.bool_)
                again.append(block[~complete])
                settled, target = block[complete], target[complete]
                close = (near[complete] <= limit[complete, None]) & (target != settled[:, None])
                yield _measured(self._points, settled, np.nonzero(close)[0], target[close])
            asking = np.concatenate(again)
            k *= 4


class _ProductSearch:
    """Looks at all pairs through a lower bound of |x - y|² that is one matrix product.

    With rows centred, |x|² + |y|² - 2 x·y is the product of the rows (x, |x|², 1) and (-2 y, 1, |y|²). Whatever the
    order of the sums, the rounding errors of centring, norms and product stay below 4, d and 2 d + 4 times
    eps (|x|² + |y|²); taking twice as much off the squared norms makes it a lower bound.
    """

    def __init__(self, points: FloatArray, at_least: int, reach: Reach) -> None:
        self._points = points
        self._at_least = at_least
        self._reach = reach
        # Halves first: the sum of two large numbers may overflow. Any centre is right, a good one makes tight bounds.
        centred = points - (points.min(axis=0) / 2 + points.max(axis=0) / 2)
        share = 2 * (3 * points.shape[1] + 8) * np.finfo(np.float64).eps
        norms = np.einsum("ij,ij->i", centred, centred)[:, None] * (1 - share)
        ones = np.ones_like(norms)
        self._left = np.hstack([centred, norms, ones])
        self._right = np.ascontiguousarray(np.hstack([-2 * centred, ones, norms]).T)

    def search(self, asking: IntArray) -> Iterator[Neighbourhoods]:
        size = max(1, BLOCK // len(self._points))
        for start in range(0, len(asking), size):
            block = asking[start : start + size]
            lower = self._left[block] @ self._right  # (block, m)
            lower[np.arange(len(block)), block] = np.inf
            # Any `at_least` others bound the nearest ones from above; these are near the best.
            if self._at_least == 1:
                nearest = lower.argmin(axis=1)[:, None]
            else:
                nearest = np.argpartition(lower, self._at_least - 1, axis=1)[:, : self._at_least]
            bound = distances(self._points, np.repeat(block, self._at_least), nearest.ravel()).reshape(nearest.shape)
            bound.sort(axis=1)
            limit = _widened(self._reach(block, bound))
            close = lower <= (limit * limit)[:, None] + ABSOLUTE * ABSOLUTE
            owner, target = np.divmod(np.flatnonzero(close), lower.shape[1])  # in one dimension it is ten times quicker
            yield _measured(self._points, block, owner, target)
