"""Figure 5: the first 13 channels' correlation with the sensitive attribute, hop by hop, and the graph's homophily."""

from __future__ import annotations

from typing import Any

from fairview.paper.scope import Scope
from fairview.propagation.correlation import sensitive_correlation
from fairview.undefined import plain

DATASETS = ("german", "credit")
CHANNELS, HOPS = 13, 4

NOTES = ("The paper's Credit has homophily 0.9595; the small graph is another one.",)


def series(scope: Scope) -> list[dict[str, Any]]:
    """Its curves."""
    return correlation_series(scope, channels=CHANNELS, hops=HOPS)


def correlation_series(scope: Scope, *, channels: int, hops: int) -> list[dict[str, Any]]:
    """One line per dataset, channel (the first ones, in the table's order) and hop, with the graph's homophily."""
    records = []
    for dataset in scope.at_hand(DATASETS):
        graph = scope.graph(dataset)
        homophily = graph.homophily()
        correlation = sensitive_correlation(graph, hops=hops)
        for place, name in enumerate(graph.channels[:channels]):
            records += [
                {
                    "dataset": dataset,
                    "homophily": plain(homophily),
                    "place": place + 1,
                    "channel": name,
                    "sensitive": name in graph.sensitive_channels,
                    "hop": hop,
                    "correlation": float(correlation[hop, place]),
                }
                for hop in range(hops + 1)
            ]
    return records
