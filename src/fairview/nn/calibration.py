"""How much do logits tell about labels, whatever their scale? The cross-entropy after the best rescaling.

A network that has seen a hundred labels grows confident long before it stops learning. Its cross-entropy on other nodes
then rises while it still ranks them better; that of a u + b does not.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

_RIDGE = 1e-6
"""On the slope, so that there is a best one for logits that separate the classes."""
_STEPS = 25
_ENOUGH = 1e-8


@torch.no_grad()
def calibrated_loss(logits: Tensor, labels: Tensor, weights: Tensor | None = None) -> Tensor:
    """min over a >= 0 and b of the mean cross-entropy of a u + b: Newton's method on two numbers, in float64.

    Args:
        logits: u, (nodes,).
        labels: 0 and 1, (nodes,).
        weights: per node; they should average to 1.

    Example:
        >>> u, y = torch.tensor([-1.0, 1.0, -1.0, 1.0, 1.0, -1.0]), torch.tensor([0.0, 1.0, 0.0, 1.0, 0.0, 1.0])
        >>> round(calibrated_loss(u, y).item(), 4), round(calibrated_loss(100 * u + 7, y).item(), 4)
        (0.6365, 0.6365)
        >>> round(calibrated_loss(-u, y).item(), 4)  # the wrong way round tells nothing: a = 0
        0.6931
    """
    u, y = logits.double(), labels.double()
    w = (torch.ones_like(u) if weights is None else weights.double()) / len(u)
    z = (u - u.mean()) / u.std(correction=0).clamp(min=1e-300)
    x = torch.stack([z, torch.ones_like(z)], dim=1)  # (nodes, 2)

    def loss_at(ab: Tensor) -> Tensor:
        eta = x @ ab
        return (w * (functional.softplus(eta) - y * eta)).sum() + _RIDGE * ab[0].square() / 2

    share = (w * y).sum() / w.sum()
    flat = torch.stack([torch.zeros_like(share), torch.logit(share, eps=1e-12)])  # a = 0
    start = loss_at(flat)
    ab, loss = flat, start
    ridge = torch.diag(torch.tensor([_RIDGE, 0.0], dtype=torch.float64, device=u.device))
    for _ in range(_STEPS):
        p = torch.sigmoid(x @ ab)
        slope = x.T @ (w * (p - y)) + ridge @ ab
        curvature = (x * (w * p * (1 - p))[:, None]).T @ x + ridge
        step = torch.linalg.lstsq(curvature, slope[:, None]).solution[:, 0]
        size = 1.0
        while (found := loss_at(ab - size * step)) > loss and size > 1e-3:
            size /= 2
        if not found < loss - _ENOUGH:
            break
        ab, loss = ab - size * step, found
    return loss if ab[0] >= 0 else start
