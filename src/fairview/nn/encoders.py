"""Which graph neural network? MLP, GCN, GIN and GraphSAGE from PyG's convolutions, in the paper's shapes, and SIGN.

An encoder maps (x, inputs) to representations of shape (n, hidden), one view at a time: that is the general path, right
for every encoder. `fairview.nn.paths` knows quicker ways that give the same numbers.

Paper: appendix B.1. In the published runs GCN and GIN have one layer and no activation, SAGE two. SIGN is not in it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Literal, get_args

import torch
from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor, nn
from torch.nn import functional

from fairview.errors import InputError
from fairview.nn.convolutions import Convolution, GCNLayer, GINLayer, SAGELayer
from fairview.nn.dropout import DropoutSource
from fairview.nn.foreign_encoder import ForeignEncoder as ForeignEncoder
from fairview.nn.foreign_encoder import takes_weights as takes_weights
from fairview.nn.inputs import GraphInputs
from fairview.nn.mask import across_blocks
from fairview.propagation.blocks import Blocks, Hops
from fairview.propagation.kinds import Kinds
from fairview.propagation.operators import Operator, OperatorKind

EncoderKind = Literal["mlp", "gcn", "gin", "sage", "sign"]
ENCODERS: tuple[str, ...] = get_args(EncoderKind)

_OPERATORS: dict[str, OperatorKind] = {"gcn": "gcn", "gin": "sum", "sage": "mean", "sign": "gcn"}


class EncoderSpec(BaseModel):
    """The shape of an encoder, and the operator that it propagates with.

    Attributes:
        kind: of network.
        operator: `gcn`, `mean` or `sum`; by default GCN's own, also for SIGN, the sum for GIN, the mean for SAGE.
        self_loops: how many each node gets; for GIN, 1 + eps.
        hidden: width of every layer.
        depth: number of layers; one, but two for SAGE. Of SIGN, which has one layer, the hops; two.
        dropout: rate between layers.
        kinds: of the links, each with a weight of its own, for one layer of GCN or GIN; None: all links count alike.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    kind: EncoderKind = "gcn"
    operator: OperatorKind | None = None
    self_loops: float = Field(default=1.0, ge=0.0, allow_inf_nan=False)
    hidden: int = Field(default=16, ge=1)
    depth: int | None = Field(default=None, ge=1)
    dropout: float = Field(default=0.5, ge=0.0, lt=1.0)
    kinds: tuple[str, ...] | None = None

    @property
    def layers(self) -> int:
        """How many there are: `depth`, or the usual number."""
        if self.kind == "sign":
            return 1
        return self.depth if self.depth is not None else (2 if self.kind == "sage" else 1)

    def shapes(self, channels: int) -> Iterator[tuple[int, int]]:
        """Of each layer, how many numbers of a node go in and come out."""
        return pairwise([channels] + [self.hidden] * self.layers)

    @property
    def propagation(self) -> Operator | None:
        """S; None for the MLP."""
        if self.kind == "mlp":
            return None
        return Operator(kind=self.operator or _OPERATORS[self.kind], self_loops=self.self_loops)

    @property
    def blocks(self) -> Blocks | None:
        """What stands side by side in front of the layer; None for encoders that have S X alone, or nothing."""
        if self.kinds is not None and self.propagation is not None:
            return Kinds(operator=self.propagation, names=self.kinds)
        if self.kind != "sign" or self.propagation is None:
            return None
        return Hops(operator=self.propagation, hops=self.depth or 2)

    def build(self, channels: int, seed: int) -> Encoder:
        """A fresh encoder; its weights depend on the seed alone, and the global random state is left as it was."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            encoder: Encoder = _CLASSES[self.kind](channels, self)
            return encoder


class Encoder(nn.Module, ABC):
    """What the built-in encoders share: their shape, the source of dropout, and the weights that a clamp acts on."""

    layers: nn.ModuleList

    def __init__(self, spec: EncoderSpec) -> None:
        super().__init__()
        self.spec = spec
        self.dropout = DropoutSource(spec.dropout)

    def weigh_kinds(self) -> None:
        """Add the weights of the kinds of links, if there are some.

        Behind the layers, whose weights then lie in memory as without kinds: sums over them are rounded alike in a
        model that is read from a file.
        """
        if self.spec.kinds is not None:
            self.kinds = KindWeights(len(self.spec.kinds) + 1)
            self.gather = Convolution("SimpleConv", aggr="sum")

    @property
    def link_weights(self) -> Tensor:
        """a_t of each kind of links, that of the self-loops last, (kinds,): above 0, and 1 at the start."""
        weights: Tensor = self.kinds()
        return weights

    @property
    def column_weights(self) -> Tensor:
        """The first layer as one matrix over all columns, (hidden, columns): of kinds [a_1 W | ... | a_T W]."""
        weight = self.first_weights[0]
        return weight if self.spec.kinds is None else across_blocks(weight, self.link_weights)

    def gathered(self, x: Tensor, inputs: GraphInputs) -> Tensor:
        """Σ a_t S_t x_t, the messages of each kind of links by themselves: (n, T d) -> (n, d)."""
        parts = zip(self.link_weights, x.chunk(self.blocks, dim=1), inputs.edges_by_kind, strict=True)
        return torch.stack([weight * self.gather(part, *edges) for weight, part, edges in parts]).sum(dim=0)

    @property
    def blocks(self) -> int:
        """How many columns there are for each channel."""
        return self.spec.blocks.count if self.spec.blocks is not None else 1

    def columns(self, channels: Sequence[str]) -> tuple[str, ...]:
        """The names of what the first layer looks at, and a mask hides: the channels, or those of every block."""
        return self.spec.blocks.columns(channels) if self.spec.blocks is not None else tuple(channels)

    def layer(self, depth: int) -> Any:
        """A layer, as what it is: PyG's convolutions carry no types."""
        return self.layers[depth]

    @property
    @abstractmethod
    def first_weights(self) -> list[Tensor]:
        """The matrices that act on the channels, each (hidden, channels), or on all blocks of them."""

    def between(self, h: Tensor, norm: nn.Module | None = None) -> Tensor:
        """ReLU, a norm if there is one, and dropout: between two layers."""
        h = torch.relu(h) if norm is None else norm(torch.relu(h))
        return h * self.dropout.draw(h) if self.training and self.dropout.rate else h


