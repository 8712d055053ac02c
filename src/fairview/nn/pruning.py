"""Which links carry group membership? Those that push a node's critic value away from everybody's mean.

With f the critic of EDITS (see `fairview.nn.wasserstein`) and f̄ its mean, a link of weight a has the score

    d/da of 1/2 the sum over nodes i and groups g of (f_ig - f̄_g)²

at the weight that it has, 1 for plain links: by how much the link, were it a little heavier, would spread the critic's
values. Links above a cutoff go.

Paper: EDITS learns a weight a for every pair of nodes, minimising γ distance(a) + μ |a - A|², and removes the links
whose weight fell by more than r times the largest fall. As long as the changes are small, the minimiser is A minus
γ / (2 μ) times the gradient at A, so that with a relative threshold the gradient alone decides: that is the score.

Differs: links are removed, never added (absent pairs would need a dense n x n matrix). And f_i - f̄ of a node takes the
place of its group's ±1 / n_g, so that the rule asks for nobody's group, is the same in training and in prediction,
and holds for links that it has never seen.
"""

from __future__ import annotations

from typing import Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from fairview.data.adjacency import Adjacency
from fairview.nn.wasserstein import Hop, critic_values, link_weights

NEVER = torch.finfo(torch.float64).max
"""A cutoff that no link reaches; an infinite one would not pass for a number in a model file."""

_ROUNDING = 1e-9  # a link this close to the cutoff stays, so that the order of a sum's terms decides nothing


class LinkPruning(nn.Module):
    """The critic's directions and the cutoff: all that is needed to prune any graph with the same channels."""

    directions: Tensor  # (groups, hops + 1, channels)
    centre: Tensor  # (groups,), f̄ of the training graph
    cutoff: Tensor
    share: Tensor

    def __init__(self, groups: int, hops: int, channels: int) -> None:
        super().__init__()
        if groups < 1 or hops < 0:
            raise ValueError(f"no critic for {groups} groups and {hops} hops")
        self.register_buffer("directions", torch.zeros(groups, hops + 1, channels, dtype=torch.float64))
        self.register_buffer("centre", torch.zeros(groups, dtype=torch.float64))
        self.register_buffer("cutoff", torch.tensor(NEVER, dtype=torch.float64))
        self.register_buffer("share", torch.tensor(0.0, dtype=torch.float64))

    @classmethod
    def learn(
        cls,
        features: npt.NDArray[np.floating],
        adjacency: Adjacency,
        directions: Tensor,
        *,
        share: float,
        threshold: float | None,
    ) -> Self:
        """Directions as given; the cutoff is `threshold` (r) times the largest score of a link, None prunes nothing."""
        groups, length, channels = directions.shape
        pruning = cls(groups, length - 1, channels)
        pruning.directions, pruning.share = directions, torch.tensor(share, dtype=torch.float64)
        if threshold is not None and adjacency.num_pairs:
            pruning.centre = pruning._values(features, Hop(adjacency, share=share)).mean(dim=0)
            largest = float(pruning.scores(features, adjacency).max())
            if largest > 0:
                pruning.cutoff = torch.tensor(threshold * largest, dtype=torch.float64)
        return pruning

    def scores(self, features: npt.NDArray[np.floating], adjacency: Adjacency) -> npt.NDArray[np.float64]:
        """Of every directed pair; both directions of an undirected link share one."""
        if self.directions.shape[1] == 1:  # no hop, so that links move nothing
            return np.zeros(adjacency.num_pairs)
        with torch.enable_grad():  # prediction runs without gradients, but this one is part of it
            weights = link_weights(adjacency).requires_grad_()
            values = self._values(features, Hop(adjacency, share=float(self.share), weights=weights))
            (gradient,) = torch.autograd.grad((values - self.centre.cpu()).square().sum() / 2, weights)
        effect: npt.NDArray[np.float64] = gradient.numpy()
        if adjacency.directed:
            return effect
        reverse = np.argsort(adjacency.indices, kind="stable")  # rows are sorted, so this is where (j, i) stands
        return effect + effect[reverse]

    def forward(self, features: npt.NDArray[np.floating], adjacency: Adjacency) -> Adjacency:
        """The links that stay."""
        cutoff = float(self.cutoff)
        if cutoff == NEVER or adjacency.num_pairs == 0:
            return adjacency
        gone = self.scores(features, adjacency) > cutoff * (1 + _ROUNDING)
        return adjacency.keeping(~gone)

    def _values(self, features: npt.NDArray[np.floating], hop: Hop) -> Tensor:
        return critic_values(torch.tensor(features, dtype=torch.float64), self.directions.cpu(), hop)
