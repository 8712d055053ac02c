"""fairlearn's ThresholdOptimizer: the best randomised thresholds per group whose gap on the training nodes is limited.

Hardt, Price, Srebro, Equality of Opportunity in Supervised Learning, NIPS 2016. fairlearn finds the thresholds; they
are kept, saved and read as plain arrays, so that prediction needs neither fairlearn nor a pickle.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
import torch

from fairview.data.graph import NodeGraph
from fairview.data.splits import with_default_split
from fairview.errors import InputError
from fairview.groups import UNKNOWN
from fairview.log import note
from fairview.methods.contract import Facts, Probabilities, groups_like, require_fitted
from fairview.methods.estimator import Estimator, require_like
from fairview.methods.fairlearn_data import Constraint, fairlearn_module, quiet, rows_with_groups
from fairview.methods.logistic_regression import LogisticRegression
from fairview.methods.parameters import Rate, Share
from fairview.training.state import State, apart, prefixed

_CONSTRAINTS = {
    "statistical_parity": "demographic_parity",
    "equal_opportunity": "true_positive_rate_parity",
    "equalized_odds": "equalized_odds",
}


@dataclass(kw_only=True, eq=False, repr=False)
class ThresholdOptimizer(Estimator):
    """score = e c + (1 - e) (p₀ [s > t₀] + p₁ [s > t₁]), with numbers of each group, on a logistic regression's s.

    The score is the probability of a positive prediction, as fairlearn's `_pmf_predict` has it: it takes few values,
    so that an AUC says little. fairlearn predicts at random with that probability; here `predict` says yes above 0.5,
    the same every time, and its gaps may be larger than the randomised ones. The group is needed at prediction,
    matched by name; a node of unknown group gets the mean of the groups' scores, weighted by their training nodes.

    Model and thresholds are fitted on the labelled train nodes whose group is known.

    Args:
        constraint: `statistical_parity`, `equal_opportunity` or `equalized_odds`.
        tolerance: how far apart the groups' rates may be on the training nodes; 0 for equalized odds.
        objective: what is maximised: `balanced_accuracy` or `accuracy`.
        inverse_penalty: scikit-learn's C of the logistic regression; smaller means simpler.
        sensitive_channels: False leaves the channels of the sensitive attribute out of the logistic regression.
    """

    group_at_prediction: ClassVar[bool] = True
    search_space: ClassVar[Mapping[str, Sequence[Any]]] = {"tolerance": (0.0, 0.01, 0.02, 0.05, 0.1)}

    constraint: Constraint = "statistical_parity"
    tolerance: Share = 0.0
    objective: Literal["balanced_accuracy", "accuracy"] = "balanced_accuracy"
    inverse_penalty: Rate = 1.0
    sensitive_channels: bool = True

    @classmethod
    def check_together(cls, settings: Mapping[str, Any]) -> None:
        if settings.get("constraint") == "equalized_odds" and settings.get("tolerance", 0) > 0:
            raise InputError(
                f"ThresholdOptimizer: tolerance={settings['tolerance']!r}: fairlearn has none for "
                "constraint='equalized_odds'; use 0."
            )

    def fit(self, graph: NodeGraph) -> Self:
        self._check_params()
        postprocessing = fairlearn_module("postprocessing", type(self).__name__)
        graph, notes = with_default_split(graph)
        rows = rows_with_groups(graph, "equalized_odds", type(self).__name__)  # fairlearn wants both classes always
        labels = np.full_like(graph.labels, UNKNOWN)
        labels[rows] = graph.labels[rows]
        model = self._unfitted().fit(graph.replace(labels=labels))
        scores, codes = model.predict_proba(graph)[rows, 1], graph.sensitive[rows].astype(np.int64)
        optimizer = postprocessing.ThresholdOptimizer(
            estimator=_given_scores(),
            constraints=_CONSTRAINTS[self.constraint],
            objective=f"{self.objective}_score",
            prefit=True,
            predict_method="predict_proba",
            **({"tol": self.tolerance} if self.tolerance > 0 else {}),
        )
        with quiet():
            optimizer.fit(scores[:, None], labels[rows].astype(np.int64), sensitive_features=codes)
        rules = optimizer.interpolated_thresholder_.interpolation_dict
        present = sorted(rules)
        self.rules_ = np.zeros((len(graph.groups), 6))
        self.rules_[present] = [_rule(rules[code]) for code in present]
        self.nodes_ = np.bincount(codes, minlength=len(graph.groups)).astype(np.int64)
        self.model_, self.facts_, self.notes_ = model, Facts.of(graph, model.facts_.channels), notes
        return self

    def predict_proba(self, graph: NodeGraph) -> Probabilities:
        require_fitted(self)
        scores = self.model_.predict_proba(graph)[:, 1]
        fitted = self.facts_.model_copy(
            update={"groups": tuple(n for n, size in zip(self.facts_.groups, self.nodes_, strict=True) if size)}
        )
        codes = groups_like(graph, fitted, type(self).__name__)
        if unknown := int((codes == UNKNOWN).sum()):
            note(f"{unknown:,} of {len(codes):,} nodes have no known group: they get the mean of the groups' scores.")
        sizes = self.nodes_[self.nodes_ > 0]
        by_group = np.array([_applied(rule, scores) for rule in self.rules_[self.nodes_ > 0]])  # (groups, n)
        by_group = np.vstack([by_group, sizes @ by_group / sizes.sum()])
        positive = np.clip(by_group[codes, np.arange(len(scores))], 0, 1)
        return np.stack([1 - positive, positive], axis=1)

    def _unfitted(self) -> LogisticRegression:
        return LogisticRegression(inverse_penalty=self.inverse_penalty, sensitive_channels=self.sensitive_channels)

    def tensors(self) -> State:
        return prefixed("model", self.model_.tensors()) | {
            "rules": torch.tensor(self.rules_),
            "nodes": torch.tensor(self.nodes_),
        }

    def restore(self, tensors: State, facts: Facts) -> Self:
        self._check_params()
        inner, own = apart(tensors, "model")
        whole, real = (torch.empty((), dtype=kind, device="meta") for kind in (torch.int64, torch.float64))
        count = len(facts.groups)
        require_like(own, {"rules": real.expand(count, 6), "nodes": whole.expand(count)})
        self.rules_, self.nodes_ = own["rules"].numpy(), own["nodes"].numpy()
        chances = self.rules_[:, [0, 2, 4, 5]]
        if ((chances < 0) | (chances > 1)).any() or (self.nodes_ < 0).any() or not self.nodes_.any():
            raise ValueError("the rules of the groups are not probabilities")
        self.model_, self.facts_ = self._unfitted().restore(inner, facts), facts
        return self


def _given_scores() -> Any:
    """An estimator in fairlearn's eyes: it hands on scores that are already made."""
    from sklearn.base import BaseEstimator

    class GivenScores(BaseEstimator):  # type: ignore[misc]
        def fit(self, *_: Any) -> Any:
            return self

        def __sklearn_is_fitted__(self) -> bool:
            return True

        def predict_proba(self, scores: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
            return np.hstack([1 - scores, scores])

    return GivenScores()


def _rule(found: Any) -> list[float]:
    """p₀, t₀, p₁, t₁, e, c; a threshold beyond all scores, such as infinity, is put just beyond them."""
    first, second = (float(np.clip(o.threshold, -1, 2)) for o in (found.operation0, found.operation1))
    return [found.p0, first, found.p1, second, found.get("p_ignore", 0.0), found.get("prediction_constant", 0.0)]


def _applied(rule: npt.NDArray[np.float64], scores: npt.NDArray[np.floating[Any]]) -> npt.NDArray[np.float64]:
    p0, t0, p1, t1, ignored, constant = rule
    return np.asarray(ignored * constant + (1 - ignored) * (p0 * (scores > t0) + p1 * (scores > t1)))
