"""A plain graph neural network, no mitigation: the row that every fair method is compared with.

Paper: "Vanilla" of Table 3. Settings of the published runs: Adam 0.001, weight decay 1e-5, 1,000 epochs, the epoch with
the lowest validation loss. (The rule of the fair methods would keep an epoch that says yes to everybody.)
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field
from torch import Tensor, nn

from fairview.data.graph import NodeGraph
from fairview.methods.fairvgnn import Rate, Threads, Weight
from fairview.methods.network import Network, NetworkMethod
from fairview.nn.encoders import EncoderKind
from fairview.nn.losses import classifier_loss
from fairview.nn.paths import PathKind, Rows
from fairview.propagation.operators import OperatorKind
from fairview.training.adam import Adam
from fairview.training.selection import LowestLoss, Rule


class Vanilla(NetworkMethod):
    """Encoder and linear classifier, trained on the labels alone.

    The parameters mean what they mean in `FairVGNN`; `learning_rate` and `weight_decay` are Adam's. `selection` keeps
    the epoch with the lowest validation `loss`, or the best by the `score` that the fair methods use.
    """

    def __init__(
        self,
        *,
        encoder: EncoderKind | nn.Module = "gcn",
        operator: OperatorKind | None = None,
        self_loops: Weight = 1.0,
        hidden: Annotated[int, Field(ge=1)] = 16,
        depth: Annotated[int, Field(ge=1)] | None = None,
        dropout: Annotated[float, Field(ge=0, lt=1)] = 0.5,
        learning_rate: Rate = 0.001,
        weight_decay: Weight = 1e-5,
        sensitive_channels: bool = True,
        epochs: Annotated[int, Field(ge=1)] = 1000,
        selection: Literal["loss", "score"] = "loss",
        selection_weight: Weight = 1.0,
        patience: Annotated[int, Field(ge=1)] | None = None,
        path: PathKind = "auto",
        precision: Literal["float32", "float64"] = "float32",
        device: str = "cpu",
        threads: Threads | None = None,
        seed: Annotated[int, Field(ge=0)] = 0,
    ) -> None:
        self.encoder = encoder
        self.operator = operator
        self.self_loops = self_loops
        self.hidden = hidden
        self.depth = depth
        self.dropout = dropout
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.sensitive_channels = sensitive_channels
        self.epochs = epochs
        self.selection = selection
        self.selection_weight = selection_weight
        self.patience = patience
        self.path = path
        self.precision = precision
        self.device = device
        self.threads = threads
        self.seed = seed

    def _network(self, graph: NodeGraph) -> Plain:
        return Plain(self, graph)

    def _rule(self, network: Network) -> Rule:
        if self.selection == "loss":
            return LowestLoss(lambda: network.validation_loss)
        return super()._rule(network)


class Plain(Network):
    """One view, all ones, and the classifier's phase alone."""

    def __init__(self, method: Vanilla, graph: NodeGraph) -> None:
        super().__init__(method, graph, views=1, masked=False)
        both = nn.ModuleList([self.encoder, self.classifier])
        self.optimisers = {
            "classifier": Adam(both.parameters(), method.learning_rate, weight_decay=method.weight_decay)
        }

    def epoch(self) -> dict[str, float]:
        masks = self.draw_masks()

        def loss_of(part: Rows, where: slice) -> Tensor:
            return classifier_loss(part.logits(masks, self.classifier), self.train_labels[where])

        return {"classifier": self.step("classifier", self.train_rows, loss_of)}
