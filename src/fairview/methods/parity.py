"""Parity: a score on splines of the table and its neighbourhood, fitted so that the groups' scores agree.

The loss is convex but for the penalty, which has a closed gradient: seconds on tens of thousands of nodes, without an
adversary. The group is needed of nodes that the penalty sees, never of those that are predicted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
import torch
from pydantic import Field
from scipy.special import expit

from fairview.data.graph import NodeGraph
from fairview.data.splits import with_default_split
from fairview.errors import InputError, did_you_mean, option, quoted
from fairview.methods.compared_groups import Compared, written_params
from fairview.methods.contract import (
    Facts,
    Probabilities,
    channels_to_learn_from,
    features_like,
    links_like,
    require_fitted,
)
from fairview.methods.contributions import Contribution, Contributions
from fairview.methods.estimator import Estimator, require_like
from fairview.methods.parameters import Few, Hops, Rate, Rounds, Seed, Weight, Width
from fairview.methods.parity_features import GraphFeatures, OwnBasis
from fairview.methods.parity_fitting import SHARED, Fitting, Prepared, make_head
from fairview.methods.parity_objective import Penalty, Reals
from fairview.methods.parity_penalty import WEIGHTS
from fairview.methods.spline_features import SplineFeatures
from fairview.progress import track
from fairview.propagation.operators import Operator, OperatorKind
from fairview.training.state import State


@dataclass(kw_only=True, eq=False, repr=False)
class Parity(Estimator):
    """logistic loss + l2 |w|² + λ_sp D_sp + λ_eo D_eo + λ_odds (D_positives + D_negatives) / 2.

    D is the distance between the groups' scores ([parity_objective](../reference/methods.md)): over all nodes for
    statistical parity, over positives for equal opportunity, over positives and over negatives for equalized odds.
    It is taken over every node whose group is known and that is not held out (in no split but `train`), labelled or
    not; a node whose label is not known counts as a positive with its probability under the model without a penalty.

    Args:
        basis: `splines` of each channel, the `raw` channels, or your own function of a graph that returns an array
            (n, columns); it is given the channels and links only, without labels and groups.
        knots: of the splines.
        hops: how far neighbours are looked at; the columns of 0 to `hops` hops stand side by side.
        operator: S of a hop: `mean`, `gcn` or `sum`.
        self_loops: how often a node counts among its own neighbours.
        head: `linear`, or `mlp` with one hidden layer.
        hidden: units of the `mlp` head.
        restarts: `mlp` heads from other random weights, whose scores are averaged.
        l2: how strongly weights are held small.
        penalty: `energy` compares whole score distributions, `threshold` the shares above one half.
        statistical_parity_weight: λ_sp.
        equal_opportunity_weight: λ_eo.
        equalized_odds_weight: λ_odds.
        penalise: between the groups of which sensitive attributes, where there are several: names of some, such as
            `race`, or `race & sex` for their combinations; by default of each, and of the combinations.
        class_balanced: whether either class counts one half in the loss.
        max_iterations: of L-BFGS, at most.
        sensitive_channels: False leaves the channels of the sensitive attribute out.
        seed: of the `mlp` head's random weights; the linear head has none.

    Attributes:
        notes_: what to know about this fit, such as a group with few nodes in the penalty.

    Example:
        >>> import fairview as fv
        >>> graph = fv.load_dataset("german")
        >>> plain, fair = fv.Parity(hops=0).path(graph, (0, 30))
        >>> [round(100 * fv.evaluate(model, graph)["statistical_parity_gap"]) for model in (plain, fair)]
        [33, 7]
    """

    search_space: ClassVar[Mapping[str, Sequence[Any]]] = {
        "l2": (0.001, 0.01, 0.05),
        "hops": (0, 2),
        "statistical_parity_weight": (0.0, 1.0, 3.0, 10.0, 30.0, 100.0),
    }

    basis: Literal["splines", "raw"] | OwnBasis = "splines"
    knots: Annotated[int, Field(ge=2, le=1000)] = 6
    hops: Hops = 2
    operator: OperatorKind = "mean"
    self_loops: Weight = 1.0
    head: Literal["linear", "mlp"] = "linear"
    hidden: Width = 32
    restarts: Few = 3
    l2: Rate = 0.01
    penalty: Penalty = "energy"
    statistical_parity_weight: Weight = 3.0
    equal_opportunity_weight: Weight = 0.0
    equalized_odds_weight: Weight = 0.0
    penalise: Compared | None = None
    class_balanced: bool = True
    max_iterations: Rounds = 200
    sensitive_channels: bool = False
    seed: Seed = 1

    def plain_params(self) -> dict[str, Any]:
        return written_params(super().plain_params())

    def fit(self, graph: NodeGraph, *, prepared: Prepared | None = None) -> Self:
        """Learn from the train split, with the groups of all nodes that are not held out.

        Args:
            graph: with a split `train`.
            prepared: what `prepare` returned for this graph, so that its columns are not made again.
        """
        self._check_params()
        fitting = Fitting(self, graph, prepared)
        with track("Parity", fitting.descents()) as advance:
            learnt = fitting.heads(self, advance)
        return self._keep(fitting, *learnt)

    def _keep(self, fitting: Fitting, weights: Reals, notes: tuple[str, ...]) -> Self:
        self.weights_, self.features_, self.notes_ = weights, fitting.features, notes
        self.facts_ = Facts.of(fitting.graph, fitting.features.channels)
        return self

    def path(
        self,
        graph: NodeGraph,
        weights: Sequence[float] = (0, 1, 3, 10, 30, 100),
        *,
        of: str | Sequence[str] = "statistical_parity_weight",
        prepared: Prepared | None = None,
    ) -> list[Self]:
        """A fitted model for each weight of a penalty; the same as fitting each alone, in less time.

        Args:
            graph: with a split `train`.
            weights: values of the parameter `of`.
            of: which weight to vary; several are given the same value.
            prepared: what `prepare` returned for this graph.

        Example:
            >>> import fairview as fv
            >>> graph = fv.load_dataset("german")
            >>> [model.statistical_parity_weight for model in fv.Parity().path(graph, (0, 3))]
            [0.0, 3.0]
        """
        names = [of] if isinstance(of, str) else list(of)
        for name in names:
            if name not in WEIGHTS:
                raise InputError(f"of: no weight '{name}'.{did_you_mean(name, WEIGHTS)}")
        models = [type(self)(**self.get_params() | dict.fromkeys(names, float(weight))) for weight in weights]
        for model in models:
            model._check_params()
        if not models:
            return []
        fitting = Fitting(self, graph, prepared)
        with track("Parity", len(models) * fitting.descents()) as advance:
            return [model._keep(fitting, *fitting.heads(model, advance)) for model in models]

    def prepare(self, graph: NodeGraph) -> Prepared:
        """The columns of a graph, for many fits.

        They serve every model with the same basis, knots, operator, self-loops and sensitive channels and at most as
        many hops, and every graph with the same channels and links: other splits, labels and groups.
        """
        self._check_params()
        channels = channels_to_learn_from(graph, self.sensitive_channels)
        basis: SplineFeatures | OwnBasis
        if isinstance(self.basis, str):
            knots = self.knots if self.basis == "splines" else 0
            basis = SplineFeatures.fit(features_like(graph, channels), knots=knots)
        else:
            basis = self.basis
        operator = Operator(kind=self.operator, self_loops=float(self.self_loops))
        features, z = GraphFeatures.fit(graph, basis, channels, operator, self.hops)
        return Prepared(features, z, graph, {name: getattr(self, name) for name in SHARED})

    def predict_proba(self, graph: NodeGraph, *, prepared: Prepared | None = None) -> Probabilities:
        """Probabilities of the negative and the positive class, (n, 2).

        Args:
            graph: any with the same channels.
            prepared: what `prepare` returned for this graph, so that its columns are not made again.
        """
        require_fitted(self)
        if prepared is None:
            z = self._columns(graph)
        else:
            prepared.check(self, graph)
            z = np.ascontiguousarray(prepared.z[:, : self.features_.width])  # as if made for these hops alone
        positive = expit(self._logits(z))
        return np.stack([1 - positive, positive], axis=1)

    def _columns(self, graph: NodeGraph) -> Reals:
        if self.hops:
            links_like(graph, self.facts_)
        return self.features_(graph)

    def _logits(self, z: Reals) -> Reals:
        """The mean over the restarts."""
        head = make_head(self, self.features_.width)
        found: Reals = np.mean([head.forward(theta, z)[0] for theta in self.weights_], axis=0)
        return found

    def contributions(
        self, graph: NodeGraph, *, split: str = "test", groups: tuple[str, str] | None = None
    ) -> Contributions:
        """Each channel's and hop's part of the score, and of the gap between two groups' mean scores.

        Args:
            graph: with the groups of the nodes that are compared.
            split: `train`, `val`, `test`, or `all`.
            groups: which two; those whose mean logits differ most by default.

        Raises:
            InputError: the head is no sum over channels, or there are no two groups to compare.

        Example:
            >>> import fairview as fv
            >>> graph = fv.load_dataset("german")
            >>> found = fv.Parity(hops=0, statistical_parity_weight=0).fit(graph).contributions(graph)
            >>> found.rows[0].channel, found.groups
            ('Single', ('Male', 'Female'))
        """
        require_fitted(self)
        if self.head != "linear":
            raise InputError(
                f"contributions: the score of head='{self.head}' is no sum over channels; fit a model with "
                f"{option('head', 'linear')}."
            )
        graph, _ = with_default_split(graph)
        rows = graph.split(split)
        found = [name for code, name in enumerate(graph.groups) if (rows & (graph.sensitive == code)).any()]
        absent = [name for name in groups or () if name not in found]
        if absent or len(found) < 2:
            known = f"there are {quoted(found)}" if found else "there is none"
            raise InputError(f"contributions: two groups with nodes in '{split}' are needed; {known}.")
        names, owner = self.features_.owners()
        parts = self._columns(graph)[rows] * self.weights_[0, :-1]
        by_place = np.zeros((len(parts), (self.hops + 1) * len(names)))
        for column, place in enumerate(owner):
            by_place[:, place] += parts[:, column]
        codes = graph.sensitive[rows]
        means = {name: by_place[codes == graph.groups.index(name)].mean(axis=0) for name in found}
        if groups is None:
            ordered = sorted(found, key=lambda name: means[name].sum())
            groups = ordered[-1], ordered[0]
        scores, gaps = np.abs(by_place).mean(axis=0), means[groups[0]] - means[groups[1]]
        table = [
            Contribution(names[place % len(names)], place // len(names), float(scores[place]), float(gaps[place]))
            for place in np.argsort(-np.abs(gaps), kind="stable")
        ]
        counts = [int((codes == graph.groups.index(name)).sum()) for name in groups]
        return Contributions(tuple(table), groups, float(gaps.sum()), split, (counts[0], counts[1]))

    def tensors(self) -> State:
        require_fitted(self)
        return {"weights": torch.from_numpy(self.weights_)} | self.features_.tensors()

    def restore(self, tensors: State, facts: Facts) -> Self:
        self._check_params()
        splines = {name: tensor for name, tensor in tensors.items() if name.startswith("splines.")}
        basis: SplineFeatures | OwnBasis
        if isinstance(self.basis, str):
            basis = SplineFeatures.restore(splines, len(facts.channels))
            width = len(basis.channel_of) * (self.hops + 1)
        else:
            basis, width = self.basis, tensors["centre"].numel()
        rows = self.restarts if self.head == "mlp" else 1
        number = torch.empty((), dtype=torch.float64, device="meta")
        pattern = {
            "weights": number.expand(rows, make_head(self, width).size),
            "centre": number.expand(width),
            "scale": number.expand(width),
        }
        require_like(tensors, pattern | (splines if isinstance(self.basis, str) else {}))
        scale = tensors["scale"].numpy()
        if (scale <= 0).any():
            raise ValueError("the columns' scale is not above 0")
        operator = Operator(kind=self.operator, self_loops=float(self.self_loops))
        self.features_ = GraphFeatures(basis, facts.channels, operator, self.hops, tensors["centre"].numpy(), scale)
        self.weights_, self.facts_ = tensors["weights"].numpy(), facts
        return self
