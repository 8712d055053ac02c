"""How does a graph look in a line, in a notebook, and as a table of its nodes?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from fairview import notebook
from fairview.attributes import group_columns
from fairview.data.summary import groups_facts
from fairview.errors import some
from fairview.groups import UNKNOWN

if TYPE_CHECKING:
    import polars as pl

    from fairview.data.graph import NodeGraph


def graph_line(graph: NodeGraph) -> str:
    """Its sizes."""
    channels = f"{graph.num_channels} channel{'s' if graph.num_channels != 1 else ''}"
    groups = ", ".join(f"{name} {size:,}" for name, size in graph.group_sizes.items()) or "no groups"
    edges = f"{graph.num_edges:,} {'weighted ' if graph.adjacency.weighted else ''}edges"
    if graph.adjacency.kinds is not None:
        edges += f" of {len(graph.adjacency.kinds.names)} kinds"
    counts = f"{graph.num_nodes:,} nodes, {edges}, {channels}"
    return f"NodeGraph({counts}, sensitive '{graph.sensitive_name}': {groups})"


def graph_html(graph: NodeGraph) -> str:
    """Sizes, groups, splits and what happened to the data."""
    positive, negative = (int((graph.labels == label).sum()) for label in (1, 0))
    unlabelled = graph.num_nodes - positive - negative
    labels = f"{graph.classes[1]} (positive) {positive:,}, {graph.classes[0]} {negative:,}"
    unknown = f" (unknown: {graph.sensitive_unknown:,})" if graph.sensitive_unknown else ""
    links = graph.adjacency
    values = {
        "nodes": graph.num_nodes,
        "links": ", ".join(
            [f"{graph.num_edges:,}", *(name for name in ("directed", "weighted") if getattr(links, name))]
        ),
        "channels": f"{graph.num_channels:,}: {some(graph.channels, limit=8)}",
        "labels": labels + (f", unlabelled {unlabelled:,}" if unlabelled else ""),
        "sensitive attribute": graph.sensitive_name + unknown,
        "links within a group": graph.homophily(),
    }
    groups = [
        [group["group"], group["nodes"], group["labelled"], group["positive_rate"], group["average_degree"]]
        for group in groups_facts(graph)
    ]
    splits = [
        [name, int(mask.sum()), int((graph.labels[mask] == 1).sum()), int((graph.labels[mask] == 0).sum())]
        for name, mask in graph.splits.items()
    ]
    kinds = [[name, each.num_edges] for name, each in links.by_kind().items()]
    return notebook.block(
        f"NodeGraph: {graph.provenance.source}",
        notebook.facts(values),
        notebook.table(["group", "nodes", "labelled", "positive rate", "mean degree"], groups, caption="Groups"),
        notebook.table(["split", "nodes", "positive", "negative"], splits, caption="Splits"),
        *([notebook.table(["kind", "links"], kinds, caption="Kinds of links")] if kinds else []),
        notebook.notes(graph.provenance.notes),
    )


def graph_frame(graph: NodeGraph) -> pl.DataFrame:
    """One row per node; see `NodeGraph.to_frame`."""
    import polars as pl

    splits = np.full(graph.num_nodes, UNKNOWN)
    for place, mask in enumerate(graph.splits.values()):
        splits[mask] = place
    columns = {
        "id": pl.Series(graph.ids, dtype=pl.String),
        "label": _names(graph.classes, graph.labels),
        "sensitive": _names(graph.groups, graph.sensitive),
        "split": _names(tuple(graph.splits), splits),
    }
    if graph.several:
        named = group_columns([each.name for each in graph.attributes])
        columns |= {name: _names(each.groups, each.codes) for name, each in zip(named, graph.attributes, strict=True)}
    for place, channel in enumerate(graph.channels):
        name = channel
        while name in columns or (name != channel and name in graph.channels):
            name += "_channel"
        columns[name] = pl.Series(graph.features[:, place])
    return pl.DataFrame(columns)


def _names(names: Sequence[str], codes: npt.NDArray[np.integer]) -> pl.Series:
    """The name of each code, null where it is unknown."""
    import polars as pl

    places = pl.Series(np.where(codes == UNKNOWN, len(names), codes).astype(np.uint32))
    return pl.Series([*names, None], dtype=pl.String).gather(places)
