"""Tables 5 and 6: does the adaptive clamp beat a plain clamp and a limit on the spectral norm, at the same threshold?

Table 5 is three of Table 6's nine cells.
"""

from __future__ import annotations

from fairview.paper.cells import Cell, printed_for, yardsticks
from fairview.paper.scope import Scope
from fairview.paper.variants import one_switch

STRATEGIES = ("adaptive", "plain", "spectral")
ENCODERS = ("gcn", "gin", "sage")
SHORT_TABLE = {"german": "sage", "credit": "gin", "bail": "gcn"}
"""The cells of Table 5."""

NOTES = (
    "All strategies share the threshold and every other setting of the full model's cell.",
    "The paper does not say what the spectral norm is limited to; here it is the same ε.",
)


def cells(scope: Scope) -> list[Cell]:
    """Table 6."""
    return [
        cell
        for dataset in scope.at_hand()
        for cell in [*yardsticks(dataset, scope), *_rows("table6", dataset, scope.chosen(ENCODERS), scope)]
    ]


def short_cells(scope: Scope) -> list[Cell]:
    """Table 5."""
    planned = []
    for dataset in scope.at_hand():
        encoder = SHORT_TABLE["credit" if dataset.startswith("credit") else dataset]
        if encoder in scope.encoders:
            planned += [*yardsticks(dataset, scope), *_rows("table5", dataset, [encoder], scope)]
    return planned


def _rows(table: str, dataset: str, encoders: list[str], scope: Scope) -> list[Cell]:
    return [
        Cell(
            dataset=dataset,
            encoder=encoder,
            row=strategy,
            method="fairvgnn",
            settings=one_switch(strategy, dataset, encoder),
            **printed_for(table, dataset, encoder, strategy, scope),
        )
        for encoder in encoders
        for strategy in STRATEGIES
    ]
