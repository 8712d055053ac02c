"""The collapsed path of one-layer encoders: one product with S X for all views, whatever the hidden width."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from fairview.nn.encoders import GCNEncoder, GINEncoder, MLPEncoder
from fairview.nn.inputs import GraphInputs


class LinearPath:
    """MLP and GCN: H_k = P diag(m_k) Wᵀ + b with P = S X, so with a head (V, c)

    logits_k = P (m_k ∘ V W)ᵀ + V b + c.
    """

    def __init__(self, encoder: MLPEncoder | GCNEncoder, inputs: GraphInputs) -> None:
        self.encoder = encoder
        self.columns = inputs.propagated.T.contiguous()  # (d, n): the product's long side last

    def on(self, rows: np.ndarray | None = None) -> LinearRows:
        return LinearRows(self, _some_columns(self.columns, rows))

    @property
    def weight(self) -> Tensor:
        return self.encoder.first_weights[0]

    @property
    def bias(self) -> Tensor:
        bias: Tensor = self.encoder.layer(0).bias
        return bias


class LinearRows:
    def __init__(self, path: LinearPath, columns: Tensor) -> None:
        self.path, self.columns = path, columns

    def logits(self, masks: Tensor, head: nn.Linear) -> Tensor:
        directions = masks[:, None, :] * (head.weight @ self.path.weight)  # (views, outputs, d)
        constant = head.weight @ self.path.bias + head.bias  # (outputs,)
        return _product(directions, self.columns) + constant


class NormalisedPath:
    """GIN: H_k = BatchNorm(P diag(m_k) Wᵀ + b) with P = S X.

    With p̄ the mean of P's rows and P - p̄ = Q R, Q with orthogonal columns of variance one, both computed once, a hidden
    unit with weights u = m_k ∘ W_j has the batch mean p̄·u + b_j and the batch variance |R u|². So with
    r_j = (|R u_j|² + ε)^-1/2 and BatchNorm's γ, β

        logits_k = Q (R (m_k ∘ (V ∘ γ ∘ r) W)ᵀ) + V β + c,

    for any subset of rows. BatchNorm forgets the length of u, so that large terms of its gradient cancel: all that is
    small is computed in float64, and the one large product, with Q, sees numbers of size one.
    """

    def __init__(self, encoder: GINEncoder, inputs: GraphInputs) -> None:
        self.encoder = encoder
        self.nodes = inputs.num_nodes
        wide = inputs.propagated_wide()
        self.mean = wide.mean(dim=0)
        basis, factor = torch.linalg.qr(wide - self.mean)  # (n, r) and (r, d), r = min(n, d)
        self.factor = factor / self.nodes**0.5
        self.columns = basis.mul_(self.nodes**0.5).to(inputs.dtype).T.contiguous()

    def on(self, rows: np.ndarray | None = None) -> NormalisedRows:
        return NormalisedRows(self, _some_columns(self.columns, rows))


class NormalisedRows:
    def __init__(self, path: NormalisedPath, columns: Tensor) -> None:
        self.path, self.columns = path, columns

    def logits(self, masks: Tensor, head: nn.Linear) -> Tensor:
        linear, norm = self.path.encoder.linear, self.path.encoder.norm
        units = masks.double()[:, None, :] * linear.weight  # (views, hidden, d), float64
        mean, spread = units @ self.path.mean, units @ self.path.factor.T  # (views, hidden) and (views, hidden, r)
        variance, offset = spread.square().sum(dim=-1), torch.zeros_like(mean)
        if self.path.encoder.training:
            update_running_statistics(norm, mean.detach() + linear.bias.detach(), variance.detach(), self.path.nodes)
        else:
            running_mean, running_variance = running_statistics(norm)
            offset = mean + linear.bias - running_mean
            variance = running_variance.to(mean).expand_as(mean)
        scale = norm.weight * torch.rsqrt(variance + norm.eps)  # (views, hidden)
        weights = head.weight * scale[:, None, :]  # (views, outputs, hidden)
        constant = (weights @ offset[:, :, None])[..., 0] + head.weight @ norm.bias + head.bias  # (views, outputs)
        return _product((weights @ spread).to(self.columns), self.columns) + constant[:, None, :].to(self.columns)


def running_statistics(norm: nn.BatchNorm1d) -> tuple[Tensor, Tensor]:
    """Running mean and variance, which our encoders always keep."""
    if norm.running_mean is None or norm.running_var is None:
        raise ValueError("BatchNorm without running statistics can't be evaluated")
    return norm.running_mean, norm.running_var


@torch.no_grad()
def update_running_statistics(norm: nn.BatchNorm1d, mean: Tensor, variance: Tensor, nodes: int) -> None:
    """What one pass per view, in order, does to BatchNorm's running mean and (unbiased) variance, in closed form."""
    views, rate = len(mean), float(norm.momentum or 0.0)
    running_mean, running_variance = running_statistics(norm)
    shares = rate * (1 - rate) ** torch.arange(views - 1, -1, -1, dtype=mean.dtype, device=mean.device)
    running_mean.mul_((1 - rate) ** views).add_(shares @ mean)
    running_variance.mul_((1 - rate) ** views).add_(shares @ variance * (nodes / max(nodes - 1, 1)))
    norm.num_batches_tracked.add_(views)  # type: ignore[union-attr]


def _some_columns(columns: Tensor, rows: np.ndarray | None) -> Tensor:
    return columns if rows is None else columns[:, torch.from_numpy(rows).to(columns.device)].contiguous()


def _product(directions: Tensor, columns: Tensor) -> Tensor:
    """(views, outputs, d) and (d, nodes) -> (views, nodes, outputs)."""
    views, outputs, channels = directions.shape
    flat = directions.reshape(views * outputs, channels) @ columns
    if outputs == 1:
        return flat[:, :, None]
    return flat.view(views, outputs, -1).transpose(1, 2)
