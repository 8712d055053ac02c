"""A plain graph neural network, no mitigation: the row that every fair method is compared with.

Paper: "Vanilla" of Table 3. Settings of the published runs: Adam 0.001, weight decay 1e-5, 1,000 epochs, the epoch with
the lowest validation loss. (The rule of the fair methods would keep an epoch that says yes to everybody.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from torch import Tensor, nn

from fairview.data.graph import NodeGraph
from fairview.methods.network import Network
from fairview.methods.network_method import NetworkMethod
from fairview.methods.parameters import Count, Rate, Weight
from fairview.nn.losses import classifier_loss
from fairview.nn.paths import Rows
from fairview.training.adam import Adam
from fairview.training.selection import LowestLoss, Rule


@dataclass(kw_only=True, eq=False, repr=False)
class Vanilla(NetworkMethod):
    """Encoder and linear classifier, trained on the labels alone.

    Args:
        learning_rate: of Adam.
        weight_decay: of Adam.
        selection: keep the epoch with the lowest validation `loss`, or the best by the `score` of the fair methods.

    Attributes:
        history_: losses, validation metrics and selection score of each epoch.
        best_epoch_: the epoch that was kept.

    Example:
        >>> import fairview as fv
        >>> graph = fv.load_dataset("german")
        >>> fv.Vanilla(encoder="gin", epochs=3).fit(graph).predict_proba(graph).shape
        (1000, 2)
    """

    search_space: ClassVar[Mapping[str, Sequence[Any]]] = {
        "dropout": (0.0, 0.5, 0.8),
        "hidden": (16, 32),
        "learning_rate": (0.0001, 0.001, 0.01),
    }

    epochs: Count = 1000
    learning_rate: Rate = 0.001
    weight_decay: Weight = 1e-5
    selection: Literal["loss", "score"] = "loss"

    def _network(self, graph: NodeGraph) -> VanillaNetwork:
        return VanillaNetwork(self, graph)

    def _rule(self, network: Network) -> Rule:
        if self.selection == "loss":
            return LowestLoss(lambda: network.validation_loss)
        return super()._rule(network)


class VanillaNetwork(Network):
    """One view, all ones, and the classifier's phase alone."""

    def __init__(self, method: Vanilla, graph: NodeGraph) -> None:
        super().__init__(method, graph)
        both = nn.ModuleList([self.encoder, self.classifier])
        self.optimisers = {
            "classifier": Adam(both.parameters(), method.learning_rate, weight_decay=method.weight_decay)
        }

    def epoch(self) -> dict[str, float]:
        masks = self.draw_masks()

        def loss_of(part: Rows, where: slice) -> Tensor:
            return classifier_loss(part.logits(masks, self.classifier), self.train_labels[where])

        return {"classifier": self.step("classifier", self.train_rows, loss_of)}
