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

    A hidden unit with weights u = m_k ∘ W_j has the batch mean p̄·u + b_j and the batch variance uᵀ C u, with p̄ and C
    the mean and the covariance of P's rows, computed once. With r_j = (uᵀ C u + ε)^-1/2 and BatchNorm's γ, β

        logits_k = (P - p̄) (m_k ∘ (V ∘ γ ∘ r) W)ᵀ + V β + c,

    for any subset of rows. C = RᵀR / n with R from a QR decomposition, so that uᵀ C u = |R u|² / n can't be negative.
    """

    def __init__(self, encoder: GINEncoder, inputs: GraphInputs) -> None:
        self.encoder = encoder
        self.nodes = inputs.num_nodes
        wide = inputs.propagated.to(torch.float64)
        mean = wide.mean(dim=0)
        centred = wide - mean
        factor = torch.linalg.qr(centred, mode="r").R / self.nodes**0.5
        self.mean, self.factor = mean.to(inputs.dtype), factor.to(inputs.dtype)
        self.columns = centred.T.contiguous().to(inputs.dtype)

    def on(self, rows: np.ndarray | None = None) -> NormalisedRows:
        return NormalisedRows(self, _some_columns(self.columns, rows))

    def statistics(self, units: Tensor) -> tuple[Tensor, Tensor]:
        """Mean (without the bias) and variance of the hidden units of each view, (views, hidden)."""
        return units @ self.mean, (units @ self.factor.T).square().sum(dim=-1)


class NormalisedRows:
    def __init__(self, path: NormalisedPath, columns: Tensor) -> None:
        self.path, self.columns = path, columns

    def logits(self, masks: Tensor, head: nn.Linear) -> Tensor:
        linear, norm = self.path.encoder.linear, self.path.encoder.norm
        units = masks[:, None, :] * linear.weight  # (views, hidden, d)
        mean, variance = self.path.statistics(units)
        offset = torch.zeros_like(mean)
        if self.path.encoder.training:
            update_running_statistics(norm, mean.detach() + linear.bias.detach(), variance.detach(), self.path.nodes)
        else:
            running_mean, running_variance = running_statistics(norm)
            offset = mean + linear.bias - running_mean
            variance = running_variance.expand_as(mean)
        scale = norm.weight * torch.rsqrt(variance + norm.eps)  # (views, hidden)
        weights = head.weight * scale[:, None, :]  # (views, outputs, hidden)
        directions = masks[:, None, :] * (weights @ linear.weight)
        constant = (weights @ offset[:, :, None])[..., 0] + head.weight @ norm.bias + head.bias  # (views, outputs)
        return _product(directions, self.columns) + constant[:, None, :]


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
