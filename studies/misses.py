"""Why does a cell of Table 3 miss the paper's gaps? Validation against test, and what chance alone gives.

python -m studies.misses runs/paper              after `fairview paper table3 --out runs/paper`; trains nothing
python -m studies.misses runs/paper --oracle     trains German once more, with the epoch chosen on the test nodes

For FairVGNN's runs: the gap on val at the kept epoch, which selection has made small; the gap on test; and the mean gap
of a predictor that says yes as often on test but can't see the groups. Means over the seeds, in percent. The oracle is
a diagnosis, never a result: what the same training would show if the choice of the epoch knew the answers.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fairview.metrics.chance import chance_gap
from fairview.metrics.registry import METRICS
from fairview.paper import table3
from fairview.paper.cells import Cell
from fairview.paper.scope import Scope
from fairview.study.statistics import GAPS, UTILITY
from fairview.study.trials import Result, finished_trials, run_trials

SHOWN = (*UTILITY, *GAPS, "balanced_accuracy")


def by_chance(folder: Path) -> str:
    """One line per cell and gap."""
    lines = [
        "| cell | | paper | test | val | yes on test | chance on test | runs within chance |",
        "|---|---|---|---|---|---|---|---|",
    ]
    scope = Scope(datasets=("german", "bail"), methods=("fairvgnn",))
    for cell in compared(scope):
        trials = cell.trials(scope)
        results = finished_trials(trials, scope.graph, folder / "trials")
        if len(results) == len(trials):
            lines += [_line(cell, metric, [results[trial.id] for trial in trials]) for metric in GAPS]
    return "\n".join(lines)


def oracle(folder: Path) -> str:
    """German's cells with the epoch that is best on test."""
    scope = Scope(datasets=("german",), methods=("fairvgnn",))
    graph = scope.graph("german")
    graph = graph.with_splits({"train": graph.split("train"), "val": graph.split("test")})
    lines = [f"| cell | {' | '.join(METRICS[metric].short for metric in SHOWN)} |", "|---" * (len(SHOWN) + 1) + "|"]
    for cell in compared(scope):
        results = run_trials(cell.trials(scope), {"german": graph}, folder / "oracle")
        means = [f"{100 * np.mean([result.metrics['val'][metric] for result in results]):.2f}" for metric in SHOWN]
        lines.append(f"| {_name(cell)} | {' | '.join(means)} |")
    return "\n".join(lines)


def compared(scope: Scope) -> list[Cell]:
    return [cell for cell in table3.cells(scope) if cell.method == "fairvgnn" and cell.printed is not None]


def _line(cell: Cell, metric: str, results: Sequence[Result]) -> str:
    assert cell.printed is not None
    printed = cell.printed[metric]
    test, val = (np.array([result.metrics[split][metric] for result in results]) for split in ("test", "val"))
    counts = [result.metrics["test"]["groups"] for result in results]
    chance = [_chance(groups, metric) for groups in counts]
    yes = [sum(g["predicted_positive"] for g in groups) / sum(g["nodes"] for g in groups) for groups in counts]
    within = sum(gap <= upper for gap, (_, upper) in zip(test, chance, strict=True))
    return (
        f"| {_name(cell)} | {METRICS[metric].short} | {printed.mean:.2f} ± {printed.std:.2f} | {100 * test.mean():.2f} "
        f"| {100 * val.mean():.2f} | {100 * np.mean(yes):.0f} | {100 * np.mean([mean for mean, _ in chance]):.2f} "
        f"| {within} of {len(results)} |"
    )


def _chance(groups: Sequence[dict[str, Any]], metric: str) -> tuple[float, float]:
    """Mean and 95 % point of the gap of blind predictors with as many positives."""
    parity = metric == "statistical_parity_gap"
    size, hits = ("nodes", "predicted_positive") if parity else ("positives", "true_positives")
    first, second = (int(group[size]) for group in groups)
    gap = chance_gap(sum(int(group[hits]) for group in groups), first, second)
    return gap.mean, gap.upper


def _name(cell: Cell) -> str:
    return f"{cell.dataset} {cell.encoder}, {cell.row}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=Path("runs/paper"))
    parser.add_argument("--oracle", action="store_true", help="choose the epoch on test, as a diagnosis")
    given = parser.parse_args()
    print(oracle(given.folder) if given.oracle else by_chance(given.folder))


if __name__ == "__main__":
    main()
