"""A plain network on features whose most sensitive channels are blanked out: strategies S0, S1 and S2.

Paper: section 3, Table 1. S0 masks nothing, S1 ranks the channels before propagation, S2 after it.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field
from torch import Tensor

from fairview.data.graph import NodeGraph
from fairview.methods.contract import require_fitted
from fairview.methods.parameters import extending
from fairview.methods.vanilla import Plain, Vanilla
from fairview.propagation.mask_by_correlation import Strategy, mask_by_correlation


class Masking(Vanilla):
    """`Vanilla` without the channels that correlate most with the sensitive attribute.

    The channels are chosen on the graph of `fit`; any other graph is predicted without the same ones.
    The parameters of `Vanilla`, and:

    Args:
        strategy: `S0` masks nothing, `S1` ranks by the correlation of X, `S2` by that of S^hops X.
        top_k: how many channels are masked; the sensitive ones are ranked like any other.
        hops: of GCN's S, with one self-loop, whatever the encoder.
    """

    @extending(Vanilla)
    def __init__(
        self,
        *,
        strategy: Strategy = "S2",
        top_k: Annotated[int, Field(ge=0)] = 4,
        hops: Annotated[int, Field(ge=1)] = 1,
        **others: Any,
    ) -> None:
        super().__init__(**others)
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
