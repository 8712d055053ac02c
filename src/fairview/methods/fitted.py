"""What is left of a network after training? Enough to predict any graph, and nothing of the graph it was trained on."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from fairview.data.graph import NodeGraph
from fairview.methods.contract import features_like
from fairview.methods.estimator import require_like
from fairview.nn.encoders import Encoder, EncoderSpec, ForeignEncoder
from fairview.nn.inputs import GraphInputs
from fairview.nn.mask import ChannelMask
from fairview.nn.paths import choose_path
from fairview.nn.pruning import LinkPruning
from fairview.propagation.operators import Operator
from fairview.training.state import State, copied, load_modules, module_state, module_tensors


class Fitted:
    """A trained network, without the graph that it was trained on.

    Attributes:
        encoder: in evaluation mode.
        classifier: the head of the label.
        discriminator: the head of the sensitive group, if there is one.
        mask: the channel mask, if it was learnt.
        pruning: which links are left out before anything else, if any.
        evaluation_masks: the masks that prediction averages over, (views, channels).
        clamp_mask: p of the last clamp before the kept epoch, (channels,).
    """

    def __init__(
        self, modules: dict[str, nn.Module], *, evaluation_masks: Tensor, clamp_mask: Tensor, masked: bool
    ) -> None:
        self.modules = modules
        self.encoder: Any = modules["encoder"]
        self.classifier: Any = modules["classifier"]
        self.discriminator: Any = modules.get("discriminator")
        self.pruning: Any = modules.get("pruning")
        self.mask: Any = modules["mask"] if masked else None
        self.evaluation_masks, self.clamp_mask = evaluation_masks, clamp_mask
        for module in modules.values():
            module.eval()

    def tensors(self) -> State:
        masks = {"evaluation_masks": self.evaluation_masks, "clamp_mask": self.clamp_mask}
        return module_state(self.modules) | copied(masks)

    @classmethod
    def from_tensors(cls, method: Any, tensors: State, channels: int) -> Fitted:
        """Rebuilt from the method's parameters and the tensors; anything that does not fit is an error."""
        masks, clamp_mask = tensors["evaluation_masks"], tensors["clamp_mask"]
        if (method.depth or 0) > len(tensors):
            raise ValueError(f"{len(tensors)} tensors are too few for {method.depth} layers")
        if len(masks) == 0 or bool(((masks < 0) | (masks > 1)).any()):
            raise ValueError("the masks are not between 0 and 1")
        with torch.device("meta"):  # a file may claim any width: no memory is taken before its tensors fit
            blank = module_tensors(_blank_modules(method, tensors, channels))
            row = torch.empty(channels, dtype=getattr(torch, method.precision))
            require_like(tensors, blank | {"evaluation_masks": row.expand(len(masks), -1), "clamp_mask": row})
        modules = _blank_modules(method, tensors, channels)
        load_modules(modules, tensors)
        for module in modules.values():
            module.to(method.device)
        masked = bool(getattr(method, "feature_masks", False))
        return cls(
            modules, evaluation_masks=masks.to(method.device), clamp_mask=clamp_mask.to(method.device), masked=masked
        )

    @torch.no_grad()
    def scores(self, graph: NodeGraph, channels: tuple[str, ...]) -> npt.NDArray[np.float64]:
        """Probability of the positive class of each node: the sigmoid of the mean logit over the views."""
        rows = choose_path(self.encoder, self._inputs(graph, channels)).on()
        logits = rows.logits(self.evaluation_masks, self.classifier).mean(dim=0)[:, 0]
        return torch.sigmoid(logits.double()).cpu().numpy()

    @torch.no_grad()
    def representations(self, graph: NodeGraph, channels: tuple[str, ...]) -> npt.NDArray[np.floating[Any]]:
        """Mean representation over the views, (n, hidden)."""
        inputs = self._inputs(graph, channels)
        total = torch.stack([self.encoder(inputs.x * mask, inputs) for mask in self.evaluation_masks]).mean(dim=0)
        found: npt.NDArray[np.floating[Any]] = total.cpu().numpy()
        return found

    def _inputs(self, graph: NodeGraph, channels: tuple[str, ...]) -> GraphInputs:
        operator = self.encoder.spec.propagation if isinstance(self.encoder, Encoder) else None
        weight = self.classifier.weight
        features = features_like(graph, channels)
        links = graph.adjacency if self.pruning is None else self.pruning(features, graph.adjacency)
        return GraphInputs(features, links, operator, device=weight.device, dtype=weight.dtype)


def _blank_modules(method: Any, tensors: State, channels: int) -> dict[str, nn.Module]:
    """The modules of a method before its weights are copied into them; the heads that have a weight are there."""
    encoder, _ = make_encoder(method, channels, seed=0)
    width = encoder.spec.hidden if isinstance(encoder, Encoder) else tensors["classifier.weight"].shape[1]
    modules: dict[str, nn.Module] = {"encoder": encoder, "mask": ChannelMask(channels)}
    modules["classifier"] = nn.Linear(width, 1)
    if "discriminator.weight" in tensors:
        modules["discriminator"] = nn.Linear(width, len(tensors["discriminator.weight"]))
    for module in modules.values():
        module.to(getattr(torch, method.precision))
    if "pruning.directions" in tensors:  # always in float64
        groups, length, _ = tensors["pruning.directions"].shape
        modules["pruning"] = LinkPruning(groups, length - 1, channels)
    return modules


def make_encoder(method: Any, channels: int, seed: int) -> tuple[Encoder | ForeignEncoder, Operator | None]:
    """The encoder that the parameters describe, or a copy of the user's own, and its operator."""
    if isinstance(method.encoder, nn.Module):
        return ForeignEncoder(copy.deepcopy(method.encoder), channels), None
    spec = EncoderSpec(
        kind=method.encoder,
        operator=method.operator,
        self_loops=float(method.self_loops),
        hidden=method.hidden,
        depth=method.depth,
        dropout=float(method.dropout),
    )
    return spec.build(channels, seed), spec.propagation
