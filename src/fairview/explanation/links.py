"""Which links are there, each once, and what is left of a graph without some of them?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fairview.data.adjacency import Adjacency
from fairview.data.link_kinds import LinkKinds

Reals = npt.NDArray[np.floating[Any]]
Places = npt.NDArray[np.integer]


@dataclass(frozen=True, eq=False)
class LinkList:
    """The links of a graph, an undirected one once, with the lower node number as its source.

    Attributes:
        adjacency: that they are in.
        source: of each link, (links,).
        target: likewise.
        weight: likewise, 1 for plain links.
        kinds: likewise; None if they have none.
        of_pair: the link of each directed pair of the adjacency, (pairs,).

    Example:
        >>> links = LinkList.of(Adjacency.from_pairs([2, 0], [0, 1], num_nodes=3)[0])
        >>> links.source.tolist(), links.target.tolist(), links.of_pair.tolist()
        ([0, 0], [1, 2], [0, 1, 0, 1])
        >>> links.without(np.array([0])).indices.tolist()
        [2, 0]
    """

    adjacency: Adjacency
    source: npt.NDArray[np.int32]
    target: npt.NDArray[np.int32]
    weight: Reals
    kinds: LinkKinds | None
    of_pair: npt.NDArray[np.intp]

    @classmethod
    def of(cls, adjacency: Adjacency) -> LinkList:
        source, target = adjacency.sources, adjacency.indices
        first = np.ones(len(source), dtype=np.bool_) if adjacency.directed else source < target
        of_pair = np.cumsum(first) - 1
        if not adjacency.directed:
            reverse = np.argsort(target, kind="stable")  # rows are sorted, so this is where (j, i) stands
            of_pair = np.where(first, of_pair, of_pair[reverse])
        weights, kinds = adjacency.weights, adjacency.kinds
        weight = np.ones(int(first.sum())) if weights is None else weights[first].astype(np.float64)
        found = None if kinds is None else kinds.at(first)
        return cls(adjacency, source[first], target[first], weight, found, of_pair)

    def __len__(self) -> int:
        return len(self.source)

    def without(self, gone: Places) -> Adjacency:
        """The adjacency without the links at these places."""
        stays = np.ones(len(self), dtype=np.bool_)
        stays[gone] = False
        return self.adjacency.keeping(stays[self.of_pair])

    def at(self, node: int) -> Places:
        """The places of a node's links."""
        return np.flatnonzero((self.source == node) | (self.target == node))

    def by_node(self, values: Reals) -> Reals:
        """The sum of a value of the links over those of each node, (nodes,)."""
        n = self.adjacency.num_nodes
        ends = np.concatenate([self.source, self.target])
        return np.bincount(ends, np.tile(values, 2), minlength=n).astype(np.float64)
