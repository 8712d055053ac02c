"""The engine of graphs that fit into memory: read, multiply, write."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from fairview.attributes import Attribute, each_and_together
from fairview.data.graph import NodeGraph
from fairview.data.tables.read import read_graph
from fairview.propagation.facts import PropagatedFacts
from fairview.propagation.folder import BATCH
from fairview.propagation.folder_writing import Chunk, write_folder
from fairview.propagation.one_hop import Values, one_hop
from fairview.propagation.operators import Operator
from fairview.propagation.stages import Stages


def in_memory(
    nodes: Any,
    edges: Any,
    folder: Path,
    *,
    operator: Operator,
    hops: int,
    identity: str,
    inputs: dict[str, str],
    stages: Stages,
    reading: dict[str, Any],
) -> PropagatedFacts:
    """Propagate tables that fit into memory, and write the folder."""
    with stages.timed("read", 1) as advance:
        graph = read_graph(nodes, edges, **reading)
        advance(1)
    with stages.timed("propagate", max(hops, 1)) as advance:
        by_hop = [graph.features]
        hop = one_hop(graph.adjacency, operator)
        wide: Values = graph.features.astype(np.float64)
        for _ in range(hops):
            wide = hop(wide)
            by_hop.append(wide.astype(np.float32))
            advance(1)
    with stages.timed("write", graph.num_nodes) as advance:
        return write_folder(
            folder, _chunks(graph, by_hop, advance), hops=hops, **graph_facts(graph), engine="memory",
            operator=operator, identity=identity, inputs=inputs,
        )  # fmt: skip


def graph_facts(graph: NodeGraph) -> dict[str, Any]:
    """What a manifest says of a graph."""
    return {
        "source": graph.provenance.source,
        "links": graph.num_edges,
        "directed": graph.adjacency.directed,
        "weighted": graph.adjacency.weighted,
        "channels": graph.channels,
        "classes": graph.classes,
        "same_and_known": [graph.adjacency.same_group(each) for each in each_and_together(_attributes(graph))],
        "recipe": graph.recipe,
        "notes": graph.provenance.notes,
    }


def _attributes(graph: NodeGraph) -> tuple[Attribute, ...]:
    return graph.attributes if graph.groups else ()


def _chunks(graph: NodeGraph, by_hop: list[Any], advance: Any) -> Iterator[Chunk]:
    ids = pl.Series(graph.ids, dtype=pl.String)
    for start in range(0, graph.num_nodes, BATCH):
        rows = slice(start, start + BATCH)
        yield Chunk(
            ids=ids[rows],
            labels=graph.labels[rows] if graph.labelled.any() else None,
            attributes=[each.at(rows) for each in _attributes(graph)],
            splits={name: mask[rows] for name, mask in graph.splits.items()},
            by_hop=[each[rows] for each in by_hop],
        )
        advance(len(ids[rows]))
