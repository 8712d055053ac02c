"""How is a `Parity` model found? Columns, labels and groups are made once; each weight of the penalty is one descent.

Every descent starts at the model without a penalty, which is the same for all weights. A model on a path of weights is
therefore the same as the model fitted alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from fairview.data.graph import NodeGraph
from fairview.data.splits import with_default_split
from fairview.errors import InputError, quoted
from fairview.methods.contract import training_rows
from fairview.methods.estimated_labels import estimated_labels
from fairview.methods.parity_features import GraphFeatures
from fairview.methods.parity_heads import LinearHead, MlpHead, PlainModel, minimised, plain_model, regularised
from fairview.methods.parity_objective import ParityObjective, Reals, balanced_weights
from fairview.methods.parity_penalty import PenaltyWeights, penalty_contrasts, penalty_nodes

if TYPE_CHECKING:
    from fairview.methods.parity import Parity

TOLERANCE = {"linear": 1e-7, "mlp": 1e-5}
"""A descent ends where a step gains less, relative to the objective. Other weights of an mlp differ by more anyway."""

SHARED = ("basis", "knots", "operator", "self_loops", "sensitive_channels")
"""The parameters that the columns depend on, beside `hops`."""


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

    def check(self, method: Parity, graph: NodeGraph) -> None:
        """Only for this graph's channels and links, and only as the method would have made them."""
        wrong = [name for name in SHARED if self.settings[name] != getattr(method, name)]
        if method.hops > self.features.hops:
            wrong.append("hops")
        if wrong:
            raise InputError(
                f"prepared: made with other settings of {quoted(wrong)}; call prepare(graph) of this model."
            )
        mine, given = self.graph, graph
        same = mine is given or (
            mine.channels == given.channels
            and mine.sensitive_channels == given.sensitive_channels
            and np.array_equal(mine.features, given.features)
            and mine.adjacency.equals(given.adjacency)
        )
        if not same:
            raise InputError(
                "prepared: made from a graph with other channels or links; call prepare(graph) with this one."
            )


class Fitting:
    """What all weights of a penalty share on one graph.

    Args:
        method: whose columns, head, l2 and classes' balance are taken; its weights are not looked at.
        graph: with its splits, labels and groups.
        prepared: the columns, if they are made already.
    """

    def __init__(self, method: Parity, graph: NodeGraph, prepared: Prepared | None) -> None:
        self.method = method
        self.graph, self.notes = with_default_split(graph)
        train = training_rows(self.graph)
        if prepared is None:
            prepared = method.prepare(graph)
        else:
            prepared.check(method, graph)
        compared = penalty_nodes(self.graph)
        self.features = prepared.features.up_to(method.hops)
        rest = compared.copy()
        rest[train] = False
        self.rows = np.concatenate([train, np.flatnonzero(rest)])  # labelled ones first, each node once
        self.labelled = np.arange(len(train))
        self.compared = np.flatnonzero(compared[self.rows])
        # by columns: both products with Z read memory in order
        self.z = np.asfortranarray(prepared.z[self.rows, : self.features.width])
        positive = self.graph.labels[train] == 1
        self.signs = np.where(positive, 1.0, -1.0)
        even = np.full(len(train), 1 / len(train))
        self.weights = balanced_weights(positive) if method.class_balanced else even
        self._plain_networks: dict[int, Reals] = {}

    def descents(self) -> int:
        """How many heads a model has."""
        return self.method.restarts if self.method.head == "mlp" else 1

    def heads(self, model: Parity, advance: Callable[[int], None]) -> tuple[Reals, tuple[str, ...]]:
        """θ of each head of a model, (heads, numbers), and what to know about the fit."""
        weights = PenaltyWeights(*(float(getattr(model, name)) for name in PenaltyWeights.__dataclass_fields__))
        compared = self.rows[self.compared]
        contrasts, notes = penalty_contrasts(self.graph, compared, weights, lambda: self._positives, model.penalise)
        found = []
        for restart in range(self.descents()):
            found.append(self._head_of(model, contrasts, restart))
            advance(1)
        return np.stack(found), (*self.notes, *notes)

    def _head_of(self, model: Parity, contrasts: Reals, restart: int) -> Reals:
        """θ of one head: the plain one, and from there down to the minimum with the penalty."""
        head = make_head(model, self.features.width)
        if isinstance(head, MlpHead):
            start, factor = self._plain_network(head, restart), None
        else:
            start, factor = self._plain.theta, self._plain.factor
        if contrasts.shape[1] == 0:
            return start
        objective = ParityObjective(self.labelled, self.signs, self.weights, self.compared, contrasts, model.penalty)
        function = regularised(head, objective, self.z, model.l2)
        return minimised(
            function, start, max_iterations=model.max_iterations, tolerance=TOLERANCE[model.head], factor=factor
        )

    @cached_property
    def _plain(self) -> PlainModel:
        return plain_model(self.z[self.labelled], self.signs, self.weights, self.method.l2)

    def _plain_network(self, head: MlpHead, restart: int) -> Reals:
        if restart not in self._plain_networks:
            objective = ParityObjective.without_penalty(self.signs, self.weights)
            function = regularised(head, objective, self.z[self.labelled], self.method.l2)
            self._plain_networks[restart] = minimised(
                function,
                head.start([self.method.seed, restart]),
                max_iterations=self.method.max_iterations,
                tolerance=TOLERANCE["mlp"],
            )
        return self._plain_networks[restart]

    @cached_property
    def _positives(self) -> Reals:
        """The probability of the positive label of each compared node: 0 or 1 where it was learnt from."""
        known = len(self.labelled)
        found = np.zeros(len(self.rows))
        found[:known] = self.signs > 0
        if len(self.rows) > known:
            codes = self.graph.sensitive[self.rows]
            found[known:] = estimated_labels(self._plain, self.z, codes, self.signs, self.weights)
        return found[self.compared]


def make_head(method: Parity, width: int) -> LinearHead | MlpHead:
    """The head that the parameters describe."""
    return LinearHead(width) if method.head == "linear" else MlpHead(width, method.hidden)
