"""What can a linear model see of a table? Each channel, and hat functions along it: enough for any bend.

A channel of values x becomes the columns x and h_1(x), ..., h_K(x). The hats are piecewise linear on a position t(x),
1 at their own knot and 0 at all others:

    up to eight values    t = the number of the value, a knot at each: a column per value (none for one or two values)
    more                  t = the rank of x among the fitted nodes, from 0 to 1; knots at its quantiles

Values that were not fitted take the position between their neighbours; beyond the ends, that of the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from fairview.training.state import State

Reals = npt.NDArray[np.float64]

MOST_VALUES = 8
"""A channel with no more values than this gets a column for each."""

GRID = 101
"""Quantiles that remember the ranks of a channel."""


@dataclass(frozen=True, eq=False)
class Hats:
    """The hat functions of one channel.

    Attributes:
        values: a grid along the channel, ascending.
        positions: t of each value of the grid, ascending.
        knots: positions where a hat is 1; none for a channel that stays as it is.
    """

    values: Reals
    positions: Reals
    knots: Reals

    @classmethod
    def fit(cls, column: npt.NDArray[np.floating[Any]], knots: int) -> Hats:
        """Of a channel's values; `knots` of them where there are more than eight values."""
        found = np.unique(column).astype(np.float64)
        if knots == 0 or len(found) <= 2:
            return cls(np.empty(0), np.empty(0), np.empty(0))
        if len(found) <= MOST_VALUES:
            places = np.arange(len(found), dtype=np.float64)
            return cls(found, places, places)
        ordered = np.sort(column.astype(np.float64))
        grid = np.unique(np.quantile(ordered, np.linspace(0, 1, GRID), method="nearest"))
        below, up_to = (np.searchsorted(ordered, grid, side=side) for side in ("left", "right"))
        ranks = (below + up_to) / (2 * len(ordered))
        at = np.interp(np.quantile(ordered, np.linspace(0, 1, knots), method="nearest"), grid, ranks)
        return cls(grid, ranks, np.unique(at))

    def __call__(self, column: Reals) -> Reals:
        """The hats' values, (n, knots).

        Example:
            >>> Hats(np.array([0.0, 10.0]), np.array([0.0, 1.0]), np.array([0.0, 0.5, 1.0]))(np.array([2.5, 99.0]))
            array([[0.5, 0.5, 0. ],
                   [0. , 0. , 1. ]])
        """
        out = np.zeros((len(column), len(self.knots)))
        if len(self.knots) < 2:
            return out
        position = np.interp(column, self.values, self.positions)
        right = np.clip(np.searchsorted(self.knots, position, side="right"), 1, len(self.knots) - 1)
        start, end = self.knots[right - 1], self.knots[right]
        share = np.clip((position - start) / (end - start), 0, 1)
        rows = np.arange(len(column))
        out[rows, right - 1], out[rows, right] = 1 - share, share
        return out


@dataclass(frozen=True, eq=False)
class SplineFeatures:
    """The columns of a table: each channel itself, then its hats.

    Example:
        >>> made = SplineFeatures.fit(np.array([[0.0, 3.0], [1.0, 5.0], [0.0, 9.0]]), knots=6)
        >>> made.channel_of.tolist()
        [0, 1, 1, 1, 1]
        >>> made(np.array([[1.0, 4.0]])).tolist()
        [[1.0, 4.0, 0.5, 0.5, 0.0]]
    """

    channels: tuple[Hats, ...]

    @classmethod
    def fit(cls, features: npt.NDArray[np.floating[Any]], *, knots: int) -> SplineFeatures:
        """Grids and knots of every channel; `knots=0` leaves the channels as they are."""
        return cls(tuple(Hats.fit(column, knots) for column in features.T))

    @property
    def channel_of(self) -> npt.NDArray[np.intp]:
        """The channel's number of each column."""
        return np.repeat(np.arange(len(self.channels)), [1 + len(hats.knots) for hats in self.channels])

    def __call__(self, features: npt.NDArray[np.floating[Any]]) -> Reals:
        """The columns, (n, k)."""
        wide = np.asarray(features, dtype=np.float64)
        out = np.empty((len(wide), len(self.channel_of)))
        at = 0
        for column, hats in zip(wide.T, self.channels, strict=True):
            out[:, at] = column
            out[:, at + 1 : at + 1 + len(hats.knots)] = hats(column)
            at += 1 + len(hats.knots)
        return out

    def tensors(self) -> State:
        """Grids and knots of all channels end to end, and how long each is."""
        parts = {name: [getattr(hats, name) for hats in self.channels] for name in ("values", "positions", "knots")}
        joined = {name: np.concatenate([np.empty(0), *arrays]) for name, arrays in parts.items()}
        lengths = {name: np.array([len(a) for a in parts[name]], dtype=np.int64) for name in ("values", "knots")}
        named = joined | {"value_counts": lengths["values"], "knot_counts": lengths["knots"]}
        return {f"splines.{name}": torch.from_numpy(array) for name, array in named.items()}

    @classmethod
    def restore(cls, tensors: State, channels: int) -> SplineFeatures:
        """From `tensors`, which may come from a file: every length and order is checked."""
        values, positions, knots, value_counts, knot_counts = (
            tensors[f"splines.{name}"].numpy()
            for name in ("values", "positions", "knots", "value_counts", "knot_counts")
        )
        kinds = [(values, "f"), (positions, "f"), (knots, "f"), (value_counts, "i"), (knot_counts, "i")]
        counts_fit = all(
            counts.shape == (channels,) and (counts >= 0).all() and counts.sum() == len(array)
            for counts, array in ((value_counts, values), (value_counts, positions), (knot_counts, knots))
        )
        if any(array.ndim != 1 or array.dtype.kind != kind for array, kind in kinds) or not counts_fit:
            raise ValueError("the splines do not fit the channels")
        grid, place = np.append(0, np.cumsum(value_counts)), np.append(0, np.cumsum(knot_counts))
        found = cls(
            tuple(
                Hats(values[a:b], positions[a:b], knots[c:d])
                for (a, b), (c, d) in zip(pairwise(grid), pairwise(place), strict=True)
            )
        )
        for hats in found.channels:
            ascend = all((np.diff(array) > 0).all() for array in (hats.values, hats.positions, hats.knots))
            if not ascend or (len(hats.knots) > 0) != (len(hats.values) > 0):
                raise ValueError("the splines' knots are not in order")
        return found
