"""Table 1: what do a plain MLP, GCN and GIN gain and lose when the channels tied to the sensitive one are blanked?

Differs: the published plain GIN is Linear-ReLU-BatchNorm-Linear; ours is FairVGNN's encoder, Linear-BatchNorm.
"""

from __future__ import annotations

from fairview.paper.cells import Cell, printed_for, yardsticks
from fairview.paper.scope import Scope

STRATEGIES = ("S0", "S1", "S2")
ENCODERS = ("mlp", "gcn", "gin")
DATASETS = ("german", "credit")

NOTES = (
    "S0 masks nothing; S1 and S2 set the top 4 channels by |correlation| to zero, S1 in the original features, S2 "
    "after one GCN hop, for every encoder.",
    "All rows are plain models, and keep the epoch of lowest validation loss, as published.",
    "No deviations are printed: two of ours are allowed.",
    "The published plain GIN has a ReLU and a second linear layer; ours is FairVGNN's encoder without them.",
)


def cells(scope: Scope) -> list[Cell]:
    """Its rows."""
    planned = []
    for dataset in scope.at_hand(DATASETS):
        planned += yardsticks(dataset, scope)[:1]  # the MLP is among the rows
        planned += [
            Cell(
                dataset=dataset,
                encoder=encoder,
                row=strategy,
                method="masking",
                settings={"strategy": strategy, "top_k": 4, "selection": "loss"},
                **printed_for("table1", dataset, encoder, strategy, scope),
            )
            for encoder in scope.chosen(ENCODERS)
            for strategy in STRATEGIES
        ]
    return planned
