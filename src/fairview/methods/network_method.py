"""What do all methods that train an encoder share as estimators? Parameters, `fit` with its loop, prediction, files."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

import numpy as np
import numpy.typing as npt
from pydantic import Field
from torch import nn

from fairview.data.graph import NodeGraph
from fairview.data.splits import with_default_split
from fairview.errors import InputError, ModelFileError
from fairview.log import note, warn
from fairview.methods.contract import (
    Facts,
    Probabilities,
    channels_to_learn_from,
    check_trainable,
    features_like,
    links_like,
    require_fitted,
)
from fairview.methods.estimator import Estimator
from fairview.methods.fitted import Fitted, Links, encoder_modules
from fairview.methods.network import Network
from fairview.methods.parameters import Depth, Rounds, Seed, Threads, Weight, Width
from fairview.methods.settings import check_settings
from fairview.nn.encoders import EncoderKind
from fairview.nn.paths import PathKind
from fairview.progress import track
from fairview.propagation.node_order import neighbours_together
from fairview.propagation.operators import OperatorKind
from fairview.training.kept_memory import memory_kept
from fairview.training.loop import Loop, Progress
from fairview.training.machine import check_device, threads_of_machine, torch_threads
from fairview.training.randomness import isolated_randomness
from fairview.training.selection import Rule, SelectionRule
from fairview.training.state import State

Watch = Callable[[Progress, Any], None]
Resume = tuple[Progress, State]

_WIDE = 1_000_000
"""Numbers in a layer's output, all views, from which on a second thread pays, and a better order of the nodes."""


