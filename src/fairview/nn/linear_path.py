"""The collapsed path of one-layer encoders: one product with S X for all views, whatever the hidden width."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor, nn

from fairview.nn.encoders import GCNEncoder, GINEncoder, MLPEncoder, SIGNEncoder
from fairview.nn.inputs import GraphInputs
from fairview.nn.paths import Rows, Where

BLOCK = 32_768
"""Nodes taken at a time. Ten views of them are a megabyte; beyond that, time goes into memory instead of arithmetic."""

_NO_VARIANCE = 1e-13  # as a share of the largest: below it, an eigenvalue of a covariance is rounding


class Columns:
    """Some nodes as the columns of a matrix; they come in blocks."""

    columns: Tensor

    @property
    def count(self) -> int:
        return self.columns.shape[1]

    def share(self, where: Where) -> float:
        size = len(where) if isinstance(where, Tensor) else where.stop - where.start
        return size / max(self.count, 1)


class LinearPath:
    """MLP and GCN: H_k = P diag(m_k) Wᵀ + b with P = S X, so with a head (V, c)

    logits_k = P (m_k ∘ V W)ᵀ + V b + c.

    SIGN: the same with P = [X | S X | ...], whose masks have an entry for each column. Kinds of links: the same with
    P = [S_1 X | S_2 X | ...] and the tied weights [a_1 W | a_2 W | ...].
    """

    def __init__(self, encoder: MLPEncoder | GCNEncoder | SIGNEncoder, inputs: GraphInputs) -> None:
        self.encoder = encoder
        self.table = inputs.propagated  # (n, d): a node's numbers beside each other, for picking nodes
        self.columns = self.table.T.contiguous()  # (d, n): the product's long side last

    def on(self, rows: np.ndarray | None = None) -> LinearRows:
        return LinearRows(self, self.columns if rows is None else _picked(self.table, rows))


class LinearRows(Columns):
    """Some nodes on a `LinearPath`, their rows of S X as columns."""

    def __init__(self, path: LinearPath, columns: Tensor) -> None:
        self.path, self.columns = path, columns

    def logits(self, masks: Tensor, head: nn.Linear) -> Tensor:
        encoder = self.path.encoder
        directions = masks[:, None, :] * (head.weight @ encoder.column_weights)  # (views, outputs, d)
        constant: Tensor = head.weight @ encoder.layer(0).bias + head.bias  # (outputs,)
        return _product(directions, self.columns) + constant

    def parts(self) -> Sequence[tuple[Rows, Where]]:
        return [(LinearRows(self.path, self.columns[:, where]), where) for where in _blocks(self.count)]


class NormalisedPath:
    """GIN: H_k = BatchNorm(P diag(m_k) Wᵀ + b) with P = S X.

    With p̄ the mean of P's rows and P - p̄ = Q R, Q with orthogonal columns of variance one, both computed once, a hidden
    unit with weights u = m_k ∘ W_j has the batch mean p̄·u + b_j and the batch variance |R u|². So with
    r_j = (|R u_j|² + ε)^-1/2 and BatchNorm's γ, β

        logits_k = Q (R (m_k ∘ (V ∘ γ ∘ r) W)ᵀ) + V β + c,

    for any subset of rows. BatchNorm forgets the length of u, so that large terms of its gradient cancel: all that is
    small is computed in float64, and the one large product, with Q, sees numbers of size one.

    Where the rows are a sample of a larger graph (`GraphInputs.whole`), p̄ and R are those of the whole graph: its
    covariance is V Λ Vᵀ, R = Λ^½ Vᵀ and Q = (P - p̄) V Λ^-½. Prediction has its running statistics and needs neither.
    """

    def __init__(self, encoder: GINEncoder, inputs: GraphInputs) -> None:
        self.encoder = encoder
        wide = inputs.propagated_wide()
        whole = inputs.whole if encoder.training else None
        if whole is None:
            self.nodes, self.mean = inputs.num_nodes, wide.mean(dim=0)
            basis, factor = torch.linalg.qr(wide - self.mean)  # (n, r) and (r, d), r = min(n, d)
            self.factor = factor / self.nodes**0.5
            self.table = basis.mul_(self.nodes**0.5).to(inputs.dtype)
        else:
            self.nodes, self.mean = whole.nodes, whole.mean
            variances, directions = torch.linalg.eigh(whole.covariance)
            varies = variances > _NO_VARIANCE * variances.max()
            spread, directions = variances[varies].sqrt(), directions[:, varies]  # (r,) and (d, r)
            self.factor = spread[:, None] * directions.T
            self.table = ((wide - self.mean) @ (directions / spread)).to(inputs.dtype)
        self.columns = self.table.T.contiguous()

    def on(self, rows: np.ndarray | None = None) -> NormalisedRows:
        return NormalisedRows(self, self.columns if rows is None else _picked(self.table, rows))


class NormalisedRows(Columns):
    """Some nodes on a `NormalisedPath`; BatchNorm's statistics are those of all nodes."""

    def __init__(self, path: NormalisedPath, columns: Tensor, *, counted: bool = False) -> None:
        self.path, self.columns = path, columns
        self.counted = counted  # another part of the same pass has updated the running statistics

    def parts(self) -> Sequence[tuple[Rows, Where]]:
        blocks = _blocks(self.count)
        return [(NormalisedRows(self.path, self.columns[:, b], counted=k > 0), b) for k, b in enumerate(blocks)]

    def logits(self, masks: Tensor, head: nn.Linear) -> Tensor:
        linear, norm = self.path.encoder.linear, self.path.encoder.norm
        units = masks.double()[:, None, :] * self.path.encoder.column_weights  # (views, hidden, d), float64
        mean, spread = units @ self.path.mean, units @ self.path.factor.T  # (views, hidden) and (views, hidden, r)
        variance, offset = spread.square().sum(dim=-1), torch.zeros_like(mean)
        if self.path.encoder.training and not self.counted:
            update_running_statistics(norm, mean.detach() + linear.bias.detach(), variance.detach(), self.path.nodes)
        elif not self.path.encoder.training:
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


def _blocks(nodes: int) -> list[slice]:
    """Stretches of nodes whose logits fit the cache; one of them on small graphs."""
    count = max(-(-nodes // BLOCK), 1)
    edges = [nodes * k // count for k in range(count + 1)]
    return [slice(first, last) for first, last in pairwise(edges)]


def _picked(table: Tensor, rows: np.ndarray) -> Tensor:
    """Some rows of (n, d), as columns: (d, number of rows)."""
    return table[torch.from_numpy(rows).to(table.device)].T.contiguous()


def _product(directions: Tensor, columns: Tensor) -> Tensor:
    """(views, outputs, d) and (d, nodes) -> (views, nodes, outputs)."""
    views, outputs, channels = directions.shape
    flat = directions.reshape(views * outputs, channels) @ columns
    if outputs == 1:
        return flat[:, :, None]
    return flat.view(views, outputs, -1).transpose(1, 2)
