"""What do all methods that train an encoder share? The estimator's manners, and the network behind it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import contextmanager
from typing import Any, Self

import numpy as np
import torch
from sklearn.base import BaseEstimator
from torch import Tensor, nn

from fairview.data.graph import NodeGraph
from fairview.errors import InputError
from fairview.methods.contract import Probabilities, features_like, training_rows
from fairview.methods.settings import check_settings
from fairview.metrics.evaluation import Evaluation, Evaluator
from fairview.nn.encoders import Encoder, EncoderSpec, ForeignEncoder
from fairview.nn.inputs import GraphInputs
from fairview.nn.mask import ChannelMask
from fairview.nn.paths import choose_path
from fairview.training.adam import Adam
from fairview.training.loop import Loop, Progress
from fairview.training.randomness import Streams
from fairview.training.selection import SelectionRule
from fairview.training.state import State, below, load_modules, module_state, prefixed


class NetworkMethod(BaseEstimator):  # type: ignore[misc]
    """A method in scikit-learn's manner: keyword parameters, `fit`, `predict_proba`, `predict`, `representations`.

    A subclass lists its parameters in `__init__` and makes its `Network`.
    """

    seed: int
    path: str

    def _network(self, graph: NodeGraph) -> Network:
        raise AssertionError("every method makes its own network")

    def fit(self, graph: NodeGraph) -> Self:
        """Train on the labelled nodes of the train split; the epoch that is best on the val split is kept."""
        return self.fit_with(graph)

    def fit_with(self, graph: NodeGraph, *, progress: Progress | None = None, watch: Any = None) -> Self:
        """`fit`, with a hook: `watch(progress, network)` is called after each epoch; `progress` goes on from there."""
        check_settings(type(self), self.get_params(deep=False))
        check_trainable(graph)
        with torch_threads(self._threads(graph)), isolated_randomness(self.seed):
            network = self._network(graph)
            if progress is not None:
                network.load_state(network.resume_from)  # type: ignore[attr-defined]
            loop = Loop(
                epochs=self.epochs,
                rule=SelectionRule(self.selection_weight),
                patience=self.patience,
                watch=(lambda so_far: watch(so_far, network)) if watch is not None else (lambda so_far: None),
            )
            reached = loop.run(network, progress)
        self._keep(network, reached)
        return self

    def _keep(self, network: Network, reached: Progress) -> None:
        self.fitted_ = network.fitted(reached.best)
        self.history_ = reached.history
        self.best_epoch_ = reached.best_epoch
        self.selection_notes_ = reached.left_out
        self.interrupted_ = reached.interrupted

    def _threads(self, graph: NodeGraph) -> int:
        if self.threads is not None:
            return int(self.threads)
        work = graph.num_nodes * graph.num_channels * getattr(self, "views", 1)
        return 1 if work < _WORK_FOR_TWO_THREADS else torch.get_num_threads()

    @property
    def keep_probability_(self) -> dict[str, float]:
        """Probability of being kept, by channel."""
        fitted = self._fitted()
        if fitted.mask is None:
            return dict.fromkeys(fitted.channels, 1.0)
        return dict(zip(fitted.channels, fitted.mask.keep_probability.tolist(), strict=True))

    def predict_proba(self, graph: NodeGraph) -> Probabilities:
        """Probabilities of the negative and the positive class, (n, 2), for any graph with the same channels."""
        with torch_threads(self._threads(graph)):
            positive = self._fitted().scores(graph)
        return np.stack([1 - positive, positive], axis=1)

    def predict(self, graph: NodeGraph) -> np.ndarray:
        """1 where the positive class has a probability above one half, else 0."""
        return (self.predict_proba(graph)[:, 1] > 0.5).astype(np.int8)

    def representations(self, graph: NodeGraph) -> np.ndarray:
        """What the heads see of each node, (n, hidden), the mean over the views."""
        with torch_threads(self._threads(graph)):
            return self._fitted().representations(graph)

    def fair_view(self, graph: NodeGraph) -> NodeGraph:
        """The graph with the mean of the masked views as its features (X̃ of Algorithm 1)."""
        fitted = self._fitted()
        masks = fitted.evaluation_masks.mean(dim=0).numpy()
        return graph.with_features(features_like(graph, fitted.channels) * masks, fitted.channels)

    def _fitted(self) -> Fitted:
        if not hasattr(self, "fitted_"):
            raise InputError(f"{type(self).__name__}: not fitted yet; call fit(graph) first.")
        fitted: Fitted = self.fitted_
        return fitted


class Network:
    """All that is trained, on one graph: encoder, mask, heads, optimisers, random streams.

    Args:
        method: the parameters.
        graph: with splits.
        views: number of masks.
        masked: whether the masks are learnt; otherwise they are all ones.
    """

    def __init__(self, method: Any, graph: NodeGraph, *, views: int, masked: bool) -> None:
        self.method, self.graph, self.views, self.masked = method, graph, views, masked
        self.streams = Streams(method.seed)
        self.dtype = getattr(torch, method.precision)
        hidden = () if method.sensitive_channels else graph.sensitive_channels
        self.channels = tuple(name for name in graph.channels if name not in hidden)
        self.encoder, operator = make_encoder(method, len(self.channels), self.streams.seed("encoder"))
        self.encoder.to(self.dtype)
        if isinstance(self.encoder, Encoder):
            self.encoder.dropout.generator = self.streams["dropout"]
        features = features_like(graph, self.channels)
        self.inputs = GraphInputs(features, graph.adjacency, operator, dtype=self.dtype)
        self.path = choose_path(self.encoder, self.inputs, method.path)
        temperature, hard = getattr(method, "temperature", 1.0), getattr(method, "mask", "soft") == "hard"
        self.mask = ChannelMask(len(self.channels), temperature=temperature, hard=hard)
        self.mask.reset_parameters(self.streams["generator"])
        self.mask.to(self.dtype)
        self.width = output_width(self.encoder, self.inputs)
        self.classifier = self.head("classifier", 1)
        self.clamp_mask = torch.ones(len(self.channels), dtype=self.dtype)
        self.evaluation_noise = self.mask.noise(views, self.streams["evaluation"])
        train, val = training_rows(graph), (graph.split("val") & graph.labelled).nonzero()[0]
        self.train_rows, self.train_labels = self.path.on(train), torch.tensor(graph.labels[train], dtype=self.dtype)
        self.val_rows = self.path.on(val)
        self.evaluator = Evaluator.from_codes(
            graph.labels[val], codes=graph.sensitive[val], groups=graph.groups, threshold=0.0
        )
        self.optimisers: dict[str, Adam] = {}

    # --- parts --------------------------------------------------------------------------------------------------------

    def head(self, name: str, outputs: int) -> nn.Linear:
        """A linear layer whose first weights depend on the seed and its name alone."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.streams.seed(name))
            return nn.Linear(self.width, outputs).to(self.dtype)

    def draw_masks(self) -> Tensor:
        """K fresh masks with gradients to their scores; ones without feature masks."""
        if not self.masked:
            return torch.ones(self.views, len(self.channels), dtype=self.dtype)
        masks: Tensor = self.mask(self.mask.noise(self.views, self.streams["mask"]))
        return masks

    @property
    def evaluation_masks(self) -> Tensor:
        """The K masks of evaluation: one draw of noise for the whole run, rounded with the scores as they are now."""
        if not self.masked:
            return torch.ones(1, len(self.channels), dtype=self.dtype)
        masks = self.mask.rounded(self.evaluation_noise)
        return masks.mean(dim=0, keepdim=True) if getattr(self.method, "predict_from", "logits") == "view" else masks

    def updates(self, phase: str) -> Sequence[str]:
        """The optimisers that a phase steps."""
        return [phase]

    def step(self, loss: Tensor, phase: str) -> None:
        """One step of the optimisers of a phase; gradients of nothing else are computed."""
        chosen = [self.optimisers[name] for name in self.updates(phase) if name in self.optimisers]
        parameters = [parameter for optimiser in chosen for parameter in optimiser.parameters]
        gradients = torch.autograd.grad(loss, parameters, allow_unused=True)
        start = 0
        for optimiser in chosen:
            optimiser.step(gradients[start : start + len(optimiser.parameters)])
            start += len(optimiser.parameters)

    # --- what the loop asks for ---------------------------------------------------------------------------------------

    def epoch(self) -> dict[str, float]:
        """Train for one epoch; the losses by phase."""
        raise AssertionError("every network trains in its own way")

    @torch.no_grad()
    def validate(self) -> Evaluation:
        """Metrics of the mean logits over the evaluation masks, on the labelled val nodes."""
        self.encoder.eval()
        logits = self.val_rows.logits(self.evaluation_masks, self.classifier).mean(dim=0)[:, 0]
        self.encoder.train()
        return self.evaluator(logits.numpy())

    @property
    def modules(self) -> dict[str, nn.Module]:
        found: dict[str, nn.Module] = {"encoder": self.encoder, "classifier": self.classifier, "mask": self.mask}
        if hasattr(self, "discriminator"):
            found["discriminator"] = self.discriminator
        return found

    def snapshot(self) -> State:
        masks = {"evaluation_masks": self.evaluation_masks.clone(), "clamp_mask": self.clamp_mask.clone()}
        return module_state(self.modules) | masks

    def state(self) -> State:
        found = prefixed("now", self.snapshot())
        for name, optimiser in self.optimisers.items():
            found |= prefixed(f"adam.{name}", optimiser.state())
        return found | prefixed("random", self.streams.state() | {"global": torch.get_rng_state()})

    def load_state(self, state: State) -> None:
        now, random = below(state, "now"), below(state, "random")
        load_modules(self.modules, now)
        self.clamp_mask = now["clamp_mask"].clone()
        for name, optimiser in self.optimisers.items():
            optimiser.load_state(below(state, f"adam.{name}"))
        torch.set_rng_state(random.pop("global"))
        self.streams.load_state(random)

    def fitted(self, best: State) -> Fitted:
        """What prediction needs, from the best snapshot."""
        load_modules(self.modules, best)
        for module in self.modules.values():
            module.eval()
        return Fitted(
            channels=self.channels,
            encoder=self.encoder,
            classifier=self.classifier,
            discriminator=getattr(self, "discriminator", None),
            mask=self.mask if self.masked else None,
            evaluation_masks=best["evaluation_masks"],
            clamp_mask=best["clamp_mask"],
        )


