"""Does bias remain when the sensitive channel is masked? More than predictors have that can't see the groups.

A mean gap is never negative, so that "larger than zero" could not fail. On a few hundred test nodes blind predictors
have gaps too, whose distribution is known; those of the runs must lie above it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fairview.metrics.chance import chance_gap
from fairview.metrics.registry import METRICS
from fairview.paper.artefacts import ArtefactResult
from fairview.paper.cells import CellResult
from fairview.paper.claims import Finding, Tally
from fairview.study.statistics import GAPS


def bias_remains(document: ArtefactResult) -> Finding:
    """The claim's comparisons: an encoder and a gap each."""
    tally, evidence = Tally(), []
    unmasked = {row.cell.encoder: row for row in document.rows if row.cell.facts.get("rank") == 0}
    for row in document.rows:
        for metric in GAPS if row.cell.facts.get("sensitive") else ():
            gap, blind = row.estimate(metric), blind_gap(row, metric)
            mean = row.mean(metric)
            if mean is None or blind is None or gap.low is None:
                continue
            name = f"{row.cell.encoder} {METRICS[metric].short}"
            tally.count(gap.low > blind, name)
            before = unmasked[row.cell.encoder].mean(metric) if row.cell.encoder in unmasked else None
            was = "" if before is None else f"; {before:.1f} with nothing masked"
            evidence.append(f"{name} {mean:.1f} (at least {100 * gap.low:.1f}; chance {100 * blind:.1f}{was})")
    found = tally.finding(
        "with the sensitive channel masked, the interval over the runs must lie above what 95 % of predictors stay "
        f"below that say yes as often and see no group: {'; '.join(evidence)}"
    )
    return replace(found, short=f"{tally.counts()}: {'; '.join(evidence)}")


def blind_gap(row: CellResult, metric: str) -> float | None:
    """What 95 % of predictors stay below that say yes as often as the row's runs do, without seeing the groups."""
    places = ("test_0", "test_1", "positive_0", "positive_1")
    if not row.values or any(place not in row.cell.facts for place in places):
        return None
    first, second, *positive = (int(row.cell.facts[place]) for place in places)
    negative = first + second - sum(positive)
    uppers = []
    for balanced, false_positive in zip(
        row.values["balanced_accuracy"], row.values["false_positive_rate"], strict=True
    ):
        if balanced is None or false_positive is None:
            return None
        right = (2 * balanced - 1 + false_positive) * sum(positive)
        yes = right + (false_positive * negative if metric == "statistical_parity_gap" else 0.0)
        groups = (first, second) if metric == "statistical_parity_gap" else positive
        uppers.append(chance_gap(round(yes), *groups).upper)
    return float(np.mean(uppers))
