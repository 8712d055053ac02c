"""What carries the gap of a score that weighs kinds of links? All of it in closed form, kind by kind.

One layer of GCN or GIN with a weight a_t for each kind of links, and masks of each view over channels and kinds:

    u = const + Σ_t S_t X θ_t,   θ_t = a_t m̄_t ∘ (Wᵀ v)

with v of the head and m̄_t the mean over the views of m_kt m_k. The kinds are those of the links, and of a node itself.
With c the contrast between two groups, the gap c · u is Σ_t c · S_t y_t with y_t = X θ_t: a sum with one part for each
kind, and in each of them one for each channel. `link_effects` has what it would be without a link.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fairview.data.adjacency import Adjacency
from fairview.explanation.link_effects import link_and_node_effects
from fairview.explanation.links import LinkList
from fairview.explanation.score import Parts, parts_at_home
from fairview.propagation.kinds import Kinds

Reals = npt.NDArray[np.floating[Any]]


@dataclass(frozen=True, eq=False)
class KindsScore:
    """const + Σ_t S_t X θ_t.

    Attributes:
        blocks: S, and the kinds of links.
        features: X, (n, channels).
        weights: θ_t, (kinds, channels), that of the node itself last.
        constant: added to every logit.
        names: of the channels.
    """

    blocks: Kinds
    features: Reals
    weights: Reals
    constant: float
    names: tuple[str, ...]

    exact = True
    how = (
        "The score is linear in the links' operator, with weights for each kind of links, so that the effect of each "
        "link is exact."
    )

    def logits(self, adjacency: Adjacency) -> Reals:
        return self.blocks.hop(adjacency)(self._brought)[:, 0] + self.constant

    def parts(self, links: LinkList, weights: Reals) -> Parts:
        effects, nodes = link_and_node_effects(links, self.blocks.operator, weights, self._brought)
        back = self.blocks.hop(links.adjacency).transposed(weights[:, None])
        by_kind = back.T @ self.features * self.weights  # (kinds, channels)
        channels = parts_at_home(self.names, by_kind.sum(axis=0).tolist(), by_kind[-1].tolist())
        kinds = zip(self.blocks.all_names, by_kind.sum(axis=1).tolist(), strict=True)
        return Parts(effects, nodes, channels, dict(kinds))

    @property
    def _brought(self) -> Reals:
        """y_t, what links of each kind bring from a node, (n, kinds)."""
        brought: Reals = self.features @ self.weights.T
        return brought
