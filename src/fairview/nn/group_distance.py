"""How far apart are the logits of the sensitive groups? Two distances with closed gradients, as terms of a loss.

Each group g has weights w_g over the nodes that sum to 1: equal ones for statistical parity, the probabilities of the
positive class for equal opportunity. A contrast a is a difference of such weights, so that it sums to 0. Both distances
are sums over contrasts; `group_contrasts` scales them so that the sum is the mean over all pairs of groups. They are
means over views, and do not change if all logits are multiplied by a number; the energy distance does not change if
one is added either.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from fairview.groups import UNKNOWN

Penalty = Literal["energy", "threshold"]

WIDTH = 0.2
"""Of the smoothed threshold, in standard deviations of the logits."""


def group_contrasts(groups: Tensor, shares: Tensor | None = None) -> Tensor | None:
    """The contrasts of all groups, float64, (contrasts, nodes): w_0 - w_1 of two groups.

    Of G > 2 groups there is one contrast each, sqrt(2 / (G - 1)) (w_g - mean of all w), because the sum over pairs of
    (x_g - x_h)² is G times the sum over groups of (x_g - mean of all x)².

    Args:
        groups: codes, (nodes,); nodes whose group is not known, -1, have no weight.
        shares: not negative, how much each node counts in its group, (nodes,); None counts all alike.

    Returns:
        None where fewer than two groups have any weight.

    Example:
        >>> group_contrasts(torch.tensor([0, 0, 1, -1])).tolist()
        [[0.5, 0.5, -1.0, 0.0]]
    """
    counted = torch.ones(len(groups), dtype=torch.float64, device=groups.device) if shares is None else shares.double()
    members = (counted * (groups == group) for group in sorted({*groups.tolist()} - {UNKNOWN}))
    found = [each / each.sum() for each in members if each.sum() > 0]
    if len(found) < 2:
        return None
    weights = torch.stack(found)
    if len(found) == 2:
        return weights[:1] - weights[1:]
    return (weights - weights.mean(dim=0)) * math.sqrt(2 / (len(weights) - 1))


def energy_distance(logits: Tensor, contrasts: Tensor) -> Tensor:
    """2 ∫ (F_0 - F_1)² dv, where F_g is the distribution of v = Φ((u - mean) / sd) in group g, and u the logits.

    With v sorted and c_k the sum of the first k weights of a contrast, it is

        D = 2 Σ_k c_k² (v_{k+1} - v_k),    ∂D/∂v_k = 2 (c²_{k-1} - c²_k).

    Nodes with the same v get the mean of what either order would give them. It is 0 only where the groups have the same
    distribution, which then agrees at every threshold.

    Args:
        logits: (views, nodes, 1).
        contrasts: of `group_contrasts`, (contrasts, nodes).

    Example:
        >>> contrasts = group_contrasts(torch.tensor([0, 0, 1, 1]))
        >>> energy_distance(torch.tensor([[[1.0], [2.0], [1.0], [2.0]]]), contrasts).item()
        0.0
    """
    distance: Tensor = _Energy.apply(logits[..., 0], contrasts)  # type: ignore[no-untyped-call]
    return distance


def threshold_distance(logits: Tensor, contrasts: Tensor) -> Tensor:
    """(Σ_i a_i σ(u_i / (τ sd)))²: the squared gap between the groups' shares above the logit 0, smoothed, τ = 0.2.

    Args:
        logits: u, (views, nodes, 1).
        contrasts: a of `group_contrasts`, (contrasts, nodes).

    Example:
        >>> contrasts = group_contrasts(torch.tensor([0, 0, 1, 1]))
        >>> far = torch.tensor([[[-9.0], [9.0], [9.0], [9.0]]])  # one half and all of them are above 0
        >>> round(threshold_distance(far, contrasts).item(), 4)
        0.2469
    """
    distance: Tensor = _Threshold.apply(logits[..., 0], contrasts)  # type: ignore[no-untyped-call]
    return distance


DISTANCES: dict[Penalty, Callable[[Tensor, Tensor], Tensor]] = {
    "energy": energy_distance,
    "threshold": threshold_distance,
}


class _Distance(torch.autograd.Function):
    """`forward` of a subclass leaves the gradient to the logits behind."""

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor, None]:
        return ctx.gradient * upstream[0], None


class _Energy(_Distance):
    """With g = ∂D/∂z, ∂D/∂u = (g - mean(g) - z mean(g z)) / sd."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, contrasts: Tensor) -> Tensor:
        z, deviation = _standardised(logits)
        v = torch.special.ndtr(z)
        order = _order(v)
        v = v.gather(-1, order)
        a = contrasts[:, order]  # (contrasts, views, nodes)
        c = functional.pad(a.cumsum(dim=-1), (1, 0))  # c[..., k]: the sum of the first k
        c[..., -1] = 0  # exactly
        at = c.square().sum(dim=0)[:, 1:-1]
        distance = 2 * (at * v.diff(dim=-1)).sum(dim=-1).mean()
        ends = torch.zeros_like(a)
        for places in _ties(v):
            ends += c.gather(-1, places.expand_as(a))
        slope = -2 * (a * ends).sum(dim=0).to(z)  # (c_before - c_after)(c_before + c_after), shared among ties
        g = torch.empty_like(z).scatter_(-1, order, slope) * torch.exp(-z.square() / 2) / (2 * torch.pi) ** 0.5
        centred = g - g.mean(dim=-1, keepdim=True) - z * (g * z).mean(dim=-1, keepdim=True)
        ctx.gradient = centred / (deviation * len(z))
        return torch.as_tensor(distance, dtype=z.dtype)


class _Threshold(_Distance):
    """With t = u / (τ sd) and g = ∂D/∂t, ∂D/∂u = (g / τ - z mean(g t)) / sd."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, contrasts: Tensor) -> Tensor:
        z, deviation = _standardised(logits)
        t = logits / (WIDTH * deviation)
        s = torch.sigmoid(t)
        a = contrasts.to(s)
        gaps = s @ a.T  # (views, contrasts)
        g = 2 * (gaps @ a) * s * (1 - s)
        ctx.gradient = (g / WIDTH - z * (g * t).mean(dim=-1, keepdim=True)) / (deviation * len(z))
        return gaps.square().sum(dim=-1).mean()


def _standardised(logits: Tensor) -> tuple[Tensor, Tensor]:
    """z = (u - mean) / sd of each view, and sd, which is 1 where all logits are equal: there is nothing to scale."""
    centred = logits - logits.mean(dim=-1, keepdim=True)
    deviation = centred.square().mean(dim=-1, keepdim=True).sqrt()
    deviation = torch.where(deviation > 0, deviation, 1.0)
    return centred / deviation, deviation


def _order(v: Tensor) -> Tensor:
    """The order of each view; NumPy's sort takes half the time of torch's."""
    if v.device.type == "cpu":
        return torch.from_numpy(np.argsort(v.numpy(), axis=-1))
    return v.argsort(dim=-1)


def _ties(v: Tensor) -> tuple[Tensor, Tensor]:
    """Of each sorted value: how many are below it, and how many are not above it."""
    views, nodes = v.shape
    starts = functional.pad(v.diff(dim=-1) != 0, (1, 0), value=True).flatten()
    block = starts.cumsum(dim=0)  # counted from 1, on from one view to the next
    edges = functional.pad(starts.nonzero()[:, 0], (0, 1), value=views * nodes)
    before = torch.arange(views, device=v.device)[:, None] * nodes
    return edges[block - 1].view(views, nodes) - before, edges[block].view(views, nodes) - before
