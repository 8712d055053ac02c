"""What does an encoder see of a graph? Its features and its operator, in whichever form a path needs, made once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from fairview.data.adjacency import Adjacency
from fairview.data.graph import NodeGraph
from fairview.data.stored_links import StoredLinks
from fairview.nn.sparse import SparseMatrix
from fairview.propagation.blocks import Blocks
from fairview.propagation.kinds import Kinds
from fairview.propagation.operators import Operator, propagate


@dataclass(frozen=True)
class Whole:
    """S X over all nodes of a graph: how many there are, the mean (d,) and the covariance (d, d), in float64."""

    nodes: int
    mean: Tensor
    covariance: Tensor


class GraphInputs:
    """Features X, shape (n, d), and operator S of one graph, as tensors; no operator for encoders without links.

    With `blocks`, several propagated copies of the channels stand side by side where S X alone would stand.
    """

    def __init__(
        self,
        features: np.ndarray,
        adjacency: Adjacency,
        operator: Operator | None,
        *,
        blocks: Blocks | None = None,
        device: torch.device | str = "cpu",
        dtype: torch.dtype = torch.float32,
    ) -> None:
        self._features, self.adjacency, self.operator, self.blocks = features, adjacency, operator, blocks
        self.device, self.dtype = torch.device(device), dtype

    @classmethod
    def of(
        cls,
        graph: NodeGraph,
        operator: Operator | None,
        *,
        blocks: Blocks | None = None,
        dtype: torch.dtype = torch.float32,
    ) -> GraphInputs:
        """The inputs of a graph with all its channels."""
        return cls(graph.features, graph.adjacency, operator, blocks=blocks, dtype=dtype)

    @property
    def num_nodes(self) -> int:
        return len(self._features)

    @property
    def weighted(self) -> bool:
        """Whether the links have weights."""
        return self.adjacency.weighted

    @cached_property
    def x(self) -> Tensor:
        """X, shape (n, d)."""
        return self._tensor(self._features)

    def view(self, mask: Tensor) -> Tensor:
        """X under a mask, (n, d), not propagated; with blocks X once for each, under its part of the mask: (n, B d)."""
        return (self.x if self.blocks is None else self.x.repeat(1, self.blocks.count)) * mask

    @cached_property
    def propagated(self) -> Tensor:
        """S X, computed in float64, shape (n, d), or all blocks, (n, B d); X itself without an operator."""
        return self.x if self.operator is None else self.propagated_wide().to(self.dtype)

    def propagated_wide(self) -> Tensor:
        """The same in float64, made anew."""
        wide = self._features.astype(np.float64)
        if self.blocks is not None:
            return torch.from_numpy(np.concatenate(self.blocks.of(self.adjacency, wide), axis=1)).to(self.device)
        propagated = wide if self.operator is None else propagate(self.adjacency, wide, self.operator)[1]
        return torch.from_numpy(propagated).to(self.device)

    @property
    def whole(self) -> Whole | None:
        """What is known of S X over all nodes of a graph of which these are a sample; None if these are all."""
        links = self.adjacency
        if not isinstance(links, StoredLinks) or not links.sampled or self.operator is None or len(links.moments) < 2:
            return None
        mean, covariance = (torch.from_numpy(array) for array in (links.moments[1].mean, links.moments[1].covariance))
        return Whole(links.nodes, mean.to(self.device), covariance.to(self.device))

    @cached_property
    def matrix(self) -> SparseMatrix:
        """S, ready for products with many views at once."""
        if self.operator is None:
            raise ValueError("an encoder without an operator has no matrix")
        return SparseMatrix(self.operator.matrix(self.adjacency), dtype=self.dtype, device=self.device)

    @cached_property
    def edge_index(self) -> Tensor:
        """The links as `graph.to_pyg()` has them: source above target, no self-loops, shape (2, m)."""
        pairs = np.stack([self.adjacency.sources, self.adjacency.indices]).astype(np.int64)
        return torch.from_numpy(pairs).to(self.device)

    @cached_property
    def edge_weight(self) -> Tensor | None:
        """The weight of each of these links, (m,); None for plain ones."""
        return None if self.adjacency.weights is None else self._tensor(self.adjacency.weights)

    @cached_property
    def weighted_edges(self) -> tuple[Tensor, Tensor]:
        """S in PyG's form: index and weight of every non-zero entry, self-loops included."""
        if self.operator is None:
            raise ValueError("an encoder without an operator has no edges")
        return self._entries(self.operator.matrix(self.adjacency))

    @cached_property
    def edges_by_kind(self) -> list[tuple[Tensor, Tensor]]:
        """S_1, S_2, ... in the same form, one for each kind of links."""
        if not isinstance(self.blocks, Kinds):
            raise ValueError("an encoder without kinds of links has no edges by kind")
        return [self._entries(part) for part in self.blocks.matrices(self.adjacency)]

    def _entries(self, matrix: sparse.csr_array) -> tuple[Tensor, Tensor]:
        entries = matrix.tocoo()
        index = torch.from_numpy(np.stack([entries.coords[1], entries.coords[0]]).astype(np.int64)).to(self.device)
        return index, self._tensor(entries.data)

    def _tensor(self, array: np.ndarray) -> Tensor:
        return torch.tensor(array, dtype=self.dtype, device=self.device)
