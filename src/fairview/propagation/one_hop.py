"""How is S X computed without building S? Links with a factor each, and the self-loops as a diagonal beside them.

With A the links by target (their weights, or ones), c the self-loops of each node and D the diagonal of the row sums of
A + c I, every operator is L (A + c I) R with diagonal L and R:

    gcn    L = R = D^-1/2        mean   L = D^-1, R = I        sum    L = R = I

so that S X = (L A R) X + (c L R) X. L A R has the links' own index arrays: on a million nodes it is made in a fraction
of the time of the matrix `Operator.matrix`, which takes longer than the product itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from fairview.data.adjacency import Adjacency
from fairview.data.stored_links import StoredHop, StoredLinks
from fairview.propagation.operators import Operator

Values = npt.NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Hop:
    """The function X -> S X, as the links with a factor each and what a node keeps of itself, shape (n, 1)."""

    moving: sparse.csr_array | sparse.csc_array
    staying: Values

    def __call__(self, values: Values) -> Values:
        moved: Values = self.moving @ values
        moved += self.staying * values
        return moved

    @property
    def transposed(self) -> Hop:
        """X -> Sᵀ X."""
        return Hop(self.moving.T, self.staying)

    @property
    def squared(self) -> Hop:
        """X -> (S∘S) X, each entry of S squared; links and diagonal never meet in one entry."""
        return Hop(self.moving.power(2), self.staying**2)


def one_hop(adjacency: Adjacency, operator: Operator, dtype: npt.DTypeLike = np.float64) -> Hop | StoredHop:
    """The function X -> S X for X of the given dtype, shape (n, columns); the same S as `operator.matrix(adjacency)`.

    Example:
        >>> adjacency, _ = Adjacency.from_pairs([0], [1], num_nodes=3)
        >>> one_hop(adjacency, Operator(kind="mean"))(np.array([[1.0], [3.0], [5.0]])).ravel().tolist()
        [2.0, 2.0, 5.0]
    """
    if isinstance(adjacency, StoredLinks):
        return adjacency.hop(kind=operator.kind, self_loops=operator.self_loops)
    return links_hop(adjacency, operator, dtype)


def links_hop(adjacency: Adjacency, operator: Operator, dtype: npt.DTypeLike = np.float64) -> Hop:
    """The same from the links themselves."""
    links = adjacency.to_scipy()
    if adjacency.directed:
        links = sparse.csr_array(links.T.tocsr())  # a node gathers from those that point to it
    gathered = np.diff(links.indptr)
    wide = links.astype(np.float64) if adjacency.weighted else None
    degree = (gathered if wide is None else wide @ np.ones(len(gathered))) + operator.self_loops
    power = {"gcn": -0.5, "mean": -1.0, "sum": 0.0}[operator.kind]
    left = np.power(degree, power, out=np.zeros(len(degree)), where=degree > 0)
    weights = np.repeat(left, gathered)
    if wide is not None:
        weights *= wide.data
    diagonal = operator.self_loops * left
    if operator.kind == "gcn":
        weights *= left[links.indices]
        diagonal *= left
    moving = sparse.csr_array((weights.astype(dtype), links.indices, links.indptr), shape=links.shape)
    return Hop(moving, diagonal.astype(dtype)[:, None])
