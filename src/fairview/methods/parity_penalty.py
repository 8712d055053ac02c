"""Which nodes does the penalty compare, and how much does each count?

Every node whose group is known, by one attribute at least, and that is not held out, labelled or not. For statistical
parity each counts 1; for equal opportunity a positive counts 1 and a negative 0, and a node without a label in training
counts with its probability of being positive; equalized odds also compares the negatives in the same manner.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fairview.attributes import Attribute
from fairview.data.graph import BoolArray, NodeGraph
from fairview.errors import InputError, option
from fairview.groups import UNKNOWN
from fairview.methods.compared_groups import Compared, compared_groups
from fairview.methods.contract import grouped_nodes, open_nodes
from fairview.methods.parity_objective import Reals, group_contrasts

FEW = 50
"""Nodes of a group in the penalty below which a note says so."""


@dataclass(frozen=True)
class PenaltyWeights:
    """λ_sp, λ_eo and λ_odds."""

    statistical_parity_weight: float
    equal_opportunity_weight: float
    equalized_odds_weight: float

    @property
    def terms(self) -> list[tuple[float, str]]:
        """The weight of each distance that counts, and whom it compares."""
        halves = self.equalized_odds_weight / 2
        every = [
            (self.statistical_parity_weight, "nodes"),
            (self.equal_opportunity_weight + halves, "positives"),
            (halves, "negatives"),
        ]
        return [(weight, which) for weight, which in every if weight > 0]


WEIGHTS = tuple(PenaltyWeights.__dataclass_fields__)


def penalty_nodes(graph: NodeGraph) -> BoolArray:
    """Nodes of which a group is known, in no split but `train`.

    Example:
        >>> graph = NodeGraph.from_arrays(
        ...     features=np.zeros((4, 1)), edges=[[], []], sensitive=["f", "m", None, "m"],
        ...     splits={"train": [True, False, False, False], "val": [False, True, False, False]},
        ... )
        >>> penalty_nodes(graph).tolist()
        [True, False, False, True]
    """
    return open_nodes(graph) & grouped_nodes(graph)


def penalty_contrasts(
    graph: NodeGraph,
    rows: npt.NDArray[np.intp],
    weights: PenaltyWeights,
    positives: Callable[[], Reals],
    penalise: Compared | None = None,
) -> tuple[Reals, tuple[str, ...]]:
    """The contrasts of all penalties side by side (see `group_contrasts`), and what to know about them.

    Args:
        graph: whose groups are compared.
        rows: the nodes in the penalty.
        weights: of the penalties; without any, there are no columns. Several attributes share them.
        positives: the probability of the positive label of each of these nodes; called if a penalty needs it.
        penalise: between the groups of which attributes, see `compared_groups`.

    Raises:
        InputError: fewer than two groups are known among the nodes.
    """
    if not weights.terms:
        return np.empty((len(rows), 0)), ()
    attributes, notes = compared_groups(graph, penalise, penalty_nodes(graph))
    columns = [np.empty((len(rows), 0))]
    for attribute in attributes:
        of_attribute, more = _contrasts(attribute.at(rows), weights, positives, len(attributes))
        columns += of_attribute
        notes += more if len(attributes) == 1 else tuple(f"{attribute.name}: {note}" for note in more)
    return np.hstack(columns), notes


def _contrasts(
    attribute: Attribute, weights: PenaltyWeights, positives: Callable[[], Reals], share: int
) -> tuple[list[Reals], tuple[str, ...]]:
    """Of one attribute of the nodes in the penalty, with its share of the weights."""
    codes = attribute.codes
    found = np.unique(codes[codes != UNKNOWN])
    if len(found) < 2:
        asked, weight = next((name, value) for name, value in vars(weights).items() if value > 0)
        which = f"only group '{attribute.groups[found[0]]}' is known" if len(found) else "no group is known"
        raise InputError(
            f"Parity: {asked}={weight:g} compares the groups of '{attribute.name}', but {which} among the nodes "
            f"that are not held out. Say the group of more nodes, or pass {option(asked, 0.0)}."
        )
    member = (codes[:, None] == found).astype(np.float64)
    notes, columns = _notes_on_sizes(attribute), []
    for weight, which in weights.terms:
        shares = member
        if which != "nodes":
            probability = positives()
            shares = member * (probability if which == "positives" else 1 - probability)[:, None]
        present = shares.sum(axis=0) > 1e-9
        if present.sum() < 2:
            notes.append(f"The penalty on {which} was left out: fewer than two groups have any.")
        else:
            columns.append(group_contrasts(shares[:, present], weight / share))
    return columns, tuple(notes)


def _notes_on_sizes(attribute: Attribute) -> list[str]:
    notes = []
    for name, size in attribute.sizes.items():
        if size == 0:
            notes.append(f"Group '{name}' has no node in the penalty: its scores are not compared.")
        elif size < FEW:
            nodes = "1 node" if size == 1 else f"{size} nodes"
            notes.append(f"Group '{name}' has only {nodes} in the penalty: on other nodes its gap may be larger.")
    return notes
