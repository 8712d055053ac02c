"""How does a network keep the groups' logits together? By a distance between them, as a term of the classifier's loss.

The distance is taken over every node whose group is known and that is not held out, labelled or not: statistical parity
needs no labels. Held out are the nodes of all splits but `train`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from fairview.data.graph import NodeGraph
from fairview.errors import InputError, quoted
from fairview.methods.compared_groups import Compared, compared_groups, written_params
from fairview.methods.contract import grouped_nodes, open_nodes, training_rows
from fairview.methods.network import Network
from fairview.methods.network_method import NetworkMethod
from fairview.methods.parameters import Nodes, Share, Weight
from fairview.methods.positive_probability import positive_probability
from fairview.methods.terms import Term, joined
from fairview.nn.group_distance import DISTANCES, Penalty, group_contrasts
from fairview.nn.losses import classifier_loss
from fairview.nn.paths import Rows, Where, Whole


@dataclass(kw_only=True, eq=False, repr=False)
class Penalised(NetworkMethod):
    """A method whose classifier can also minimise the distance between the groups' logits.

        cross-entropy of the labels + λ_sp D + λ_eo D(positives) + λ_odds (D(positives) + D(negatives)) / 2

    Args:
        penalty: D, the `energy` distance between the groups' logits, which compares them at all thresholds, or the gap
            at the `threshold` one half.
        statistical_parity_weight: λ_sp.
        equal_opportunity_weight: λ_eo. A node counts as positive by its training label, elsewhere by the calibrated
            score of a logistic regression.
        equalized_odds_weight: λ_odds.
        penalty_ramp: share of the epochs over which the weights grow to their value; without it, a large weight may
            leave the classifier where it happened to start.
        penalty_sample: draw so many nodes for the distance of each step; None takes all.
        penalise: between the groups of which sensitive attributes, where there are several: names of some, such as
            `race`, or `race & sex` for their combinations; by default of each, and of the combinations.
    """

    penalty: Penalty = "energy"
    statistical_parity_weight: Weight = 0.0
    equal_opportunity_weight: Weight = 0.0
    equalized_odds_weight: Weight = 0.0
    penalty_ramp: Share = 0.5
    penalty_sample: Nodes | None = None
    penalise: Compared | None = None

    def plain_params(self) -> dict[str, Any]:
        return written_params(super().plain_params())

    @property
    def penalty_weight(self) -> float:
        """The sum of the three weights; 0 trains on the labels alone."""
        return self.statistical_parity_weight + self.equal_opportunity_weight + self.equalized_odds_weight

    def divisible(self) -> bool:
        """Without the distance, which compares all nodes with each other."""
        return self.collapsed and not self.penalty_weight


class PenalisedNetwork(Network):
    """A network with the classifier's step, on the labels and on the distance between the groups."""

    method: Penalised
    classifier_steps = 1
    """In an epoch."""

    def __init__(self, method: Any, graph: NodeGraph, **options: Any) -> None:
        super().__init__(method, graph, **options)
        self.heads = self.classifier
        self.last_rows: tuple[list[npt.NDArray[np.intp]], Rows] = [], self.train_rows

    @cached_property
    def distance(self) -> GroupDistance:
        """Between the groups of the nodes that training may know."""
        return GroupDistance(self)

    def classifier_step(self, masks: Tensor) -> float:
        """One step on the labels of the train nodes, and on the further terms of the loss."""
        further = self.further_terms(masks)
        if not further:
            return self.step("classifier", self.train_rows, lambda part, where: self.label_loss(part, where, masks))
        terms = [self.label_term, *further]
        return self.step("classifier", self.rows_of(terms), joined(terms, lambda part: part.logits(masks, self.heads)))

    def further_terms(self, masks: Tensor) -> list[Term]:  # noqa: ARG002 - a subclass may look at them
        """What the classifier minimises beside the labels' loss: λ times the distance between the groups."""
        if not self.method.penalty_weight:
            return []
        nodes, contrasts = self.distance.chosen()
        weight = self.method.penalty_weight * self.reached
        return [Term(nodes, lambda logits, _: weight * self.distance_of(logits[..., :1], contrasts), whole=True)]

    @cached_property
    def label_term(self) -> Term:
        """The cross-entropy of the labels, as a term."""
        labels = self.train_labels
        return Term(training_rows(self.graph), lambda logits, where: classifier_loss(logits[..., :1], labels[where]))

    def rows_of(self, terms: Sequence[Term]) -> Rows:
        """The nodes of some terms behind each other; the last ones are kept, as most are the same in every step."""
        nodes, (last, rows) = [term.nodes for term in terms], self.last_rows
        if len(nodes) != len(last) or any(one is not other for one, other in zip(nodes, last, strict=True)):
            rows = self.path.on(np.concatenate(nodes))
            rows = Whole(rows) if any(term.whole for term in terms) else rows
            self.last_rows = nodes, rows
        return rows

    @property
    def reached(self) -> float:
        """Share of their value that the weights have in the next step."""
        ramp = self.method.penalty_ramp * self.method.epochs * self.classifier_steps
        return min(1.0, (self.optimisers["classifier"].steps + 1) / max(ramp, 1))

    def label_loss(self, part: Rows, where: Where, masks: Tensor) -> Tensor:
        """The cross-entropy of the labels of some train nodes."""
        return classifier_loss(part.logits(masks, self.classifier), self.train_labels[where])

    def distance_of(self, logits: Tensor, contrasts: Tensor) -> Tensor:
        """D between the groups' logits, (views, nodes, 1)."""
        return DISTANCES[self.method.penalty](logits, contrasts)


