"""How do the groups lie in the graph? Homophily and degree of each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairview.data.graph import NodeGraph
from fairview.groups import UNKNOWN
from fairview.undefined import Metric, Undefined


@dataclass(frozen=True)
class GroupPlace:
    """A group's nodes, the share of their links that stay in the group, and their mean number of neighbours."""

    group: str
    nodes: int
    homophily: Metric
    mean_degree: Metric


def group_places(graph: NodeGraph) -> tuple[GroupPlace, ...]:
    """Each group's place: of the links that start in it and end in a known group, the share that end in it.

    Links are counted, whatever their weight.

    Example:
        >>> graph = NodeGraph.from_arrays(
        ...     features=[[0.0], [0.0], [0.0]], edges=[[0, 1], [1, 2]], sensitive=["f", "f", "m"]
        ... )
        >>> [(place.group, round(place.homophily, 3), place.mean_degree) for place in group_places(graph)]
        [('f', 0.667, 1.5), ('m', 0.0, 1.0)]
    """
    first, second = graph.sensitive[graph.adjacency.sources], graph.sensitive[graph.adjacency.indices]
    degree = graph.adjacency.degree
    places = []
    for code, name in enumerate(graph.groups):
        members = graph.sensitive == code
        ends = second[(first == code) & (second != UNKNOWN)]
        homophily: Metric = Undefined(f"no link leads from group '{name}' to a node of known group")
        mean_degree: Metric = Undefined(f"group '{name}' has no nodes")
        if len(ends):
            homophily = float((ends == code).mean())
        if members.any():
            mean_degree = float(np.mean(degree[members]))
        places.append(GroupPlace(name, int(members.sum()), homophily, mean_degree))
    return tuple(places)
