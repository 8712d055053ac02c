"""A plain network on features whose most sensitive channels are blanked out: strategies S0, S1 and S2.

Paper: section 3, Table 1. S0 masks nothing, S1 ranks the channels before propagation, S2 after it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from fairview.data.graph import NodeGraph
from fairview.methods.parameters import Channels, Depth
from fairview.methods.plain import PLAIN_SPACE
from fairview.methods.vanilla import Vanilla, VanillaNetwork
from fairview.propagation.mask_by_correlation import Strategy, mask_by_correlation


@dataclass(kw_only=True, eq=False, repr=False)
class Masking(Vanilla):
    """`Vanilla` without the channels that correlate most with the sensitive attribute.

    The channels are chosen on the graph of `fit`; any other graph is predicted without the same ones.

    Args:
        strategy: `S0` masks nothing, `S1` ranks by the correlation of X, `S2` by that of S^hops X.
        top_k: how many channels are masked; the sensitive ones are ranked like any other.
        hops: of GCN's S, with one self-loop, whatever the encoder.
    """

    search_space: ClassVar[Mapping[str, Sequence[Any]]] = {**PLAIN_SPACE, "top_k": (1, 2, 4, 8)}

    strategy: Strategy = "S2"
    top_k: Channels = 4
    hops: Depth = 1

    def _network(self, graph: NodeGraph) -> MaskingNetwork:
        return MaskingNetwork(self, graph)

    def divisible(self) -> bool:
        """Never: the channels are chosen by correlations over all nodes."""
        return False


class MaskingNetwork(VanillaNetwork):
    """The plain network with one fixed mask, in training as in prediction."""

    def __init__(self, method: Masking, graph: NodeGraph) -> None:
        super().__init__(method, graph)
        seen = graph.without_channels([name for name in graph.channels if name not in self.channels])
        masked = mask_by_correlation(seen, method.strategy, method.top_k, hops=method.hops)
        self.fixed_mask = self.in_every_block((masked.features == seen.features).all(axis=0))
