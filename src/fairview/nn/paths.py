"""How are the logits of all views computed? View by view for any encoder, or collapsed where that is exact.

A channel mask commutes with propagation: S (X diag(m)) W = (S X) diag(m) W. So S X is computed once, and for one-layer
encoders, whose heads are linear, the logit of view k is (S X) (m_k ∘ Wᵀw) + const: n d multiplications per view,
whatever the hidden width. Every path gives the same numbers; autograd gives the same gradients (docs/adr/0008).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from fairview.errors import InputError
from fairview.nn.dropout import DropoutSource
from fairview.nn.encoders import Encoder, GCNEncoder, GINEncoder, MLPEncoder, SAGEEncoder, SIGNEncoder
from fairview.nn.foreign_encoder import ForeignEncoder
from fairview.nn.inputs import GraphInputs

PathKind = Literal["auto", "general", "collapsed"]
Where = slice | Tensor
"""Which of some rows: a stretch of them, or their places."""


class Rows(Protocol):
    """Some nodes of a graph, ready to be predicted under any masks."""

    def logits(self, masks: Tensor, head: nn.Linear) -> Tensor:
        """Head of encoder of each view: masks (views, columns) -> (views, nodes, outputs)."""
        ...

    def parts(self) -> Sequence[tuple[Rows, Where]]:
        """The same nodes, if possible in parts that fit the processor's cache, each with its place.

        One of several processes has the parts of its own nodes only.
        """
        ...

    def share(self, where: Where) -> float:
        """How many of the nodes lie there, as a share of all; of those in other processes, too."""
        ...


class Undivided:
    """Rows that come as one part."""

    def parts(self: Rows) -> Sequence[tuple[Rows, Where]]:
        return [(self, slice(None))]

    def share(self, where: Where) -> float:  # noqa: ARG002 - there is one place
        return 1.0


class Whole(Undivided):
    """Rows that never come in parts: a covariance or a distance is no mean over nodes."""

    def __init__(self, rows: Rows) -> None:
        from fairview.nn.sharded_path import ShardedRows

        if isinstance(rows, ShardedRows):
            raise InputError(
                "several processes: this loss compares all nodes with each other, so that it can't be divided among "
                "processes. Train it in one process."
            )
        self.logits = rows.logits


class Path(Protocol):
    """A way from masks to logits, for one encoder on one graph."""

    def on(self, rows: np.ndarray | None = None) -> Rows:
        """Prepare for the given nodes; None for all. Statistics of BatchNorm always come from all nodes."""
        ...


def choose_path(encoder: Encoder | ForeignEncoder, inputs: GraphInputs, kind: PathKind = "auto") -> Path:
    """The collapsed path where it is exact, else the general one; `kind` forces either."""
    from fairview.nn.linear_path import LinearPath, NormalisedPath
    from fairview.nn.sage_path import SagePath

    if kind != "general":
        if isinstance(encoder, (MLPEncoder, GCNEncoder, SIGNEncoder)) and encoder.spec.layers == 1:
            return LinearPath(encoder, inputs)
        if isinstance(encoder, GINEncoder) and encoder.spec.layers == 1:
            return NormalisedPath(encoder, inputs)
        if isinstance(encoder, SAGEEncoder):
            return SagePath(encoder, inputs)
        if kind == "collapsed":
            raise InputError("path: no collapsed path for this encoder; use 'general' or 'auto'.")
    return GeneralPath(encoder, inputs)


class GeneralPath:
    """View by view through the encoder itself: right for everything, and the oracle of the other paths."""

    def __init__(self, encoder: Encoder | ForeignEncoder, inputs: GraphInputs) -> None:
        self.encoder, self.inputs = encoder, inputs

    def on(self, rows: np.ndarray | None = None) -> GeneralRows:
        return GeneralRows(self, None if rows is None else torch.from_numpy(rows).to(self.inputs.device))

    def representations(self, masks: Tensor) -> Tensor:
        """Shape (views, n, hidden)."""
        dropout = self.encoder.dropout if isinstance(self.encoder, Encoder) else DropoutSource(0.0)
        views = []
        dropout.begin(len(masks))
        for mask in masks:
            dropout.next_view()
            views.append(self.encoder(self.inputs.view(mask), self.inputs))
        dropout.end()
        return torch.stack(views)


class GeneralRows(Undivided):
    """Some nodes on the general path; the encoder still computes all of them."""

    def __init__(self, path: GeneralPath, rows: Tensor | None) -> None:
        self.path, self.rows = path, rows

    def logits(self, masks: Tensor, head: nn.Linear) -> Tensor:
        h = self.path.representations(masks)
        logits: Tensor = head(h if self.rows is None else h[:, self.rows])
        return logits