class KindWeights(nn.Module):
    """A weight for each kind of links, above 0: the exponential of what is learnt."""

    def __init__(self, kinds: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.zeros(kinds))

    def forward(self) -> Tensor:
        """(kinds,), all 1 at the start."""
        return self.scale.exp()


class MLPEncoder(Encoder):
    """Linear layers with ReLU between them; no links."""

    def __init__(self, channels: int, spec: EncoderSpec) -> None:
        super().__init__(spec)
        self.layers = nn.ModuleList(nn.Linear(*pair) for pair in spec.shapes(channels))

    def forward(self, x: Tensor, inputs: GraphInputs) -> Tensor:  # noqa: ARG002 - an MLP looks at no links
        for depth, layer in enumerate(self.layers):
            x = layer(self.between(x) if depth else x)
        return x

    @property
    def first_weights(self) -> list[Tensor]:
        return [self.layer(0).weight]


class GCNEncoder(Encoder):
    """H = S H W + b, with ReLU between layers; one layer has no activation at all."""

    def __init__(self, channels: int, spec: EncoderSpec) -> None:
        super().__init__(spec)
        # S carries the normalisation and the self-loops already, which is what `cached=True` would keep
        self.layers = nn.ModuleList(GCNLayer(*pair) for pair in spec.shapes(channels))
        self.weigh_kinds()

    def forward(self, x: Tensor, inputs: GraphInputs) -> Tensor:
        if self.spec.kinds is not None:
            return functional.linear(self.gathered(x, inputs), self.layer(0).lin.weight, self.layer(0).bias)
        for depth, layer in enumerate(self.layers):
            x = layer(self.between(x) if depth else x, *inputs.weighted_edges)
        return x

    @property
    def first_weights(self) -> list[Tensor]:
        return [self.layer(0).lin.weight]