class GroupDistance:
    """The nodes that a distance looks at, and the weight that each has in it.

    The three distances add up with the shares of their weights, λ / Σ λ; without any weight, that for statistical
    parity stands alone. Scaled by the root of its share, a contrast is one row of `contrasts`, and all are one pass.
    """

    def __init__(self, network: Network, among: npt.NDArray[np.bool_] | None = None) -> None:
        method, graph = network.method, network.graph
        weights = (method.statistical_parity_weight, method.equal_opportunity_weight, method.equalized_odds_weight)
        total = sum(weights)
        self.network = network
        self.shares = [weight / total for weight in weights] if total else [1.0, 0.0, 0.0]
        known = open_nodes(graph) & grouped_nodes(graph)
        known = known if among is None else known & among
        self.nodes = np.flatnonzero(known)
        self.attributes, notes = compared_groups(graph, method.penalise, known)
        network.notes = (*network.notes, *notes)
        self.groups = [torch.from_numpy(each.codes[self.nodes].astype(np.int64)) for each in self.attributes]
        self.positive: Tensor | None = None
        if self.shares[1] or self.shares[2]:
            self.positive = torch.from_numpy(positive_probability(graph)[self.nodes])
        contrasts = self.contrasts_of(self.groups, self.positive)
        if contrasts is None:
            names = quoted(each.name for each in self.attributes)
            raise InputError(
                f"train: the distance between groups needs two of them; {names} is known for {len(self.nodes):,} nodes "
                f"that are not held out, of fewer than two groups{self._of_positives}. "
                "Set the weights of the distance to 0, or draw other splits."
            )
        self.contrasts = contrasts

    @property
    def _of_positives(self) -> str:
        return "" if self.positive is None else " or of fewer than two with positives and negatives"

    def contrasts_of(self, groups: Sequence[Tensor], positive: Tensor | None) -> Tensor | None:
        """All contrasts of some nodes, (contrasts, nodes); None where one of them lacks a second group.

        Args:
            groups: the nodes' codes, (nodes,), for each attribute that is compared.
            positive: how likely each node is positive, where that matters.
        """
        parity, opportunity, odds = self.shares
        found: list[tuple[float, Tensor | None]] = [(parity, None)]
        if positive is not None:
            found += [(opportunity + odds / 2, positive), (odds / 2, 1 - positive)]
        rows = [
            (share / len(groups), group_contrasts(codes, weights))
            for codes in groups
            for share, weights in found
            if share
        ]
        if any(row is None for _, row in rows):
            return None
        return torch.cat([share**0.5 * row for share, row in rows if row is not None]).to(self.network.device)

    def chosen(self) -> tuple[npt.NDArray[np.intp], Tensor]:
        """The nodes of a step, and their contrasts."""
        size = self.network.method.penalty_sample
        if size is None or size >= len(self.nodes):
            return self.nodes, self.contrasts
        chosen = torch.randint(len(self.nodes), (size,), generator=self.network.streams["penalty"])
        groups = [codes[chosen] for codes in self.groups]
        contrasts = self.contrasts_of(groups, None if self.positive is None else self.positive[chosen])
        if contrasts is None:  # a small sample may lack a group: there is nothing to compare
            contrasts = torch.zeros((1, size), dtype=torch.float64, device=self.network.device)
        return self.nodes[chosen.numpy()], contrasts

    def draw(self) -> tuple[Rows, Tensor]:
        """The same, ready to be predicted."""
        nodes, contrasts = self.chosen()
        return self.rows if nodes is self.nodes else Whole(self.network.path.on(nodes)), contrasts

    @cached_property
    def rows(self) -> Rows:
        """All its nodes."""
        return Whole(self.network.path.on(self.nodes))
