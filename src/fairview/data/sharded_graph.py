"""Which part of a graph does one of several processes hold? The features of a stretch of nodes, the rest of all.

Labels, groups and splits are small: every process has those of all nodes, and so agrees with the others on every draw.
Features are large: each process has those of its own nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from fairview.data.content_hash import Streamed, content_sha256, hashed_codes, hashed_names
from fairview.data.graph import NodeGraph
from fairview.data.stored_links import StoredLinks
from fairview.errors import InputError


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ShardedGraph(NodeGraph):
    """Nodes of a propagated folder, of which this process holds the features of some.

    `features` and `adjacency` are of this process's nodes, `labels`, `sensitive` and `splits` of all. What needs the
    features of all takes them from `pieces`.

    Attributes:
        rank: number of this process, from 0.
        edges: where the stretch of each process begins among all nodes, and the number of nodes.
        pieces: all nodes in order as graphs of some, read from the folder again.
        told_sha256: of the graph of all nodes, where another process has computed it.
    """

    rank: int
    edges: tuple[int, ...]
    pieces: Callable[[], Iterable[NodeGraph]]
    told_sha256: str | None = None

    @property
    def num_nodes(self) -> int:
        return len(self.labels)

    @property
    def processes(self) -> int:
        """Among which the nodes are divided."""
        return len(self.edges) - 1

    @property
    def stretch(self) -> tuple[int, int]:
        """This process's nodes: the first, and the one behind the last."""
        return self.edges[self.rank], self.edges[self.rank + 1]

    @property
    def ids(self) -> NoReturn:
        raise InputError("ids: they are in the propagated folder; a process of several holds none.")

    @cached_property
    def sha256(self) -> str:
        """The same as that of a `NodeGraph` with all these nodes; it takes some passes over the folder."""
        if self.told_sha256 is not None:
            return self.told_sha256
        links = self.adjacency
        if not isinstance(links, StoredLinks):
            raise TypeError("the links of a sharded graph are stored ones")
        ids = tuple(name for piece in self.pieces() for name in piece.ids)
        shape = (self.num_nodes, self.num_channels)
        by_hop = [(np.dtype(np.float32), shape, self._rows(hop)) for hop in range(len(links.by_hop))]
        rest = [array for each in links.moments for array in (each.mean, each.covariance)]
        content: list[npt.NDArray[Any] | Streamed] = [*by_hop, *(rest if self.num_nodes < links.nodes else [])]
        features = np.dtype(np.float32), shape, self._rows(0)
        return content_sha256(
            hashed_names(self, ids),
            [features, *content[:2], self.labels, self.sensitive, *self.splits.values(), *content[2:],
             *hashed_codes(self)],
        )  # fmt: skip

    def _rows(self, hop: int) -> Iterable[npt.NDArray[np.float32]]:
        """The channels of all nodes after some hops, some nodes at a time."""
        for piece in self.pieces():
            links = piece.adjacency
            yield links.by_hop[hop] if isinstance(links, StoredLinks) else piece.features

    def _check(self) -> None:
        """The arrays come from a folder that was checked; a process that holds other rows than it thinks is a bug."""
        first, last = self.stretch
        sizes = {len(self.features), self.adjacency.num_nodes, last - first}
        wholes = {len(self.labels), len(self.sensitive), self.edges[-1], *map(len, self.splits.values())}
        wholes |= {len(each.codes) for each in self.attributes}
        if len(sizes) > 1 or len(wholes) > 1:
            raise ValueError(f"a process holds {sizes} rows and knows of {wholes} nodes")
