"""fairlearn's ExponentiatedGradient: a mean of logistic regressions whose gap on the training nodes is within a bound.

Agarwal et al., A Reductions Approach to Fair Classification, ICML 2018. fairlearn finds the regressions and their
weights; they are kept, saved and read as plain arrays, so that prediction needs neither fairlearn nor a pickle.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self

import numpy as np
import torch
from pydantic import Field
from scipy.special import expit

from fairview.data.graph import NodeGraph
from fairview.data.splits import with_default_split
from fairview.methods.contract import Facts, Probabilities, channels_to_learn_from, features_like, require_fitted
from fairview.methods.estimator import Estimator, require_like
from fairview.methods.fairlearn_data import Constraint, fairlearn_module, quiet, rows_with_groups
from fairview.methods.parameters import Rate
from fairview.training.state import State

_CERTAIN = 1000.0
"""Log-odds of a member that gives everybody the same answer: its sigmoid is exactly 0 or 1."""

_MOMENTS = {
    "statistical_parity": "DemographicParity",
    "equal_opportunity": "TruePositiveRateParity",
    "equalized_odds": "EqualizedOdds",
}


@dataclass(kw_only=True, eq=False, repr=False)
class ExponentiatedGradient(Estimator):
    """score(x) = Σ_m q_m σ(w_m·x + b_m): logistic regressions on reweighted labels, and their weights q.

    fairlearn predicts at random, with one of the regressions drawn anew for each node; here the score is their mean,
    and predictions are the same every time. The group is not needed at prediction. It is fitted on the labelled train
    nodes whose group is known.

    Args:
        constraint: `statistical_parity`, `equal_opportunity` or `equalized_odds`.
        difference_bound: how far a group's rate may be from that of all, on the training nodes, as fairlearn's
            randomised prediction counts it.
        inverse_penalty: scikit-learn's C of each logistic regression; smaller means simpler.
        max_iterations: of the search for the weights.
        sensitive_channels: False leaves the channels of the sensitive attribute out.
    """

    search_space: ClassVar[Mapping[str, Sequence[Any]]] = {"difference_bound": (0.01, 0.02, 0.05, 0.1)}

    constraint: Constraint = "statistical_parity"
    difference_bound: Annotated[float, Field(gt=0, le=1)] = 0.01
    inverse_penalty: Rate = 1.0
    max_iterations: Annotated[int, Field(ge=2, le=10_000)] = 50
    sensitive_channels: bool = False

    def fit(self, graph: NodeGraph) -> Self:
        from sklearn.linear_model import LogisticRegression as SkLogisticRegression
        from sklearn.preprocessing import StandardScaler

        self._check_params()
        reductions = fairlearn_module("reductions", type(self).__name__)
        graph, notes = with_default_split(graph)
        channels = channels_to_learn_from(graph, self.sensitive_channels)
        rows = rows_with_groups(graph, self.constraint, type(self).__name__)
        features = features_like(graph, channels)[rows].astype(np.float64)
        scaler = StandardScaler().fit(features)
        search = reductions.ExponentiatedGradient(
            SkLogisticRegression(C=self.inverse_penalty, max_iter=1000),
            constraints=getattr(reductions, _MOMENTS[self.constraint])(difference_bound=self.difference_bound),
            max_iter=self.max_iterations,
        )
        with quiet():
            search.fit(
                scaler.transform(features),
                graph.labels[rows].astype(np.int64),
                sensitive_features=graph.sensitive[rows].astype(np.int64),
            )
        members = [(weight, search.predictors_[m]) for m, weight in search.weights_.sort_index().items() if weight > 0]
        self.shares_ = np.array([weight for weight, _ in members]) / sum(weight for weight, _ in members)
        folded = [_folded(member, scaler) for _, member in members]
        self.weights_ = np.array([weights for weights, _ in folded])
        self.biases_ = np.array([bias for _, bias in folded])
        self.facts_, self.notes_ = Facts.of(graph, channels), notes
        return self

    def predict_proba(self, graph: NodeGraph) -> Probabilities:
        require_fitted(self)
        features = features_like(graph, self.facts_.channels).astype(np.float64)
        positive = expit(features @ self.weights_.T + self.biases_) @ self.shares_
        positive = np.clip(positive, 0, 1)  # the shares add up to 1 but for rounding
        return np.stack([1 - positive, positive], axis=1)

    def tensors(self) -> State:
        arrays = {"shares": self.shares_, "weights": self.weights_, "biases": self.biases_}
        return {name: torch.tensor(array, dtype=torch.float64) for name, array in arrays.items()}

    def restore(self, tensors: State, facts: Facts) -> Self:
        count = len(tensors["shares"]) if tensors["shares"].ndim else 0
        one = torch.empty((), dtype=torch.float64, device="meta")
        pattern = dict.fromkeys(("shares", "biases"), one.expand(count))
        require_like(tensors, pattern | {"weights": one.expand(count, len(facts.channels))})
        self.shares_, self.weights_, self.biases_ = (tensors[n].numpy() for n in ("shares", "weights", "biases"))
        if (self.shares_ < 0).any() or not np.isclose(self.shares_.sum(), 1):
            raise ValueError("the shares of the ensemble do not add up to 1")
        self.facts_ = facts
        return self


def _folded(member: Any, scaler: Any) -> tuple[Any, float]:
    """Weights and bias on the raw channels; where all reweighted labels were equal, fairlearn has a constant answer."""
    if not hasattr(member, "coef_"):
        return np.zeros(len(scaler.scale_)), _CERTAIN if member.constant == 1 else -_CERTAIN
    weights = member.coef_[0] / scaler.scale_
    return weights, float(member.intercept_[0] - weights @ scaler.mean_)
