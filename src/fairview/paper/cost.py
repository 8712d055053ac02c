"""Section 4.3: does an epoch cost O(V + E)? Operations of one, counted on synthetic graphs that grow either way.

Counted, not timed: the clock also sees caches (`benchmarks/growth.py`, docs/speed.md).
"""

from __future__ import annotations

from typing import Any

from fairview.data.splits import stratified_splits
from fairview.data.synthetic.generator import synthetic_graph
from fairview.methods.fairvgnn import FairVGNN, FairVGNNNetwork
from fairview.paper.operations import Operations
from fairview.paper.scope import Scope

ENCODERS = ("gcn", "gin", "sage")
GRAPHS = ((1_000, 5.0), (4_000, 5.0), (16_000, 5.0), (1_000, 20.0), (4_000, 20.0), (16_000, 20.0))
"""Nodes and average degree."""

NOTES = (
    "Operations of one epoch of the preset `default` (8 channels, half of the nodes labelled): multiplications of "
    "products, and the numbers that other operations read or write.",
    "The clock is another matter: large matrices leave the caches (docs/speed.md).",
)


def series(scope: Scope) -> list[dict[str, Any]]:
    """One line per encoder and graph."""
    records = []
    for nodes, degree in GRAPHS[:2] if scope.quick else GRAPHS:
        graph = synthetic_graph(nodes, average_degree=degree, seed=1)
        graph = graph.with_splits(stratified_splits(graph, repeats=1, seed=0)[0])
        for encoder in scope.chosen(ENCODERS):
            network = FairVGNNNetwork(FairVGNN.from_preset("any", encoder, preset="default", seed=1), graph)
            with Operations() as counted:
                network.epoch()
            size = graph.num_nodes + graph.num_edges
            records.append(
                {
                    "encoder": encoder,
                    "nodes": graph.num_nodes,
                    "edges": graph.num_edges,
                    "operations": counted.count,
                    "per node and edge": round(counted.count / size),
                }
            )
    return records
