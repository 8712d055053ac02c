"""Figure 1: does blanking one channel lower the bias, the more the more it is tied to the sensitive attribute?

(a, b) One channel after the other is set to zero, and a linear MLP or GCN is trained. (c, d) How propagation changes
the correlation of the first eight channels.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fairview.data.graph import NodeGraph
from fairview.paper.cells import Cell
from fairview.paper.fig5 import correlation_series
from fairview.paper.scope import Scope
from fairview.propagation.correlation import sensitive_correlation

ENCODERS = ("mlp", "gcn")
CHANNELS, HOPS = 8, 4
QUICK_CHANNELS = 2

NOTES = (
    "(a, b) German, the published split, every channel in turn; rank 0 masks nothing, rank 1 the channel of largest "
    "|correlation|, the sensitive one itself. The paper shows ranks 1 to 4.",
    "Both models are one linear layer and a linear head, no activation; the epoch of lowest validation loss.",
    "How the paper numbers the channels is not said; here it is the table's order.",
    "(c, d) correlation with the sensitive attribute after 0 to 4 GCN hops.",
)


def cells(scope: Scope) -> list[Cell]:
    """(a, b): on German alone, as in the paper."""
    if "german" not in scope.at_hand(("german",)):
        return []
    graph = scope.graph("german")
    correlation = sensitive_correlation(graph, hops=0)[0]
    order = np.argsort(-np.abs(correlation), kind="stable").tolist()
    common: dict[str, Any] = {"dataset": "german", "method": "vanilla", "settings": {"selection": "loss"}}
    common["not_compared"] = "the figure has no numbers"
    sizes = _group_sizes(graph)
    planned = []
    for encoder in scope.chosen(ENCODERS):
        planned.append(Cell(encoder=encoder, row="nothing masked", facts={"rank": 0}, **common))
        for rank, place in enumerate(order[:QUICK_CHANNELS] if scope.quick else order, start=1):
            name = graph.channels[place]
            facts = {
                "rank": rank,
                "channel": name,
                "correlation": float(correlation[place]),
                "sensitive": name in graph.sensitive_channels,
            }
            facts |= sizes if facts["sensitive"] else {}
            planned.append(Cell(encoder=encoder, row=f"without {name}", facts=facts, masked=name, **common))
    return planned


def _group_sizes(graph: NodeGraph) -> dict[str, int]:
    """Of the test nodes, and of the positive ones among them: what the gap of a blind predictor depends on."""
    test = graph.split("test")
    positive = test & (graph.labels == 1)
    return {
        f"{name}_{group}": int((nodes & (graph.sensitive == group)).sum())
        for name, nodes in (("test", test), ("positive", positive))
        for group in (0, 1)
    }


def series(scope: Scope) -> list[dict[str, Any]]:
    """(c, d)."""
    return correlation_series(scope, channels=CHANNELS, hops=HOPS)
