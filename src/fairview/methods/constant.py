"""The predictor that looks at nothing. It is perfectly fair and often looks good: every table needs its row."""

from __future__ import annotations

from typing import Literal, Self

import numpy as np
import torch

from fairview.data.graph import NodeGraph
from fairview.methods.contract import Facts, Probabilities, require_fitted, training_rows
from fairview.methods.estimator import Estimator, require_like
from fairview.methods.settings import check_settings
from fairview.training.state import State


class Constant(Estimator):
    """Gives every node the same answer.

    Both gaps are 0 by construction. On German, "always good" has accuracy 0.70 and F1 0.82: a fair model must be
    compared with this row before it is called useful.

    Args:
        answer: `positive`, `negative`, or `majority` of the training labels.
    """

    def __init__(self, *, answer: Literal["positive", "negative", "majority"] = "positive") -> None:
        self.answer = answer

    def fit(self, graph: NodeGraph) -> Self:
        check_settings(type(self), self.get_params(deep=False))
        if self.answer == "majority":
            self.score_ = float(graph.labels[training_rows(graph)].mean() > 0.5)
        else:
            self.score_ = float(self.answer == "positive")
        self.facts_ = Facts.of(graph)
        return self

    def predict_proba(self, graph: NodeGraph) -> Probabilities:
        require_fitted(self)
        return np.tile([1 - self.score_, self.score_], (graph.num_nodes, 1))

    def tensors(self) -> State:
        return {"score": torch.tensor(self.score_, dtype=torch.float64)}

    def restore(self, tensors: State, facts: Facts) -> Self:
        require_like(tensors, {"score": torch.empty((), dtype=torch.float64)})
        self.score_, self.facts_ = float(tensors["score"]), facts
        if self.score_ not in (0.0, 1.0):
            raise ValueError("the score of a constant answer is 0 or 1")
        return self
