"""A plain graph neural network: the row that every fair method is compared with, and one that a penalty makes fair.

Paper: "Vanilla" of Table 3, without mitigation. With a weight above 0 its loss also has the distance between the
groups' logits, whatever the encoder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from fairview.data.graph import NodeGraph
from fairview.methods.compared_groups import compared_groups
from fairview.methods.penalised import Penalised, PenalisedNetwork
from fairview.methods.plain import PLAIN_SPACE, Plain, PlainNetwork
from fairview.nn.calibration import calibrated_loss


@dataclass(kw_only=True, eq=False, repr=False)
class Vanilla(Plain, Penalised):
    """Encoder and linear classifier, trained on the labels, and on the distance between groups if it has a weight.

    Args:
        selection: keep the epoch with the lowest cross-entropy on validation (`loss`), or the best by the `score` of
            the fair methods, or by the `objective`: cross-entropy of the logits at their best scale, each class with
            its share of the train labels, plus the weighted distance. With a weight above 0, `loss` is the `objective`.

    Attributes:
        history_: losses, validation metrics and selection score of each epoch.
        best_epoch_: the epoch that was kept.

    Example:
        >>> import fairview as fv
        >>> graph = fv.load_dataset("german")
        >>> fv.Vanilla(encoder="gin", epochs=3).fit(graph).predict_proba(graph).shape
        (1000, 2)
        >>> fv.Vanilla(epochs=3, statistical_parity_weight=10.0).fit(graph).predict_proba(graph).shape
        (1000, 2)
    """

    search_space: ClassVar[Mapping[str, Sequence[Any]]] = {
        **PLAIN_SPACE,
        "learning_rate": (0.003, 0.01, 0.03),
        "epochs": (100, 500),
        "statistical_parity_weight": (0.0, 1.0, 3.0, 10.0, 30.0, 100.0),
        "selection": ("objective", "loss"),  # they differ without a weight
    }

    def _network(self, graph: NodeGraph) -> VanillaNetwork:
        return VanillaNetwork(self, graph)


class VanillaNetwork(PenalisedNetwork, PlainNetwork):
    """One view, all ones, and the classifier's phase alone."""

    method: Vanilla

    def __init__(self, method: Vanilla, graph: NodeGraph) -> None:
        super().__init__(method, graph)
        self.by_objective = method.selection == "objective" or method.penalty_weight > 0
        self.val_contrasts: Tensor | None = None
        if method.penalty_weight:
            val = graph.split("val") & graph.labelled
            compared, _ = compared_groups(graph, method.penalise, val)
            groups = [torch.from_numpy(each.codes[val]) for each in compared]
            self.val_contrasts = self.distance.contrasts_of(groups, torch.from_numpy(graph.labels[val]).double())

    def epoch(self) -> dict[str, float]:
        return {"classifier": self.classifier_step(self.draw_masks())}

    def validation_objective(self, logits: Tensor) -> Tensor:
        """The loss on val, whatever the logits' scale; the penalty's own nodes stand in if val has no groups."""
        if not self.by_objective:
            return super().validation_objective(logits)
        weights = shares_of_classes(self.val_labels, self.train_labels)
        loss = calibrated_loss(logits[0, :, 0], self.val_labels, weights)
        if not self.method.penalty_weight:
            return loss
        contrasts = self.val_contrasts
        if contrasts is None:
            logits, contrasts = self.evaluation_logits(self.distance.rows), self.distance.contrasts
        return loss + self.method.penalty_weight * self.distance_of(logits, contrasts)


def shares_of_classes(labels: Tensor, like: Tensor) -> Tensor | None:
    """A weight for each label, so that either class has the share that it has in other labels.

    Splits often have as many train labels of one class as of the other, and the population's shares in val.

    Returns:
        None where a class is absent.

    Example:
        >>> shares_of_classes(torch.tensor([0.0, 1.0, 1.0, 1.0]), like=torch.tensor([0.0, 1.0])).tolist()
        [2.0, 0.6666666865348816, 0.6666666865348816, 0.6666666865348816]
    """
    share, wanted = labels.mean(), like.mean()
    if not 0 < share < 1:
        return None
    return torch.where(labels > 0, wanted / share, (1 - wanted) / (1 - share))
