"""The same answer for everybody. It is perfectly fair and often looks good: every table needs its row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
import torch

from fairview.data.graph import NodeGraph
from fairview.data.splits import with_default_split
from fairview.errors import InputError
from fairview.methods.contract import Facts, Probabilities, require_fitted
from fairview.methods.estimator import Estimator, require_like
from fairview.training.state import State


@dataclass(kw_only=True, eq=False, repr=False)
class Constant(Estimator):
    """Gives every node the same answer, by default that of most training labels.

    Both gaps are 0 by construction. On German the majority answer has accuracy 0.70 and F1 0.82: a fair model must be
    compared with this row before it is called useful.

    Args:
        answer: `majority` of the training labels, `positive`, or `negative`. Published train splits hold as many labels
            of either class: then the validation labels decide.
    """

    answer: Literal["majority", "positive", "negative"] = "majority"

    def fit(self, graph: NodeGraph) -> Self:
        self._check_params()
        if self.answer == "majority":
            graph, _ = with_default_split(graph)
            shares = [
                float(graph.labels[rows].mean())
                for rows in (graph.splits[name] & graph.labelled for name in ("train", "val") if name in graph.splits)
                if rows.any()
            ]
            if not shares:
                raise InputError("train: no node of the train split has a label; there is no majority.")
            self.score_ = float(next((share > 0.5 for share in shares if share != 0.5), True))
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
