"""The predictor that looks at nothing. It is perfectly fair and often looks good: every table needs its row."""

from __future__ import annotations

from typing import Literal, Self

import numpy as np
from sklearn.base import BaseEstimator

from fairview.data.graph import NodeGraph
from fairview.errors import InputError
from fairview.methods.contract import Probabilities, training_rows


class Constant(BaseEstimator):  # type: ignore[misc]
    """Gives every node the same answer.

    Both gaps are 0 by construction. On German, "always good" has accuracy 0.70 and F1 0.82: a fair model must be
    compared with this row before it is called useful.

    Args:
        answer: `positive`, `negative`, or `majority` of the training labels.
    """

    def __init__(self, *, answer: Literal["positive", "negative", "majority"] = "positive") -> None:
        self.answer = answer

    def fit(self, graph: NodeGraph) -> Self:
        if self.answer not in ("positive", "negative", "majority"):
            raise InputError(f"answer: '{self.answer}'; expected positive, negative or majority.")
        if self.answer == "majority":
            self.score_ = float(graph.labels[training_rows(graph)].mean() > 0.5)
        else:
            self.score_ = float(self.answer == "positive")
        return self

    def predict_proba(self, graph: NodeGraph) -> Probabilities:
        return np.tile([1 - self.score_, self.score_], (graph.num_nodes, 1))
