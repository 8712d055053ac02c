"""Table 2: are our graphs the paper's? Sizes, as the papers count them, beside the printed ones."""

from __future__ import annotations

from typing import Any

from fairview.data.datasets.registry import DATASETS
from fairview.paper.numbers import paper_dataset, statistics
from fairview.paper.scope import Scope
from fairview.undefined import Undefined

COLUMNS = ("dataset", "size", "ours", "paper", "verdict")
SIZES = ("nodes", "edges", "channels")
HOMOPHILY = {"german": 0.8048, "credit-large": 0.9595}
"""As the paper prints it."""

NOTES = (
    "Edges as the papers count them: (non-zeros of the symmetric adjacency + one self-loop per node) / 2.",
    "Homophily is the share of edges that join the same sensitive group; the paper prints 0.8048 for German and 0.9595 "
    "for Credit.",
)


def series(scope: Scope) -> list[dict[str, Any]]:
    """One line per dataset and size: ours, counted in the loaded graph, and the paper's."""
    records: list[dict[str, Any]] = []
    for dataset in scope.at_hand():
        graph, known = scope.graph(dataset), DATASETS[dataset]
        name = paper_dataset(dataset)
        printed = statistics(name or "credit")
        edges = (2 * graph.num_edges + graph.num_nodes) // 2
        ours = {"nodes": graph.num_nodes, "edges": edges, "channels": graph.num_channels}
        lines: list[tuple[Any, ...]] = []
        for size in SIZES:
            verdict = "the same" if ours[size] == printed[size] else f"differs by {ours[size] - printed[size]:+,}"
            verdict += "" if name else " (another graph than the paper's)"
            lines.append((size, ours[size], printed[size], verdict))
        homophily = graph.homophily()
        if not isinstance(homophily, Undefined):
            theirs = HOMOPHILY.get(dataset)
            same = theirs is not None and abs(homophily - theirs) < 5e-5
            verdict = "not printed" if theirs is None else "the same" if same else "differs"
            lines.append(("homophily", round(homophily, 4), theirs, verdict))
        roles = f"{known.sensitive}, {known.label}", f"{printed['sensitive']}, {printed['label']}"
        lines.append(("sensitive, label", *roles, ""))
        records += [dict(zip(COLUMNS, (dataset, *line), strict=True)) for line in lines]
    return records
