"""Which single channels give the label away? A channel that all but equals the label was hardly known before it.

This is about the data, not about a split: all labelled nodes take part. A channel that is named here may be an honest,
very good predictor; whether it was known when the decision was due, only people can say.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from fairview.arguments import require_number
from fairview.data.graph import NodeGraph
from fairview.errors import InputError
from fairview.leakage.cross_validation import cross_validated_auc
from fairview.progress import track
from fairview.undefined import Undefined

_DEPTH = 3
_FEWEST = 20  # nodes of each class: with fewer, chance alone may reach a high AUC in one of many channels


@dataclass(frozen=True)
class LabelLeak:
    """A channel, and the AUC with which it alone predicts the label."""

    name: str
    auc: float


def label_leaks(graph: NodeGraph, *, threshold: float = 0.95, seed: int = 0) -> tuple[LabelLeak, ...] | Undefined:
    """The channels from which the label can be read: cross-validated AUC of a tree of depth 3 above `threshold`.

    Channels in the order of their AUC, the highest first. Undefined with fewer than 20 nodes of a class.
    """
    require_number(threshold, "label_leak_threshold", auc := "an AUC of 0.5 or more, below 1")
    if not 0.5 <= threshold < 1:
        raise InputError(f"label_leak_threshold: {threshold}; expected {auc}.")
    leaks = []
    with track("Looking for label leaks", total=graph.num_channels) as advance:
        for column, name in enumerate(graph.channels):
            values = graph.features[:, [column]].astype(np.float64)
            outcome = cross_validated_auc(partial(_tree, seed), values, graph.labels, seed=seed, fewest=_FEWEST)
            if isinstance(outcome, Undefined):
                return outcome  # it is about the labels, and the same for every channel
            if outcome.auc > threshold:
                leaks.append(LabelLeak(name, outcome.auc))
            advance(1)
    return tuple(sorted(leaks, key=lambda leak: -leak.auc))


def _tree(seed: int) -> Any:
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(max_depth=_DEPTH, random_state=seed)
