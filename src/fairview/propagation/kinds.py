"""What does each kind of links bring a node? S, kind by kind: parts that add up to it, the self-loops one of them.

    S = S_1 + ... + S_T + S_itself

Every link's factor is the one that it has in S, with the degrees of the whole graph, so that the parts have no entry in
common. With a weight a_t for each, Σ a_t S_t X = [S_1 X | ... | S_T X | c X] under weights that are tied: the blocks
are computed once (docs/adr/0032).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from pydantic import BaseModel, ConfigDict
from scipy import sparse

from fairview.data.adjacency import Adjacency
from fairview.propagation.blocks import column_name
from fairview.propagation.one_hop import links_hop
from fairview.propagation.operators import Matrix, Operator

ITSELF = "itself"
"""The kind of a node's link to itself."""


class Kinds(BaseModel):
    """S_1 X, ..., S_T X and what a node keeps of itself, side by side.

    Attributes:
        operator: S.
        names: of the T kinds that the links have.

    Example:
        >>> links, _ = Adjacency.from_pairs([0, 1], [1, 2], num_nodes=3, kinds=["kin", "work"])
        >>> kinds = Kinds(operator=Operator(kind="sum"), names=("kin", "work"))
        >>> for name, part in zip(kinds.all_names, kinds.matrices(links), strict=True):
        ...     print(name, part.toarray().tolist())
        kin [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
        work [[0.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
        itself [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    operator: Operator
    names: tuple[str, ...]

    @property
    def all_names(self) -> tuple[str, ...]:
        """Those of the links, and of the self-loops."""
        return (*self.names, ITSELF)

    @property
    def count(self) -> int:
        return len(self.names) + 1

    def columns(self, channels: Sequence[str]) -> tuple[str, ...]:
        return tuple(column_name(channel, kind) for kind in self.all_names for channel in channels)

    def matrices(self, adjacency: Adjacency) -> list[sparse.csr_array]:
        """S_1, ..., S_T, S_itself as compressed sparse rows, whose entries are exactly those of S."""
        kinds = adjacency.kinds
        if kinds is None or kinds.names != self.names:
            raise ValueError("the links have other kinds than the blocks")
        hop = links_hop(adjacency, self.operator)
        shape = hop.moving.shape
        codes = sparse.csr_array((kinds.codes + 1, adjacency.indices, adjacency.indptr), shape=shape)  # 0 is no entry
        if adjacency.directed:
            codes = sparse.csr_array(codes.T.tocsr())  # in the order of the hop's entries
        parts = []
        for code in range(len(self.names)):
            of_kind = codes.data == code + 1
            indptr = np.concatenate([[0], np.cumsum(of_kind)])[hop.moving.indptr]
            parts.append(sparse.csr_array((hop.moving.data[of_kind], hop.moving.indices[of_kind], indptr), shape=shape))
        return [*parts, sparse.csr_array(sparse.diags_array(hop.staying[:, 0]))]

    def hop(self, adjacency: Adjacency) -> KindsHop:
        """[y_1 | ... | y_itself] -> S_1 y_1 + ... + S_itself y_itself."""
        return KindsHop(self.matrices(adjacency))

    def of(self, adjacency: Adjacency, features: Matrix) -> list[Matrix]:
        wide = features.astype(np.float64)
        return [np.asarray(part @ wide).astype(features.dtype) for part in self.matrices(adjacency)]


@dataclass(frozen=True)
class KindsHop:
    """The function [y_1 | ... | y_K] -> S_1 y_1 + ... + S_K y_K: a number of each node for each kind, (n, K) -> (n, 1).

    Attributes:
        parts: S_1, ..., S_K.
    """

    parts: Sequence[sparse.csr_array]

    def __call__(self, values: Matrix) -> Matrix:
        moved: Matrix = np.sum([part @ values[:, [place]] for place, part in enumerate(self.parts)], axis=0)
        return moved

    def transposed(self, values: Matrix) -> Matrix:
        """t -> [S_1ᵀ t | ... | S_Kᵀ t], (n, 1) -> (n, K)."""
        return np.concatenate([part.T @ values for part in self.parts], axis=1)
