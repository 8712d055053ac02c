"""Why does a cell of Table 3 miss the paper's gaps? Validation against test, and what chance alone gives.

python -m benchmarks.misses runs/paper      after `fairview paper table3 --out runs/paper`; trains nothing

For FairVGNN's runs: the gap on val at the kept epoch, which selection has made small, the gap on test, and the mean gap
of a predictor that says yes as often on test but can't see the groups. Means over the seeds, in percent.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

from fairview.experiments.paper import table3
from fairview.experiments.paper.cells import Cell
from fairview.experiments.paper.scope import Scope
from fairview.experiments.trials import finished_trials
from fairview.metrics.chance import chance_gap

GAPS = {"statistical_parity_gap": "SP", "equal_opportunity_gap": "EO"}


def table(folder: Path) -> str:
    scope = Scope(datasets=("german", "bail"), methods=("fairvgnn",))
    lines = [
        "| cell | gap | paper | test | val | yes on test | chance on test | runs within chance |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for cell in table3.cells(scope):
        if cell.method == "fairvgnn" and cell.printed is not None:
            runs = _runs(cell, scope, folder)
            lines += [_line(cell, metric, runs) for metric in GAPS] if runs else []
    return "\n".join(lines)


def _runs(cell: Cell, scope: Scope, folder: Path) -> list[dict[str, dict[str, Any]]]:
    """The metrics of each seed, if all of them are there."""
    trials = cell.trials(scope)
    found = finished_trials(trials, scope.graph, folder / "trials")
    return [found[trial.id].metrics for trial in trials] if len(found) == len(trials) else []


def _line(cell: Cell, metric: str, runs: list[dict[str, dict[str, Any]]]) -> str:
    assert cell.printed is not None
    printed = cell.printed[metric]
    chance = [_chance(run["test"]["groups"], metric) for run in runs]
    test, val = (np.array([run[split][metric] for run in runs]) for split in ("test", "val"))
    yes = np.mean([sum(g["predicted_positive"] for g in run["test"]["groups"]) / run["test"]["nodes"] for run in runs])
    within = sum(gap <= upper for gap, (_, upper) in zip(test, chance, strict=True))
    mean = np.mean([mean for mean, _ in chance])
    return (
        f"| {cell.dataset} {cell.encoder}, {cell.row} | {GAPS[metric]} | {printed.mean:.2f} ± {printed.std:.2f} "
        f"| {100 * test.mean():.2f} | {100 * val.mean():.2f} | {100 * yes:.0f} | {100 * mean:.2f} "
        f"| {within} of {len(runs)} |"
    )


def _chance(groups: list[dict[str, Any]], metric: str) -> tuple[float, float]:
    """Mean and 95 % point of the gap of blind predictors with as many positives."""
    size, hits = (
        ("nodes", "predicted_positive") if metric == "statistical_parity_gap" else ("positives", "true_positives")
    )
    first, second = (int(group[size]) for group in groups)
    found = chance_gap(sum(int(group[hits]) for group in groups), first, second)
    return found.mean, found.upper


if __name__ == "__main__":
    print(table(Path(sys.argv[1] if len(sys.argv) > 1 else "runs/paper")))
