"""In which order should nodes lie in memory? Neighbours near each other: a product then finds their rows in the cache.

Nothing that is computed depends on the order but the last bits, in which sums are rounded, and which node gets which
random draw.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.sparse.csgraph import reverse_cuthill_mckee

from fairview.data.adjacency import Adjacency
from fairview.data.graph import NodeGraph


def neighbours_together(graph: NodeGraph) -> NodeGraph:
    """The same graph with its nodes in the order of Cuthill and McKee, reversed: links join nodes that lie close.

    Example:
        >>> import numpy as np
        >>> import fairview as fv
        >>> path = fv.NodeGraph.from_arrays(
        ...     features=np.zeros((4, 1)), edges=[[0, 2, 1], [2, 1, 3]], sensitive=[0, 0, 1, 1]
        ... )
        >>> ordered = neighbours_together(path)
        >>> np.abs(ordered.adjacency.sources - ordered.adjacency.indices).max()
        np.int32(1)
    """
    return reordered(graph, closest_order(graph.adjacency))


def closest_order(adjacency: Adjacency) -> npt.NDArray[np.int32]:
    """The old number of each node, in the new order."""
    order: npt.NDArray[np.int32] = reverse_cuthill_mckee(adjacency.to_scipy(), symmetric_mode=not adjacency.directed)
    return order


def reordered(graph: NodeGraph, order: npt.NDArray[np.integer]) -> NodeGraph:
    """The same graph with node `order[i]` as its node i."""
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    links = graph.adjacency
    moved, _ = Adjacency.from_pairs(
        place[links.sources],
        place[links.indices],
        num_nodes=links.num_nodes,
        directed=links.directed,
        weights=links.weights,
        kinds=links.kinds,
    )
    return graph.replace(
        features=graph.features[order],
        adjacency=moved,
        labels=graph.labels[order],
        sensitive=graph.sensitive[order],
        attributes=tuple(attribute.at(order) for attribute in graph.attributes),
        node_ids=None if graph.node_ids is None else tuple(graph.node_ids[old] for old in order),
        splits={name: mask[order] for name, mask in graph.splits.items()},
    )
