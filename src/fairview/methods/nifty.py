"""NIFTY: a node's representation should not change if its sensitive attribute is flipped or a little noise is added.

Agarwal, Lakkaraju, Zitnik: *Towards a Unified Framework for Fair and Stable Graph Representation Learning*, UAI 2021. A
rival of Table 3 of the FairVGNN paper; its settings are those of that paper's appendix. What differs from its paper:
docs/methods/nifty.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional

from fairview.data.graph import NodeGraph
from fairview.methods.contract import features_like, training_rows
from fairview.methods.parameters import Rate, Share, Width
from fairview.methods.plain import Plain, PlainNetwork
from fairview.metrics.evaluation import Evaluation
from fairview.nn.inputs import GraphInputs
from fairview.nn.lipschitz import FreeWeights
from fairview.nn.losses import classifier_loss
from fairview.nn.paths import Rows, choose_path
from fairview.nn.perturbation import Counterfactual, Links, NoiseKind, PerturbedInputs, SharedOperator, draw_noise
from fairview.training.adam import Adam


@dataclass(kw_only=True, eq=False, repr=False)
class NIFTY(Plain):
    """NIFTY (Agarwal et al., UAI 2021): two perturbed views, one with flipped sensitive attribute, should agree.

        (1 - λ) L_c + λ L_s

    Args:
        projection: hidden width of the predictor t that stands between the two views.
        similarity_weight: λ, between the classification loss L_c and the similarity loss L_s.
        similarity_nodes: the nodes of L_s, those that are labelled in `train`, or `all`.
        feature_rate: share of features that get noise, in either view; never the sensitive channels.
        feature_noise: whether each `node` has its own noise, or all the same in a `channel`.
        edge_rate: share of links that are left out, in either view.
        normalise_weights: divide each of the encoder's matrices by its spectral norm.
        selection: keep the epoch with the lowest validation `loss`, the objective on two fixed views, or the best by
            the `score` that the fair methods use.

    Attributes:
        notes_: says so if there was nothing to flip.

    Example:
        >>> import fairview as fv
        >>> graph = fv.load_dataset("german")
        >>> NIFTY(epochs=2, sensitive_channels=False).fit(graph).notes_[0]
        "NIFTY: its counterfactual view is empty: 'Gender' is not among the channels, so that nothing can be flipped."
    """

    search_space: ClassVar[Mapping[str, Sequence[Any]]] = {  # Paper: appendix, baselines
        "dropout": (0.0, 0.5, 0.8),
        "learning_rate": (0.0001, 0.001, 0.01),
        "weight_decay": (1e-5, 1e-4),
        "similarity_weight": (0.4, 0.5, 0.6, 0.7, 0.8),
    }

    learning_rate: Rate = 0.01
    selection: Literal["loss", "score"] = "loss"
    projection: Width = 16
    similarity_weight: Share = 0.6
    similarity_nodes: Literal["train", "all"] = "train"
    feature_rate: Share = 0.1
    feature_noise: NoiseKind = "node"
    edge_rate: Share = 0.001
    normalise_weights: bool = True

    def _network(self, graph: NodeGraph) -> NIFTYNetwork:
        return NIFTYNetwork(self, graph)


class NIFTYNetwork(PlainNetwork):
    """One run of NIFTY on one graph: one encoder for two views, the predictor t, and the weights behind the encoder."""

    method: NIFTY

    def __init__(self, method: NIFTY, graph: NodeGraph) -> None:
        super().__init__(method, graph)
        self.views_of_graph = Views(method, graph, self.channels, self.inputs)
        if self.views_of_graph.counterfactual is None:
            reason = f"'{graph.sensitive_name}' is not among the channels, so that nothing can be flipped"
            self.notes = (f"NIFTY: its counterfactual view is empty: {reason}.",)
        self.free = FreeWeights(self.encoder, normalise=method.normalise_weights)
        self.encoding = Encoding(self.encoder, len(self.columns), self.width).to(self.device, self.dtype)
        self.predictor = self.drawn("predictor", self.make_predictor)
        heads = nn.ModuleList([self.classifier, self.predictor])
        trained = [*self.free.parameters(), *self.free.others, *heads.parameters()]
        self.optimisers = {"all": Adam(trained, method.learning_rate, weight_decay=method.weight_decay)}
        self.train_nodes = torch.from_numpy(training_rows(graph)).to(self.device)
        self.val_views: list[Rows] = []
        if method.selection == "loss":
            val = np.flatnonzero(graph.split("val") & graph.labelled)
            self.val_views = [self.on(view, val) for view in self.views_of_graph.draw(self.streams["validation"])]

    def on(self, view: GraphInputs, rows: np.ndarray | None = None) -> Rows:
        """Some nodes of a view, or all, ready to be encoded."""
        return choose_path(self.encoder, view, self.method.path).on(rows)

    def make_predictor(self) -> nn.Sequential:
        """t: a hidden layer with BatchNorm."""
        inner, outer = self.method.projection, self.width
        return nn.Sequential(nn.Linear(outer, inner), nn.BatchNorm1d(inner), nn.ReLU(), nn.Linear(inner, outer))

    @property
    def training_modules(self) -> dict[str, nn.Module]:
        return {"free": self.free, "predictor": self.predictor}

    def epoch(self) -> dict[str, float]:
        """One step on two fresh views."""
        views = [self.on(view) for view in self.views_of_graph.draw(self.streams["views"])]
        weights = {f"encoder.{name}": weight for name, weight in self.free().items()}
        seen = [functional_call(self.encoding, weights, (view,)) for view in views]
        nodes = self.train_nodes if self.method.similarity_nodes == "train" else slice(None)
        labels, similarity = self.losses(seen, self.train_labels, self.train_nodes, nodes)
        adam = self.optimisers["all"]
        adam.step(torch.autograd.grad(self.objective(labels, similarity), adam.parameters, allow_unused=True))
        self.free.write()
        return {"classifier": labels.item(), "similarity": similarity.item()}

    def losses(
        self,
        seen: list[Tensor],
        labels: Tensor,
        labelled: Tensor | slice = slice(None),
        nodes: Tensor | slice = slice(None),
    ) -> tuple[Tensor, Tensor]:
        """L_c, the mean over the two views, and L_s, each on some of the nodes that were seen."""
        logits = torch.stack([self.classifier(view[labelled]) for view in seen])
        return classifier_loss(logits, labels), similarity_loss(seen[0][nodes], seen[1][nodes], self.predictor)

    def objective(self, labels: Tensor, similarity: Tensor) -> Tensor:
        return (1 - self.method.similarity_weight) * labels + self.method.similarity_weight * similarity

    @torch.no_grad()
    def validate(self) -> Evaluation:
        """Metrics on the graph as it is; the loss on two fixed views."""
        found = super().validate()
        if self.val_views:
            self.encoder.eval()
            self.predictor.eval()
            losses = self.losses([self.encoding(view) for view in self.val_views], self.val_labels)
            self.validation_loss = self.objective(*losses).item()
            self.encoder.train()
            self.predictor.train()
        return found


class Encoding(nn.Module):
    """Representations of some nodes, (nodes, hidden): a module, so that a call can come with other weights."""

    def __init__(self, encoder: nn.Module, columns: int, width: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.columns = columns
        self.identity = nn.Linear(width, width).requires_grad_(requires_grad=False)
        nn.init.eye_(self.identity.weight)
        nn.init.zeros_(self.identity.bias)

    def forward(self, rows: Rows) -> Tensor:
        return rows.logits(self.identity.weight.new_ones(1, self.columns), self.identity)[0]


class Views:
    """Draws pairs of views: both with noise and without some links, the second one also counterfactual."""

    def __init__(self, method: NIFTY, graph: NodeGraph, channels: tuple[str, ...], inputs: GraphInputs) -> None:
        self.method, self.inputs = method, inputs
        own = np.isin(channels, graph.sensitive_channels)
        self.free = ~own
        self.sensitive = torch.from_numpy(np.flatnonzero(own)).to(inputs.device)
        values = features_like(graph, channels)[:, own]
        self.counterfactual = Counterfactual(values, graph.sensitive) if own.any() else None
        self.links = Links(graph.adjacency)
        self.shared = None
        if inputs.operator is not None:
            self.shared = SharedOperator(self.links, inputs.operator, dtype=inputs.dtype, device=inputs.device)

    def draw(self, generator: torch.Generator) -> tuple[PerturbedInputs, PerturbedInputs]:
        return self.view(generator, flip=False), self.view(generator, flip=True)

    def view(self, generator: torch.Generator, *, flip: bool) -> PerturbedInputs:
        method, inputs = self.method, self.inputs
        noise = draw_noise(inputs.num_nodes, self.free, method.feature_rate, generator, method.feature_noise)
        x = inputs.x + noise.to(inputs.x)
        if flip and self.counterfactual is not None:
            x[:, self.sensitive] += self.counterfactual.draw(generator).to(x)
        left_out = self.links.draw(method.edge_rate, generator)
        return PerturbedInputs(x, self.links, left_out, self.shared, blocks=inputs.blocks)


def similarity_loss(first: Tensor, second: Tensor, predictor: nn.Module) -> Tensor:
    """L_s = mean over nodes of (D(t(z), z̃) + D(t(z̃), z)) / 2, with D(a, b) = 1 - cos(a, b) and no gradient to b.

    Args:
        first: z, (nodes, hidden).
        second: z̃, of the same nodes in the other view.
        predictor: t.

    Example:
        >>> z, other = torch.tensor([[1.0, 0.0]]), torch.tensor([[3.0, 4.0]])
        >>> round(similarity_loss(z, other, nn.Identity()).item(), 6)  # 1 - 3 / 5
        0.4
    """
    one = functional.cosine_similarity(predictor(first), second.detach(), dim=-1)
    other = functional.cosine_similarity(predictor(second), first.detach(), dim=-1)
    return 1 - (one.mean() + other.mean()) / 2
