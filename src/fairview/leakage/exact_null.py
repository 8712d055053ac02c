"""What would chance show on this graph? Rows of X are shuffled, propagated, and correlated with the groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict, Unpack

import numpy as np
import numpy.typing as npt

from fairview.data.adjacency import Adjacency
from fairview.progress import track
from fairview.propagation.correlation import Codes, group_correlation
from fairview.propagation.one_hop import one_hop
from fairview.propagation.operators import Operator

Array = npt.NDArray[np.float64]

_BLOCK = 1 << 24  # numbers propagated at a time: 64 MB in float32
_WIDTH = 256  # columns beyond which a wider block is no quicker


class Shuffles(TypedDict):
    """Which ones: S, the hops, how many, and their seed."""

    operator: Operator
    hops: int
    permutations: int
    seed: int


def shuffled_correlations(
    features: npt.NDArray[np.float32], adjacency: Adjacency, attributes: Sequence[Codes], **shuffles: Unpack[Shuffles]
) -> list[Array]:
    """Correlations at hops 0..L of X and of its shuffles, shape (1 + permutations, hops + 1, d); X itself comes first.

    An array for the groups of each attribute: a shuffle is propagated once for all of them. In float32: half the time,
    and an error of about 1e-6 against a spread of 1/sqrt(n).
    """
    (n, d), hops, permutations = features.shape, shuffles["hops"], shuffles["permutations"]
    generator = np.random.default_rng(shuffles["seed"])
    hop = one_hop(adjacency, shuffles["operator"], np.float32)
    found = [np.zeros((1 + permutations, hops + 1, d)) for _ in attributes]
    together = max(min(_BLOCK // max(n * d, 1), _WIDTH // max(d, 1)), 1)
    with track("Shuffling", total=1 + permutations) as advance:
        for start in range(0, 1 + permutations if d else 0, together):
            count = min(together, 1 + permutations - start)
            block = np.empty((n, count, d), dtype=np.float32)
            for place in range(count):
                block[:, place] = features[generator.permutation(n)] if start + place else features
            values = block.reshape(n, count * d)
            for number in range(hops + 1):
                if number:
                    values = hop(values)
                for correlations, codes in zip(found, attributes, strict=True):
                    correlations[start : start + count, number] = group_correlation(values, codes).reshape(count, d)
            advance(count)
    return found


def exact_work(adjacency: Adjacency, channels: int, *, hops: int, permutations: int) -> int:
    """Multiplications that it takes: links and nodes, times channels, hops and shuffles."""
    return (adjacency.num_pairs + adjacency.num_nodes) * channels * hops * (1 + permutations)
