"""How good is a model on all labelled nodes of a propagated folder, of which only some fit into memory?

The scores are computed some nodes at a time. Only those of the split's labelled nodes are kept, with label and group.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt

from fairview.methods.contract import Method
from fairview.metrics.evaluation import Evaluation, Evaluator
from fairview.progress import track
from fairview.propagation.folder import Propagated
from fairview.propagation.sampling import LabelledRows, labelled_rows
from fairview.undefined import Undefined

MOST_RESAMPLED = 1_000_000
"""Nodes beyond which a thousand resamples of them take minutes, and the interval of the AUC is narrower than 0.002."""


def evaluate_folder(
    model: Method,
    propagated: Propagated,
    *,
    split: str = "test",
    intervals: bool = False,
    labelled: LabelledRows | None = None,
) -> Evaluation:
    """Metrics on the labelled nodes of a split, all of them.

    Args:
        model: fitted.
        propagated: the folder.
        split: `train`, `val`, `test`, or `all`; in a folder without splits they are drawn as `fit` does it.
        intervals: add bootstrap intervals; for the AUC up to a million nodes.
        labelled: what `labelled_rows` gave, if it is at hand.
    """
    labelled = labelled_rows(propagated) if labelled is None else labelled
    chosen = labelled.of(split)
    scores = folder_scores(model, propagated, labelled.rows[chosen])
    evaluator = Evaluator.of_attributes(
        labelled.labels[chosen],
        [each.at(chosen) for each in labelled.attributes],
        threshold=getattr(model, "threshold_", 0.5),
    )
    if not intervals or len(scores) <= MOST_RESAMPLED:
        return evaluator(scores, intervals=intervals)
    evaluation = evaluator(scores, intervals=True, without_auc=True)
    left_out = Undefined(f"it is not resampled over more than {MOST_RESAMPLED:,} nodes")
    return dataclasses.replace(evaluation, intervals={**evaluation.intervals, "auc": left_out})


def folder_scores(model: Method, propagated: Propagated, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """The scores of some nodes, by row number, ascending."""
    pieces: list[npt.NDArray[np.floating[Any]]] = [np.empty(0)]
    start = 0
    with track("Predicting", total=propagated.num_nodes) as advance:
        for frame in propagated.frames(rows=200_000):
            inside = rows[np.searchsorted(rows, start) : np.searchsorted(rows, start + frame.height)] - start
            if len(inside):
                part = frame if len(inside) == frame.height else frame[inside]
                pieces.append(np.asarray(model.predict_proba(propagated.graph_of(part)))[:, 1])
            start += frame.height
            advance(frame.height)
    return np.concatenate(pieces)
