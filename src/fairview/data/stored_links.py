"""What stands for links that are not at hand? Rows of S X, S² X, ... that were computed from them before.

A propagated folder (`fairview.propagation.folder`) holds, for each node, its features after 0 to L hops. Rows of it
become a `NodeGraph` whose adjacency is a `StoredLinks`: it can't say who is linked to whom, but it knows what a hop
does to each channel. A column that is stored is found by its values, so that a subset of the channels, or a channel set
to zero by a mask, propagates as it should; anything else is refused, because the links would be needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
from scipy import sparse

from fairview.data.adjacency import Adjacency
from fairview.errors import InputError

Rows = npt.NDArray[np.float32]
Values = npt.NDArray[np.floating[Any]]


@dataclass(frozen=True, kw_only=True, eq=False)
class StoredLinks(Adjacency):
    """Links of a graph of which only the propagated rows of some nodes are known.

    Attributes:
        by_hop: X, S X, S² X, ... of these nodes, float32, each (n, d).
        kind: of the operator S: `gcn`, `mean` or `sum`.
        self_loops: of each node in S.
        edges: how many links the whole graph has.
        has_weights: whether they have weights.
        same: pairs of the whole graph that join nodes of the same group.
        known: pairs of the whole graph that join nodes of known groups.
    """

    by_hop: tuple[Rows, ...]
    kind: str
    self_loops: float
    edges: int
    has_weights: bool = False
    same: int = 0
    known: int = 0

    @classmethod
    def of(cls, by_hop: tuple[Rows, ...], *, directed: bool = False, **facts: Any) -> StoredLinks:
        """Links of which the propagated rows are all that is known, and some facts: the other attributes."""
        indptr, indices = np.zeros(len(by_hop[0]) + 1, dtype=np.int64), np.empty(0, dtype=np.int32)
        return cls(indptr=indptr, indices=indices, directed=directed, by_hop=by_hop, **facts)

    @property
    def num_edges(self) -> int:
        return self.edges

    @property
    def weighted(self) -> bool:
        return self.has_weights

    @property
    def content(self) -> list[npt.NDArray[Any]]:
        return list(self.by_hop)

    def same_group(self, codes: npt.NDArray[np.int16]) -> tuple[int, int]:  # noqa: ARG002 - counted over all links
        return self.same, self.known

    def hop(self, values: Values, *, kind: str, self_loops: float) -> Values:
        """S times some columns, each of which must be stored after fewer hops, or be zero.

        Raises:
            InputError: another operator than the folder's, more hops than it holds, or columns that it does not hold.
        """
        if (kind, self_loops) != (self.kind, self.self_loops):
            raise InputError(
                f"propagated folder: it was made with the operator '{self.kind}' and {self.self_loops:g} self-loops; "
                f"'{kind}' with {self_loops:g} would need the links. Propagate again with that operator."
            )
        narrow = values.astype(np.float32)
        moved = np.zeros(values.shape, dtype=values.dtype)
        hop = None
        for place in range(values.shape[1]):
            column = narrow[:, place]
            if not column.any():
                continue
            at = self._place(column, place, hop)
            if at is None:
                raise InputError(
                    "propagated folder: it holds the channels as they were read, and these are changed ones: to "
                    "propagate them would need the links."
                )
            hop, source = at
            if hop + 1 == len(self.by_hop):
                raise InputError(
                    f"propagated folder: it holds {len(self.by_hop) - 1} hops; one more would need the links. "
                    "Propagate again with more hops."
                )
            moved[:, place] = self.by_hop[hop + 1][:, source]
        return moved

    def _place(self, column: Rows, likely: int, hop: int | None) -> tuple[int, int] | None:
        """After how many hops, and where among the channels, a column is stored; the likely place is tried first."""
        hops = range(len(self.by_hop)) if hop is None else [hop]
        width = self.by_hop[0].shape[1]
        order = sorted(range(width), key=lambda place: place != likely)
        for number in hops:
            for place in order:
                if np.array_equal(column, self.by_hop[number][:, place]):
                    return number, place
        return None

    # --- what only the links themselves could say -------------------------------------------------------------------

    @property
    def num_pairs(self) -> int:
        return self.edges if self.directed else 2 * self.edges

    @property
    def degree(self) -> npt.NDArray[np.int64]:
        self._refuse("the number of neighbours")

    @property
    def sources(self) -> npt.NDArray[np.int32]:
        self._refuse("who is linked to whom")

    def to_scipy(self) -> sparse.csr_array:
        self._refuse("the adjacency matrix")

    def keeping(self, kept: npt.NDArray[np.bool_]) -> Adjacency:  # noqa: ARG002 - the links are not at hand
        self._refuse("fewer links")

    def _refuse(self, what: str) -> NoReturn:
        raise InputError(
            f"propagated folder: it holds propagated features and no links, so it can't give {what}. Use the encoders "
            "gcn, gin or mlp, or read the tables themselves."
        )
