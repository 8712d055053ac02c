"""Does an epoch cost O(V + E)? Operations are counted, so that neither caches nor other work can decide."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from fairview.paper.artefacts import ArtefactResult
from fairview.paper.claims import Finding, Tally

LINEAR = 1.05
"""An exponent up to which growth is called linear."""


def linear_cost(document: ArtefactResult) -> Finding:
    """Between any two graphs operations grow no faster than nodes or links, whichever grow faster."""
    tally, steepest = Tally(), {}
    for encoder in dict.fromkeys(str(record["encoder"]) for record in document.series):
        records = [record for record in document.series if record["encoder"] == encoder]
        exponents = [
            _exponent(smaller, larger)
            for smaller in records
            for larger in records
            if larger["nodes"] >= smaller["nodes"] and larger["edges"] >= smaller["edges"] and larger is not smaller
        ]
        for exponent in exponents:
            tally.count(exponent <= LINEAR, encoder)
        steepest[encoder] = max(exponents, default=0.0)
    counted = ", ".join(f"{encoder} {exponent:.2f}" for encoder, exponent in steepest.items())
    clock = "by the clock SAGE grows faster, because its matrices leave the caches (docs/speed.md)"
    found = tally.finding(
        f"operations, counted: the steepest growth between two graphs has the exponent {counted} (up to {LINEAR} is "
        f"linear); {clock}"
    )
    return replace(found, short=f"operations grow with exponent {counted} at most; {clock}")


def _exponent(smaller: Mapping[str, Any], larger: Mapping[str, Any]) -> float:
    """Of the growth of operations in that of nodes or links, whichever grow more; a V + b E has no more than 1."""
    growth = {name: larger[name] / smaller[name] for name in ("nodes", "edges", "operations")}
    return math.log(growth["operations"]) / math.log(max(growth["nodes"], growth["edges"]))
