"""How does a shuffled channel multiply with the fixed vectors? Quickly: the vectors are shuffled, and not the channels.

There are fewer of them, and they are shuffled back: (z shuffled) · v is z · (v shuffled by the inverse). All is float32
but for the sums over pieces: an error of about 1e-6 of a product's spread.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fairview.leakage.fixed_vectors import FixedVectors
from fairview.progress import track

Array = npt.NDArray[np.float64]
Standard = npt.NDArray[np.float32]

_ROWS = 1 << 12  # nodes at a time: their products stay in the processor's cache
_TOGETHER = 8  # shuffles at a time


class Products(NamedTuple):
    """Of every shuffle of the channels with the fixed vectors.

    Attributes:
        contrast: Vᵀ z, shape (shuffles, hops + 1, d, G - 1).
        tilt: w·z, shape (shuffles, hops + 1, d).
        weight: m·(z² - 1), shape (shuffles, hops + 1, d).
    """

    contrast: Array
    tilt: Array
    weight: Array


def shuffled_products(standard: Standard, vectors: FixedVectors, permutations: int, seed: int) -> Products:
    """Shuffle and multiply, with the shuffles of `shuffled_correlations`.

    Args:
        standard: z of each channel, mean 0 and variance 1, shape (d, n).
        vectors: the fixed ones.
        permutations: number of shuffles.
        seed: of the shuffles.
    """
    (d, n), (levels, _, contrasts) = standard.shape, vectors.contrast.shape
    plain = np.concatenate([vectors.contrast, vectors.tilt[:, :, None]], axis=2).transpose(1, 0, 2).reshape(n, -1)
    table, scale, place = _unit_columns(np.hstack([plain, vectors.weight.T]))
    products = np.zeros((permutations, 2, d, len(scale)))
    with track("Shuffling", total=permutations) as advance:
        for start, inverses in _inverses(n, permutations, seed):
            sums = np.zeros((2 * d, len(inverses) * table.shape[1]))
            for first in range(0, n, _ROWS):
                rows = slice(first, first + _ROWS)
                piece = standard[:, rows]
                moved = table.take(inverses[:, rows].T, axis=0, mode="clip")  # without a check of the range: quicker
                sums += np.vstack([piece, piece**2 - 1]) @ moved.reshape(piece.shape[1], -1)
            by_shuffle = sums.reshape(2, d, len(inverses), -1)[..., : len(place)]
            products[start : start + len(inverses), :, :, place] = by_shuffle.transpose(2, 0, 1, 3)
            advance(len(inverses))
    products *= scale
    of_values = products[:, 0, :, : plain.shape[1]].reshape(permutations, d, levels, contrasts + 1).swapaxes(1, 2)
    return Products(of_values[..., :-1], of_values[..., -1], products[:, 1, :, plain.shape[1] :].swapaxes(1, 2))


def _unit_columns(vectors: Array) -> tuple[Standard, Array, npt.NDArray[np.intp]]:
    """The columns that vary, in units of their length about the mean; these lengths; and the columns' places.

    A constant adds nothing to a product, since z and z² - 1 sum to 0. Rows have 2, 4, 8, ... numbers, so that few of
    them lie in two lines of the processor's cache.
    """
    vectors = vectors - vectors.mean(axis=0)
    scale = np.sqrt((vectors**2).sum(axis=0))
    place = np.flatnonzero(scale > 0)
    table = np.zeros((len(vectors), 1 << max(len(place) - 1, 1).bit_length()), dtype=np.float32)
    table[:, : len(place)] = vectors[:, place] / scale[place]
    return table, scale, place


def _inverses(n: int, permutations: int, seed: int) -> Iterator[tuple[int, npt.NDArray[np.intp]]]:
    """The inverses of the shuffles of `shuffled_correlations`, some at a time, with the number of the first.

    The next ones are drawn while the last ones are used: NumPy lets go of the interpreter meanwhile. They lie in one of
    two places by turns, since new memory costs a third more time.
    """
    generator, numbers = np.random.default_rng(seed), np.arange(n)
    order, drawn = np.empty_like(numbers), np.empty((2, _TOGETHER, n), dtype=np.intp)

    def draw(start: int) -> npt.NDArray[np.intp]:
        inverses = drawn[start // _TOGETHER % 2, : max(permutations - start, 0)]
        for inverse in inverses:
            order[:] = numbers
            generator.shuffle(order)  # as `permutation` does
            inverse[order] = numbers
        return np.asarray(inverses)

    with ThreadPoolExecutor(max_workers=1) as pool:
        ready = pool.submit(draw, 0)
        for start in range(0, permutations, _TOGETHER):
            inverses, ready = ready.result(), pool.submit(draw, start + _TOGETHER)
            yield start, inverses
