"""What is left of a network after training? Enough to predict any graph, and nothing of the graph it was trained on."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from fairview.data.adjacency import Adjacency
from fairview.data.graph import NodeGraph
from fairview.data.stored_links import StoredLinks
from fairview.methods.contract import seen_by
from fairview.methods.estimator import require_like
from fairview.nn.encoders import Encoder, EncoderSpec
from fairview.nn.foreign_encoder import ForeignEncoder
from fairview.nn.inputs import GraphInputs
from fairview.nn.joint_mask import JointMask
from fairview.nn.mask import ChannelMask
from fairview.nn.paths import choose_path
from fairview.propagation.blocks import Blocks
from fairview.propagation.operators import Operator
from fairview.training.state import State, copied, load_modules, module_state, module_tensors

Links = Callable[[npt.NDArray[np.floating[Any]], Adjacency], Adjacency]


class Fitted:
    """A trained network, without the graph that it was trained on.

    Attributes:
        encoder: in evaluation mode.
        classifier: the head of the label.
        modules: all parts by name.
        links: what makes the links of a graph those that the encoder sees, if the method changes them.
        mask: the channel mask, if it was learnt.
        evaluation_masks: the masks that prediction averages over, (views, columns).
        clamp_mask: p of the last clamp before the kept epoch, (columns,).
    """

    def __init__(
        self, method: Any, modules: dict[str, nn.Module], *, evaluation_masks: Tensor, clamp_mask: Tensor
    ) -> None:
        self.modules = modules
        self.links: Links | None = method.link_filter(modules)
        self.encoder: Any = modules["encoder"]
        self.classifier: Any = modules["classifier"]
        self.mask: Any = modules["mask"] if method.learns_masks else None
        self.evaluation_masks, self.clamp_mask = evaluation_masks, clamp_mask
        for module in modules.values():
            module.eval()

    def tensors(self) -> State:
        masks = {"evaluation_masks": self.evaluation_masks, "clamp_mask": self.clamp_mask}
        return module_state(self.modules) | copied(masks)

    def to(self, dtype: torch.dtype) -> Fitted:
        """The same in main memory and with other numbers; in place."""
        for module in self.modules.values():
            module.to("cpu", dtype)
        self.evaluation_masks = self.evaluation_masks.to("cpu", dtype)
        self.clamp_mask = self.clamp_mask.to("cpu", dtype)
        return self

    @classmethod
    def from_tensors(cls, method: Any, tensors: State, channels: int) -> Fitted:
        """Rebuilt from the method's parameters and the tensors; anything that does not fit is an error."""
        masks, clamp_mask = tensors["evaluation_masks"], tensors["clamp_mask"]
        if method.encoder != "sign" and (method.depth or 0) > len(tensors):
            raise ValueError(f"{len(tensors)} tensors are too few for {method.depth} layers")
        if len(masks) == 0 or bool(((masks < 0) | (masks > 1)).any()):
            raise ValueError("the masks are not between 0 and 1")
        with torch.device("meta"):  # a file may claim any width: no memory is taken before its tensors fit
            blank_modules = method.blank_modules(tensors, channels)
            blank = module_tensors(blank_modules)
            row = torch.empty(channels * blank_modules["encoder"].blocks, dtype=getattr(torch, method.precision))
            require_like(tensors, blank | {"evaluation_masks": row.expand(len(masks), -1), "clamp_mask": row})
        modules = method.blank_modules(tensors, channels)
        load_modules(modules, tensors)
        for module in modules.values():
            module.to(method.device)
        masks, clamp_mask = masks.to(method.device), clamp_mask.to(method.device)
        return cls(method, modules, evaluation_masks=masks, clamp_mask=clamp_mask)

    @torch.no_grad()
    def scores(self, graph: NodeGraph, channels: tuple[str, ...]) -> npt.NDArray[np.float64]:
        """Probability of the positive class of each node: the sigmoid of the mean logit over the views."""
        return torch.sigmoid(self.logits(graph, channels).double()).cpu().numpy()

    @torch.no_grad()
    def logits(self, graph: NodeGraph, channels: tuple[str, ...]) -> Tensor:
        """The mean logit over the views, (n,)."""
        rows = choose_path(self.encoder, self.inputs(graph, channels)).on()
        logits: Tensor = rows.logits(self.evaluation_masks, self.classifier).mean(dim=0)[:, 0]
        return logits

    @torch.no_grad()
    def representations(self, graph: NodeGraph, channels: tuple[str, ...]) -> npt.NDArray[np.floating[Any]]:
        """Mean representation over the views, (n, hidden)."""
        inputs = self.inputs(graph, channels)
        if isinstance(inputs.adjacency, StoredLinks):
            return self._collapsed_representations(inputs)
        views = torch.stack([self.encoder(inputs.view(mask), inputs) for mask in self.evaluation_masks])
        mean: npt.NDArray[np.floating[Any]] = views.mean(dim=0).cpu().numpy()
        return mean

    def _collapsed_representations(self, inputs: GraphInputs) -> npt.NDArray[np.floating[Any]]:
        """The same without the links: an identity in place of the head, so many nodes at a time as the path likes."""
        width = self.classifier.weight.shape[1]
        with torch.device(inputs.device):
            head = nn.Linear(width, width, dtype=inputs.dtype)
            head.weight.copy_(torch.eye(width))
            head.bias.zero_()
        rows = choose_path(self.encoder, inputs).on()
        found: npt.NDArray[np.floating[Any]] = np.empty((inputs.num_nodes, width), dtype=self._dtype)
        for part, where in rows.parts():
            found[where] = part.logits(self.evaluation_masks, head).mean(dim=0).cpu().numpy()
        return found

    @property
    def _dtype(self) -> npt.DTypeLike:
        return np.float64 if self.classifier.weight.dtype == torch.float64 else np.float32

    def inputs(self, graph: NodeGraph, channels: tuple[str, ...]) -> GraphInputs:
        """What the encoder sees of a graph."""
        spec = self.encoder.spec if isinstance(self.encoder, Encoder) else None
        operator, blocks = (None, None) if spec is None else (spec.propagation, spec.blocks)
        weight = self.classifier.weight
        features, links = seen_by(graph, channels)
        links = links if self.links is None else self.links(features, links)
        return GraphInputs(features, links, operator, blocks=blocks, device=weight.device, dtype=weight.dtype)


