"""What of a shuffled channel decides its correlation after h hops? Its products with a few vectors, made once.

C centres over the n nodes of known group and is 0 on the others; the columns of U are orthonormal, constant on each
group, and centred. For a channel x = μ + σ z, with z of mean 0 and variance 1,

    η² = ‖Uᵀ S^h x‖² / ‖C S^h x‖²
    Uᵀ S^h x = μ Vᵀ 1 + σ Vᵀ z                                  V = (S^h)ᵀ U
    ‖C S^h x‖² = μ² ‖C S^h 1‖² + 2 μ σ w·z + σ² ‖C S^h z‖²      w = (S^h)ᵀ C S^h 1

Shuffling moves z alone. All is exact but for ‖C S^h z‖², a sum over pairs of nodes. Its largest part are the pairs of a
node with itself, m·z², where m_i is the squared length of column i of C S^h. It is exact for one hop; for more it is
taken as if no two walks met:

    m = ((S∘S)ᵀ)^h 1 - ((S^h)ᵀ 1)² / n        (1 on the nodes of known group, 0 on the others)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fairview.groups import UNKNOWN
from fairview.progress import track
from fairview.propagation.correlation import Codes
from fairview.propagation.one_hop import Hop, Values

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class FixedVectors:
    """The vectors of hops 0..L, of n nodes and G groups.

    Attributes:
        contrast: V, shape (hops + 1, n, G - 1).
        tilt: w, shape (hops + 1, n).
        weight: m, shape (hops + 1, n).
        constant: ‖C S^h 1‖², shape (hops + 1,).
    """

    contrast: Array
    tilt: Array
    weight: Array
    constant: Array


def fixed_vectors(hop: Hop, codes: Codes, hops: int) -> FixedVectors:
    """Carry the contrasts of the groups back over 0 to `hops` hops.

    Args:
        hop: S, in float64.
        codes: group of each node from 0 without gaps, -1 for unknown.
        hops: L.
    """
    back, squares = hop.transposed, hop.squared.transposed
    known = (codes != UNKNOWN).astype(np.float64)[:, None]
    n = known.sum()

    def centred(values: Values) -> Values:
        return np.asarray(known * (values - (known * values).sum() / n))

    carried: Values = np.hstack([_contrasts(codes), known])
    ahead: Values = np.ones_like(known)
    lengths: Values = known
    contrast, tilt, weight, constant = [], [], [], []
    with track("Preparing the shuffles", total=hops + 1) as advance:
        for number in range(hops + 1):
            if number:
                carried, ahead, lengths = back(carried), hop(ahead), squares(lengths)
            slope = centred(ahead)
            constant.append((slope**2).sum())
            for _ in range(number):
                slope = back(slope)
            contrast.append(carried[:, :-1])
            tilt.append(slope[:, 0])
            weight.append(lengths[:, 0] - carried[:, -1] ** 2 / n)
            advance(1)
    return FixedVectors(np.array(contrast), np.array(tilt), np.array(weight), np.array(constant))


def _contrasts(codes: Codes) -> Array:
    """U, shape (n, G - 1): constant on each group, orthonormal, centred; with two groups, the second is above 0."""
    sizes = np.bincount(codes[codes != UNKNOWN])
    turned = np.linalg.qr(np.sqrt(sizes)[:, None], mode="complete")[0][:, 1:]  # orthogonal to the constant
    turned *= np.where(turned[1] < 0, -1, 1)
    by_group = np.vstack([turned / np.sqrt(sizes)[:, None], np.zeros(len(sizes) - 1)])  # the last row is that of -1
    return np.asarray(by_group[codes])
