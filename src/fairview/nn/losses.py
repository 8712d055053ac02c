"""What do discriminator, generator and classifier minimise? All on logits, so that large ones stay finite.

Logits have the shape (views, nodes, outputs): one output for two groups or classes, one per group for more. Every loss
is a mean over views and nodes.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional


def discriminator_loss(logits: Tensor, groups: Tensor, weights: Tensor | None = None) -> Tensor:
    """-L_d: the cross-entropy of predicting the sensitive group.

    Paper: section 4.1.4, the maximisation over Θ_d (here minimised with the sign turned).

    Args:
        logits: (views, nodes, 1) for two groups, (views, nodes, groups) for more.
        groups: codes, (nodes,); for two groups 0 and 1 in the dtype of the logits.
        weights: per node, for a group-balanced loss; they should average to 1.
    """
    if logits.shape[-1] == 1:
        return _binary_cross_entropy(logits[..., 0], groups, weights)
    each = functional.cross_entropy(logits.flatten(0, 1), groups.repeat(len(logits)), reduction="none")
    each = each.view(logits.shape[:-1])
    return (each if weights is None else each * weights).mean()


def classifier_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """L_c: the cross-entropy of the labels over views and labelled nodes, logits of shape (views, nodes, 1)."""
    return _binary_cross_entropy(logits[..., 0], labels, None)


def balanced_weights(groups: Tensor, count: int, dtype: torch.dtype) -> Tensor:
    """n / (groups * n_g) for each node of group g: every group weighs the same, and the weights average to 1.

    With groups of unequal size the optimal discriminator answers their share, not 1/2, and the generator is pulled away
    from the optimum of Theorem 1 (docs/theory.md).
    """
    sizes = torch.bincount(groups, minlength=count).to(dtype)
    return (len(groups) / (count * sizes.clamp(min=1)))[groups]


def generator_loss(logits: Tensor, masks: Tensor | None = None, *, density_weight: float = 0.0) -> Tensor:
    """L_g: how far the discriminator is from guessing, plus the price of masking.

        mean over views and nodes of (σ(logit) - 1/2)²  +  density_weight * mean over views and channels of (m - 1)²

    With G > 2 groups the first term is the mean over groups of (p_g - 1/G)².

    Paper: section 4.1.4, the minimisation over Θ_g; `density_weight` is α.
    Differs: α multiplies a mean over channels, as in the published runs, so that it does not depend on their number.
    """
    if logits.shape[-1] == 1:
        loss: Tensor = _Guessing.apply(logits)  # type: ignore[no-untyped-call]
    else:
        loss = (torch.softmax(logits, dim=-1) - 1 / logits.shape[-1]).square().mean()
    return loss if masks is None else loss + masking_price(masks, density_weight)


def masking_price(masks: Tensor, density_weight: float) -> Tensor | float:
    """density_weight * mean over views and channels of (m - 1)²; 0 without a weight."""
    return density_weight * (masks - 1).square().mean() if density_weight else 0.0


def agreement_loss(logits: Tensor) -> Tensor:
    """How far the views of a node are apart: the mean over views and nodes of (σ(logit) - their mean over views)².

    Example:
        >>> logits = torch.logit(torch.tensor([[[0.2], [0.5]], [[0.6], [0.5]]]))  # two views, two nodes
        >>> round(agreement_loss(logits).item(), 6)  # half of 0.2²
        0.02
    """
    return torch.sigmoid(logits[..., 0]).var(dim=0, correction=0).mean()


def reconstruction_loss(outputs: Tensor, masks: Tensor, targets: Tensor) -> Tensor:
    """How badly a view tells what it hides: the mean of (output - target)² over nodes, and views and channels by 1 - m.

    Args:
        outputs: for each view, node and channel, (views, nodes, channels).
        masks: m of these channels, (views, channels); a channel that a view keeps whole does not count in it.
        targets: (nodes, channels).

    Example:
        >>> outputs, targets = torch.zeros(2, 1, 2), torch.tensor([[1.0, 3.0]])
        >>> reconstruction_loss(outputs, torch.tensor([[0.0, 1.0], [0.5, 0.5]]), targets).item()
        3.0
    """
    hidden = 1 - masks
    shares = hidden / hidden.sum().clamp(min=torch.finfo(hidden.dtype).tiny)  # nothing is hidden: nothing to tell
    return ((outputs - targets).square().mean(dim=1) * shares).sum()


# --- closed forms: a third of the kernels that autograd would run, which is what small graphs wait for ----------------


def _binary_cross_entropy(logits: Tensor, targets: Tensor, weights: Tensor | None) -> Tensor:
    loss: Tensor = _BinaryCrossEntropy.apply(logits, targets, weights)  # type: ignore[no-untyped-call]
    return loss


class _BinaryCrossEntropy(torch.autograd.Function):
    """mean of log(1 + exp z) - y z, with the gradient (σ(z) - y) / n."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, targets: Tensor, weights: Tensor | None) -> Tensor:
        difference = torch.sigmoid(logits) - targets
        each = functional.softplus(logits, threshold=50) - targets * logits
        ctx.gradient = difference if weights is None else difference * weights
        return (each if weights is None else each * weights).mean()

    @staticmethod
    @once_differentiable  # a second derivative would silently miss what depends on the logits
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor, None, None]:
        return ctx.gradient * (upstream[0] / ctx.gradient.numel()), None, None


class _Guessing(torch.autograd.Function):
    """mean of c² with c = σ(z) - 1/2; its gradient is 2 c (1/4 - c²) / n."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor) -> Tensor:
        centred = torch.sigmoid(logits) - 0.5
        ctx.centred = centred
        return centred.square().mean()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *upstream: Tensor) -> Tensor:
        centred: Tensor = ctx.centred
        return centred * (0.25 - centred.square()) * (2 * upstream[0] / centred.numel())
