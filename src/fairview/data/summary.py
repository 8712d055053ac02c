"""What is in this graph? The facts that a person checks before trusting anything that is learnt from it."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse.csgraph import connected_components

from fairview.data.graph import NodeGraph
from fairview.data.graph_argument import require_graph
from fairview.data.hints import hints
from fairview.data.trainable import reasons_against
from fairview.undefined import Undefined, plain


def summarise(graph: NodeGraph) -> dict[str, Any]:
    """Sizes, degrees, labels and groups of a graph, as plain data for JSON.

    Example:
        >>> graph = NodeGraph.from_arrays(
        ...     features=[[0.0], [1.0], [2.0]], edges=[[0], [1]], labels=[0, 1, -1], sensitive=["f", "m", "f"]
        ... )
        >>> facts = summarise(graph)
        >>> facts["edges"], facts["isolated_nodes"], facts["components"], facts["homophily"]
        (1, 1, 2, 0.0)
    """
    require_graph(graph, "summarise")
    links, degree = graph.adjacency, graph.adjacency.degree
    reached = np.bincount(links.indices, minlength=graph.num_nodes)  # along directed links, too
    homophily, reasons = graph.homophily(), reasons_against(graph)
    return {
        "source": graph.provenance.source,
        "nodes": graph.num_nodes,
        "edges": graph.num_edges,
        "directed": links.directed,
        "weighted": links.weighted,
        "link_kinds": _kind_facts(graph),
        "average_degree": float(degree.mean()) if graph.num_nodes else None,
        "largest_degree": int(degree.max()) if graph.num_nodes else None,
        "isolated_nodes": int((degree + reached == 0).sum()),
        "components": int(connected_components(links.to_scipy(), directed=links.directed, connection="weak")[0]),
        "channels": list(graph.channels),
        "constant_channels": list(graph.constant_channels),
        "classes": {"positive": graph.classes[1], "negative": graph.classes[0]},
        "labels": {
            "positive": int((graph.labels == 1).sum()),
            "negative": int((graph.labels == 0).sum()),
            "unlabelled": int((~graph.labelled).sum()),
        },
        "sensitive": graph.sensitive_name,
        "sensitive_unknown": graph.sensitive_unknown,
        "sensitive_channels": list(graph.sensitive_channels),
        "groups": groups_facts(graph),
        "homophily": plain(homophily),
        **(
            {"attributes": {each.name: attribute_facts(graph.attribute(each.name)) for each in graph.attributes}}
            if graph.several
            else {}
        ),
        "splits": {
            name: {"nodes": int(mask.sum()), "positives": int((graph.labels[mask] == 1).sum())}
            for name, mask in graph.splits.items()
        },
        "notes": list(graph.provenance.notes),
        "sha256": dict(graph.provenance.sha256),
        "graph_sha256": graph.sha256,
        "undefined": {"homophily": homophily.reason} if isinstance(homophily, Undefined) else {},
        "trainable": not reasons,
        "reasons": reasons,  # why not
        "hints": hints(graph),
    }


def _kind_facts(graph: NodeGraph) -> list[dict[str, Any]]:
    """Edges of each kind, and how many of them join the same group."""
    facts = []
    for name, links in graph.adjacency.by_kind().items():
        same, known = links.same_group(graph.crossed)
        facts.append({"kind": name, "edges": links.num_edges, "homophily": same / known if known else None})
    return facts


def attribute_facts(graph: NodeGraph) -> dict[str, Any]:
    """Groups and homophily of one of several sensitive attributes."""
    homophily = graph.homophily()
    return {
        "groups": groups_facts(graph),
        "homophily": plain(homophily),
        "sensitive_unknown": graph.sensitive_unknown,
        "sensitive_channels": list(graph.sensitive_channels),
        "undefined": {"homophily": homophily.reason} if isinstance(homophily, Undefined) else {},
    }


def groups_facts(graph: NodeGraph) -> list[dict[str, Any]]:
    """Sizes, labels and degree of every sensitive group."""
    return [group_facts(graph, code) for code in range(len(graph.groups))]


def group_facts(graph: NodeGraph, code: int) -> dict[str, Any]:
    """Sizes, labels and degree of one sensitive group."""
    members = graph.sensitive == code
    labelled = int((members & graph.labelled).sum())
    positives = int((graph.labels[members] == 1).sum())
    return {
        "group": graph.groups[code],
        "nodes": int(members.sum()),
        "labelled": labelled,
        "positives": positives,
        "positive_rate": positives / labelled if labelled else None,
        "average_degree": float(graph.adjacency.degree[members].mean()) if members.any() else None,
    }


def describe_graph(graph: NodeGraph) -> dict[str, Any]:
    """Which graph it was."""
    return {
        "source": graph.provenance.source,
        "sha256": graph.sha256,
        "nodes": graph.num_nodes,
        "edges": graph.num_edges,
        "sensitive": graph.sensitive_name,
        "groups": graph.group_sizes,
        "group_unknown": graph.sensitive_unknown,
        "sensitive_channels": list(graph.sensitive_channels),
    } | ({"attributes": {each.name: each.sizes for each in graph.attributes}} if graph.several else {})