class GINEncoder(Encoder):
    """H = BatchNorm(Linear(S H)), with ReLU between layers."""

    def __init__(self, channels: int, spec: EncoderSpec) -> None:
        super().__init__(spec)
        blocks = [nn.Sequential(nn.Linear(*pair), nn.BatchNorm1d(pair[1])) for pair in spec.shapes(channels)]
        self.sums = spec.operator in (None, "sum")
        self.layers = nn.ModuleList(
            GINLayer(block, eps=spec.self_loops - 1) if self.sums else block for block in blocks
        )
        self.aggregate = Convolution("SimpleConv", aggr="sum")
        self.weigh_kinds()

    def forward(self, x: Tensor, inputs: GraphInputs) -> Tensor:
        if self.spec.kinds is not None:
            hidden: Tensor = self._block(self.gathered(x, inputs))
            return hidden
        for depth, layer in enumerate(self.layers):
            x = self.between(x) if depth else x
            if self.sums and not inputs.weighted:
                x = layer(x, inputs.edge_index)
            else:  # PyG's own takes no weights
                block = layer.nn if self.sums else layer
                x = block(self.aggregate(x, *inputs.weighted_edges))  # type: ignore[operator]
        return x

    @property
    def linear(self) -> nn.Linear:
        """Of the first layer."""
        linear: nn.Linear = self._block[0]
        return linear

    @property
    def norm(self) -> nn.BatchNorm1d:
        """Of the first layer."""
        norm: nn.BatchNorm1d = self._block[1]
        return norm

    @property
    def _block(self) -> Any:
        return self.layer(0).nn if self.sums else self.layer(0)

    @property
    def first_weights(self) -> list[Tensor]:
        return [self.linear.weight]


class SAGEEncoder(Encoder):
    """H = normalise(W_l S H + W_r H + b) to length 1; between layers ReLU, BatchNorm (affine part fixed), dropout.

    Paper: appendix B.1, equation for SAGE. Differs: S is the mean over neighbours and the node itself, and outputs are
    normalised, as in the published runs.
    """

    def __init__(self, channels: int, spec: EncoderSpec) -> None:
        super().__init__(spec)
        if spec.operator not in (None, "mean", "sum") or spec.self_loops not in (0.0, 1.0):
            given = f"operator '{spec.operator or 'mean'}' with {spec.self_loops:g} self-loops"
            raise InputError(f"sage: {given}; it takes the operators mean and sum, and 0 or 1 self-loops.")
        self.layers = nn.ModuleList(
            SAGELayer(*pair, aggregation=spec.operator or "mean") for pair in spec.shapes(channels)
        )
        self.norms = nn.ModuleList(nn.BatchNorm1d(spec.hidden) for _ in range(spec.layers - 1))
        for norm in self.norms:
            norm.requires_grad_(False)
        self.aggregate = Convolution("SimpleConv", aggr="sum")

    def forward(self, x: Tensor, inputs: GraphInputs) -> Tensor:
        edges, weights = inputs.weighted_edges  # with the node itself among its neighbours, if it has a self-loop
        for depth in range(len(self.layers)):
            x, layer = self.between(x, self.norms[depth - 1]) if depth else x, self.layer(depth)
            x = layer.combined(self.aggregate(x, edges, weights), x) if inputs.weighted else layer(x, edges)
        return x

    @property
    def first_weights(self) -> list[Tensor]:
        return [self.layer(0).lin_l.weight, self.layer(0).lin_r.weight]


class SIGNEncoder(Encoder):
    """H = [X | S X | ... | S^k X] W + b: one linear layer that has a weight for each channel and hop.

    So that a mask can keep a channel at one hop and hide it at another: the view is X once for each hop, each under the
    hop's own part of the mask, S^h (X ∘ m_h).

    Frasca et al.: *SIGN: Scalable Inception Graph Neural Networks*, 2020. Differs: one linear layer for all hops,
    without activations, like the one-layer GCN of FairVGNN's paper.
    """

    def __init__(self, channels: int, spec: EncoderSpec) -> None:
        super().__init__(spec)
        self.layers = nn.ModuleList([nn.Linear(channels * self.blocks, spec.hidden)])
        self.aggregate = Convolution("SimpleConv", aggr="sum")

    def forward(self, x: Tensor, inputs: GraphInputs) -> Tensor:
        done, going = x.tensor_split([x.shape[1] // self.blocks], dim=1)
        hops = [done]
        while going.shape[1]:  # every pass of messages takes those on that have further to go
            done, going = self.aggregate(going, *inputs.weighted_edges).tensor_split([done.shape[1]], dim=1)
            hops.append(done)
        hidden: Tensor = self.layer(0)(torch.cat(hops, dim=1))
        return hidden

    @property
    def first_weights(self) -> list[Tensor]:
        return [self.layer(0).weight]


_CLASSES: dict[str, Any] = {
    "mlp": MLPEncoder,
    "gcn": GCNEncoder,
    "gin": GINEncoder,
    "sage": SAGEEncoder,
    "sign": SIGNEncoder,
}
