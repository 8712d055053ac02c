"""What do all methods that train an encoder share? The estimator's manners, and the network behind it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from fairview.data.graph import NodeGraph
from fairview.errors import InputError, ModelFileError
from fairview.methods.contract import (
    Facts,
    Probabilities,
    channels_seen,
    check_trainable,
    features_like,
    require_fitted,
    training_rows,
)
from fairview.methods.estimator import Estimator
from fairview.methods.fitted import Fitted, make_encoder
from fairview.methods.settings import check_settings
from fairview.metrics.evaluation import Evaluation, Evaluator
from fairview.nn.encoders import Encoder, ForeignEncoder
from fairview.nn.inputs import GraphInputs
from fairview.nn.losses import classifier_loss
from fairview.nn.mask import ChannelMask
from fairview.nn.paths import Rows, choose_path
from fairview.propagation.node_order import neighbours_together
from fairview.training.adam import Adam
from fairview.training.kept_memory import memory_kept
from fairview.training.loop import Loop, Progress, TrainingError
from fairview.training.machine import check_device, torch_threads
from fairview.training.randomness import Streams, isolated_randomness
from fairview.training.selection import Rule, SelectionRule
from fairview.training.state import State, below, copied, load_modules, module_state, prefixed

Watch = Callable[[Progress, Any], None]


class NetworkMethod(Estimator):
    """A method that trains an encoder. A subclass lists its parameters in `__init__` and makes its `Network`."""

    encoder: str | nn.Module
    hidden: int
    depth: int | None
    epochs: int
    patience: int | None
    selection_weight: float
    device: str
    threads: int | None
    seed: int

    @abstractmethod
    def _network(self, graph: NodeGraph) -> Network:
        """All that is trained, for one graph."""

    def fit(self, graph: NodeGraph, *, watch: Watch | None = None, resume: Resume | None = None) -> Self:
        """Train on the labelled nodes of the train split; the epoch that is best on the val split is kept.

        Args:
            graph: with the splits `train` and `val`.
            watch: called after each epoch with the progress and the network: for progress bars and checkpoints.
            resume: progress and state of an earlier run to go on from, bit by bit.
        """
        check_settings(type(self), self.get_params(deep=False))
        check_device(self.device)
        check_trainable(graph)
        with torch_threads(self.thread_count(graph)), memory_kept(), isolated_randomness(self.seed):
            network = self._network(self._laid_out(graph))
            progress = Progress()
            if resume is not None:
                progress = resume[0]
                _load(network, resume[1])
            loop = Loop(
                epochs=self.epochs,
                rule=self._rule(network),
                patience=self.patience,
                watch=None if watch is None else lambda reached: watch(reached, network),
            )
            progress = loop.run(network, progress)
        self.fitted_ = network.fitted(progress.best)
        self.facts_ = Facts.of(graph, network.channels)
        self.history_, self.best_epoch_ = progress.history, progress.best_epoch
        self.selection_notes_, self.interrupted_ = progress.left_out, progress.interrupted
        self.notes_ = network.notes
        return self

    def _rule(self, network: Network) -> Rule:  # noqa: ARG002 - a subclass may look at it
        """Which epoch is kept."""
        return SelectionRule(self.selection_weight)

    def thread_count(self, graph: NodeGraph) -> int:
        """As given, or by the size of the problem: where a step is short, a second thread only gets in the way."""
        if self.threads is not None:
            return self.threads
        return torch.get_num_threads() if self._leaves_cache(graph) else 1

    def _laid_out(self, graph: NodeGraph) -> NodeGraph:
        """The graph as training sees it: neighbours near each other in memory, where that matters (docs/adr/0013).

        A module of the user's own may know nodes by their number, so that it sees them as they are.
        """
        own = isinstance(self.encoder, nn.Module)
        return neighbours_together(graph) if self._leaves_cache(graph) and not own else graph

    def _leaves_cache(self, graph: NodeGraph) -> bool:
        """Whether a training step works on more than the processor's cache holds."""
        collapsed = self.encoder in ("mlp", "gcn", "gin") and self.depth in (None, 1)  # block by block
        return not collapsed and graph.num_nodes * self.hidden * getattr(self, "views", 1) >= _WIDE

    @property
    def keep_probability_(self) -> dict[str, float]:
        """Probability of being kept, by channel."""
        require_fitted(self)
        mask = self.fitted_.mask
        kept = self.fitted_.evaluation_masks.mean(dim=0) if mask is None else mask.keep_probability
        return dict(zip(self.facts_.channels, kept.tolist(), strict=True))

    def predict_proba(self, graph: NodeGraph) -> Probabilities:
        """Probabilities of the negative and the positive class, (n, 2), for any graph with the same channels."""
        require_fitted(self)
        with torch_threads(self.thread_count(graph)):
            positive = self.fitted_.scores(graph, self.facts_.channels)
        if wrong := int(np.isnan(positive).sum()):
            reason = "the features are far beyond those of the training, or the model is broken"
            raise InputError(f"predict: {wrong:,} of {len(positive):,} scores are not a number; {reason}.")
        return np.stack([1 - positive, positive], axis=1)

    def representations(self, graph: NodeGraph) -> npt.NDArray[np.floating[Any]]:
        """What the heads see of each node, (n, hidden), the mean over the views."""
        require_fitted(self)
        with torch_threads(self.thread_count(graph)):
            return self.fitted_.representations(graph, self.facts_.channels)

    def fair_view(self, graph: NodeGraph) -> NodeGraph:
        """The graph with the mean of the masked views as its features (X̃ of Algorithm 1)."""
        require_fitted(self)
        mean = self.fitted_.evaluation_masks.mean(dim=0).cpu().numpy()
        return graph.with_features(features_like(graph, self.facts_.channels) * mean, self.facts_.channels)

    def tensors(self) -> State:
        require_fitted(self)
        return self.fitted_.tensors()

    def restore(self, tensors: State, facts: Facts) -> Self:
        check_settings(type(self), self.get_params(deep=False))
        self.facts_ = facts
        self.fitted_ = Fitted.from_tensors(self, tensors, len(facts.channels))
        return self


