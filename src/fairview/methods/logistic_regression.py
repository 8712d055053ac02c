"""A plain logistic regression on the features: what the table alone knows, without a graph and without mitigation."""

from __future__ import annotations

from typing import Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression as SkLogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fairview.data.graph import NodeGraph
from fairview.methods.contract import Probabilities, features_like, training_rows


class LogisticRegression(BaseEstimator):  # type: ignore[misc]
    """Standardised channels, L2 penalty, fitted on the labelled nodes of the train split.

    Args:
        inverse_penalty: scikit-learn's C; smaller means simpler.
        with_sensitive: whether channels that hold the sensitive attribute take part.
    """

    def __init__(self, *, inverse_penalty: float = 1.0, with_sensitive: bool = True) -> None:
        self.inverse_penalty = inverse_penalty
        self.with_sensitive = with_sensitive

    def fit(self, graph: NodeGraph) -> Self:
        hidden = () if self.with_sensitive else graph.sensitive_channels
        self.channels_ = tuple(name for name in graph.channels if name not in hidden)
        rows = training_rows(graph)
        self.model_ = make_pipeline(StandardScaler(), SkLogisticRegression(C=self.inverse_penalty, max_iter=1000))
        self.model_.fit(features_like(graph, self.channels_)[rows].astype(np.float64), graph.labels[rows])
        return self

    def predict_proba(self, graph: NodeGraph) -> Probabilities:
        features = features_like(graph, self.channels_).astype(np.float64)
        return np.asarray(self.model_.predict_proba(features))
