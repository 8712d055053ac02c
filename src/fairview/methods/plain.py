"""What do the plain model and the methods built on it share? One Adam for encoder and classifier, and two rules.

Settings of the published plain runs: Adam 0.001, weight decay 1e-5, 1,000 epochs, the epoch with the lowest validation
loss. (The rule of the fair methods would keep an epoch that says yes to everybody.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from torch import nn

from fairview.data.graph import NodeGraph
from fairview.methods.network import Network
from fairview.methods.network_method import NetworkMethod
from fairview.methods.parameters import Rate, Rounds, Weight
from fairview.training.adam import Adam
from fairview.training.selection import LowestLoss, Rule

PLAIN_SPACE: Mapping[str, Sequence[Any]] = {
    "dropout": (0.0, 0.5, 0.8),
    "hidden": (16, 32),
    "learning_rate": (0.0001, 0.001, 0.01),
}
"""What may be tuned in any of them."""


@dataclass(kw_only=True, eq=False, repr=False)
class Plain(NetworkMethod):
    """A method that trains encoder and classifier together.

    Args:
        learning_rate: of Adam.
        weight_decay: of Adam.
        selection: keep the epoch with the lowest validation `loss`, or the best by the `score` of the fair methods.
    """

    epochs: Rounds = 1000
    learning_rate: Rate = 0.001
    weight_decay: Weight = 1e-5
    selection: Literal["loss", "score", "objective"] = "loss"

    def _rule(self, network: Network) -> Rule:
        if self.selection == "score":
            return super()._rule(network)
        return LowestLoss(lambda: network.validation_loss)


class PlainNetwork(Network):
    """One view, all ones, and one Adam; a subclass says what an epoch is."""

    def __init__(self, method: Plain, graph: NodeGraph) -> None:
        super().__init__(method, graph)
        both = nn.ModuleList([self.encoder, self.classifier])
        self.optimisers = {
            "classifier": Adam(both.parameters(), method.learning_rate, weight_decay=method.weight_decay)
        }