@dataclass(kw_only=True, eq=False, repr=False)
class NetworkMethod(Estimator):
    """A method that trains an encoder. A subclass adds its parameters, and makes its `Network`.

    Args:
        encoder: `gcn`, `gin`, `sage`, `sign`, `mlp`, or any module with `forward(x, edge_index)`.
        operator: what the encoder propagates with, `gcn`, `mean` or `sum`; by default its own.
        self_loops: how many each node gets; for GIN, 1 + eps.
        hidden: width of the encoder, at most 65,536.
        depth: layers of the encoder, at most 64; by default one, two for SAGE. Of `sign`, which has one layer, the hops
            whose columns stand side by side; by default two.
        dropout: rate between the encoder's layers.
        sensitive_channels: False leaves the channels of the sensitive attribute out of the features.
        epochs: number of training epochs.
        selection_weight: of the gaps in the selection rule.
        patience: stop after so many epochs without a better one.
        path: `auto` collapses where that is exact, `general` goes view by view.
        precision: `float32` or `float64`.
        device: where to compute, as torch names it; draws are the same on all of them.
        threads: of torch; chosen by the size of the problem if None.
        seed: of everything random.
    """

    views = 1
    """Masks that an epoch works on."""

    encoder: EncoderKind | nn.Module = "gcn"
    operator: OperatorKind | None = None
    self_loops: Weight = 1.0
    hidden: Width = 16
    depth: Depth | None = None
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.5
    sensitive_channels: bool = True
    epochs: Rounds = 200
    selection_weight: Weight = 1.0
    patience: Rounds | None = None
    path: PathKind = "auto"
    precision: Literal["float32", "float64"] = "float32"
    device: str = "cpu"
    threads: Threads | None = None
    seed: Seed = 1

    @abstractmethod
    def _network(self, graph: NodeGraph) -> Network:
        """All that is trained, for one graph."""

    def fit(self, graph: NodeGraph, *, watch: Watch | None = None, resume: Resume | None = None) -> Self:
        """Train on the labelled nodes of the train split; the epoch that is best on the val split is kept.

        Args:
            graph: with the splits `train` and `val`; a graph without any gets a stratified split, and `notes_` says so.
            watch: called after each epoch with the progress and the network; by default a bar is drawn.
            resume: progress and state of an earlier run, which goes on as if it had not been interrupted.
        """
        check_settings(type(self), self.get_params(deep=False))
        check_device(self.device)
        graph, notes = with_default_split(graph)
        check_trainable(graph)
        channels_to_learn_from(graph, self.sensitive_channels)
        with (
            track(f"Fitting {type(self).__name__}", total=self.epochs) as advance,
            torch_threads(self.thread_count(graph)),
            memory_kept(),
            isolated_randomness(self.seed),
        ):
            network = self._network(self._laid_out(graph))
            progress = Progress()
            if resume is not None:
                progress = resume[0]
                _load(network, *resume)
            loop = Loop(
                epochs=self.epochs,
                rule=self._rule(network),
                patience=self.patience,
                watch=(lambda _: advance(1)) if watch is None else lambda reached: watch(reached, network),
            )
            progress = loop.run(network, progress)
        self.fitted_ = network.fitted(progress.best)
        self.facts_ = self.facts_of(graph, network.channels)
        self.history_, self.best_epoch_ = progress.history, progress.best_epoch
        self.selection_notes_, self.interrupted_ = progress.left_out, progress.interrupted
        self.notes_ = (*notes, *network.notes)
        for text in (*self.notes_, *self.selection_notes_):
            note(text)
        if self.interrupted_:
            warn(f"{type(self).__name__}: interrupted after {len(self.history_)} of {self.epochs} epochs.")
        return self

    def facts_of(self, graph: NodeGraph, channels: tuple[str, ...]) -> Facts:
        """What a model that was fitted on this graph remembers of it."""
        return Facts.of(graph, channels)

    @property
    def weighs_links(self) -> bool:
        """Whether each kind of links has a weight of its own."""
        return False

    def _rule(self, network: Network) -> Rule:  # noqa: ARG002 - a subclass may look at it
        """Which epoch is kept."""
        return SelectionRule(self.selection_weight)

    def divisible(self) -> bool:
        """Whether the nodes can be divided among processes: the encoder takes each by itself, the losses are means.

        A method whose losses are means over nodes says so; the encoder is fit for it if it is `collapsed`.
        """
        return False

    @property
    def collapsed(self) -> bool:
        """Whether the encoder takes each node by itself once S X is at hand."""
        return self._one_layer and self.path != "general"

    @property
    def _one_layer(self) -> bool:
        return self.encoder == "sign" or (self.encoder in ("mlp", "gcn", "gin") and self.depth in (None, 1))

    def thread_count(self, graph: NodeGraph) -> int:
        """As given, or by the size of the problem: where a step is short, a second thread only gets in the way."""
        if self.threads is not None:
            return self.threads
        return threads_of_machine() if self._leaves_cache(graph) else 1

    def _laid_out(self, graph: NodeGraph) -> NodeGraph:
        """The graph as training sees it: neighbours near each other in memory, where that matters (docs/adr/0013).

        A module of the user's own may know nodes by their number, so that it sees them as they are.
        """
        built_in = not isinstance(self.encoder, nn.Module)
        return neighbours_together(graph) if built_in and self._leaves_cache(graph) else graph

    def _leaves_cache(self, graph: NodeGraph) -> bool:
        """Whether a training step works on more than the processor's cache holds; one layer goes block by block."""
        return not self._one_layer and graph.num_nodes * self.hidden * self.views >= _WIDE

    @property
    def keep_probability_(self) -> dict[str, float]:
        """Probability of being kept, by channel; of `sign` by channel and hop, `age@1`."""
        require_fitted(self)
        mask = self.fitted_.mask
        kept = self.fitted_.evaluation_masks.mean(dim=0) if mask is None else mask.keep_probability
        return dict(zip(self.columns_, kept.tolist(), strict=True))

    @property
    def columns_(self) -> tuple[str, ...]:
        """What a mask hides: the channels; of `sign` each channel at each hop."""
        require_fitted(self)
        columns: tuple[str, ...] = self.fitted_.encoder.columns(self.facts_.channels)
        return columns

    def predict_proba(self, graph: NodeGraph) -> Probabilities:
        """Probabilities of the negative and the positive class, (n, 2), for any graph with the same channels."""
        self._check_links(graph)
        with torch_threads(self.thread_count(graph)):
            positive = self.fitted_.scores(self.seen(graph), self.facts_.channels)
        if wrong := int(np.isnan(positive).sum()):
            reason = "the features are far beyond those of the training, or the model is broken"
            raise InputError(f"predict: {wrong:,} of {len(positive):,} scores are not a number; {reason}.")
        return np.stack([1 - positive, positive], axis=1)

    def representations(self, graph: NodeGraph) -> npt.NDArray[np.floating[Any]]:
        """What the heads see of each node, (n, hidden), the mean over the views."""
        self._check_links(graph)
        with torch_threads(self.thread_count(graph)):
            return self.fitted_.representations(self.seen(graph), self.facts_.channels)

    def seen(self, graph: NodeGraph) -> NodeGraph:
        """The graph as the fitted encoder sees it: with the kinds of its links, if these have weights of their own."""
        return graph

    def _check_links(self, graph: NodeGraph) -> None:
        require_fitted(self)
        if self.encoder != "mlp":  # which looks at none
            links_like(graph, self.facts_)

    def fair_view(self, graph: NodeGraph) -> NodeGraph:
        """The graph with the mean of the masked views as its features (X̃ of Algorithm 1).

        Of `sign`: with the columns that its layer sees, `age@0`, `age@1`, ..., which are propagated already. Of kinds
        of links likewise: `age@friend`, ..., `age@itself`, without the weights of the kinds.
        """
        require_fitted(self)
        mean = self.fitted_.evaluation_masks.mean(dim=0).cpu().numpy()
        inputs = self.fitted_.inputs(self.seen(graph), self.facts_.channels)
        if inputs.blocks is not None:
            return graph.with_features(inputs.propagated.cpu().numpy() * mean, self.columns_)
        return graph.with_features(features_like(graph, self.facts_.channels) * mean, self.facts_.channels)

    def tensors(self) -> State:
        """All weights, and the masks that prediction uses."""
        require_fitted(self)
        return self.fitted_.tensors()

    def restore(self, tensors: State, facts: Facts) -> Self:
        """The fitted model that `tensors` and `facts` describe."""
        check_settings(type(self), self.get_params(deep=False))
        self.facts_ = facts
        self.fitted_ = Fitted.from_tensors(self, tensors, len(facts.channels))
        return self

    def blank_modules(self, tensors: State, channels: int) -> dict[str, nn.Module]:
        """The modules that `tensors` fill, by name; a subclass adds those that its network adds."""
        return encoder_modules(self, tensors, channels)

    def link_filter(self, modules: dict[str, nn.Module]) -> Links | None:  # noqa: ARG002 - a subclass may need them
        """What turns a graph's links into those that the encoder sees; None leaves them as they are."""
        return None

    @property
    def learns_masks(self) -> bool:
        """Whether the channel mask is learnt."""
        return False


def _load(network: Network, progress: Progress, state: State) -> None:
    """Go on from a state that comes from a file."""
    given, known = (_without_streams(each) for each in (state, network.state()))
    fits = _like(given, known) and (not progress.best or _like(progress.best, network.snapshot()))
    try:
        if fits:
            network.load_state(state)
    except (KeyError, RuntimeError, TypeError, ValueError):  # a random state that is none, or is not there
        fits = False
    if not fits:
        raise ModelFileError("resume: the checkpoint is not of this method and this data.")


def _without_streams(state: State) -> State:
    """All but the streams of randomness, which begin when they are first drawn from; the global one is always there."""
    return {name: each for name, each in state.items() if not name.startswith("random.") or name == "random.global"}


def _like(state: State, other: State) -> bool:
    """Whether two states have tensors of the same names, shapes and types."""
    first, second = ({name: (each.shape, each.dtype) for name, each in one.items()} for one in (state, other))
    return first == second
