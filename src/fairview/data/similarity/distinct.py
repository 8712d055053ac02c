"""Which rows of a table are the same? Work on the distinct ones, then hand the result to all.

Tables of people are full of exact duplicates, and those are what makes a tree search slow and a graph dense.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

BLOCK = 1 << 20  # pairs written in one go


class DistinctRows:
    """The distinct rows of a table (its *points*), and which rows are each of them.

    Example:
        >>> table = DistinctRows(np.array([[5.0], [2.0], [5.0]]))
        >>> table.points.tolist(), table.count.tolist(), table.first.tolist(), table.point_of.tolist()
        ([[2.0], [5.0]], [1, 2], [1, 0], [1, 0, 1])
    """

    def __init__(self, rows: FloatArray) -> None:
        self._order = np.lexsort(rows.T)  # stable: the rows of a point are in ascending order
        ordered = rows[self._order]
        is_new = np.ones(len(rows), dtype=np.bool_)
        is_new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
        self._start = np.flatnonzero(is_new)
        self.points: FloatArray = ordered[is_new]  # (m, d), in lexicographic order of the reversed channels
        self.count: IntArray = np.diff(self._start, append=len(rows))  # (m,): how many rows are this point
        self.first: IntArray = self._order[self._start]  # (m,): the lowest row number among them
        self.point_of: IntArray = np.empty(len(rows), dtype=np.int64)  # (n,): the point that a row is
        self.point_of[self._order] = np.cumsum(is_new) - 1

    @property
    def num_rows(self) -> int:
        return len(self.point_of)

    @property
    def num_points(self) -> int:
        return len(self.points)

    def rows_of(self, points: IntArray, *, at_most: int | None = None) -> tuple[IntArray, IntArray]:
        """The rows that are these points, the lowest `at_most` of each, and which entry of `points` each row is.

        Example:
            >>> table = DistinctRows(np.array([[5.0], [2.0], [5.0]]))
            >>> rows, entry = table.rows_of(np.array([1, 0]))
            >>> rows.tolist(), entry.tolist()
            ([0, 2, 1], [0, 0, 1])
        """
        count = self.count[points] if at_most is None else np.minimum(self.count[points], at_most)
        entry = np.repeat(np.arange(len(points)), count)
        positions = _runs(self._start[points], count)
        return self._order[positions], entry


class LinkLists:
    """Links among distinct rows, collected point by point, and handed out as pairs of rows.

    A point that several rows share is linked to itself if those rows are linked to each other.

    Example:
        >>> lists = LinkLists(DistinctRows(np.array([[5.0], [2.0], [5.0]])))
        >>> lists.add(np.array([0, 1]), owner=np.array([0, 1]), target=np.array([1, 1]))
        >>> source, target = lists.pairs()
        >>> source.tolist(), target.tolist()
        ([0, 1, 1, 2], [2, 0, 2, 0])
    """

    def __init__(self, table: DistinctRows) -> None:
        self.num_pairs = 0
        self._table = table
        self._kind = np.min_scalar_type(table.num_rows)
        self._pieces: list[npt.NDArray[np.integer]] = [np.empty(0, dtype=self._kind)]
        self._listed = 0
        self._start = np.zeros(table.num_points, dtype=np.int64)
        self._length = np.zeros(table.num_points, dtype=np.int64)

    def count(self, source: IntArray, target: IntArray) -> int:
        """How many pairs of rows these links of points are; a row is not linked to itself."""
        others = self._table.count[target] - (source == target)
        return int((self._table.count[source] * others).sum())

    def add(self, points: IntArray, *, owner: IntArray, target: IntArray) -> None:
        """Link the points ``points[owner]`` to the points `target`. All links of a point come in one call."""
        row, entry = self._table.rows_of(target)
        key = np.sort(owner[entry] * self._table.num_rows + row)  # several times quicker than sorting by two keys
        length = np.bincount(owner[entry], minlength=len(points))
        self._pieces.append((key % self._table.num_rows).astype(self._kind))
        self._length[points] = length
        self._start[points] = self._listed + np.cumsum(length) - length
        self._listed += len(row)
        self.num_pairs += self.count(points[owner], target)

    def pairs(self) -> tuple[IntArray, IntArray]:
        """Source and target of all pairs of rows, sorted by source, then target."""
        listed = np.concatenate(self._pieces)
        source, target = np.empty(self.num_pairs, dtype=np.int64), np.empty(self.num_pairs, dtype=np.int64)
        length = self._length[self._table.point_of]
        end = np.cumsum(length)
        done = start = 0
        while start < len(length):
            stop = max(start + 1, int(np.searchsorted(end, end[start] - length[start] + BLOCK)))
            block = slice(start, stop)
            linked = listed[_runs(self._start[self._table.point_of[block]], length[block])]
            row = np.repeat(np.arange(start, stop), length[block])
            other = linked != row
            size = int(other.sum())
            source[done : done + size] = row[other]
            target[done : done + size] = linked[other]
            done, start = done + size, stop
        return source, target


def _runs(start: IntArray, length: IntArray) -> IntArray:
    """start[0], start[0] + 1, ... (length[0] numbers), then the same for the next run.

    Example:
        >>> _runs(np.array([10, 20]), np.array([2, 3])).tolist()
        [10, 11, 20, 21, 22]
    """
    before = np.cumsum(length) - length
    numbers: IntArray = np.repeat(start - before, length)
    numbers += np.arange(len(numbers))
    return numbers
