"""How much do logits tell about labels, whatever their scale? The cross-entropy after the best rescaling.

A network that has seen a hundred labels grows confident long before it stops learning. Its cross-entropy on other nodes
then rises while it still ranks them better; that of a times the logits does not.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

_RIDGE = 1e-6
"""On the slope, so that there is a best one for logits that separate the classes."""
_STEPS = 30
_ENOUGH = 1e-8


@torch.no_grad()
def calibrated_loss(logits: Tensor, labels: Tensor, weights: Tensor | None = None) -> Tensor:
    """min over a >= 0 of the mean cross-entropy of a u: Newton's method on one number, in float64.

    The logit 0 stays where it is, so that a model that calls all nodes positive is not excused.

    Args:
        logits: u, (nodes,).
        labels: 0 and 1, (nodes,).
        weights: per node; they should average to 1.

    Example:
        >>> u, y = torch.tensor([-1.0, 1.0, -1.0, 1.0, 1.0, -1.0]), torch.tensor([0.0, 1.0, 0.0, 1.0, 0.0, 1.0])
        >>> round(calibrated_loss(u, y).item(), 4), round(calibrated_loss(100 * u, y).item(), 4)
        (0.6365, 0.6365)
        >>> round(calibrated_loss(-u, y).item(), 4)  # the wrong way round tells nothing: a = 0
        0.6931
    """
    u, y = logits.double(), labels.double()
    u = u / u.square().mean().sqrt().clamp(min=1e-300)
    w = (torch.ones_like(u) if weights is None else weights.double()) / len(u)

    def loss_at(a: float) -> float:
        eta = a * u
        return float((w * (functional.softplus(eta) - y * eta)).sum()) + _RIDGE * a * a / 2

    a, loss = 0.0, loss_at(0.0)
    for _ in range(_STEPS):
        p = torch.sigmoid(a * u)
        slope = float((w * (p - y)) @ u) + _RIDGE * a
        curvature = float((w * p * (1 - p)) @ u.square()) + _RIDGE
        step = slope / curvature
        while (found := loss_at(max(a - step, 0.0))) > loss and abs(step) > _ENOUGH:
            step /= 2
        if found >= loss - _ENOUGH:
            break
        a, loss = max(a - step, 0.0), found
    return torch.tensor(loss, dtype=torch.float64, device=logits.device)
