"""Figure 3: does the competition matter? FairVGNN without clamping, and then without discriminator or generator.

First with one switch, then as each arm was tuned for the published runs.
"""

from __future__ import annotations

from fairview.paper.cells import Cell, yardsticks
from fairview.paper.scope import Scope
from fairview.paper.table4 import AS_PUBLISHED, ONE_SWITCH
from fairview.paper.variants import as_published, without_adversary

ARMS = {
    "without-wc": "full",
    "without-discriminator": "without-discriminator",
    "without-generator": "without-generator",
}
"""What the row is called, and the switch that makes it from the first one."""

NOTES = (
    "GCN with two self-loops, clamping off in all three arms. The paper's figure has no numbers.",
    "Tuned as published, German without a discriminator selects with weight 0.3 on the gaps, and Credit without a "
    "generator trains for 100 epochs.",
)


def cells(scope: Scope) -> list[Cell]:
    """Its rows."""
    planned = []
    for dataset in scope.at_hand(("german", "credit")):
        if "gcn" not in scope.encoders:
            continue
        planned += yardsticks(dataset, scope)
        for block in (ONE_SWITCH, AS_PUBLISHED):
            for row, switch in ARMS.items():
                published = as_published(f"fig3-{row}", dataset, "gcn")
                settings = without_adversary(switch, dataset) if block == ONE_SWITCH else published or {}
                planned.append(
                    Cell(
                        dataset=dataset, encoder="gcn", row=row, method="fairvgnn", settings=settings, block=block,
                        not_compared="the figure has no numbers",
                    )
                )  # fmt: skip
    return planned
