"""What does a method reach within its seconds? Its frontier on val, and the same models on test.

A candidate is a model with a threshold (`candidate_thresholds` of its scores). For each gap, the candidates that no
other one beats on val make the frontier; the majority answer, with balanced accuracy 0.5 and no gap, is always one.
Under a limit the best balanced accuracy on val among the candidates with a val gap of at most the limit is taken: a
point of the frontier. Nothing is chosen by the test nodes.

**Hypervolume**: the val frontier's points measured on test, u_k and gap_k;

    H = 1 / (0.2 · 0.5) ∫_0^0.2 max{u_k - 0.5 : gap_k <= g} dg,

1 for a model that is always right and has no gap, 0 for the majority answer. A longer frontier has a little more luck
in it, for every method alike; utility under a limit has no such luck.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.frontier.methods import GAPS, Competitor
from fairview.tuning.candidate_rows import on_frontier
from fairview.tuning.choice import candidate_thresholds
from fairview.tuning.counts import cells_of, positive_counts, utility_of
from fairview.tuning.holdout import Holdout
from fairview.tuning.limits import CONDITIONS

WIDEST = 0.2
"""Gaps beyond it count as useless."""

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Point:
    """A candidate of the val frontier."""

    val_gap: float
    val_utility: float
    test_gap: float
    test_utility: float

    @classmethod
    def of(cls, row: Sequence[float]) -> Point:
        return cls(*(float(value) for value in row[:4]))


MAJORITY = Point(0.0, 0.5, 0.0, 0.5)


def measure(competitor: Competitor, holdout: Holdout, *, seconds: float, seed: int) -> dict[str, Any]:
    """Try models until the processor's seconds are spent; the fit under way is finished, and there is at least one.

    Returns:
        The seconds of fits and predictions, how many models were tried, and for each gap the frontier: rows of val gap,
        val utility, test gap, test utility, number of the model, threshold; `settings` has those of its models.
    """
    rows: dict[str, list[Array]] = {gap: [] for gap in GAPS}
    tried: list[dict[str, Any]] = []
    spent, wall = 0.0, time.perf_counter()
    tries = competitor.tries(holdout, seconds, seed)
    while spent < seconds or not tried:
        begun = time.process_time()
        found = next(tries, None)
        spent += time.process_time() - begun
        if found is None:
            break
        for gap, each in points(found[1], holdout, len(tried)).items():
            rows[gap].append(each)
        tried.append(found[0])
    frontiers = {gap: frontier(np.vstack(each)) if each else np.empty((0, 6)) for gap, each in rows.items()}
    used = sorted({int(row[4]) for each in frontiers.values() for row in each})
    return {
        "seconds": round(spent, 3),
        "wall_seconds": round(time.perf_counter() - wall, 3),
        "models": len(tried),
        "frontiers": {gap: each.round(6).tolist() for gap, each in frontiers.items()},
        "settings": {str(number): tried[number] for number in used},
    }


def points(scores: Array, holdout: Holdout, number: int) -> dict[str, Array]:
    """A model at its thresholds: for each gap, rows of gap and utility on val and on test, number and threshold."""
    levels = candidate_thresholds(scores[holdout.learning])
    test = np.flatnonzero(holdout.graph.split("test") & holdout.graph.labelled)
    cells = [cells_of(scores, holdout.graph, rows, levels) for rows in (holdout.tuning, test)]
    found = {}
    for gap in GAPS:
        columns = []
        for each in cells:
            yes, nodes = positive_counts(each, CONDITIONS[gap][0])
            present = nodes[0] > 0
            columns += [np.ptp(yes[:, present] / nodes[:, present], axis=1), utility_of(each, "balanced_accuracy")]
        found[gap] = np.column_stack([*columns, np.full(len(levels), number), levels])
    return found


def frontier(rows: Array) -> Array:
    """The rows that no other one beats on val and that beat the majority answer, smallest gap first."""
    best = rows[on_frontier(rows[:, 1], rows[:, 0]) & (rows[:, 1] > MAJORITY.val_utility)]
    return np.asarray(best[np.argsort(best[:, 0])])


def chosen(rows: Sequence[Sequence[float]], limit: float) -> Point:
    """The most useful point within a limit on val.

    Example:
        >>> chosen([(0.01, 0.6, 0.02, 0.58), (0.04, 0.7, 0.05, 0.69)], limit=0.02).test_utility
        0.58
        >>> chosen([], limit=0.02) == MAJORITY
        True
    """
    within = [point for point in map(Point.of, rows) if point.val_gap <= limit]
    return max(within, key=lambda point: point.val_utility, default=MAJORITY)


def hypervolume(rows: Sequence[Sequence[float]]) -> float:
    """H of the val frontier's points, measured on test.

    Example:
        >>> hypervolume([(0, 0, 0.1, 1.0)])  # always right from a gap of 10 points on: half of the area
        0.5
        >>> round(hypervolume([(0, 0, 0.1, 1.0), (0, 0, 0.0, 0.75)]), 12)
        0.75
    """
    area, useful = 0.0, MAJORITY.test_utility
    at = 0.0
    for point in sorted(map(Point.of, rows), key=lambda point: point.test_gap):
        if point.test_utility > useful and point.test_gap < WIDEST:
            area += (point.test_gap - at) * (useful - 0.5)
            at, useful = point.test_gap, point.test_utility
    return (area + (WIDEST - at) * (useful - 0.5)) / (WIDEST * 0.5)
