"""Which candidates are shown, and what is said of each? The frontier, what was tested, and every model at its best."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from fairview.data.graph import NodeGraph
from fairview.methods.evaluate import evaluate_scores
from fairview.metrics.intervals import Interval
from fairview.metrics.registry import METRICS
from fairview.tuning.choice import Candidates, Choice
from fairview.tuning.limits import Limit
from fairview.tuning.trials import Trial
from fairview.undefined import plain as number_or_none

MOST = 60
"""Candidates that are shown at most."""

Array = npt.NDArray[np.float64]


def worst_gap(candidates: Candidates, limits: Sequence[Limit]) -> Array:
    """Of each candidate: the largest of the gaps on the val nodes, each as a multiple of its limit."""
    worst = np.zeros(len(candidates))
    for limit in limits:
        for condition in limit.conditions:
            rates = candidates.val_rates[condition]
            known = rates[:, ~np.isnan(rates).all(axis=0)]
            if known.shape[1]:
                worst = np.maximum(worst, np.ptp(known, axis=1) / (limit.limit or 1.0))
    return worst


def on_frontier(utility: Array, gap: Array) -> npt.NDArray[np.bool_]:
    """Whether no other candidate is at least as useful with a smaller gap, or more useful with the same.

    Example:
        >>> on_frontier(np.array([0.7, 0.6, 0.65]), np.array([0.1, 0.0, 0.2])).tolist()
        [True, True, False]
    """
    order = np.lexsort((-utility, gap))
    best = np.maximum.accumulate(np.concatenate([[-np.inf], utility[order][:-1]]))
    frontier = np.zeros(len(utility), dtype=np.bool_)
    frontier[order] = utility[order] > best
    return frontier


def most_useful(candidates: Candidates) -> int:
    """The candidate that would be taken without a limit."""
    return int(np.nanargmax(candidates.val_utility))


def candidate_rows(
    trials: Sequence[Trial],
    candidates: Candidates,
    limits: Sequence[Limit],
    choice: Choice,
    chosen: int | None,
    plain: int,
    others: Sequence[int],
    confidence: float,
) -> tuple[list[dict[str, Any]], dict[int, int]]:
    """The rows that are shown, most useful first, and the place of each candidate among them.

    Args:
        trials: the fitted models.
        candidates: with their thresholds.
        limits: the gaps that matter.
        choice: what was tested.
        chosen: the candidate that was taken.
        plain: the candidate that would be taken without a limit.
        others: candidates that would be taken under other limits.
        confidence: of the upper bounds.

    Metrics are of the val nodes. Those of the test nodes are not shown: nobody should choose by them.
    """
    utility = np.nan_to_num(candidates.val_utility, nan=-1.0)
    frontier = on_frontier(utility, worst_gap(candidates, limits))
    needed = [c for c in (chosen, plain) if c is not None] + [*choice.sequence, *others]
    best_of_trial = [
        int(members[np.argmax(candidates.tuning_utility[members])])
        for number in range(len(trials))
        if len(members := np.flatnonzero(candidates.trials == number))
    ]
    edge = sorted(np.flatnonzero(frontier).tolist(), key=lambda c: -utility[c])
    kept = list(dict.fromkeys([*needed, *edge[: MOST // 2], *best_of_trial]))[:MOST]
    kept.sort(key=lambda c: -utility[c])
    tests = dict(zip(choice.sequence, choice.tested, strict=False))
    rows = []
    for candidate in kept:
        trial = trials[candidates.trials[candidate]]
        threshold = float(candidates.thresholds[candidate])
        tested = tests.get(candidate)
        rows.append(
            {
                "method": trial.method,
                "label": trial.label,
                "settings": dict(trial.settings),
                "threshold": threshold,
                "group_at_prediction": trial.group_at_prediction,
                "on_frontier": bool(frontier[candidate]),
                "metrics": _metrics(trial.scores, threshold, candidates.holdout.graph),
                "tested": tested is not None,
                "certified": candidate in choice.certified,
                "p_value": max(test.p_value for test in tested) if tested else None,
                "upper_bound": max(test.upper_bound(confidence) for test in tested) if tested else None,
                "seconds": trial.seconds,
            }
        )
    return rows, {candidate: place for place, candidate in enumerate(kept)}


def _metrics(scores: Array, threshold: float, graph: NodeGraph) -> dict[str, Any]:
    evaluation = evaluate_scores(scores, graph, split="val", intervals=True, without_auc=True, threshold=threshold)
    intervals = {
        name: {"low": each.low, "high": each.high}
        for name, each in evaluation.intervals.items()
        if isinstance(each, Interval)
    }
    values = {name: number_or_none(evaluation[name]) for name in METRICS}
    return values | {"undefined": evaluation.undefined, "intervals": intervals}
