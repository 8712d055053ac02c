"""What can nodes without a label teach a network with views? A loss that needs neither labels nor groups.

The paper plans "to leverage self-supervised learning to constrain the bias" (section 7) and defines nothing. Two such
losses are offered, as a term of the classifier's: the views of a node should get the same answer, or tell what their
masks hide. Both look at every node that is not held out: held out are the nodes of all splits but `train`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from fairview.data.graph import NodeGraph
from fairview.data.sharded_graph import ShardedGraph
from fairview.errors import InputError
from fairview.methods.contract import open_nodes
from fairview.methods.parameters import Nodes, Weight
from fairview.methods.penalised import Penalised, PenalisedNetwork
from fairview.methods.terms import Term
from fairview.nn.losses import agreement_loss, reconstruction_loss
from fairview.nn.side_by_side import SideBySide


@dataclass(kw_only=True, eq=False, repr=False)
class SelfSupervised(Penalised):
    """A method with several views whose classifier's phase can also learn from nodes without a label.

    Args:
        self_supervision: `agreement` minimises the variance over the views of each node's probability;
            `reconstruction` lets a further linear head tell, from a view's representation, the channels that the view
            masked, standardised, but those of the sensitive attribute; `none` learns from the labels alone. Held-out
            nodes are in neither.
        self_supervision_weight: of this term of the classifier's loss.
        self_supervision_sample: draw so many nodes for this term of each step; None takes all.
    """

    self_supervision: Literal["none", "agreement", "reconstruction"] = "none"
    self_supervision_weight: Weight = 1.0
    self_supervision_sample: Nodes | None = None

    @classmethod
    def idle_self_supervision(cls, settings: Mapping[str, Any]) -> list[str]:
        """What is wrong: the views must differ, and reconstruction needs an encoder that its phase may update."""

        def given(name: str) -> Any:
            return settings.get(name, getattr(cls, name))

        kind = given("self_supervision")
        if kind == "none":
            return []
        problems, here = [], f"{cls.__name__}: self_supervision='{kind}'"
        if not given("feature_masks") and given("link_kinds") is None:
            problems.append(f"{here} needs masks, and feature_masks is False. Leave one of them out.")
        elif kind == "agreement" and given("views") < 2:
            problems.append(f"{here} compares views, and there is 1. Set views to 2 or more, or use 'reconstruction'.")
        if kind == "reconstruction" and "classifier" not in given("encoder_updates"):
            rests = "teaches the encoder in the classifier's phase. Add 'classifier' to encoder_updates."
            problems.append(f"{here} {rests}")
        return problems

    @property
    def learns_unlabelled(self) -> bool:
        """Whether there is such a term."""
        return self.self_supervision != "none" and self.self_supervision_weight > 0

    def divisible(self) -> bool:
        """But for reconstruction, whose targets are standardised over all nodes."""
        return super().divisible() and not (self.learns_unlabelled and self.self_supervision == "reconstruction")


class SelfSupervisedNetwork(PenalisedNetwork):
    """A network whose classifier's step may have a term without labels."""

    method: SelfSupervised
    reconstruction: nn.Linear
    """The head that tells hidden channels; only where it is asked for."""

    def __init__(self, method: SelfSupervised, graph: NodeGraph, **options: Any) -> None:
        super().__init__(method, graph, **options)
        if method.learns_unlabelled and method.self_supervision == "reconstruction":
            if isinstance(graph, ShardedGraph):
                raise InputError(
                    "several processes: self_supervision='reconstruction' standardises channels over all nodes, and "
                    "none has them all. Use 'agreement', or train in one process."
                )
            self.hideable = hideable_channels(graph, self.channels)
            self.reconstruction = self.head("reconstruction", len(self.hideable))
            self.heads = cast("nn.Linear", SideBySide(self.classifier, self.reconstruction))

    @property
    def training_modules(self) -> dict[str, nn.Module]:
        own = {"reconstruction": self.reconstruction} if hasattr(self, "reconstruction") else {}
        return super().training_modules | own

    def further_terms(self, masks: Tensor) -> list[Term]:
        terms = super().further_terms(masks)
        return [*terms, self.unlabelled_term(masks)] if self.method.learns_unlabelled else terms

    def unlabelled_term(self, masks: Tensor) -> Term:
        """The self-supervised loss of a step, for the views that these masks make."""
        method = self.method
        nodes, weight = self.unlabelled_nodes(), method.self_supervision_weight
        if method.self_supervision == "agreement":
            return Term(nodes, lambda outputs, _: weight * agreement_loss(outputs))
        by_channel = masks.view(len(masks), self.encoder.blocks, -1).mean(dim=1)  # hidden at some hops: by their share
        masks, targets = by_channel[:, self.hideable], self.targets

        def loss(outputs: Tensor, places: Tensor) -> Tensor:
            return weight * reconstruction_loss(outputs[..., 1:], masks, targets[nodes[places.numpy()]])

        return Term(nodes, loss)

    def unlabelled_nodes(self) -> npt.NDArray[np.intp]:
        """Those that a step learns from."""
        size, nodes = self.method.self_supervision_sample, self.open
        if size is None or size >= len(nodes):
            return nodes
        chosen = torch.randint(len(nodes), (size,), generator=self.streams["self-supervision"]).numpy()
        return np.asarray(nodes[chosen])

    @cached_property
    def open(self) -> npt.NDArray[np.intp]:
        """The nodes that are not held out, labelled or not."""
        return np.flatnonzero(open_nodes(self.graph))

    @cached_property
    def targets(self) -> Tensor:
        """The hideable channels of every node itself, (n, channels), of mean 0 and variance 1 over the open nodes."""
        x = self.inputs.x[:, self.hideable].double()
        variance, mean = torch.var_mean(x[torch.from_numpy(self.open)], dim=0, correction=0)
        return ((x - mean) / torch.where(variance > 0, variance.sqrt(), torch.ones_like(variance))).to(self.dtype)


def hideable_channels(graph: NodeGraph, channels: tuple[str, ...]) -> list[int]:
    """The places of the channels that a view is to tell: all but those of the sensitive attribute."""
    places = [place for place, name in enumerate(channels) if name not in graph.sensitive_channels]
    if not places:
        raise InputError(
            "train: self_supervision='reconstruction' has nothing to tell: every channel is one of the sensitive "
            "attribute. Use 'agreement', or pass more channels."
        )
    return places
