"""How often is what predicted for whom, at many thresholds at once? One pass over the scores of some nodes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fairview.data.graph import NodeGraph
from fairview.errors import InputError
from fairview.metrics.registry import METRICS

Cells = npt.NDArray[np.int64]


def cells_of(scores: npt.NDArray[np.float64], graph: NodeGraph, rows: npt.NDArray[np.intp],
             thresholds: npt.NDArray[np.float64]) -> Cells:  # fmt: skip
    """Counts of (threshold, group, label, prediction), shape (t, 1 + groups, 3, 2).

    The first group holds the nodes without a known group, the first label those without a label; a score above the
    threshold is a positive prediction.
    """
    shape = (1 + len(graph.groups), 3, len(thresholds) + 1)
    place = np.searchsorted(thresholds, scores[rows], side="left")  # so many thresholds lie below the score
    codes = np.ravel_multi_index((graph.sensitive[rows] + 1, graph.labels[rows] + 1, place), shape)
    counts = np.bincount(codes, minlength=int(np.prod(shape))).reshape(shape)
    above = counts[..., ::-1].cumsum(axis=-1)[..., ::-1][..., 1:]  # (group, label, threshold)
    below = counts.sum(axis=-1, keepdims=True) - above
    return np.moveaxis(np.stack([below, above], axis=-1), 2, 0)


def utility_of(cells: Cells, utility: str) -> npt.NDArray[np.float64]:
    """A utility at each threshold, over the labelled nodes of all groups; NaN where it is undefined."""
    entry = METRICS[utility]
    if entry.total_rate is None:
        raise InputError(f"utility: '{utility}' is not a function of counts.")
    return np.asarray(entry.total_rate(cells[:, :, 1:].sum(axis=1)), dtype=np.float64)


def positive_counts(cells: Cells, label: int | None) -> tuple[Cells, Cells]:
    """Positive predictions and nodes of each known group, shapes (t, groups): of everybody, or of a label."""
    chosen = cells[:, 1:].sum(axis=2) if label is None else cells[:, 1:, 1 + label]
    return chosen[..., 1], chosen.sum(axis=-1)
