"""Parity: a score on splines of the table and its neighbourhood, fitted so that the groups' scores agree.

The loss is convex but for the penalty, which has a closed gradient: seconds on tens of thousands of nodes, without an
adversary. The group is needed of nodes that the penalty sees, never of those that are predicted.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
import torch
from pydantic import Field
from scipy.special import expit

from fairview.data.graph import NodeGraph
from fairview.data.splits import with_default_split
from fairview.errors import InputError, did_you_mean, option, quoted
from fairview.groups import UNKNOWN
from fairview.methods.contract import Facts, Probabilities, channels_seen, features_like, require_fitted, training_rows
from fairview.methods.estimated_labels import estimated_labels
from fairview.methods.estimator import Estimator, require_like
from fairview.methods.parameters import Count, Seed, Weight
from fairview.methods.parity_features import GraphFeatures, OwnBasis
from fairview.methods.parity_heads import Head, LinearHead, MlpHead, PlainModel, minimised, plain_model, regularised
from fairview.methods.parity_objective import ParityObjective, Penalty, balanced_weights, group_contrasts
from fairview.methods.settings import check_settings
from fairview.methods.spline_features import SplineFeatures
from fairview.progress import track
from fairview.propagation.operators import Operator, OperatorKind
from fairview.training.state import State

Reals = npt.NDArray[np.float64]

WEIGHTS = ("statistical_parity_weight", "equal_opportunity_weight", "equalized_odds_weight")
TOLERANCE = 1e-7
"""A penalised fit ends where a step gains less, relative to the objective."""

FEW = 50
"""Nodes of a group in the penalty below which a note says so."""


@dataclass(frozen=True, eq=False)
class Prepared:
    """The columns that models of one graph share, whatever their weights: made by `Parity.prepare`, taken by `fit`.

    Attributes:
        features: the fitted map from a graph to columns.
        z: the graph's columns.
        graph: whose channels and links they were made of.
        settings: the parameters that they depend on.
    """

    features: GraphFeatures
    z: Reals
    graph: NodeGraph
    settings: Mapping[str, Any]


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
    hops: Annotated[int, Field(ge=0, le=100)] = 2
    operator: OperatorKind = "mean"
    self_loops: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 1.0
    head: Literal["linear", "mlp"] = "linear"
    hidden: Count = 32
    restarts: Count = 3
    l2: Annotated[float, Field(gt=0, le=1e30)] = 0.01
    penalty: Penalty = "energy"
    statistical_parity_weight: Weight = 3.0
    equal_opportunity_weight: Weight = 0.0
    equalized_odds_weight: Weight = 0.0
    class_balanced: bool = True
    max_iterations: Count = 200
    sensitive_channels: bool = False
    seed: Seed = 1

    def fit(self, graph: NodeGraph, *, prepared: Prepared | None = None) -> Self:
        """Learn from the train split, with the groups of all nodes that are not held out.

        Args:
            graph: with a split `train`.
            prepared: what `prepare` returned for this graph, so that its columns are not made again.
        """
        check_settings(type(self), self.get_params(deep=False))
        fitting = _Fitting(self, graph, prepared)
        with track("Parity", fitting.steps(self)) as advance:
            fitting.finish(self, advance)
        return self

    def path(
        self,
        graph: NodeGraph,
        weights: Sequence[float] = (0, 1, 3, 10, 30, 100),
        *,
        of: str = "statistical_parity_weight",
        prepared: Prepared | None = None,
    ) -> list[Self]:
        """A fitted model for each weight of a penalty; the same as fitting each alone, in less time.

        Args:
            graph: with a split `train`.
            weights: values of the parameter `of`.
            of: which weight to vary.
            prepared: what `prepare` returned for this graph.

        Example:
            >>> import fairview as fv
            >>> graph = fv.load_dataset("german")
            >>> [model.statistical_parity_weight for model in fv.Parity().path(graph, (0, 3))]
            [0.0, 3.0]
        """
        if of not in WEIGHTS:
            raise InputError(f"of: no weight '{of}'.{did_you_mean(of, WEIGHTS)}")
        models = [copy.copy(self).set_params(**{of: float(weight)}) for weight in weights]
        for model in models:
            check_settings(type(model), model.get_params(deep=False))
        if not models:
            return []
        fitting = _Fitting(self, graph, prepared)
        with track("Parity", sum(map(fitting.steps, models))) as advance:
            for model in models:
                fitting.finish(model, advance)
        return models

    def prepare(self, graph: NodeGraph) -> Prepared:
        """The columns of a graph, for many fits.

        They serve every model with the same basis, knots, operator, self-loops and sensitive channels and at most as
        many hops, and every graph with the same channels and links: other splits, labels and groups.
        """
        check_settings(type(self), self.get_params(deep=False))
        channels = channels_seen(graph, self.sensitive_channels)
        if not channels:
            raise InputError(
                "Parity: the graph has no channel but those of the sensitive attribute; pass more channels, or "
                f"{option('sensitive_channels', True)}."
            )
        basis = self.basis
        if isinstance(basis, str):
            knots = self.knots if basis == "splines" else 0
            basis = SplineFeatures.fit(features_like(graph, channels), knots=knots)
        operator = Operator(kind=self.operator, self_loops=float(self.self_loops))
        features, z = GraphFeatures.fit(graph, basis, channels, operator, self.hops)
        return Prepared(features, z, graph, {name: getattr(self, name) for name in _SHARED})

    def predict_proba(self, graph: NodeGraph) -> Probabilities:
        require_fitted(self)
        positive = expit(self._logits(self.features_(graph)))
        return np.stack([1 - positive, positive], axis=1)

    def _logits(self, z: Reals) -> Reals:
        """The mean over the restarts."""
        head = self._head(self.features_.width)
        found: Reals = np.mean([head.scores(theta, z) for theta in self.weights_], axis=0)
        return found

    def _head(self, width: int) -> LinearHead | MlpHead:
        return LinearHead(width) if self.head == "linear" else MlpHead(width, self.hidden)

    def tensors(self) -> State:
        require_fitted(self)
        return {"weights": torch.from_numpy(self.weights_)} | self.features_.tensors()

    def restore(self, tensors: State, facts: Facts) -> Self:
        check_settings(type(self), self.get_params(deep=False))
        own = callable(self.basis)
        basis = self.basis if callable(self.basis) else SplineFeatures.restore(tensors, len(facts.channels))
        per_hop = tensors["centre"].numel() // (self.hops + 1) if own else len(basis.channel_of)
        width = per_hop * (self.hops + 1)
        rows = self.restarts if self.head == "mlp" else 1
        number = torch.empty((), dtype=torch.float64, device="meta")
        pattern = {
            "weights": number.expand(rows, self._head(width).size),
            "centre": number.expand(width),
            "scale": number.expand(width),
        }
        require_like({name: t for name, t in tensors.items() if own or not name.startswith("splines.")}, pattern)
        scale = tensors["scale"].numpy()
        if (scale <= 0).any():
            raise ValueError("the columns' scale is not above 0")
        operator = Operator(kind=self.operator, self_loops=float(self.self_loops))
        self.features_ = GraphFeatures(basis, facts.channels, operator, self.hops, tensors["centre"].numpy(), scale)
        self.weights_, self.facts_ = tensors["weights"].numpy(), facts
        return self


_SHARED = ("basis", "knots", "operator", "self_loops", "sensitive_channels")


class _Fitting:
    """What models of one graph that differ in their weights share: columns, labels, groups, the plain model."""

    def __init__(self, method: Parity, graph: NodeGraph, prepared: Prepared | None) -> None:
        self.graph, self.notes = with_default_split(graph)
        self.method = method
        train = training_rows(self.graph)
        self.held_out = np.zeros(self.graph.num_nodes, dtype=np.bool_)
        for name, mask in self.graph.splits.items():
            self.held_out |= mask & (name != "train")
        grouped = np.flatnonzero((self.graph.sensitive != UNKNOWN) & ~self.held_out)
        prepared = method.prepare(graph) if prepared is None else _checked(prepared, method, graph)
        self.features = prepared.features.up_to(method.hops)
        # the rows that count, each once: the train split first
        rest = grouped[~np.isin(grouped, train)]
        self.rows = np.concatenate([train, rest])
        self.z = prepared.z[self.rows, : self.features.width]
        self.train = np.arange(len(train))
        known = self.graph.sensitive[self.rows] != UNKNOWN
        self.grouped = np.flatnonzero(known)
        self.codes = self.graph.sensitive[self.rows[self.grouped]]
        positive = self.graph.labels[train] == 1
        self.signs = np.where(positive, 1.0, -1.0)
        self.label_weights = (
            balanced_weights(positive) if method.class_balanced else np.full(len(train), 1 / len(train))
        )
        self.plain: PlainModel = plain_model(self.z[self.train], self.signs, self.label_weights, method.l2)
        self._positives: Reals | None = None
        self._starts: dict[int, Reals] = {}

    def steps(self, model: Parity) -> int:
        return model.restarts if model.head == "mlp" else 1

    def finish(self, model: Parity, advance: Any) -> None:
        """Set what `fit` learns; nothing is set before all of it is there."""
        contrasts, notes = self.contrasts(model)
        objective = ParityObjective(self.train, self.signs, self.label_weights, self.grouped, contrasts, model.penalty)
        weights = []
        for restart in range(self.steps(model)):
            weights.append(self.minimum(model, objective, restart))
            advance(1)
        model.weights_, model.features_ = np.stack(weights), self.features
        model.facts_ = Facts.of(self.graph, self.features.channels)
        model.notes_ = (*self.notes, *notes)

    def minimum(self, model: Parity, objective: ParityObjective, restart: int) -> Reals:
        """θ of one head."""
        head: Head = model._head(self.features.width)
        penalised = objective.contrasts.shape[1] > 0
        if isinstance(head, MlpHead):
            if restart not in self._starts:
                alone = ParityObjective(
                    self.train, self.signs, self.label_weights, self.grouped[:0], np.empty((0, 0)), model.penalty
                )
                plain = regularised(head, alone, self.z[: len(self.train)], model.l2)
                start = head.start([model.seed, restart])
                self._starts[restart] = minimised(
                    plain, start, max_iterations=model.max_iterations, tolerance=TOLERANCE
                )
            start, factor = self._starts[restart], None
        else:
            start, factor = self.plain.theta, self.plain.factor
        if not penalised:
            return start
        function = regularised(head, objective, self.z, model.l2)
        return minimised(function, start, max_iterations=model.max_iterations, tolerance=TOLERANCE, factor=factor)

    def contrasts(self, model: Parity) -> tuple[Reals, list[str]]:
        """The penalties' contrasts side by side, each scaled by its weight; and what to say of them."""
        terms: list[tuple[float, Literal["all", "positives", "negatives"]]] = [
            (model.statistical_parity_weight, "all"),
            (model.equal_opportunity_weight + model.equalized_odds_weight / 2, "positives"),
            (model.equalized_odds_weight / 2, "negatives"),
        ]
        terms = [(weight, which) for weight, which in terms if weight > 0]
        if not terms:
            return np.empty((len(self.grouped), 0)), []
        found = np.unique(self.codes)
        if len(found) < 2:
            asked = next(name for name in WEIGHTS if getattr(model, name) > 0)
            raise InputError(
                f"Parity: {asked}={getattr(model, asked):g} compares groups, but of the nodes that are not held out "
                f"{_named(self.graph, found)} of '{self.graph.sensitive_name}'. Tell the group of more nodes, or pass "
                f"{option(asked, 0)}."
            )
        notes = []
        sizes = np.bincount(self.codes, minlength=len(self.graph.groups))
        for name, size in zip(self.graph.groups, sizes, strict=True):
            if size == 0:
                notes.append(f"Group '{name}' has no node in the penalty: its gap is not held down.")
            elif size < FEW:
                notes.append(f"Group '{name}' has only {size} nodes in the penalty: its gap elsewhere may differ.")
        member = (self.codes[:, None] == found).astype(np.float64)
        columns = []
        for weight, which in terms:
            shares = member * self.shares(which)[:, None]
            present = shares.sum(axis=0) > 1e-9
            if present.sum() < 2:
                notes.append(f"Fewer than two groups have {which} in the penalty: it was left out.")
                continue
            columns.append(group_contrasts(shares[:, present], weight))
        return (np.hstack(columns) if columns else np.empty((len(self.grouped), 0))), notes

    def shares(self, which: str) -> Reals:
        """How much each node in the penalty counts: 1, or its probability of the positive or the negative label."""
        if which == "all":
            return np.ones(len(self.grouped))
        if self._positives is None:
            z, train = self.z, len(self.train)
            found = np.empty(len(z))
            found[:train] = self.signs > 0
            if len(z) > train:
                found[train:] = estimated_labels(self.plain, z[train:], z[:train], self.signs, self.label_weights)
            self._positives = found[self.grouped]
        return self._positives if which == "positives" else 1 - self._positives


def _checked(prepared: Prepared, method: Parity, graph: NodeGraph) -> Prepared:
    """Only columns of this graph's channels and links, made as the method would make them."""
    wrong = [name for name in _SHARED if prepared.settings[name] != getattr(method, name)]
    if method.hops > prepared.features.hops:
        wrong.append("hops")
    if wrong:
        raise InputError(f"prepared: made with other settings of {quoted(wrong)}; call prepare of this model.")
    mine, its = graph, prepared.graph
    same = mine is its or (
        mine.channels == its.channels
        and mine.sensitive_channels == its.sensitive_channels
        and mine.adjacency.directed == its.adjacency.directed
        and np.array_equal(mine.features, its.features)
        and np.array_equal(mine.adjacency.indptr, its.adjacency.indptr)
        and np.array_equal(mine.adjacency.indices, its.adjacency.indices)
    )
    if not same:
        raise InputError("prepared: made of a graph with other channels or links; call prepare(graph) with this one.")
    return prepared


def _named(graph: NodeGraph, codes: npt.NDArray[np.integer]) -> str:
    return f"all known are in the one group '{graph.groups[codes[0]]}'" if len(codes) else "none has a known group"