class Fitted:
    """A trained network, without the graph that it was trained on."""

    def __init__(
        self,
        *,
        channels: tuple[str, ...],
        encoder: Encoder | ForeignEncoder,
        classifier: nn.Linear,
        discriminator: nn.Linear | None,
        mask: ChannelMask | None,
        evaluation_masks: Tensor,
        clamp_mask: Tensor,
    ) -> None:
        self.channels, self.encoder, self.classifier = channels, encoder, classifier
        self.discriminator, self.mask = discriminator, mask
        self.evaluation_masks, self.clamp_mask = evaluation_masks, clamp_mask

    @torch.no_grad()
    def scores(self, graph: NodeGraph) -> np.ndarray:
        """Probability of the positive class of each node: the sigmoid of the mean logit over the views."""
        rows = choose_path(self.encoder, self._inputs(graph)).on()
        logits = rows.logits(self.evaluation_masks, self.classifier).mean(dim=0)[:, 0]
        return torch.sigmoid(logits.double()).numpy()

    @torch.no_grad()
    def representations(self, graph: NodeGraph) -> np.ndarray:
        inputs = self._inputs(graph)
        total = torch.zeros(1)
        for mask in self.evaluation_masks:
            total = total + self.encoder(inputs.x * mask, inputs)
        return (total / len(self.evaluation_masks)).numpy()

    def _inputs(self, graph: NodeGraph) -> GraphInputs:
        operator = self.encoder.spec.propagation if isinstance(self.encoder, Encoder) else None
        dtype = self.classifier.weight.dtype
        return GraphInputs(features_like(graph, self.channels), graph.adjacency, operator, dtype=dtype)


