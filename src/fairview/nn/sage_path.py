"""The path of GraphSAGE: all views in one product per layer, one sparse product per layer, only the rows a loss needs.

With d channels, K views and width h, the first layer of all views is [S X, X] times a (2 d, K h) matrix of masked
weights. The second layer multiplies by its small weights first and by S afterwards, for all views at once. Only the
last layer is restricted to a loss's rows (and the layer before it to their neighbours): BatchNorm needs all nodes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from fairview.nn.encoders import SAGEEncoder
from fairview.nn.inputs import GraphInputs
from fairview.nn.linear_path import running_statistics, update_running_statistics
from fairview.nn.paths import Undivided
from fairview.nn.sparse import SparseMatrix

_SHORTEST = 1e-12


class SagePath:
    """A `SAGEEncoder` on one graph, with [S X, X] computed once."""

    def __init__(self, encoder: SAGEEncoder, inputs: GraphInputs) -> None:
        self.encoder = encoder
        self.matrix = inputs.matrix
        self.both = torch.cat([inputs.propagated, inputs.x], dim=1)  # [S X, X], (n, 2 d)

    def on(self, rows: np.ndarray | None = None) -> SageRows:
        return SageRows(self, rows)


class SageRows(Undivided):
    """Some nodes on a `SagePath`; the last layer is computed for them alone."""

    def __init__(self, path: SagePath, rows: np.ndarray | None) -> None:
        self.path = path
        device = path.both.device
        self.rows = None if rows is None else torch.from_numpy(rows).to(device)
        self.last = path.matrix
        self.touched: Tensor | None = None  # the nodes that the last layer looks at
        self.places: Tensor | None = None  # of the rows among them
        if rows is not None and path.encoder.spec.layers > 1:
            self.last, touched = path.matrix.rows(rows)
            self.touched = torch.from_numpy(touched).to(device)
            self.places = torch.from_numpy(np.searchsorted(touched, rows)).to(device)

    def logits(self, masks: Tensor, head: nn.Linear) -> Tensor:
        h = self.representations(masks)  # (nodes, views, hidden)
        logits: Tensor = head(h)
        return logits.transpose(0, 1)

    def representations(self, masks: Tensor) -> Tensor:
        """Shape (nodes, views, hidden)."""
        encoder, views = self.path.encoder, len(masks)
        layers = [encoder.layer(depth) for depth in range(encoder.spec.layers)]
        h = self._first(layers[0], masks)
        if len(layers) == 1:
            return h if self.rows is None else h[self.rows]
        for depth, layer in enumerate(layers[1:], start=1):
            h = self._between(h, encoder.norms[depth - 1])  # (n, views * hidden)
            if depth < len(layers) - 1:
                h = self._next(h, self._dropout(h, views), layer, self.path.matrix, None, views)
        keep = self._dropout(h, views)
        if self.touched is not None:
            h, keep = h[self.touched], keep if keep is None else keep[self.touched]
        return self._next(h, keep, layers[-1], self.last, self.places, views)

    def _first(self, layer: Any, masks: Tensor) -> Tensor:
        weight = torch.cat([layer.lin_l.weight, layer.lin_r.weight], dim=1)  # (hidden, 2 d)
        masked = masks.repeat(1, 2)[:, None, :] * weight  # (views, hidden, 2 d)
        h = torch.addmm(layer.lin_l.bias.repeat(len(masks)), self.path.both, masked.flatten(0, 1).T)
        return unit_length(h.view(len(h), len(masks), -1))

    def _between(self, h: Tensor, norm: Any) -> Tensor:
        """ReLU and BatchNorm, each view with its own statistics, (n, views, hidden) -> (n, views * hidden)."""
        nodes, views, hidden = h.shape
        h = torch.relu(h).view(nodes, views * hidden)
        scale, shift = norm.weight.repeat(views), norm.bias.repeat(views)
        if not self.path.encoder.training:
            mean, variance = (running.repeat(views) for running in running_statistics(norm))
            return functional.batch_norm(h, mean, variance, scale, shift, training=False, eps=norm.eps)
        mean, variance = torch.zeros_like(scale), torch.ones_like(scale)  # a momentum of 1 writes the batch's own
        h = functional.batch_norm(h, mean, variance, scale, shift, training=True, momentum=1.0, eps=norm.eps)
        biased = variance.view(views, hidden) * ((nodes - 1) / nodes)
        update_running_statistics(norm, mean.view(views, hidden), biased, nodes)
        return h

    def _dropout(self, h: Tensor, views: int) -> Tensor | None:
        """Drawn for all nodes, so that the draws do not depend on the rows; (n, views * hidden)."""
        encoder = self.path.encoder
        if not encoder.training or not encoder.dropout.rate:
            return None
        return encoder.dropout.all_views(len(h), views, encoder.spec.hidden, h).flatten(1)

    def _next(
        self, h: Tensor, keep: Tensor | None, layer: Any, matrix: SparseMatrix, places: Tensor | None, views: int
    ) -> Tensor:
        """normalise(S H W_lᵀ + b + H W_rᵀ), the small product first: (m, views * hidden) -> (rows, views, hidden)."""
        h = (h if keep is None else h * keep).view(len(h), views, -1)
        left, right = layer.lin_l, layer.lin_r
        itself = functional.linear(h if places is None else h[places], right.weight, left.bias)
        spread = functional.linear(h, left.weight)
        return unit_length(matrix.added_to(itself.flatten(1), spread.flatten(1)).view(itself.shape))


def unit_length(h: Tensor) -> Tensor:
    """h / max(|h|, 1e-12) along the last dimension: `functional.normalize` with a backward of four kernels."""
    unit: Tensor = _UnitLength.apply(h)  # type: ignore[no-untyped-call]
    return unit


class _UnitLength(torch.autograd.Function):
    """y = h r with r = 1 / max(|h|, ε); the gradient is r (g - y (y·g)), and r g where |h| < ε."""

    @staticmethod
    def forward(ctx: Any, h: Tensor) -> Tensor:
        length = torch.linalg.vector_norm(h, dim=-1, keepdim=True)
        reciprocal = 1 / length.clamp(min=_SHORTEST)
        y: Tensor = h * reciprocal
        ctx.save_for_backward(y, reciprocal, (length > _SHORTEST).to(h))
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *upstream: Tensor) -> Tensor:
        y, reciprocal, long = ctx.saved_tensors
        along = (y * upstream[0]).sum(dim=-1, keepdim=True) * long
        gradient: Tensor = torch.addcmul(upstream[0], y, along, value=-1).mul_(reciprocal)
        return gradient
