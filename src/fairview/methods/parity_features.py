"""What does the head of `Parity` see of a node? The basis of its table, and the same averaged over its neighbours.

    Z = [B, S B, ..., S^hops B], each column centred and divided by its standard deviation over the fitted graph's nodes

B is the basis (splines, the channels themselves, or a function of the user's own), S the operator. Constant columns
are zero. Labels and groups are never looked at, so that new nodes need neither.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from fairview.data.graph import NodeGraph
from fairview.data.stored_links import StoredLinks
from fairview.errors import InputError
from fairview.groups import UNKNOWN
from fairview.methods.contract import features_like, seen_by
from fairview.methods.spline_features import SplineFeatures
from fairview.propagation.one_hop import one_hop
from fairview.propagation.operators import Operator
from fairview.training.state import State

Reals = npt.NDArray[np.float64]
OwnBasis = Callable[[NodeGraph], npt.NDArray[Any]]


@dataclass(frozen=True, eq=False)
class GraphFeatures:
    """The fitted map from a graph to Z.

    Attributes:
        basis: the table's columns: splines, or the user's own function.
        channels: that the basis is given, in this order.
        operator: S.
        hops: how often S is applied at most.
        centre: the mean of each column of Z before it is centred, (width,).
        scale: its standard deviation; 1 for a constant column.
    """

    basis: SplineFeatures | OwnBasis
    channels: tuple[str, ...]
    operator: Operator
    hops: int
    centre: Reals
    scale: Reals

    @classmethod
    def fit(
        cls,
        graph: NodeGraph,
        basis: SplineFeatures | OwnBasis,
        channels: tuple[str, ...],
        operator: Operator,
        hops: int,
    ) -> tuple[GraphFeatures, Reals]:
        """The map, and Z of the graph that it was fitted to."""
        unscaled = cls(basis, channels, operator, hops, np.zeros(1), np.ones(1))
        z = unscaled.unscaled(graph)
        centre = z.mean(axis=0)
        z -= centre
        spread = np.sqrt(np.mean(z**2, axis=0))
        scale = np.where(spread > 1e-9 * (1 + np.abs(centre)), spread, 1.0)  # below: constant but for rounding
        z[:, spread <= 1e-9 * (1 + np.abs(centre))] = 0.0
        z /= scale
        return replace(unscaled, centre=centre, scale=scale), z

    @property
    def width(self) -> int:
        """Columns of Z."""
        return len(self.centre)

    def up_to(self, hops: int) -> GraphFeatures:
        """The same with fewer hops: the first columns of Z."""
        width = self.width // (self.hops + 1) * (hops + 1)
        return replace(self, hops=hops, centre=self.centre[:width], scale=self.scale[:width])

    def __call__(self, graph: NodeGraph) -> Reals:
        """Z of any graph with the same channels."""
        z = self.unscaled(graph)
        if z.shape[1] != self.width:
            per_hop = self.hops + 1
            raise InputError(
                f"predict: the basis has {z.shape[1] // per_hop} columns; the model was fitted with "
                f"{self.width // per_hop}."
            )
        z -= self.centre
        z /= self.scale
        return z

    def unscaled(self, graph: NodeGraph) -> Reals:
        """[B, S B, ..., S^hops B] as it comes."""
        by_hop: list[npt.NDArray[np.floating[Any]]] = [self._basis(graph)]
        if self.hops:
            _, links = seen_by(graph, self.channels)
            if isinstance(links, StoredLinks) and by_hop[0].shape[1] != len(self.channels):
                raise InputError(
                    "parity: a propagated folder holds the channels after each hop, and no splines of them. Set "
                    f"hops=0, or basis='raw' with operator='{links.kind}', as the folder was made."
                )
            hop = one_hop(links, self.operator)
            for _ in range(self.hops):
                by_hop.append(hop(by_hop[-1]))
        return np.hstack(by_hop)

    def _basis(self, graph: NodeGraph) -> Reals:
        features = features_like(graph, self.channels)
        if isinstance(self.basis, SplineFeatures):
            return self.basis(features)
        hidden = np.full(graph.num_nodes, UNKNOWN)
        seen = graph.with_features(features, self.channels).replace(labels=hidden, splits={})
        seen = seen.hiding_groups(np.ones(graph.num_nodes, dtype=np.bool_))
        found = np.asarray(self.basis(seen))
        if found.ndim != 2 or len(found) != graph.num_nodes or found.shape[1] == 0 or found.dtype.kind not in "biuf":
            raise InputError(
                f"basis: returned {found.dtype} with shape {found.shape}; expected numbers with shape "
                f"({graph.num_nodes}, columns)."
            )
        if not np.isfinite(found).all():
            raise InputError("basis: returned values that are not finite; a linear model needs numbers.")
        return found.astype(np.float64)

    def owners(self) -> tuple[tuple[str, ...], npt.NDArray[np.intp]]:
        """The channels' names, and of each column of Z the number hop * channels + channel.

        Each column of the user's own basis is a channel of its own.
        """
        per_hop = self.width // (self.hops + 1)
        if isinstance(self.basis, SplineFeatures):
            names, channel = self.channels, self.basis.channel_of
        else:
            names, channel = tuple(f"basis {j}" for j in range(per_hop)), np.arange(per_hop)
        return names, np.concatenate([hop * len(names) + channel for hop in range(self.hops + 1)])

    def tensors(self) -> State:
        """What was fitted, without the user's own function."""
        own = {"centre": torch.from_numpy(self.centre), "scale": torch.from_numpy(self.scale)}
        return own | (self.basis.tensors() if isinstance(self.basis, SplineFeatures) else {})
