"""What carries the gap of a score that is linear in the features and a polynomial in S? All of it in closed form.

    u = const + y_0 + S y_1 + S² y_2 + ...,   y_h = B w_h

B are columns of the nodes: the channels themselves with w_0 = 0 and one hop for GCN and GIN of one layer, whose views
are averaged on the logits and whose BatchNorm is fixed when it predicts; splines of the channels for `Parity`.

With c the contrast between two groups, t_h = (Sᵀ)ʰ c and v_h = y_h + S v_{h+1}, the gap c · u depends on the S of hop
h through t_{h-1} · S v_h. The effect of a link on each of these forms is exact (`link_effects`). With one hop there is
one form, so that the effect on the gap is exact; with more, their sum leaves out what a link does on several hops at
once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fairview.data.adjacency import Adjacency
from fairview.explanation.link_effects import link_and_node_effects
from fairview.explanation.links import LinkList
from fairview.explanation.score import ChannelEffect, Parts, parts_at_home
from fairview.propagation.one_hop import Hop, links_hop
from fairview.propagation.operators import Operator

Reals = npt.NDArray[np.floating[Any]]


@dataclass(frozen=True, eq=False)
class PolynomialScore:
    """const + Σ_h Sʰ B w_h.

    Attributes:
        operator: S.
        columns: B, (n, columns).
        weights: w_h, (hops + 1, columns).
        constant: added to every logit.
        names: of the channels.
        channel_of: the channel of each column, (columns,).
    """

    operator: Operator
    columns: Reals
    weights: Reals
    constant: float
    names: tuple[str, ...]
    channel_of: npt.NDArray[np.intp]

    @property
    def hops(self) -> int:
        return len(self.weights) - 1

    @property
    def exact(self) -> bool:
        return self.hops == 1

    @property
    def how(self) -> str:
        if self.exact:
            return "The score is linear in the links' operator, so that the effect of each link is exact."
        return (
            f"The score looks {self.hops} hops far: the effect of a link on each hop is exact, and what it does on "
            "several hops at once is left out."
        )

    def logits(self, adjacency: Adjacency) -> Reals:
        return self._behind(links_hop(adjacency, self.operator))[0] + self.constant

    def parts(self, links: LinkList, weights: Reals) -> Parts:
        hop = links_hop(links.adjacency, self.operator)
        before, behind = [weights], self._behind(hop)
        for _ in range(self.hops):
            before.append(hop.transposed(before[-1][:, None])[:, 0])
        by_link, by_node = np.zeros(len(links)), np.zeros(len(weights))
        for h in range(1, self.hops + 1):
            effects, nodes = link_and_node_effects(links, self.operator, before[h - 1], behind[h])
            by_link, by_node = by_link + effects, by_node + nodes
        return Parts(by_link, by_node, self._channels(before, _kept(hop, self.hops)))

    def _behind(self, hop: Hop) -> list[Reals]:
        """v_0, v_1, ...: what lies behind each hop."""
        by_hop = self.columns @ self.weights.T
        behind: list[Reals] = [by_hop[:, -1]]
        for h in range(self.hops - 1, -1, -1):
            behind.insert(0, by_hop[:, h] + hop(behind[0][:, None])[:, 0])
        return behind

    def _channels(self, before: list[Reals], kept: list[Reals]) -> tuple[ChannelEffect, ...]:
        """By channel, t_h · B w_h over all hops, and the same with the diagonals of Sʰ alone."""
        gaps = self._by_channel(before)
        if not kept:
            return tuple(ChannelEffect(name, gap) for name, gap in zip(self.names, gaps, strict=True))
        return parts_at_home(self.names, gaps, self._by_channel([before[0] * diagonal for diagonal in kept]))

    def _by_channel(self, nodes: list[Reals]) -> list[float]:
        by_column = sum(each @ self.columns * w for each, w in zip(nodes, self.weights, strict=True))
        found: list[float] = np.bincount(self.channel_of, by_column, minlength=len(self.names)).tolist()
        return found


def _kept(hop: Hop, hops: int) -> list[Reals]:
    """The diagonals of I, S and S², as far as the hops go; none where they go further."""
    staying = hop.staying[:, 0]
    if hops == 1:
        return [np.ones(len(staying)), staying]
    if hops > 2:
        return []
    back_and_forth = hop.moving.multiply(hop.moving.T).sum(axis=1)
    return [np.ones(len(staying)), staying, np.asarray(back_and_forth).ravel() + staying**2]
