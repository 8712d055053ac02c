"""What does one of several processes compute? The logits of its own nodes, and where these are among all."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from fairview.nn.paths import Path, Rows, Where


class ShardedPath:
    """The path of a process that holds a stretch of the nodes.

    Args:
        path: on its own nodes.
        edges: where the stretch of each process begins among all nodes, and the number of nodes.
        rank: number of the process.
    """

    def __init__(self, path: Path, edges: Sequence[int], rank: int) -> None:
        self.path, self.edges, self.rank = path, np.asarray(edges), rank

    def on(self, rows: np.ndarray | None = None) -> ShardedRows:
        """Some nodes, by their number among all."""
        first, last = self.edges[self.rank], self.edges[self.rank + 1]
        if rows is None:
            return ShardedRows(self, self.path.on(), np.arange(first, last), np.arange(self.edges[-1]))
        own = np.flatnonzero((rows >= first) & (rows < last))
        return ShardedRows(self, self.path.on(rows[own] - first), own, rows)


class ShardedRows:
    """Some nodes of all processes, of which this one computes its own.

    Attributes:
        places: of the own nodes among these.
    """

    def __init__(self, path: ShardedPath, own: Rows, places: np.ndarray, rows: np.ndarray) -> None:
        self.path, self.own, self.rows = path, own, rows
        self.places = torch.from_numpy(places)

    def logits(self, masks: Tensor, head: nn.Linear) -> Tensor:
        """Those of the own nodes, (views, own nodes, outputs)."""
        return self.own.logits(masks, head)

    def parts(self) -> Sequence[tuple[Rows, Where]]:
        """The own nodes in parts, each with its places; an empty one, if there are none."""
        return [(part, self.places[where]) for part, where in self.own.parts()]

    def share(self, where: Where) -> float:
        size = len(self.places[where]) if isinstance(where, slice) else len(where)
        return size / max(len(self.rows), 1)

    def places_by_process(self) -> list[Tensor]:
        """Where the nodes of each process are among these."""
        owners = np.searchsorted(self.path.edges, self.rows, side="right") - 1
        return [torch.from_numpy(np.flatnonzero(owners == process)) for process in range(len(self.path.edges) - 1)]
