"""What does a perturbed view of a graph hold? Noise in some features, some links less, another sensitive group.

Every draw is made in main memory and in float32, so that it is the same in every precision and on every device.
"""

from __future__ import annotations

from functools import cached_property
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from fairview.data.adjacency import Adjacency
from fairview.nn.inputs import GraphInputs
from fairview.nn.sparse import SparseMatrix
from fairview.propagation.blocks import Blocks
from fairview.propagation.operators import Operator

NoiseKind = Literal["node", "channel"]


def draw_noise(
    nodes: int, free: np.ndarray, rate: float, generator: torch.Generator, kind: NoiseKind = "node"
) -> Tensor:
    """r ∘ δ with r ~ Bernoulli(rate) and δ ~ N(0, 1), shape (nodes, d), or (1, d) with one draw per `channel`.

    `free` says which of the d channels may be changed.
    """
    rows = nodes if kind == "node" else 1
    hit = torch.rand(rows, len(free), generator=generator) < rate
    hit &= torch.from_numpy(free)
    noise = torch.zeros(rows, len(free))
    noise[hit] = torch.randn(int(hit.sum()), generator=generator)
    return noise


class Counterfactual:
    """Every node as if it belonged to another sensitive group: x' = x + v_h - v_g in the sensitive channels.

    v_g is the mean of the sensitive channels in group g. A channel that holds the attribute has one value per group, so
    that this exchanges the values: 0 and 1 of a single channel, or the two columns of a one-hot code. With two groups
    the other one is given; with more it is drawn anew for each node. A node of unknown group (-1) stays as it is.
    """

    def __init__(self, values: np.ndarray, codes: np.ndarray) -> None:
        present, places = np.unique(codes[codes >= 0], return_inverse=True)
        wide = values.astype(np.float64)
        self.means = torch.from_numpy(np.stack([wide[codes == code].mean(axis=0) for code in present]))  # (groups, k)
        self.known = torch.from_numpy(np.flatnonzero(codes >= 0))
        self.places = torch.from_numpy(places.reshape(-1))
        self.shape = values.shape

    def draw(self, generator: torch.Generator) -> Tensor:
        """v_h - v_g of every node, (n, k), in float64."""
        groups = len(self.means)
        if groups > 2:
            step = torch.randint(1, groups, self.places.shape, generator=generator)
        else:
            step = torch.ones_like(self.places)
        moved = torch.zeros(self.shape, dtype=torch.float64)
        moved[self.known] = self.means[(self.places + step) % groups] - self.means[self.places]
        return moved


class Links:
    """The links of a graph, some of which may be left out: an undirected one as a whole."""

    def __init__(self, adjacency: Adjacency) -> None:
        source, target = adjacency.sources.astype(np.int64), adjacency.indices.astype(np.int64)
        once = np.ones(len(source), dtype=np.bool_) if adjacency.directed else source < target
        self.adjacency = adjacency
        self.alike = adjacency.weights is None or bool((adjacency.weights == 1).all())
        self.source, self.target = torch.from_numpy(source[once]), torch.from_numpy(target[once])
        places = np.arange(len(source)) if adjacency.directed else np.argsort(adjacency.indices, kind="stable")
        self.places = np.stack([np.flatnonzero(once), places[once]])  # of a link's pair, and of its reverse

    def draw(self, rate: float, generator: torch.Generator) -> Tensor:
        """Which of the links to leave out, each with probability `rate`: their places, ascending."""
        if rate == 0:
            return torch.empty(0, dtype=torch.int64)
        return torch.nonzero(torch.rand(len(self.source), generator=generator) < rate)[:, 0]

    def pairs(self, left_out: Tensor) -> tuple[Tensor, Tensor]:
        """Rows and columns of S that these links fill: a node gathers from the source."""
        source, target = self.source[left_out], self.target[left_out]
        if self.adjacency.directed:
            return target, source
        return torch.cat([target, source]), torch.cat([source, target])

    def without(self, left_out: Tensor) -> Adjacency:
        """The other links."""
        gone = self.places[:, left_out.numpy()]
        kept = np.ones(self.adjacency.num_pairs, dtype=np.bool_)
        kept[gone] = False
        return self.adjacency.keeping(kept)


