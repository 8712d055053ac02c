"""How are the scores of each group spread, are they honest probabilities, and how well do they rank?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fairview.leakage.outcomes import Rate
from fairview.metrics.evaluation import Evaluator
from fairview.metrics.intervals import Interval
from fairview.undefined import Metric, Undefined

SCORE_BINS, CALIBRATION_BINS, ROC_POINTS = 20, 10, 100

Labels = npt.NDArray[np.int8]
Scores = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ScoreHistogram:
    """How many nodes of a group have a score between two edges; the last bin has both of its edges."""

    group: str
    edges: tuple[float, ...]
    counts: tuple[int, ...]


def score_histogram(group: str, scores: Scores) -> ScoreHistogram:
    """Twenty bins of equal width from 0 to 1, the same for every group."""
    counts, edges = np.histogram(scores, bins=SCORE_BINS, range=(0.0, 1.0))
    return ScoreHistogram(group, tuple(edges.round(12).tolist()), tuple(counts.tolist()))


@dataclass(frozen=True)
class CalibrationBin:
    """The nodes with about the same score: their mean score, and the share of them that are positive."""

    predicted: float
    observed: Rate
    nodes: int

    def to_dict(self) -> dict[str, Any]:
        """For JSON, the observed share and its interval side by side."""
        interval = {"low": self.observed.low, "high": self.observed.high}
        return {"predicted": self.predicted, "observed": self.observed.value, "nodes": self.nodes} | interval


@dataclass(frozen=True)
class Calibration:
    """A group's bins, those without nodes left out."""

    group: str
    bins: tuple[CalibrationBin, ...]


def calibration(group: str, labels: Labels, scores: Scores) -> Calibration:
    """Ten bins of equal width from 0 to 1, with Wilson intervals of the observed share.

    Example:
        >>> calibration("f", np.array([0, 1, 1], dtype=np.int8), np.array([0.62, 0.68, 0.95])).bins[0]
        CalibrationBin(predicted=0.65, observed=0.500 [0.095, 0.905], nodes=2)
    """
    place = np.minimum((scores * CALIBRATION_BINS).astype(np.int64), CALIBRATION_BINS - 1)
    nodes, positives, total = (
        np.bincount(place, weights, minlength=CALIBRATION_BINS) for weights in (None, labels, scores)
    )
    bins = (
        CalibrationBin(float(total[b] / nodes[b]), Rate.of(int(positives[b]), int(nodes[b])), int(nodes[b]))
        for b in np.flatnonzero(nodes)
    )
    return Calibration(group, tuple(bins))


@dataclass(frozen=True)
class Roc:
    """A group's ROC curve, (false positive rate, true positive rate) from (0, 0) to (1, 1), and the area under it."""

    group: str
    auc: Metric
    interval: Interval | Undefined
    points: tuple[tuple[float, float], ...]

    def to_dict(self) -> dict[str, Any]:
        plain: dict[str, Any] = {"group": self.group, "auc": None, "low": None, "high": None}
        plain["points"] = [list(point) for point in self.points]
        if isinstance(self.auc, Undefined):
            return plain | {"undefined": {"auc": self.auc.reason}}
        if isinstance(self.interval, Undefined):
            return plain | {"auc": self.auc, "undefined": {"interval": self.interval.reason}}
        return plain | {"auc": self.auc, "low": self.interval.low, "high": self.interval.high}


def roc(group: str, labels: Labels, scores: Scores, *, seed: int = 0) -> Roc:
    """The curve thinned to 100 points, the area of the whole curve, its bootstrap interval over the group's nodes."""
    evaluator = Evaluator.from_codes(labels, codes=np.zeros(len(labels), dtype=np.int16), groups=(group,))
    evaluation = evaluator(scores, intervals=True, seed=seed)
    points = () if isinstance(evaluation["auc"], Undefined) else thinned(roc_points(labels, scores))
    return Roc(group, evaluation["auc"], evaluation.intervals["auc"], points)


def roc_points(labels: Labels, scores: Scores) -> npt.NDArray[np.float64]:
    """All corners of the curve, shape (corners, 2): one per distinct score, from the highest down."""
    order = np.argsort(-scores, kind="stable")
    ordered, positive = scores[order], np.cumsum(labels[order] == 1)
    ends = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True))  # of runs of equal scores
    hits, wrong = positive[ends], ends + 1 - positive[ends]
    return np.concatenate([[[0.0, 0.0]], np.column_stack([wrong / wrong[-1], hits / hits[-1]])])


def thinned(points: npt.NDArray[np.float64]) -> tuple[tuple[float, float], ...]:
    """At most 100 of them, evenly spaced along the curve, both ends among them.

    Two neighbours left over are at most 2 / 99 apart along the curve, or were neighbours before: so the thin curve is
    nowhere further than that from the whole one.
    """
    if len(points) > ROC_POINTS:
        along = points.sum(axis=1)  # both rates only grow
        wanted = np.searchsorted(along, np.linspace(0, along[-1], ROC_POINTS) - 1e-12)
        points = points[np.unique(np.minimum(wanted, len(points) - 1))]
    return tuple((float(x), float(y)) for x, y in points)
