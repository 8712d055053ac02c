"""What is trained? Encoder, masks, heads, optimisers and random streams, shared by all methods with an encoder."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy.typing as npt
import torch
from torch import Tensor, nn

from fairview.data.graph import NodeGraph
from fairview.data.sharded_graph import ShardedGraph
from fairview.errors import InputError
from fairview.methods.contract import channels_seen, seen_by, training_rows
from fairview.methods.fitted import Fitted, blank_mask, make_encoder
from fairview.metrics.evaluation import Evaluation, Evaluator
from fairview.nn.encoders import Encoder
from fairview.nn.foreign_encoder import ForeignEncoder
from fairview.nn.inputs import GraphInputs
from fairview.nn.losses import classifier_loss
from fairview.nn.mask import across_blocks
from fairview.nn.paths import Path, Rows, Where, choose_path
from fairview.nn.sharded_path import ShardedPath, ShardedRows
from fairview.training.adam import Adam
from fairview.training.loop import TrainingError
from fairview.training.processes import added_up, gathered, take_from_first
from fairview.training.randomness import Streams
from fairview.training.state import State, below, copied, load_modules, module_state, module_tensors, prefixed

Module = TypeVar("Module", bound=nn.Module)


class Network(ABC):
    """All that is trained, on one graph. A subclass adds its heads and optimisers, and says what an epoch is.

    Args:
        method: the parameters.
        graph: with splits.
        views: number of masks.
        mask: settings of the learnt mask; None: `fixed_mask` is used.

    Attributes:
        channels: that the model looks at.
        columns: that a mask hides: the channels, or those of each of the encoder's blocks.
    """

    notes: tuple[str, ...] = ()
    """What a user should know about how the method went about this graph."""

    def __init__(self, method: Any, graph: NodeGraph, *, views: int = 1, mask: Mapping[str, Any] | None = None) -> None:
        self.method, self.graph, self.views, self.masked = method, graph, views, mask is not None
        self.streams = Streams(method.seed)
        self.dtype, self.device = getattr(torch, method.precision), torch.device(method.device)
        self.channels = channels_seen(graph, method.sensitive_channels)
        kinds = graph.adjacency.kinds.names if method.weighs_links and graph.adjacency.kinds is not None else None
        seed = self.streams.seed("encoder")
        self.encoder, operator, blocks = make_encoder(method, len(self.channels), seed, kinds)
        self.columns = self.encoder.columns(self.channels)
        self.encoder.to(self.device, self.dtype)
        if isinstance(self.encoder, Encoder):
            self.encoder.dropout.generator = self.streams["dropout"]
        self.inputs = GraphInputs(
            *seen_by(graph, self.channels), operator, blocks=blocks, device=self.device, dtype=self.dtype
        )
        self.path: Path = choose_path(self.encoder, self.inputs, method.path)
        if isinstance(graph, ShardedGraph):
            self.path = ShardedPath(self.path, graph.edges, graph.rank)
        self.mask = blank_mask(method, self.encoder, len(self.channels), **(mask or {}))
        self.mask.reset_parameters(self.streams["generator"])
        self.mask.to(self.device, self.dtype)
        self.width = output_width(self.encoder, self.inputs)
        self.classifier = self.head("classifier", 1)
        self.clamp_mask = self.fixed_mask = self.tensor([1.0] * len(self.columns))
        self.evaluation_noise = self.mask.noise(views, self.streams["evaluation"])
        train, val = training_rows(graph), (graph.split("val") & graph.labelled).nonzero()[0]
        self.train_rows, self.train_labels = self.path.on(train), self.tensor(graph.labels[train])
        self.val_rows, self.val_labels = self.path.on(val), self.tensor(graph.labels[val])
        self.validation_loss = math.inf
        attributes = [attribute.at(val) for attribute in graph.attributes]
        self.evaluator = Evaluator.of_attributes(graph.labels[val], attributes, threshold=0.0)
        self.optimisers: dict[str, Adam] = {}

    # --- parts --------------------------------------------------------------------------------------------------------

    def drawn(self, name: str, make: Callable[[], Module]) -> Module:
        """A module whose first weights depend on the seed and its name alone."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.streams.seed(name))
            return make().to(self.device, self.dtype)

    def head(self, name: str, outputs: int) -> nn.Linear:
        """A linear layer behind the encoder."""
        return self.drawn(name, lambda: nn.Linear(self.width, outputs))

    def tensor(self, values: npt.ArrayLike) -> Tensor:
        """Numbers of the graph, where and as the network computes."""
        return torch.tensor(values, dtype=self.dtype, device=self.device)

    def in_every_block(self, mask: npt.ArrayLike) -> Tensor:
        """A mask over channels as one over columns."""
        return across_blocks(self.tensor(mask), self.tensor([1.0] * self.encoder.blocks))

    def draw_masks(self) -> Tensor:
        """K fresh masks with gradients to their scores; without learnt masks the fixed one, of ones or a subclass's."""
        if not self.masked:
            return self.fixed_mask.repeat(self.views, 1)
        masks: Tensor = self.mask(self.mask.noise(self.views, self.streams["mask"]))
        return masks

    @property
    def evaluation_masks(self) -> Tensor:
        """The K masks of evaluation: one draw of noise for the whole run, rounded with the scores as they are now."""
        if not self.masked:
            return self.fixed_mask[None]
        return self.mask.rounded(self.evaluation_noise)

    def updates(self, phase: str) -> Sequence[str]:
        """The optimisers that a phase steps."""
        return [phase]

    def step(self, phase: str, rows: Rows, loss_of: Callable[[Rows, Where], Tensor]) -> float:
        """One step of the optimisers of a phase on the mean loss over some rows; no other gradients are computed.

        Args:
            phase: whose optimisers.
            rows: the nodes of the loss; on large graphs they come in parts, whose gradients are added up, also over
                the processes that the nodes are divided among.
            loss_of: the mean loss over a part, and where the part lies among the rows.
        """
        chosen = [self.optimisers[name] for name in self.updates(phase) if name in self.optimisers]
        parameters = [parameter for optimiser in chosen for parameter in optimiser.parameters]
        parts = rows.parts()
        total = 0.0
        sums: Sequence[Tensor | None] = [None] * len(parameters)
        for place, (part, where) in enumerate(parts):
            loss = loss_of(part, where)
            share = rows.share(where)
            if share == 0:  # none of a process's own nodes: BatchNorm has counted the pass like everywhere
                continue
            if share < 1:
                loss = loss * share
            total += loss.item()
            if parameters:  # none when there are no masks to learn and the encoder rests
                again = place < len(parts) - 1  # the masks' own graph serves every part
                gradients = torch.autograd.grad(loss, parameters, allow_unused=True, retain_graph=again)
                sums = [_added(one, other) for one, other in zip(sums, gradients, strict=True)]
        if isinstance(rows, ShardedRows):
            total, sums = _over_processes(total, sums, parameters)
        start = 0
        for optimiser in chosen:
            end = start + len(optimiser.parameters)
            optimiser.step(sums[start:end])
            start = end
        return total

    # --- what the loop asks for ---------------------------------------------------------------------------------------

    @abstractmethod
    def epoch(self) -> dict[str, float]:
        """Train for one epoch; the losses by phase."""

    @torch.no_grad()
    def validate(self) -> Evaluation:
        """Metrics of the mean logits over the evaluation masks, on the labelled val nodes."""
        if isinstance(self.val_rows, ShardedRows):  # on another processor, a process may be a last bit apart by now
            weights = module_tensors(self.modules | self.training_modules).values()
            take_from_first(
                [*weights, *(each for adam in self.optimisers.values() for each in (adam.mean, adam.square))]
            )
        logits = self.evaluation_logits(self.val_rows)
        if not torch.isfinite(logits).all():
            raise TrainingError("validation: the logits are not finite. Try smaller learning rates.")
        self.validation_loss = self.validation_objective(logits).item()
        return self.evaluator(logits[0, :, 0].cpu().numpy())

    @torch.no_grad()
    def evaluation_logits(self, rows: Rows) -> Tensor:
        """The mean logits over the evaluation masks, as prediction computes them, (1, nodes, 1)."""
        self.encoder.eval()
        logits = rows.logits(self.evaluation_masks, self.classifier).mean(dim=0, keepdim=True)
        self.encoder.train()
        if isinstance(rows, ShardedRows):
            return gathered(logits[0], rows.places_by_process())[None]
        return logits

    def validation_objective(self, logits: Tensor) -> Tensor:
        """What `LowestLoss` compares epochs by, from the logits of the labelled val nodes, (1, nodes, 1)."""
        return classifier_loss(logits, self.val_labels)

    @property
    def modules(self) -> dict[str, nn.Module]:
        """What a model keeps; a subclass adds its further heads."""
        return {"encoder": self.encoder, "classifier": self.classifier, "mask": self.mask}

    @property
    def training_modules(self) -> dict[str, nn.Module]:
        """Further modules that only the training needs: part of a checkpoint, not of a model."""
        return {}

    def snapshot(self) -> State:
        masks = {"evaluation_masks": self.evaluation_masks, "clamp_mask": self.clamp_mask}
        return module_state(self.modules) | copied(masks)

    def state(self) -> State:
        state = prefixed("now", self.snapshot()) | prefixed("training", module_state(self.training_modules))
        for name, optimiser in self.optimisers.items():
            state |= prefixed(f"adam.{name}", optimiser.state())
        return state | prefixed("random", self.streams.state() | {"global": torch.get_rng_state()})

    def load_state(self, state: State) -> None:
        now, random = below(state, "now"), below(state, "random")
        load_modules(self.modules, now)
        load_modules(self.training_modules, below(state, "training"))
        self.clamp_mask = now["clamp_mask"].to(self.device, copy=True)
        for name, optimiser in self.optimisers.items():
            optimiser.load_state(below(state, f"adam.{name}"))
        torch.set_rng_state(random.pop("global"))
        self.streams.load_state(random)

    def fitted(self, best: State) -> Fitted:
        """What prediction needs, from the best snapshot."""
        load_modules(self.modules, best)
        masks = {name: best[name].to(self.device) for name in ("evaluation_masks", "clamp_mask")}
        return Fitted(self.method, self.modules, **masks)


@torch.no_grad()
def output_width(encoder: Encoder | ForeignEncoder, inputs: GraphInputs) -> int:
    """How wide the representations are; a module of the user's is asked with the graph itself."""
    if isinstance(encoder, Encoder):
        return encoder.spec.hidden
    encoder.eval()
    output = encoder(inputs.x, inputs)
    encoder.train()
    if output.ndim != 2 or len(output) != inputs.num_nodes:
        raise InputError(f"encoder: it returned {tuple(output.shape)}; expected ({inputs.num_nodes}, hidden).")
    return int(output.shape[1])


def _added(one: Tensor | None, other: Tensor | None) -> Tensor | None:
    return one if other is None else other if one is None else one + other


def _over_processes(
    loss: float, gradients: Sequence[Tensor | None], parameters: Sequence[Tensor]
) -> tuple[float, list[Tensor]]:
    """Loss and gradients of a step, added up over all processes."""
    own = [
        torch.zeros_like(parameter) if gradient is None else gradient
        for gradient, parameter in zip(gradients, parameters, strict=True)
    ]
    total, *sums = added_up([torch.tensor(loss, dtype=torch.float64), *own])
    return total.item(), sums
