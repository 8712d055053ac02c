"""Which rows of a table are alike enough to be linked, when no one has recorded the links?

Two rules, each a small frozen model that can be stored as JSON: `SimilarityThreshold`, by which the benchmark graphs
were made, and `NearestNeighbours`. Both are exact: what they give is what comparing all pairs in float64 gives.
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field

from fairview.data.similarity.distinct import BLOCK, DistinctRows, FloatArray, IntArray, LinkLists
from fairview.data.similarity.neighbourhoods import FARTHEST, neighbourhoods
from fairview.errors import InputError, some
from fairview.progress import track


class SimilarityThreshold(BaseModel):
    """Link a row to all that are nearly as similar to it as the most similar one; see `threshold_pairs`.

    Example:
        >>> SimilarityThreshold(threshold=0.8).model_dump_json()
        '{"kind":"threshold","threshold":0.8}'
    """

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    kind: Literal["threshold"] = "threshold"
    threshold: float = Field(gt=0, le=1, allow_inf_nan=False)

    def pairs(self, rows: npt.ArrayLike) -> tuple[IntArray, IntArray]:
        """Directed pairs (source, target), sorted by source, then target."""
        return threshold_pairs(rows, threshold=self.threshold)


class NearestNeighbours(BaseModel):
    """Link a row to the rows nearest to it; see `nearest_neighbour_pairs`.

    Example:
        >>> NearestNeighbours().model_dump_json()
        '{"kind":"neighbours","neighbours":10}'
    """

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    kind: Literal["neighbours"] = "neighbours"
    neighbours: int = Field(default=10, ge=1)

    def pairs(self, rows: npt.ArrayLike) -> tuple[IntArray, IntArray]:
        """Directed pairs (source, target), sorted by source, then target."""
        return nearest_neighbour_pairs(rows, neighbours=self.neighbours)


SimilarityRule = Annotated[SimilarityThreshold | NearestNeighbours, Field(discriminator="kind")]
"""How links are made from rows; in JSON told apart by `kind`."""


def pair_limit(num_rows: int) -> int:
    """The most pairs that a rule may give: 25 million (400 MB), or 64 for each row if that is more."""
    return max(25_000_000, 64 * num_rows)


def threshold_pairs(rows: npt.ArrayLike, *, threshold: float) -> tuple[IntArray, IntArray]:
    """Link i to every j whose similarity to i exceeds a share of the best that i has with any other row.

    With d the Euclidean distance and t the threshold, i -> j for j != i wherever

        1 / (1 + d(i, j)) > t * max over k != i of 1 / (1 + d(i, k)),

    computed in float64 exactly as written. That is a radius per row, d(i, j) < (1 + d_min(i)) / t - 1, so few pairs
    have to be looked at. Exact duplicates have similarity 1. With t = 1 nothing exceeds the best: no pairs.

    Args:
        rows: shape (n, d), finite numbers. Scale them first if the channels' units differ; nothing is scaled here.
        threshold: t, above 0 and at most 1.

    Returns:
        source and target of the directed pairs, sorted by source, then target.

    Raises:
        InputError: rows that are not a finite table, or more pairs than `pair_limit` allows.

    Example:
        Row 2 is 2 away from its nearest, so it reaches (1 + 2) / 0.7 - 1 = 3.29 far, beyond row 0, which is 3 away.

        >>> source, target = threshold_pairs([[0.0], [1.0], [3.0]], threshold=0.7)
        >>> source.tolist(), target.tolist()
        ([0, 1, 2, 2], [1, 0, 0, 1])
    """
    if not np.issubdtype(type(threshold), np.number) or not 0 < threshold <= 1:
        raise InputError(f"similarity: threshold {threshold!r}; expected a number above 0 and at most 1, such as 0.8.")
    table = DistinctRows(_checked(rows))
    limit = pair_limit(table.num_rows)
    lists = LinkLists(table)
    if threshold < 1:
        has_twin = table.count > 1

        def reach(points: IntArray, nearest: FloatArray) -> FloatArray:
            best = np.where(has_twin[points], 0.0, nearest[:, 0])
            with np.errstate(over="ignore"):  # a tiny threshold reaches everywhere
                # Widened relative to 1 + d, which is what has been rounded, and not to the difference that is left.
                return (1 + best) / threshold * (1 + 1e-12) - 1

        with track("Linking similar rows", table.num_points) as advance:
            for block in neighbourhoods(table.points, at_least=1, reach=reach):
                similarity = 1 / (1 + block.distance)
                best = has_twin[block.points].astype(np.float64)
                np.maximum.at(best, block.owner, similarity)
                linked = similarity > (threshold * best)[block.owner]
                twins = np.flatnonzero(has_twin[block.points])
                owner = np.concatenate([block.owner[linked], twins])
                target = np.concatenate([block.target[linked], block.points[twins]])
                if lists.num_pairs + lists.count(block.points[owner], target) > limit:
                    raise InputError(
                        f"similarity: threshold {threshold} links more than {limit:,} pairs of {table.num_rows:,} "
                        "rows. Raise the threshold, scale the channels, or link nearest neighbours."
                    )
                lists.add(block.points, owner=owner, target=target)
                advance(len(block.points))
    return lists.pairs()


def nearest_neighbour_pairs(rows: npt.ArrayLike, *, neighbours: int) -> tuple[IntArray, IntArray]:
    """Link each row to the rows nearest to it by Euclidean distance, never to itself.

    Exact in float64. Of rows equally far away the one with the lower row number is nearer. A table with no more than
    `neighbours` rows links each row to all the others. Rows, result and errors are those of `threshold_pairs`.

    Example:
        Rows 0 and 2 are equally far from row 1; the lower number wins.

        >>> source, target = nearest_neighbour_pairs([[0.0], [1.0], [2.0]], neighbours=1)
        >>> source.tolist(), target.tolist()
        ([0, 1, 2], [1, 0, 1])
    """
    if not np.issubdtype(type(neighbours), np.integer) or neighbours < 1:
        raise InputError(f"similarity: neighbours {neighbours!r}; expected a whole number of at least 1, such as 10.")
    table = DistinctRows(_checked(rows))
    n = table.num_rows
    wanted = min(int(neighbours), n - 1)
    if wanted < 1:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    if n * wanted > pair_limit(n):
        raise InputError(
            f"similarity: {wanted:,} neighbours of {n:,} rows are {n * wanted:,} pairs; at most {pair_limit(n):,} are "
            "allowed. Ask for fewer neighbours."
        )
    # One more than wanted: the row itself may be among them.
    nearest = np.empty((table.num_points, wanted + 1), dtype=np.min_scalar_type(n))
    crowded = table.count > wanted  # all neighbours are twins

    def reach(points: IntArray, nearest: FloatArray) -> FloatArray:
        return np.where(crowded[points], 0.0, nearest[:, -1])

    with track("Finding nearest rows", table.num_points) as advance:
        at_least = min(wanted, table.num_points - 1)
        for block in neighbourhoods(table.points, at_least=at_least, reach=reach):
            everyone = np.arange(len(block.points))
            owner = np.concatenate([block.owner, everyone])
            target = np.concatenate([block.target, block.points])
            distance = np.concatenate([block.distance, np.zeros(len(everyone))])
            # A row can't be among the first unless the lowest row of its point is: sort points, then few rows.
            kept = _first_of_each(owner, distance, table.first[target], wanted + 1)
            owner, target, distance = owner[kept], target[kept], distance[kept]
            row, entry = table.rows_of(target, at_most=wanted + 1)
            kept = _first_of_each(owner[entry], distance[entry], row, wanted + 1)
            nearest[block.points] = row[kept].reshape(-1, wanted + 1)
            advance(len(block.points))
    return _without_self(nearest, table.point_of)


def _first_of_each(owner: IntArray, distance: FloatArray, row: IntArray, count: int) -> IntArray:
    """Positions of the first `count` entries of each owner, by distance, then row number."""
    order = np.lexsort((row, distance, owner))
    sizes = np.bincount(owner)
    rank = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return order[rank < count]


def _without_self(nearest: npt.NDArray[np.integer], point_of: IntArray) -> tuple[IntArray, IntArray]:
    """Give each row the list of its point, less the row itself, or less the last if it is not in it."""
    n, wanted = len(point_of), nearest.shape[1] - 1
    target = np.empty((n, wanted), dtype=np.int64)
    size = max(1, BLOCK // (wanted + 1))
    for start in range(0, n, size):
        block = np.arange(start, min(start + size, n))
        listed = nearest[point_of[block]]
        kept = listed != block[:, None]
        kept[kept.all(axis=1), -1] = False
        target[block] = np.sort(listed[kept].reshape(len(block), wanted), axis=1)
    return np.repeat(np.arange(n), wanted), target.ravel()


def _checked(rows: npt.ArrayLike) -> FloatArray:
    """A float64 copy; finite, two-dimensional, and with distances that can be computed."""
    try:
        array = np.asarray(rows)
    except ValueError as error:
        raise InputError("similarity: the rows differ in length; every row needs the same channels.") from error
    if array.dtype.kind not in "biuf":
        raise InputError(f"similarity: the rows must be numbers, got {array.dtype}. Encode other channels first.")
    if array.ndim != 2 or array.shape[1] == 0:
        raise InputError(f"similarity: rows of shape {array.shape}; expected (rows, channels), at least one channel.")
    wrong = np.flatnonzero(~np.isfinite(array).all(axis=1))
    if len(wrong):
        raise InputError(
            f"similarity: {len(wrong):,} of {len(array):,} rows have NaN or infinite values (rows {some(wrong)}). "
            "Fill or drop them."
        )
    table = array.astype(np.float64)
    if len(table):
        with np.errstate(over="ignore"):
            span = table.max(axis=0) - table.min(axis=0)
            too_far = not np.sqrt(np.square(span).sum()) <= FARTHEST
        if too_far:
            channel = int(span.argmax())
            raise InputError(
                f"similarity: channel {channel} runs from {table[:, channel].min():.6g} to "
                f"{table[:, channel].max():.6g}; distances above {FARTHEST:.0e} overflow. Scale the channels first."
            )
    return table