def encoder_modules(method: Any, tensors: State, channels: int) -> dict[str, nn.Module]:
    """Encoder, channel mask and classifier of a method before its weights are copied into them."""
    kinds = method.facts_.link_kinds if method.weighs_links else None
    encoder, _, _ = make_encoder(method, channels, seed=0, kinds=kinds)
    width = encoder.spec.hidden if isinstance(encoder, Encoder) else tensors["classifier.weight"].shape[1]
    modules: dict[str, nn.Module] = {
        "encoder": encoder,
        "mask": blank_mask(method, encoder, channels),
        "classifier": nn.Linear(width, 1),
    }
    for module in modules.values():
        module.to(getattr(torch, method.precision))
    return modules


def blank_mask(method: Any, encoder: Encoder | ForeignEncoder, channels: int, **settings: Any) -> ChannelMask:
    """The mask over the columns of an encoder: of channels, of channels at each hop, or of channels and kinds."""
    if isinstance(encoder, Encoder) and encoder.spec.kinds is not None:
        return JointMask(channels, encoder.blocks, mask_channels=method.feature_masks, **settings)
    return ChannelMask(channels * encoder.blocks, **settings)


def second_head(method: Any, tensors: State, name: str) -> dict[str, nn.Module]:
    """A further linear head of the width of the classifier, with as many outputs as the tensors have."""
    outputs, width = len(tensors[f"{name}.weight"]), tensors["classifier.weight"].shape[1]
    return {name: nn.Linear(width, outputs, dtype=getattr(torch, method.precision))}


def make_encoder(
    method: Any, channels: int, seed: int, kinds: tuple[str, ...] | None = None
) -> tuple[Encoder | ForeignEncoder, Operator | None, Blocks | None]:
    """The encoder that the parameters describe, or a copy of the user's own, its operator, and its blocks."""
    if isinstance(method.encoder, nn.Module):
        return ForeignEncoder(copy.deepcopy(method.encoder), channels), None, None
    spec = EncoderSpec(
        kind=method.encoder,
        operator=method.operator,
        self_loops=float(method.self_loops),
        hidden=method.hidden,
        depth=method.depth,
        dropout=float(method.dropout),
        kinds=kinds,
    )
    return spec.build(channels, seed), spec.propagation, spec.blocks
