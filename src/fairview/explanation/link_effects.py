"""What would a bilinear form t · S y be without one link? Exactly, for each link, in one pass over all of them.

S is an operator of `fairview.propagation.operators`: with a_ij what node i gathers from node j, s self-loops and the
row sums d_i = Σ_j a_ij + s,

    sum    t·Sy = Σ_i t_i (Σ_j a_ij y_j + s y_i)
    mean   t·Sy = Σ_i t_i (Σ_j a_ij y_j + s y_i) / d_i
    gcn    t·Sy = p·(A + s I) q   with p_i = t_i / √d_i and q_j = y_j / √d_j

Without the link, its entries are gone, and the degree of each end that gathered over it is smaller by its weight a. For
sum and mean that changes the rows of these ends only. For gcn it also changes what the neighbours of such an end v get
from it and give to it: p_v and q_v grow by the factor ρ = (d_v / (d_v - a))^½. With α = (A + s I) q and
β = (A + s I)ᵀ p, both computed once, and α', β' the same without the link's entries, the form changes by

    (entries gone)  - Σ p_i a q_j
    (ends lighter)  + Σ_v [(ρ - 1) p_v α'_v + (ρ - 1) q_v β'_v + s (ρ - 1)² p_v q_v]

because the two ends of a link have no other link with each other: O(1) for each link.

Where links have kinds, those of kind k may bring a y of their own, and the node itself one more:

    t·Sy = Σ_k t · S_k y_k    with S = Σ_k S_k, the degrees of the whole graph, and S_itself the diagonal

Then α is Σ_k A_k q_k + s q_itself, and β_k = A_kᵀ p is what v gives over links of kind k. Over the link itself goes its
own q_k; the end that grows gives more over all kinds: Σ_k q_k β'_k takes the place of q_v β'_v, where β' and β differ
for the link's kind alone. The last term has q_itself. One kind with the same y for all is the case above.

A node without all its links is left with itself, and each neighbour changes as it does without the one link. For sum
and mean that is all, and exact. For gcn it leaves out that two neighbours with a link of their own grow at once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt

from fairview.data.adjacency import Adjacency
from fairview.explanation.links import LinkList
from fairview.propagation.kinds import Kinds, KindsHop
from fairview.propagation.one_hop import Hop, links_hop
from fairview.propagation.operators import Operator

Reals = npt.NDArray[np.floating[Any]]
Nodes = npt.NDArray[np.int32]


def link_effects(links: LinkList, operator: Operator, t: Reals, y: Reals) -> Reals:
    """t · S y with each link less t · S y without it, (links,).

    Args:
        links: of the graph.
        operator: S.
        t: a weight for each node, such as a contrast between groups.
        y: a value for each node, (n,), such as its part of the logit; or one for each kind of links too, (n, kinds),
            that of the node itself last.

    Example:
        >>> from fairview.data.adjacency import Adjacency
        >>> links = LinkList.of(Adjacency.from_pairs([0, 1], [1, 2], num_nodes=3)[0])
        >>> mean = Operator(kind="mean", self_loops=0.0)
        >>> link_effects(links, mean, np.array([1.0, 0.0, 0.0]), np.array([0.0, 5.0, 9.0])).tolist()
        [5.0, 0.0]
    """
    return link_and_node_effects(links, operator, t, y)[0]


def link_and_node_effects(links: LinkList, operator: Operator, t: Reals, y: Reals) -> tuple[Reals, Reals]:
    """The same, and t · S y less t · S y without all links of each node, (nodes,); for gcn, that is an estimate."""
    y = y.reshape(len(y), -1)
    form = _FORMS[operator.kind](links, operator, t, y)
    source, target, n = links.source, links.target, len(y)
    forth = form.over(source, target)
    effects, nodes = forth, np.bincount(source, forth, minlength=n)
    if not links.adjacency.directed:
        back = form.over(target, source)
        effects, nodes = forth + back, nodes + np.bincount(target, back, minlength=n)
    alone = operator.self_loops if operator.kind == "sum" else float(operator.self_loops > 0)
    row = _hop(links.adjacency, operator, y)(y)[:, 0]
    return effects, nodes + t * (row - alone * y[:, -1])


def _hop(adjacency: Adjacency, operator: Operator, y: Reals) -> Hop | KindsHop:
    """Y -> S y, or Σ S_k y_k where there is a column for each kind of links."""
    kinds = adjacency.kinds
    if y.shape[1] == 1 or kinds is None:
        return links_hop(adjacency, operator)
    return Kinds(operator=operator, names=kinds.names).hop(adjacency)


class _Form(ABC):
    """What the ends of a link add to its effect: v gathers over it from u."""

    def __init__(self, links: LinkList, operator: Operator, t: Reals, y: Reals) -> None:
        self.a, self.t, self.y, self.loops = links.weight, t, y, operator.self_loops
        self.column = 0 if links.kinds is None or y.shape[1] == 1 else links.kinds.codes
        self.hop = _hop(links.adjacency, Operator(kind="sum", self_loops=operator.self_loops), y)
        self.degree = self.hop(np.ones_like(y))[:, 0]

    def of_kind(self, values: Reals, v: Nodes) -> Reals:
        """The numbers of v for the kind of each link."""
        found: Reals = values[v, self.column]
        return found

    def lighter(self, v: Nodes) -> Reals:
        """The degree of v without the link; rounding leaves nothing where nothing is left."""
        left = self.degree[v] - self.a
        return np.where(left > _ROUNDING * self.degree[v], left, 0.0)

    @abstractmethod
    def over(self, u: Nodes, v: Nodes) -> Reals:
        """What t · S y loses at v, for each link by itself, if v no longer gathers over it from u."""


class _Sum(_Form):
    def over(self, u: Nodes, v: Nodes) -> Reals:
        return self.t[v] * self.a * self.of_kind(self.y, u)


class _Mean(_Form):
    def __init__(self, links: LinkList, operator: Operator, t: Reals, y: Reals) -> None:
        super().__init__(links, operator, t, y)
        self.gathered = self.hop(y)[:, 0]

    def over(self, u: Nodes, v: Nodes) -> Reals:
        before, left = self.gathered[v] / self.degree[v], self.lighter(v)
        gathered = self.gathered[v] - self.a * self.of_kind(self.y, u)
        after = np.divide(gathered, left, out=np.zeros(len(v)), where=left > 0)
        return self.t[v] * (before - after)


class _Gcn(_Form):
    def __init__(self, links: LinkList, operator: Operator, t: Reals, y: Reals) -> None:
        super().__init__(links, operator, t, y)
        root = np.sqrt(self.degree)
        scale = np.divide(1.0, root, out=np.zeros(len(y)), where=root > 0)
        self.p, self.q = t * scale, y * scale[:, None]
        self.itself: Reals = self.q[:, -1]
        self.alpha = self.hop(self.q)[:, 0]
        self.beta = self.hop.transposed(self.p[:, None])
        given = self.q * self.beta
        self.over_others = given.sum(axis=1, keepdims=True) - given  # what a node gives over other kinds of links
        self.undirected = not links.adjacency.directed

    def over(self, u: Nodes, v: Nodes) -> Reals:
        left = self.lighter(v)
        growth = np.sqrt(np.divide(self.degree[v], left, out=np.zeros(len(v)), where=left > 0)) - 1  # -1: none is left
        p, q, brought, beta = self.p[v], self.of_kind(self.q, v), self.of_kind(self.q, u), self.of_kind(self.beta, v)
        gathers = p * (self.alpha[v] - self.a * brought)
        gives = q * (beta - self.a * self.p[u] if self.undirected else beta) + self.of_kind(self.over_others, v)
        return p * self.a * brought - growth * (gathers + gives) - self.loops * growth**2 * p * self.itself[v]


_FORMS: dict[str, type[_Form]] = {"sum": _Sum, "mean": _Mean, "gcn": _Gcn}

_ROUNDING = 1e-12
"""Of a degree: less than this share is left by rounding alone. Weights are float32, whose steps are larger."""