Resume = tuple[Progress, State]


class Network(ABC):
    """All that is trained, on one graph: encoder, mask, heads, optimisers, random streams.

    Args:
        method: the parameters.
        graph: with splits.
        views: number of masks.
        masked: whether the masks are learnt; otherwise they are all ones.
    """

    notes: tuple[str, ...] = ()
    """What a user should know about how the method went about this graph."""

    def __init__(self, method: Any, graph: NodeGraph, *, views: int, masked: bool) -> None:
        self.method, self.graph, self.views, self.masked = method, graph, views, masked
        self.streams = Streams(method.seed)
        self.dtype, self.device = getattr(torch, method.precision), torch.device(method.device)
        self.channels = channels_seen(graph, method.sensitive_channels)
        self.encoder, operator = make_encoder(method, len(self.channels), self.streams.seed("encoder"))
        self.encoder.to(self.device, self.dtype)
        if isinstance(self.encoder, Encoder):
            self.encoder.dropout.generator = self.streams["dropout"]
        features = features_like(graph, self.channels)
        self.inputs = GraphInputs(features, graph.adjacency, operator, device=self.device, dtype=self.dtype)
        self.path = choose_path(self.encoder, self.inputs, method.path)
        temperature, hard = getattr(method, "temperature", 1.0), getattr(method, "mask", "soft") == "hard"
        self.mask = ChannelMask(len(self.channels), temperature=temperature, hard=hard)
        self.mask.reset_parameters(self.streams["generator"])
        self.mask.to(self.device, self.dtype)
        self.width = output_width(self.encoder, self.inputs)
        self.classifier = self.head("classifier", 1)
        self.clamp_mask = self.ones(len(self.channels))
        self.evaluation_noise = self.mask.noise(views, self.streams["evaluation"])
        train, val = training_rows(graph), (graph.split("val") & graph.labelled).nonzero()[0]
        self.train_rows, self.train_labels = self.path.on(train), self.tensor(graph.labels[train])
        self.val_rows, self.val_labels = self.path.on(val), self.tensor(graph.labels[val])
        self.validation_loss = math.inf
        self.evaluator = Evaluator.from_codes(
            graph.labels[val], codes=graph.sensitive[val], groups=graph.groups, threshold=0.0
        )
        self.optimisers: dict[str, Adam] = {}

    # --- parts --------------------------------------------------------------------------------------------------------

    def head(self, name: str, outputs: int) -> nn.Linear:
        """A linear layer whose first weights depend on the seed and its name alone."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.streams.seed(name))
            return nn.Linear(self.width, outputs).to(self.device, self.dtype)

    def tensor(self, values: npt.ArrayLike) -> Tensor:
        """Numbers of the graph, where and as the network computes."""
        return torch.tensor(values, dtype=self.dtype, device=self.device)

    def ones(self, *shape: int) -> Tensor:
        return torch.ones(shape, dtype=self.dtype, device=self.device)

    def draw_masks(self) -> Tensor:
        """K fresh masks with gradients to their scores; ones without feature masks."""
        if not self.masked:
            return self.ones(self.views, len(self.channels))
        masks: Tensor = self.mask(self.mask.noise(self.views, self.streams["mask"]))
        return masks

    @property
    def evaluation_masks(self) -> Tensor:
        """The K masks of evaluation: one draw of noise for the whole run, rounded with the scores as they are now."""
        if not self.masked:
            return self.ones(1, len(self.channels))
        masks = self.mask.rounded(self.evaluation_noise)
        return masks.mean(dim=0, keepdim=True) if getattr(self.method, "predict_from", "logits") == "view" else masks

    def updates(self, phase: str) -> Sequence[str]:
        """The optimisers that a phase steps."""
        return [phase]

    def step(self, phase: str, rows: Rows, loss_of: Callable[[Rows, slice], Tensor]) -> float:
        """One step of the optimisers of a phase on the mean loss over some rows; no other gradients are computed.

        Args:
            phase: whose optimisers.
            rows: the nodes of the loss; on large graphs they come in parts, whose gradients are added up.
            loss_of: the mean loss over a part, and where the part lies among the rows.
        """
        chosen = [self.optimisers[name] for name in self.updates(phase) if name in self.optimisers]
        parameters = [parameter for optimiser in chosen for parameter in optimiser.parameters]
        parts = rows.parts()
        total = 0.0
        sums: Sequence[Tensor | None] = [None] * len(parameters)
        for place, (part, where) in enumerate(parts):
            loss = loss_of(part, where)
            if len(parts) > 1:
                loss = loss * ((where.stop - where.start) / parts[-1][1].stop)
            total += loss.item()
            if parameters:  # none when there are no masks to learn and the encoder rests
                again = place < len(parts) - 1  # the masks' own graph serves every part
                found = torch.autograd.grad(loss, parameters, allow_unused=True, retain_graph=again)
                sums = [_added(one, other) for one, other in zip(sums, found, strict=True)]
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
        self.encoder.eval()
        logits = self.val_rows.logits(self.evaluation_masks, self.classifier).mean(dim=0)[:, 0]
        self.encoder.train()
        if not torch.isfinite(logits).all():
            raise TrainingError("validation: the logits are not finite. Try smaller learning rates.")
        self.validation_loss = classifier_loss(logits[None, :, None], self.val_labels).item()
        return self.evaluator(logits.cpu().numpy())

    @property
    def modules(self) -> dict[str, nn.Module]:
        found: dict[str, nn.Module] = {"encoder": self.encoder, "classifier": self.classifier, "mask": self.mask}
        if hasattr(self, "discriminator"):
            found["discriminator"] = self.discriminator
        return found

    @property
    def training_modules(self) -> dict[str, nn.Module]:
        """Further modules that only the training needs: part of a checkpoint, not of a model."""
        return {}

    def snapshot(self) -> State:
        masks = {"evaluation_masks": self.evaluation_masks, "clamp_mask": self.clamp_mask}
        return module_state(self.modules) | copied(masks)

    def state(self) -> State:
        found = prefixed("now", self.snapshot()) | prefixed("training", module_state(self.training_modules))
        for name, optimiser in self.optimisers.items():
            found |= prefixed(f"adam.{name}", optimiser.state())
        return found | prefixed("random", self.streams.state() | {"global": torch.get_rng_state()})

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
        return Fitted(
            self.modules,
            evaluation_masks=best["evaluation_masks"].to(self.device),
            clamp_mask=best["clamp_mask"].to(self.device),
            masked=self.masked,
        )


# --- small parts ------------------------------------------------------------------------------------------------------

_WIDE = 1_000_000
"""Numbers in a layer's output, all views, from which on a second thread pays, and a better order of the nodes."""


def _load(network: Network, state: State) -> None:
    """Go on from a state that comes from a file."""
    try:
        network.load_state(state)
    except (KeyError, RuntimeError, TypeError, ValueError):
        raise ModelFileError("resume: the checkpoint is not of this method and this data.") from None


@torch.no_grad()
def output_width(encoder: Encoder | ForeignEncoder, inputs: GraphInputs) -> int:
    """How wide the representations are; a module of the user's is asked with the graph itself."""
    if isinstance(encoder, Encoder):
        return encoder.spec.hidden
    encoder.eval()
    found = encoder(inputs.x, inputs)
    encoder.train()
    if found.ndim != 2 or len(found) != inputs.num_nodes:
        raise InputError(f"encoder: it returned {tuple(found.shape)}; expected ({inputs.num_nodes}, hidden).")
    return int(found.shape[1])


def _added(one: Tensor | None, other: Tensor | None) -> Tensor | None:
    return one if other is None else other if one is None else one + other
