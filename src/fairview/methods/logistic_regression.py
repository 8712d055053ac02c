"""A plain logistic regression on the features: what the table alone knows, without a graph and without mitigation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import torch
from scipy.special import expit

from fairview.data.graph import NodeGraph
from fairview.data.splits import with_default_split
from fairview.methods.contract import Facts, Probabilities, features_like, require_fitted, table_to_learn_from
from fairview.methods.estimator import Estimator, require_like
from fairview.methods.parameters import Rate
from fairview.training.state import State


@dataclass(kw_only=True, eq=False, repr=False)
class LogisticRegression(Estimator):
    """Standardised channels, L2 penalty, fitted on the labelled nodes of the train split.

    Args:
        inverse_penalty: scikit-learn's C; smaller means simpler.
        sensitive_channels: False leaves the channels of the sensitive attribute out.
    """

    search_space: ClassVar[Mapping[str, Sequence[Any]]] = {"inverse_penalty": (0.01, 0.1, 1.0, 10.0)}

    inverse_penalty: Rate = 1.0
    sensitive_channels: bool = True

    def fit(self, graph: NodeGraph) -> Self:
        from sklearn.linear_model import LogisticRegression as SkLogisticRegression
        from sklearn.preprocessing import StandardScaler

        self._check_params()
        graph, notes = with_default_split(graph)
        facts, values, labels = table_to_learn_from(graph, self.sensitive_channels)
        features = values.astype(np.float64)
        scaler = StandardScaler().fit(features)
        model = SkLogisticRegression(C=self.inverse_penalty, max_iter=1000)
        model.fit(scaler.transform(features), labels)
        self.weights_ = model.coef_[0] / scaler.scale_
        self.bias_ = float(model.intercept_[0] - self.weights_ @ scaler.mean_)
        self.facts_, self.notes_ = facts, notes
        return self

    def predict_proba(self, graph: NodeGraph) -> Probabilities:
        require_fitted(self)
        features = features_like(graph, self.facts_.channels).astype(np.float64)
        positive = expit(features @ self.weights_ + self.bias_)
        return np.stack([1 - positive, positive], axis=1)

    def tensors(self) -> State:
        bias = torch.tensor(self.bias_, dtype=torch.float64)
        return {"weights": torch.tensor(self.weights_, dtype=torch.float64), "bias": bias}

    def restore(self, tensors: State, facts: Facts) -> Self:
        one = torch.empty((), dtype=torch.float64)
        require_like(tensors, {"weights": one.expand(len(facts.channels)), "bias": one})
        self.weights_, self.bias_, self.facts_ = tensors["weights"].numpy(), float(tensors["bias"]), facts
        return self
