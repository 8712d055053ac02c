"""What does Parity reach on the published splits, beside what was printed?

One split each, so that differences of a point are noise. Choices are made on the val nodes by balanced accuracy, and
the penalty sees neither val nor test nodes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

import fairview as fv
from benchmarks.frontier.graphs import REAL, division, graph_of
from benchmarks.frontier.measure import frontier, points
from benchmarks.frontier.methods import parity
from fairview.methods.evaluate import evaluate_scores
from fairview.metrics.evaluation import Evaluation
from fairview.paper.numbers import printed_row

METRICS = ("auc", "f1", "accuracy", "statistical_parity_gap", "equal_opportunity_gap")
LIMITS = (0.02, 0.05)
PUBLISHED = "published.json"

PRINTED = {"german": "german", "bail": "bail", "credit-small": "credit"}
"""What the paper calls them; its Credit has the same nodes and more links."""

PROTOTYPE = {
    "bail": (99.2, 90.9, 92.5, 1.30, 0.16),
    "credit-small": (75.8, 81.1, 72.8, 4.5, 1.8),
}
"""The throw-away prototype that Parity was built from; its penalty saw val nodes, by which it was also chosen."""

ELSEWHERE = {
    "bail": ("DAB-GNN, as printed", (93.4, 86.3, 90.0, 0.73, 0.90)),
    "credit-small": ("FairGSE, as printed (large graph)", (74.5, 83.3, 75.1, 5.1, 3.4)),
}


def run_published(out: Path) -> None:
    """Fit Parity's path on every dataset, and ask `tune` for a certified choice; written to `published.json`."""
    out.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, Any]] = []
    for name in REAL:
        rows += _rows(name)
    (out / PUBLISHED).write_text(json.dumps(rows, indent=1), encoding="utf-8")


def _rows(name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for encoder in ("gcn", "sage"):
        printed = printed_row("table3", PRINTED.get(name, ""), encoder, "fairvgnn")
        if printed is not None:
            values = [printed[metric].mean for metric in METRICS]
            rows.append({"graph": name, "row": f"FairVGNN {encoder.upper()}, as printed", "values": values})
    if name in ELSEWHERE:
        rows.append({"graph": name, "row": ELSEWHERE[name][0], "values": list(ELSEWHERE[name][1])})
    if name in PROTOTYPE:
        rows.append({"graph": name, "row": "prototype", "values": list(PROTOTYPE[name])})
    holdout = division(name, 0)
    scores = [each for _, each in parity(holdout, float("inf"), 1)]
    candidates = [points(each, holdout, number)["statistical_parity"] for number, each in enumerate(scores)]
    edge = frontier(np.vstack(candidates))
    for limit in (1.0, *LIMITS):
        words = "Parity, no limit" if limit == 1.0 else f"Parity, SP on val at most {100 * limit:g}"
        within = [row for row in edge if row[0] <= limit]
        if not within:
            rows.append({"graph": name, "row": words, "values": None, "note": "no candidate beats the majority answer"})
            continue
        taken = max(within, key=lambda row: float(row[1]))
        found = evaluate_scores(scores[int(taken[4])], holdout.graph, threshold=float(taken[5]))
        rows.append({"graph": name, "row": words, "values": _values(found)})
    tuning = fv.tune(graph_of(name), max_gap=0.05, methods="parity")
    words = "`tune`, SP at most 5, confidence 95 %"
    if tuning.chosen is None:
        rows.append({"graph": name, "row": words, "values": None, "note": "refused"})
    else:
        rows.append({"graph": name, "row": words, "values": _values(tuning.evaluations["test"])})
    for row in rows:
        print(row, flush=True)
    return rows


def _values(evaluation: Evaluation) -> list[float]:
    return [100 * float(evaluation[metric]) for metric in METRICS]  # type: ignore[arg-type]
