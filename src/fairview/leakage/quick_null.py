"""What would chance show on a large graph? The shuffles of `exact_null`, without propagating each of them.

A shuffle is a product of the shuffled channels with vectors that are made once (`fixed_vectors`); the vectors are
shuffled in place of the channels, which are more. The numerator of a correlation is exact. Of the squared norm of a
propagated channel, ‖C S^h z‖² is not: α + β m·(z² - 1) stands for it, with α and β of each hop fitted to the first
shuffles, which are propagated. They also tell how far |correlation| and its growth are off, channel by channel. Where
that is more than `TOLERANCE`, all shuffles of the channel are propagated, and they are the same shuffles. If that is
so for most channels, the graph is the reason (hubs and sums, say), and no channel is trusted.

X itself has its true correlations. With a null norm in their place the p-values would be exact, but the test would be
another: a channel that is alike among neighbours has a larger norm than its shuffles, and would seem to leak.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Unpack

import numpy as np
import numpy.typing as npt

from fairview.data.adjacency import Adjacency
from fairview.groups import UNKNOWN
from fairview.leakage.exact_null import Shuffles, shuffled_correlations
from fairview.leakage.fixed_vectors import FixedVectors, fixed_vectors
from fairview.leakage.shuffled_products import Products, Standard, shuffled_products
from fairview.progress import track
from fairview.propagation.correlation import Codes
from fairview.propagation.one_hop import links_hop, one_hop
from fairview.propagation.operators import Operator

Array = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

PROPAGATED = 10
"""Shuffles that are propagated, to fit the norms and to measure the error."""

TOLERANCE = 0.2
"""Standard deviations by which |correlation| or its growth may be off in any of the propagated shuffles."""

_WIDTH = 32  # columns propagated at a time
_ROWS = 1 << 12  # of them at a time: they stay in the processor's cache
_ROUNDING = 1e-6  # a spread below this share of the values, or of what they were before propagation, is rounding
_FLOOR = 0.01  # of its mean: no squared norm is taken to be less
_RESOLUTION = 1e-5  # of a correlation in float32: a smaller spread is rounding


class QuickNull(NamedTuple):
    """Correlations of X and of its shuffles, and how they came about.

    Attributes:
        correlations: as of `shuffled_correlations`, shape (1 + permutations, hops + 1, d).
        quick: channels whose shuffles were not propagated, shape (d,).
        error: the largest difference of |correlation|, or of its growth, between quick and exact, among the shuffles
            that were propagated, in standard deviations over the shuffles; shape (d,).
    """

    correlations: Array
    quick: Bools
    error: Array


def quick_null(
    features: npt.NDArray[np.float32],
    adjacency: Adjacency,
    codes: Codes,
    *,
    tolerance: float = TOLERANCE,
    **shuffles: Unpack[Shuffles],
) -> QuickNull:
    """The correlations of `shuffled_correlations`, of the same shuffles."""
    operator, hops, seed = shuffles["operator"], shuffles["hops"], shuffles["seed"]
    permutations = shuffles["permutations"]
    mean, spread = features.mean(axis=0, dtype=np.float64), features.std(axis=0, dtype=np.float64)
    varies = spread > _ROUNDING * np.abs(mean)
    correlations, error = np.zeros((1 + permutations, hops + 1, len(mean))), np.zeros(len(mean))

    def propagated(channels: Bools, count: int) -> Array:
        some: Shuffles = {**shuffles, "permutations": count}
        return shuffled_correlations(features[:, channels], adjacency, [codes], **some)[0]

    if varies.any():
        ratio = mean[varies] / spread[varies]
        standard = np.ascontiguousarray(((features[:, varies] - mean[varies]) / spread[varies]).T, dtype=np.float32)
        vectors = fixed_vectors(links_hop(adjacency, operator), codes, hops)
        products = shuffled_products(standard, vectors, permutations, seed)
        rest = _propagated_norms(standard, adjacency, codes, operator, hops, min(PROPAGATED, permutations), seed)
        squared, true = _squared_norms(products, rest, vectors, ratio)
        along = products.contrast + ratio[:, None] * vectors.contrast.sum(axis=1)[:, None]
        eta = along[..., 0] if along.shape[-1] == 1 else np.sqrt((along**2).sum(axis=-1))
        quick = np.clip(eta / np.sqrt(squared), -1, 1)
        error[varies] = _error(np.abs(quick), np.abs(eta[: len(true)] / np.sqrt(true)))
        error[varies] += np.where(_tangible(rest, codes), 0, np.inf)
        correlations[1:, :, varies] = quick
    moving = error > tolerance
    if 2 * moving.sum() > varies.sum():
        moving = varies
    correlations[0][:, ~moving] = propagated(~moving, 0)[0]
    correlations[1:, :, ~varies] = correlations[0][:, ~varies]  # shuffling changes nothing
    if moving.any():
        correlations[:, :, moving] = propagated(moving, permutations)
    return QuickNull(correlations, ~moving, error)


# --- the norms --------------------------------------------------------------------------------------------------------


def _squared_norms(products: Products, propagated: Array, vectors: FixedVectors, ratio: Array) -> tuple[Array, Array]:
    """‖C S^h x‖² / σ² of every shuffle, as fitted, and that of the propagated ones, as it is.

    Args:
        products: of the shuffles with the fixed vectors.
        propagated: ‖C S^h z‖² of the first shuffles, shape (shuffles, hops + 1, d).
        vectors: the fixed ones.
        ratio: μ / σ of each channel.
    """
    steady = ratio**2 * vectors.constant[:, None] + 2 * ratio * products.tilt
    fitted = np.empty_like(products.weight)
    for number in range(len(vectors.constant)):
        fitted[:, number] = _fitted(propagated[:, number], products.weight[:, number])
    true = steady[: len(propagated)] + propagated
    least = np.maximum(_FLOOR * true.mean(axis=0), np.finfo(np.float64).tiny)
    return np.maximum(steady + fitted, least), np.maximum(true, np.finfo(np.float64).tiny)


def _error(quick: Array, exact: Array) -> Array:
    """By how many standard deviations |correlation| or its growth is off at most, of each channel."""
    off = quick[: len(exact)] - exact
    size = np.abs(off).max(axis=0) / np.maximum(quick.std(axis=0), _RESOLUTION)
    growth = np.abs(off - off[:, :1]).max(axis=0) / np.maximum((quick - quick[:, :1]).std(axis=0), _RESOLUTION)
    return np.asarray(np.maximum(size, growth).max(axis=0))


def _tangible(propagated: Array, codes: Codes) -> Bools:
    """Channels of which propagation leaves more than rounding."""
    return np.asarray((propagated.mean(axis=0) > _ROUNDING**2 * (codes != UNKNOWN).sum()).all(axis=0))


def _fitted(propagated: Array, weight: Array) -> Array:
    """α + β m·(z² - 1) for every shuffle, fitted to those that were propagated by their relative errors."""
    if propagated.min() <= 0:
        return np.full_like(weight, propagated.mean())
    terms = np.stack([1 / propagated, weight[: len(propagated)] / propagated], axis=-1).reshape(-1, 2)
    alpha, beta = np.linalg.lstsq(terms, np.ones(len(terms)), rcond=_ROUNDING)[0]
    return np.asarray(alpha + beta * weight)


def _propagated_norms(
    standard: Standard, adjacency: Adjacency, codes: Codes, operator: Operator, hops: int, shuffles: int, seed: int
) -> Array:
    """‖C S^h z‖² of the first shuffles, shape (shuffles, hops + 1, d)."""
    d, n = standard.shape
    hop, known = one_hop(adjacency, operator, np.float32), codes != UNKNOWN
    generator = np.random.default_rng(seed)
    orders = [generator.permutation(n) for _ in range(shuffles)]
    norms = np.empty((hops + 1, shuffles * d))
    with track("Propagating a few shuffles", total=-(-shuffles * d // _WIDTH) * (hops + 1)) as advance:
        for start in range(0, shuffles * d, _WIDTH):
            columns = range(start, min(start + _WIDTH, shuffles * d))
            values: npt.NDArray[np.floating[Any]] = np.empty((n, len(columns)), dtype=np.float32)
            for place, column in enumerate(columns):
                values[:, place] = standard[column % d, orders[column // d]]
            for number in range(hops + 1):
                values = hop(values) if number else values
                norms[number, columns] = _centred_squares(values, known)
                advance(1)
    return norms.reshape(hops + 1, shuffles, d).swapaxes(0, 1)


def _centred_squares(values: npt.NDArray[np.floating[Any]], known: Bools) -> Array:
    """Sum of squares of each column about its mean over the known rows, in pieces that fit the cache."""
    sums, squares = np.zeros((2, values.shape[1]))
    for start in range(0, len(values), _ROWS):
        rows = slice(start, start + _ROWS)
        wide = values[rows][known[rows]].astype(np.float64)
        sums += wide.sum(axis=0)
        squares += np.einsum("nc,nc->c", wide, wide)
    return np.asarray(squares - sums**2 / known.sum())
