"""How does a tuning look in a notebook? The decision, its tests, and the models on the frontier."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairview import notebook
from fairview.metrics.registry import METRICS
from fairview.tuning.tuning import limit_name

if TYPE_CHECKING:
    from fairview.tuning.tuning import Tuning


def tuning_html(tuning: Tuning) -> str:
    """A block for a notebook."""
    document, chosen = tuning.document, tuning.chosen
    shown = [name for name, entry in METRICS.items() if entry.in_tables]
    heads = ["gap", "limit", "observed", "upper bound", "p-value", "nodes"]
    tests = [
        [
            limit_name(row).replace("_", " "),
            row["limit"],
            row["estimate"],
            row["upper_bound"],
            row["p_value"],
            row["nodes"],
        ]
        for row in (chosen or {}).get("limits", [])
    ]
    frontier = [
        [row["label"], row["threshold"], *(row["metrics"].get(name) for name in shown)]
        for row in document["frontier"]
        if row["on_frontier"]
    ]
    return notebook.block(
        f"Tuning on {document['graph']['source']}",
        notebook.paragraph(f"Refused. {document['refused']}" if chosen is None else f"Chosen: {chosen['label']}."),
        notebook.paragraph("" if tuning.certificate is None else str(tuning.certificate["statement"])),
        notebook.table(heads, tests, caption="Tests on the certification nodes"),
        notebook.table(
            ["model", "threshold", *(METRICS[name].short for name in shown)], frontier, caption="Frontier, val nodes"
        ),
        notebook.notes(document["conditions"]),
    )
