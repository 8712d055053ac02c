"""FairGNN: estimate the sensitive attribute where it is not known, and train against an adversary and a covariance.

Dai, Wang: *Say No to the Discrimination: Learning Fair Graph Neural Networks with Limited Sensitive Attribute
Information*, WSDM 2021. A rival of Table 3 of the FairVGNN paper; its settings are those of that paper's appendix.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, cast

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from fairview.data.graph import NodeGraph
from fairview.errors import InputError
from fairview.methods.contract import open_nodes, seen_by, training_rows
from fairview.methods.fitted import second_head
from fairview.methods.parameters import Nodes, Weight, Width
from fairview.methods.plain import PLAIN_SPACE, Plain, PlainNetwork
from fairview.nn.encoders import EncoderSpec
from fairview.nn.inputs import GraphInputs
from fairview.nn.losses import classifier_loss, discriminator_loss
from fairview.nn.paths import Rows, Where, Whole, choose_path
from fairview.nn.side_by_side import SideBySide
from fairview.training.adam import Adam
from fairview.training.randomness import Streams
from fairview.training.state import State


@dataclass(kw_only=True, eq=False, repr=False)
class FairGNN(Plain):
    """A sensitive estimator, then a classifier against an adversary, with a covariance constraint.

        min over encoder, classifier  max over adversary   L_C + α L_R - β L_A

    The letters are those of its authors' public code, in which α weighs the covariance and β the adversary.

    Args:
        covariance_weight: α, of the covariance L_R of predictions and sensitive attribute.
        adversary_weight: β, of the adversary's loss L_A.
        known_sensitive: how many sensitive values are known, drawn from the nodes outside all other splits than train;
            fewer if there are fewer, all of them if None. The rest is estimated.
        labels: train on so many labels: those of the train split, and others of nodes in no split; None adds none.
        selection: keep the epoch with the best validation `score`, the rule of the fair methods, or the lowest `loss`.
    """

    search_space: ClassVar[Mapping[str, Sequence[Any]]] = {
        **PLAIN_SPACE,
        "covariance_weight": (1.0, 4.0, 16.0),
        "adversary_weight": (0.01, 0.1, 1.0),
    }

    hidden: Width = 32
    selection: Literal["loss", "score"] = "score"
    covariance_weight: Weight = 4.0
    adversary_weight: Weight = 0.01
    known_sensitive: Nodes | None = 200
    labels: Nodes | None = None

    def _network(self, graph: NodeGraph) -> FairGNNNetwork:
        if self.labels is not None:
            graph = with_more_labels(graph, self.labels, Streams(self.seed)["labels"])
        return FairGNNNetwork(self, graph)

    def blank_modules(self, tensors: State, channels: int) -> dict[str, nn.Module]:
        """Encoder, mask and classifier, and the adversary."""
        return super().blank_modules(tensors, channels) | second_head(self, tensors, "discriminator")


class FairGNNNetwork(PlainNetwork):
    """One run of FairGNN on one graph: the plain network and its adversary, which is the `discriminator`."""

    method: FairGNN

    def __init__(self, method: FairGNN, graph: NodeGraph) -> None:
        super().__init__(method, graph)
        self.groups = len(graph.groups)
        self.outputs = 1 if self.groups == 2 else self.groups
        self.discriminator = self.head("adversary", self.outputs)
        self.both = SideBySide(self.classifier, self.discriminator)
        self.everyone = self.path.on()
        self.train_nodes = torch.from_numpy(training_rows(graph)).to(self.device)
        self.known = known_nodes(graph, method.known_sensitive, self.streams["known"])
        sizes = f"{len(self.known):,} nodes, estimated for {graph.num_nodes - len(self.known):,}"
        self.notes = (f"FairGNN: '{graph.sensitive_name}' was known for {sizes}.",)
        if method.labels is not None:
            self.notes += (f"FairGNN: trained on {len(self.train_nodes):,} labels, more than the train split has.",)
        self.sensitive = self.estimate()
        self.optimisers["adversary"] = self.adam(self.discriminator)

    @property
    def modules(self) -> dict[str, nn.Module]:
        return super().modules | {"discriminator": self.discriminator}

    def adam(self, module: nn.Module) -> Adam:
        return Adam(module.parameters(), self.method.learning_rate, weight_decay=self.method.weight_decay)

    def estimate(self) -> Tensor:
        """ŝ: the sensitive attribute of every node, as it is where known, elsewhere the estimator's probabilities.

        The estimator is a GCN with one layer, trained for as many epochs as the rest to minimise the cross-entropy L_E
        on the known nodes. Nothing else depends on its weights, so that it is trained first, and once.
        """
        codes = torch.from_numpy(self.graph.sensitive[self.known].astype(np.int64)).to(self.device)
        truth = functional.one_hot(codes, self.groups).to(self.dtype)[:, -self.outputs :]
        spec = EncoderSpec(kind="gcn", hidden=self.width)
        encoder = spec.build(len(self.channels), self.streams.seed("estimator")).to(self.device, self.dtype)
        inputs = GraphInputs(
            *seen_by(self.graph, self.channels), spec.propagation, device=self.device, dtype=self.dtype
        )
        path, head = choose_path(encoder, inputs), self.head("estimator", self.outputs)
        masks = self.tensor([[1.0] * len(self.channels)])
        self.optimisers["estimator"] = self.adam(nn.ModuleList([encoder, head]))
        known = path.on(self.known)
        for _ in range(self.method.epochs):
            self.step("estimator", known, lambda part, where: adversary_loss(part.logits(masks, head), truth[where]))
        del self.optimisers["estimator"]
        with torch.no_grad():
            logits = path.on().logits(masks, head)[0]
            found = torch.sigmoid(logits) if self.outputs == 1 else torch.softmax(logits, dim=-1)
        found[torch.from_numpy(self.known).to(self.device)] = truth
        return found

    def epoch(self) -> dict[str, float]:
        """A step of encoder and classifier, then one of the adversary."""
        return {"classifier": self.classifier_phase(), "adversary": self.adversary_phase()}

    def classifier_phase(self) -> float:
        """Learn the labels, keep predictions uncorrelated with ŝ, and mislead the adversary."""
        method, masks = self.method, self.draw_masks()

        def loss_of(everyone: Rows, _: Where) -> Tensor:
            logits = everyone.logits(masks, cast("nn.Linear", self.both))  # one pass for both, with the same dropout
            fair = covariance(self.sensitive, torch.sigmoid(logits[0, :, 0]))
            fooled = adversary_loss(logits[..., 1:], self.sensitive)
            labels = classifier_loss(logits[:, self.train_nodes, :1], self.train_labels)
            return labels + method.covariance_weight * fair - method.adversary_weight * fooled

        return self.step("classifier", Whole(self.everyone), loss_of)

    def adversary_phase(self) -> float:
        """Learn ŝ from the representations."""
        masks = self.draw_masks()

        def loss_of(part: Rows, where: Where) -> Tensor:
            return adversary_loss(part.logits(masks, self.discriminator), self.sensitive[where])

        return self.step("adversary", self.everyone, loss_of)


# --- losses -----------------------------------------------------------------------------------------------------------


def covariance(sensitive: Tensor, scores: Tensor) -> Tensor:
    """L_R = |E[(ŝ - E ŝ)(ŷ - E ŷ)]|; with more than two groups, half the sum over the groups' probabilities.

    Half, because two groups would count the same covariance twice.

    Args:
        sensitive: ŝ, (nodes, 1) for two groups, (nodes, groups) for more.
        scores: ŷ, (nodes,), probabilities of the positive class.

    Example:
        >>> covariance(torch.tensor([[1.0], [0.0]]), torch.tensor([0.75, 0.25])).item()
        0.125
    """
    each = ((sensitive - sensitive.mean(dim=0)) * (scores - scores.mean())[:, None]).mean(dim=0).abs()
    return each.sum() if len(each) == 1 else each.sum() / 2


def adversary_loss(logits: Tensor, sensitive: Tensor) -> Tensor:
    """L_A, and L_E on the known nodes: the cross-entropy of ŝ, which may be probabilities.

    Args:
        logits: (1, nodes, 1) for two groups, (1, nodes, groups) for more.
        sensitive: ŝ, (nodes, 1) or (nodes, groups).
    """
    if logits.shape[-1] == 1:
        return discriminator_loss(logits, sensitive[:, 0])
    return functional.cross_entropy(logits[0], sensitive)


# --- nodes ------------------------------------------------------------------------------------------------------------


def known_nodes(graph: NodeGraph, count: int | None, generator: torch.Generator) -> npt.NDArray[np.intp]:
    """The nodes whose sensitive value is taken as known, in their order."""
    found = np.flatnonzero(open_nodes(graph) & (graph.sensitive >= 0))
    if count is not None:
        found = np.sort(found[torch.randperm(len(found), generator=generator)[:count].numpy()])
    if len(np.unique(graph.sensitive[found])) < 2:
        where = f"for {len(found):,} of the nodes outside val and test, of fewer than two groups"
        raise InputError(
            f"train: '{graph.sensitive_name}' is known {where}; the others can't be estimated from them. "
            "Raise known_sensitive, or draw other splits."
        )
    return found


def with_more_labels(graph: NodeGraph, count: int, generator: torch.Generator) -> NodeGraph:
    """The same graph with a train split of `count` labels, the further ones drawn from the nodes of no split."""
    train = graph.split("train")
    own = int((train & graph.labelled).sum())
    further = np.flatnonzero(open_nodes(graph) & ~train & graph.labelled)
    if not own <= count <= own + len(further):
        raise InputError(
            f"labels: {count:,}; expected {own:,} (the train split's own) to {own + len(further):,} "
            "(with all labelled nodes of no split)."
        )
    larger = train.copy()
    larger[further[torch.randperm(len(further), generator=generator)[: count - own].numpy()]] = True
    return graph.with_splits({**graph.splits, "train": larger})
