"""How far apart are the sensitive groups, in the features and after some hops? The distance that EDITS brings down.

With S = D^-1/2 (A + I) D^-1/2 for links of any weight, P = α S + (1 - α) I one hop, and c the contrast of a group (1 /
its size for its members, -1 / their number for the others, 0 where the group is not known):

    Δ_hj = cᵀ P^h x_j                              the difference of the group means of channel j after h hops
    distance = sum over h = 0..H, j of |Δ_hj|      plus the same for every further group

It is the Wasserstein-1 distance per dimension as a linear critic sees it, f(x) = sum of w_hj x_hj with clipped weights
|w| <= 1: the maximum over w of E[f | group] - E[f | others] is reached at w = sign Δ. It never exceeds the true
distance, and equals it where one group's values lie above the other's, as in every channel of zeros and ones.

Paper: Dong, Liu, Jalaian, Li, "EDITS: Modeling and Mitigating Data Bias for Graph Neural Networks", WWW 2022.
Differs: the published critic, one linear layer with clipped weights, is trained by some steps in each round; here it is
at its maximum.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from fairview.data.adjacency import Adjacency
from fairview.groups import UNKNOWN


class Hop:
    """P for links with a weight each. Only sums over links: autograd gives a gradient per link, and nothing is n x n.

    `share` is α, that of the neighbourhood; `weights` has one number per directed pair, by default the links' own.

    Example:
        >>> adjacency, _ = Adjacency.from_pairs([0], [1], num_nodes=2)
        >>> x = torch.tensor([[4.0], [0.0]], dtype=torch.float64)
        >>> Hop(adjacency, share=0.5)(x).ravel().round(decimals=6).tolist()
        [3.0, 1.0]
    """

    def __init__(self, adjacency: Adjacency, *, share: float, weights: Tensor | None = None) -> None:
        sources = torch.tensor(adjacency.sources, dtype=torch.int64)
        targets = torch.tensor(adjacency.indices, dtype=torch.int64)
        # a message goes from source to target, as in the operators
        self.rows, self.columns = (targets, sources) if adjacency.directed else (sources, targets)
        self.weights = link_weights(adjacency) if weights is None else weights
        loops = torch.ones(adjacency.num_nodes, dtype=torch.float64)
        self.scale = loops.index_add(0, self.rows, self.weights).rsqrt()[:, None]
        self.share = share

    def __call__(self, x: Tensor, *, transposed: bool = False) -> Tensor:
        """P x, or Pᵀ x; x has the shape (n, k)."""
        rows, columns = (self.columns, self.rows) if transposed else (self.rows, self.columns)
        scaled = x * self.scale
        gathered = scaled.index_add(0, rows, scaled[columns] * self.weights[:, None])
        return self.share * self.scale * gathered + (1 - self.share) * x


def link_weights(adjacency: Adjacency) -> Tensor:
    """The weight of each directed pair; ones for plain links."""
    if adjacency.weights is None:
        return torch.ones(adjacency.num_pairs, dtype=torch.float64)
    return torch.tensor(adjacency.weights, dtype=torch.float64)


def group_contrasts(codes: npt.NDArray[np.integer]) -> Tensor:
    """c of each group against all others, (n, groups); of two groups one says it all.

    Example:
        >>> group_contrasts(np.array([0, 0, 1, -1])).ravel().tolist()
        [0.5, 0.5, -1.0, 0.0]
    """
    known = codes != UNKNOWN
    present = np.unique(codes[known])
    columns = []
    for group in present[:1] if len(present) == 2 else present:
        members, others = codes == group, known & (codes != group)
        columns.append(members / max(members.sum(), 1) - others / max(others.sum(), 1))
    return torch.tensor(np.stack(columns, axis=1), dtype=torch.float64)


def mean_differences(features: Tensor, contrasts: Tensor, hop: Hop, *, hops: int) -> Tensor:
    """Δ, shape (groups, hops + 1, channels); cᵀ is propagated, which is narrower than the features."""
    rows = []
    for reached in range(hops + 1):
        rows.append(contrasts.T @ features)
        if reached < hops:
            contrasts = hop(contrasts, transposed=True)
    return torch.stack(rows, dim=1)


def critic_values(features: Tensor, directions: Tensor, hop: Hop) -> Tensor:
    """f = sum over h of P^h X w_h, shape (n, groups), for directions w of shape (groups, hops + 1, channels)."""
    parts = torch.einsum("nj,ghj->hng", features, directions)
    value = parts[-1]
    for part in parts.flip(0)[1:]:
        value = hop(value) + part
    return value