# --- small parts ------------------------------------------------------------------------------------------------------

_WORK_FOR_TWO_THREADS = 3_000_000
"""nodes * channels * views below which one thread is quicker than waking a second one."""


def check_trainable(graph: NodeGraph) -> None:
    """A sensitive attribute with two groups, and labelled nodes in train and val."""
    if len(graph.groups) < 2:
        raise InputError(f"train: the sensitive attribute '{graph.sensitive_name}' has fewer than two groups.")
    for name in ("train", "val"):
        if name not in graph.splits:
            raise InputError(f"train: the graph has no split '{name}'; draw one with fv.stratified_splits(graph).")
    if not (graph.split("val") & graph.labelled).any():
        raise InputError("train: no node of the val split has a label; it chooses the epoch that is kept.")


def make_encoder(method: Any, channels: int, seed: int) -> tuple[Encoder | ForeignEncoder, Any]:
    """The encoder that the parameters describe, or a copy of the user's own, and its operator."""
    if isinstance(method.encoder, nn.Module):
        import copy

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


@contextmanager
def torch_threads(count: int) -> Any:
    """So many threads inside, as before outside."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def isolated_randomness(seed: int) -> Any:
    """For modules of the user's that draw from the global stream: seeded inside, untouched outside."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(Streams(seed).seed("global"))
        yield
