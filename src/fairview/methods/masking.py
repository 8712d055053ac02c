"""A plain network on features whose most sensitive channels are blanked out: strategies S0, S1 and S2.

Paper: section 3, Table 1. S0 masks nothing, S1 ranks the channels before propagation, S2 after it.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field
from torch import Tensor, nn

from fairview.data.graph import NodeGraph
from fairview.methods.contract import require_fitted
from fairview.methods.fairvgnn import Rate, Threads, Weight
from fairview.methods.vanilla import Plain, Vanilla
from fairview.nn.encoders import EncoderKind
from fairview.nn.paths import PathKind
from fairview.propagation.masking import Strategy, mask_by_correlation
from fairview.propagation.operators import OperatorKind


class Masking(Vanilla):
    """`Vanilla` without the channels that correlate most with the sensitive attribute.

    The channels are chosen on the graph of `fit`; any other graph is predicted without the same ones.
    The parameters of `Vanilla`, and:

    Args:
        strategy: `S0` masks nothing, `S1` ranks by the correlation of X, `S2` by that of S^hops X.
        top_k: how many channels are masked; the sensitive ones are ranked like any other.
        hops: of GCN's S, with one self-loop, whatever the encoder.
    """

    def __init__(
        self,
        *,
        strategy: Strategy = "S2",
        top_k: Annotated[int, Field(ge=0)] = 4,
        hops: Annotated[int, Field(ge=1)] = 1,
        encoder: EncoderKind | nn.Module = "gcn",
        operator: OperatorKind | None = None,
        self_loops: Weight = 1.0,
        hidden: Annotated[int, Field(ge=1)] = 16,
        depth: Annotated[int, Field(ge=1)] | None = None,
        dropout: Annotated[float, Field(ge=0, lt=1)] = 0.5,
        learning_rate: Rate = 0.001,
        weight_decay: Weight = 1e-5,
        sensitive_channels: bool = True,
        epochs: Annotated[int, Field(ge=1)] = 1000,
        selection: Literal["loss", "score"] = "loss",
        selection_weight: Weight = 1.0,
        patience: Annotated[int, Field(ge=1)] | None = None,
        path: PathKind = "auto",
        precision: Literal["float32", "float64"] = "float32",
        device: str = "cpu",
        threads: Threads | None = None,
        seed: Annotated[int, Field(ge=0)] = 0,
    ) -> None:
        super().__init__(
            encoder=encoder,
            operator=operator,
            self_loops=self_loops,
            hidden=hidden,
            depth=depth,
            dropout=dropout,
            learning_rate=learning_rate,
            weight_decay=weight_decay,
            sensitive_channels=sensitive_channels,
            epochs=epochs,
            selection=selection,
            selection_weight=selection_weight,
            patience=patience,
            path=path,
            precision=precision,
            device=device,
            threads=threads,
            seed=seed,
        )
        self.strategy = strategy
        self.top_k = top_k
        self.hops = hops

    def _network(self, graph: NodeGraph) -> Masked:
        return Masked(self, graph)

    @property
    def keep_probability_(self) -> dict[str, float]:
        """0 for the masked channels, 1 for the others."""
        require_fitted(self)
        return dict(zip(self.facts_.channels, self.fitted_.evaluation_masks[0].tolist(), strict=True))


class Masked(Plain):
    """The plain network with one fixed mask, in training as in prediction."""

    def __init__(self, method: Masking, graph: NodeGraph) -> None:
        super().__init__(method, graph)
        seen = graph.without_channels([name for name in graph.channels if name not in self.channels])
        masked = mask_by_correlation(seen, method.strategy, method.top_k, hops=method.hops)
        self.kept = self.tensor((masked.features == seen.features).all(axis=0)[None])

    def draw_masks(self) -> Tensor:
        return self.kept

    @property
    def evaluation_masks(self) -> Tensor:
        return self.kept
