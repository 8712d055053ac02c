"""What stands for links that are not at hand? Rows of S X, S² X, ... that were computed from them before.

A propagated folder (`fairview.propagation.folder`) holds, for each node, its features after 0 to L hops. Rows of it
become a `NodeGraph` whose adjacency is a `StoredLinks`: it can't say who is linked to whom, but it knows what a hop
does to each channel. Whatever would need the links themselves is refused, never answered as if there were none.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
from scipy import sparse

from fairview.attributes import Attribute
from fairview.data.adjacency import Adjacency
from fairview.errors import InputError, command

Rows = npt.NDArray[np.float32]
Reals = npt.NDArray[np.float64]
Values = npt.NDArray[np.floating[Any]]

WHAT_CAN = (
    "A folder serves fairvgnn, vanilla, masking and fairgnn with the encoders gcn, gin and mlp of one layer and sign, "
    "parity with hops=0 or basis='raw', and methods that look at no links, such as logistic-regression. For anything "
    "else, read the tables themselves."
)


@dataclass(frozen=True, eq=False)
class HopMoments:
    """Mean, (d,), and covariance, (d, d), of the channels after some hop, over all nodes of the whole graph."""

    mean: Reals
    covariance: Reals

    def of(self, places: Sequence[int]) -> HopMoments:
        """Those of some channels."""
        return HopMoments(self.mean[places], self.covariance[np.ix_(places, places)])


@dataclass(frozen=True, kw_only=True, eq=False)
class StoredLinks(Adjacency):
    """Links of a graph of which only the propagated rows of some nodes are known.

    Attributes:
        by_hop: X, S X, S² X, ... of these nodes, float32, each (n, d).
        kind: of the operator S: `gcn`, `mean` or `sum`.
        self_loops: of each node in S.
        edges: how many links the whole graph has.
        has_weights: whether they have weights.
        same_and_known: pairs of the whole graph that join nodes of the same group, and of known groups, by the name of
            the sensitive attribute, and of all together.
        nodes: of the whole graph.
        moments: of the channels over all those nodes, by hop.
        folder_sha256: of the folder's manifest.
    """

    by_hop: tuple[Rows, ...]
    kind: str
    self_loops: float
    edges: int
    has_weights: bool = False
    same_and_known: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    nodes: int = 0
    moments: tuple[HopMoments, ...] = ()
    folder_sha256: str = ""

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
    def sampled(self) -> bool:
        """Whether the rows are a part of the whole graph's."""
        return self.num_nodes < self.nodes

    @property
    def content(self) -> list[npt.NDArray[Any]]:
        rest = [array for each in self.moments for array in (each.mean, each.covariance)] if self.sampled else []
        return [*self.by_hop, *rest]

    def equals(self, other: Adjacency) -> bool:
        if not isinstance(other, StoredLinks) or len(self.by_hop) != len(other.by_hop):
            return False
        alike = all(getattr(self, name) == getattr(other, name) for name in ("kind", "self_loops", "directed", "edges"))
        return alike and all(np.array_equal(*pair) for pair in zip(self.by_hop, other.by_hop, strict=True))

    def same_group(self, attribute: Attribute) -> tuple[int, int]:
        if attribute.name not in self.same_and_known:
            self._refuse(f"the links within groups of '{attribute.name}'")
        return self.same_and_known[attribute.name]

    def for_channels(self, places: Sequence[int] | None) -> StoredLinks:
        chosen = [] if places is None else list(places)
        return dataclasses.replace(
            self,
            by_hop=tuple(np.ascontiguousarray(rows[:, chosen]) for rows in self.by_hop),
            moments=tuple(each.of(chosen) for each in self.moments),
        )

    def hop(self, *, kind: str, self_loops: float) -> StoredHop:
        """X -> S X, which gives S X -> S² X when it is called with what it returned, and so on.

        Raises:
            InputError: the folder was made with another operator.
        """
        if (kind, self_loops) != (self.kind, self.self_loops):
            loops = {} if self_loops == 1 else {"self_loops": f"{self_loops:g}"}
            raise InputError(
                f"propagated folder: it was made with the operator '{self.kind}' and {self.self_loops:g} self-loops "
                f"per node, and '{kind}' with {self_loops:g} is needed. Make such a folder with "
                f"{command('propagate', operator=kind, **loops)}."
            )
        return StoredHop(self)

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
        self._refuse("some of the links")

    def _refuse(self, what: str) -> NoReturn:
        raise InputError(f"propagated folder: it holds no links, so that it can't give {what}. {WHAT_CAN}")


class StoredHop:
    """What a hop does to the channels of a `StoredLinks`, looked up.

    How many hops some values have behind them is not told by the values, which may be the same before and after: it
    begins with X, and goes on with the very array that it returned last.
    """

    def __init__(self, links: StoredLinks) -> None:
        self.links, self.reached = links, 0
        self.returned: Values | None = None

    def __call__(self, values: Values) -> Values:
        """S times the channels, in the dtype of the values.

        Raises:
            InputError: the values are not the channels as they are stored, or the folder holds no further hop.
        """
        by_hop = self.links.by_hop
        if values is not self.returned:
            self.reached = 0
            if not np.array_equal(values.astype(np.float32), by_hop[0]):
                raise InputError(
                    "propagated folder: it holds the channels as they were read. To propagate other columns, such as "
                    f"splines or masked channels, would need the links. {WHAT_CAN}"
                )
        if self.reached + 1 == len(by_hop):
            raise InputError(
                f"propagated folder: it holds {self.reached} hops, and one more is needed. Make such a folder with "
                f"{command('propagate', hops=self.reached + 1)}."
            )
        self.reached += 1
        self.returned = by_hop[self.reached].astype(values.dtype)
        return self.returned
