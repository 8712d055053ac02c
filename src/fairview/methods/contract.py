"""What must every method do? Fit a graph, and give each node of any graph with the same channels a probability."""

from __future__ import annotations

from typing import Protocol, Self

import numpy as np
import numpy.typing as npt

from fairview.data.graph import NodeGraph
from fairview.errors import InputError, quoted

Probabilities = npt.NDArray[np.floating]


class Method(Protocol):
    """A node classifier in scikit-learn's manner."""

    def fit(self, graph: NodeGraph) -> Self:
        """Learn from the train split."""
        ...

    def predict_proba(self, graph: NodeGraph) -> Probabilities:
        """Probabilities of the negative and the positive class, shape (n, 2), for every node of the graph."""
        ...


def training_rows(graph: NodeGraph) -> npt.NDArray[np.intp]:
    """The labelled nodes of the train split; without both classes among them there is nothing to learn."""
    rows = np.flatnonzero(graph.split("train") & graph.labelled)
    if len(rows) == 0:
        raise InputError("train: no node of the train split has a label.")
    found = np.unique(graph.labels[rows])
    if len(found) == 1:
        raise InputError(f"train: all {len(rows):,} labels are '{graph.classes[found[0]]}'; both classes are needed.")
    return rows


def features_like(graph: NodeGraph, channels: tuple[str, ...]) -> npt.NDArray[np.float32]:
    """The features in the order that a model was fitted with, matched by name; other channels are left out."""
    if graph.channels == channels:
        return graph.features
    absent = [name for name in channels if name not in graph.channels]
    if absent:
        raise InputError(f"predict: the graph lacks channels that the model was fitted with: {quoted(absent)}.")
    return graph.features[:, [graph.channels.index(name) for name in channels]]
