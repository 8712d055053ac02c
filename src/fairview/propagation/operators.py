"""What does a graph convolution do before its weights? It multiplies the features by a fixed matrix S.

With A the adjacency matrix without self-loops, c the number of self-loops that each node gets, and D the diagonal of
the row sums of A + c I:

    gcn    S = D^-1/2 (A + c I) D^-1/2      GCN, c = 1; PyG's `improved=True` with edge weights is c = 2
    mean   S = D^-1 (A + c I)               GraphSAGE's mean; a node without neighbours and loops keeps nothing
    sum    S = A + c I                      GIN with c = 1 + eps

If the links are directed, A holds them by target: a node gathers from those that point to it, as in PyG. If they have
weights, A holds those in place of ones: the mean is a weighted one, and the degrees in D are sums of weights. A
self-loop still counts c.

Everything here is a pure function of the adjacency; S X is computed once per graph and kept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field
from scipy import sparse

from fairview.data.adjacency import Adjacency
from fairview.data.stored_links import StoredLinks
from fairview.errors import InputError

OperatorKind = Literal["gcn", "mean", "sum"]
OPERATORS: tuple[str, ...] = get_args(OperatorKind)

Matrix = npt.NDArray[np.floating[Any]]


class Operator(BaseModel):
    """Which S, and how many self-loops.

    Example:
        >>> adjacency, _ = Adjacency.from_pairs([0], [1], num_nodes=3)
        >>> Operator(kind="mean").matrix(adjacency).toarray().tolist()
        [[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    kind: OperatorKind = "gcn"
    self_loops: float = Field(default=1.0, ge=0.0, allow_inf_nan=False)

    def matrix(self, adjacency: Adjacency, dtype: npt.DTypeLike = np.float64) -> sparse.csr_array:
        """S as compressed sparse rows, sorted."""
        n = adjacency.num_nodes
        a = adjacency.to_scipy().astype(np.float64)
        if adjacency.directed:
            a = sparse.csr_array(a.T.tocsr())  # a message goes from source to target, as in PyG
        if self.self_loops:
            a = sparse.csr_array(a + self.self_loops * sparse.eye_array(n, format="csr"))
        if self.kind != "sum":
            degree = np.asarray(a.sum(axis=1), dtype=np.float64)
            power = -0.5 if self.kind == "gcn" else -1.0
            inverse = np.power(degree, power, out=np.zeros(n), where=degree > 0)
            a = sparse.csr_array(sparse.diags_array(inverse) @ a)
            if self.kind == "gcn":
                a = sparse.csr_array(a @ sparse.diags_array(inverse))
        a.sort_indices()
        return sparse.csr_array(a.astype(dtype))


def propagate(adjacency: Adjacency, features: Matrix, operator: Operator, *, hops: int = 1) -> list[Matrix]:
    """[X, S X, S² X, ...]: the features after 0 to `hops` hops, in float64 inside, in the dtype of X outside.

    Whole numbers come back as float64: their means are none.

    Paper: appendix B, PROP of the unified template.

    Example:
        >>> adjacency, _ = Adjacency.from_pairs([0], [1], num_nodes=2)
        >>> [x.ravel().tolist() for x in propagate(adjacency, np.array([[1.0], [3.0]]), Operator(kind="sum"))]
        [[1.0, 3.0], [4.0, 4.0]]
    """
    if hops < 0:
        raise InputError(f"hops: {hops}; expected 0 or more.")
    if len(features) != adjacency.num_nodes:
        raise InputError(f"features: {len(features):,} rows for {adjacency.num_nodes:,} nodes.")
    by_hop = [features]
    if hops:
        wide: Matrix = features.astype(np.float64)
        dtype = features.dtype if np.issubdtype(features.dtype, np.floating) else wide.dtype
        hop = _hop(adjacency, operator)
        for _ in range(hops):
            wide = hop(wide)
            by_hop.append(wide.astype(dtype))
    return by_hop


def _hop(adjacency: Adjacency, operator: Operator) -> Callable[[Matrix], Matrix]:
    """X -> S X: a product, or what a propagated folder holds."""
    if isinstance(adjacency, StoredLinks):
        return adjacency.hop(kind=operator.kind, self_loops=operator.self_loops)
    s = operator.matrix(adjacency)
    return lambda values: np.asarray(s @ values)