class SharedOperator:
    """What all views' operators have in common: the links of the whole graph, and the degrees."""

    def __init__(self, links: Links, operator: Operator, *, dtype: torch.dtype, device: torch.device) -> None:
        self.links, self.operator, self.dtype, self.device = links, operator, dtype, device
        bare = Operator(kind="sum", self_loops=0.0).matrix(links.adjacency)
        self.matrix = SparseMatrix(bare, dtype=dtype, device=device)
        self.degree = torch.from_numpy(np.asarray(bare.sum(axis=1), dtype=np.float64)) + operator.self_loops


class PerturbedMatrix(SparseMatrix):
    """S of the graph without some links, for products S Y in training.

    With Δ the links left out, c the self-loops, and l, r the powers of the degrees of what is left,

        S Y = l ∘ ((A - Δ + c I) (r ∘ Y)):

    one product with the A that all views share, and a few rows more for Δ. No sparse matrix is made.
    """

    def __init__(self, shared: SharedOperator, left_out: Tensor) -> None:
        self.shared, self.left_out = shared, left_out
        row, column = shared.links.pairs(left_out)
        degree = shared.degree - torch.bincount(row, minlength=len(shared.degree))
        kind = shared.operator.kind
        power = torch.where(degree > 0, degree.pow(-0.5 if kind == "gcn" else -1.0), 0.0)
        scale = power.to(shared.device, shared.dtype)[:, None]
        self.left = None if kind == "sum" else scale
        self.right = scale if kind == "gcn" else None
        self.row, self.column = row.to(shared.device), column.to(shared.device)

    def __matmul__(self, dense: Tensor) -> Tensor:
        y = dense if self.right is None else dense * self.right
        product = self.shared.matrix @ y
        if self.shared.operator.self_loops:
            product = product + self.shared.operator.self_loops * y
        if len(self.row):
            product = product.index_add(0, self.row, y[self.column], alpha=-1)
        return product if self.left is None else product * self.left

    def added_to(self, base: Tensor, dense: Tensor) -> Tensor:
        return base + self @ dense

    def rows(self, index: np.ndarray) -> tuple[SparseMatrix, np.ndarray]:
        matrix = self.shared.operator.matrix(self.shared.links.without(self.left_out))
        return SparseMatrix(matrix, dtype=self.shared.dtype, device=self.shared.device).rows(index)


class PerturbedInputs(GraphInputs):
    """What an encoder sees of a perturbed view: features x, (n, d), and the links of a graph but those left out.

    `shared` is what all views with the same operator have in common; None for encoders that have none.
    """

    def __init__(
        self, x: Tensor, links: Links, left_out: Tensor, shared: SharedOperator | None, *, blocks: Blocks | None = None
    ) -> None:
        operator = shared.operator if shared else None
        super().__init__(x.cpu().numpy(), links.adjacency, operator, blocks=blocks, device=x.device, dtype=x.dtype)
        self.x, self.links, self.left_out, self.shared = x, links, left_out, shared

    @cached_property
    def propagated(self) -> Tensor:
        if self.blocks is not None:
            return self.rebuilt.propagated
        return self.x if self.shared is None else self.matrix @ self.x

    def propagated_wide(self) -> Tensor:
        return self.propagated.double()

    @cached_property
    def matrix(self) -> SparseMatrix:
        if self.shared is None:
            raise ValueError("an encoder without an operator has no matrix")
        if not self.links.alike:  # a heavy link minus itself would leave rounding in place of the light ones
            return self.rebuilt.matrix
        return PerturbedMatrix(self.shared, self.left_out)

    @cached_property
    def edge_index(self) -> Tensor:
        return self.rebuilt.edge_index

    @cached_property
    def edge_weight(self) -> Tensor | None:
        return self.rebuilt.edge_weight

    @cached_property
    def weighted_edges(self) -> tuple[Tensor, Tensor]:
        return self.rebuilt.weighted_edges

    @cached_property
    def rebuilt(self) -> GraphInputs:
        """The same from a graph that lacks the links: slower, and what the encoders ask for that take links as such."""
        left = self.links.without(self.left_out)
        return GraphInputs(
            self._features, left, self.operator, blocks=self.blocks, device=self.device, dtype=self.dtype
        )
