"""What carries the gap of any network? First by gradient: how the gap changes with the weight of each link and channel.

The operator S is made from the links' weights inside the network's forward pass, degrees included, so that one backward
pass gives ∂gap/∂a of every link. A link of weight a then adds about a ∂gap/∂a: what it would be if the gap were
linear in its weight down to 0. Removal tells how true that is, and `explain` removes the ones that it shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from fairview.data.adjacency import Adjacency
from fairview.data.graph import NodeGraph
from fairview.errors import InputError
from fairview.explanation.links import LinkList
from fairview.explanation.score import ChannelEffect, Parts
from fairview.methods.contract import features_like
from fairview.methods.fitted import Fitted
from fairview.nn.encoders import Encoder
from fairview.nn.inputs import GraphInputs
from fairview.propagation.blocks import Blocks
from fairview.propagation.operators import Operator

Reals = npt.NDArray[np.floating[Any]]


@dataclass(frozen=True, eq=False)
class NetworkScore:
    """The logit of the mean score of networks; of a single one, its logit.

    Attributes:
        members: the networks, in main memory.
        channels: that they look at.
        graph: whose features they are given.
    """

    members: Sequence[Fitted]
    channels: tuple[str, ...]
    graph: NodeGraph

    exact = False
    how = (
        "The effects of links are gradients: right for small changes of a link's weight. Those of the links and nodes "
        "that are shown were checked by removing them."
    )

    def logits(self, adjacency: Adjacency) -> Reals:
        return _of_mean(self._by_member(adjacency))[0].numpy()

    def _by_member(self, adjacency: Adjacency) -> Tensor:
        """The logit of each network, (members, n)."""
        graph = self.graph.replace(adjacency=adjacency)
        return torch.stack([member.logits(graph, self.channels).double() for member in self.members])

    def parts(self, links: LinkList, weights: Reals) -> Parts:
        features = features_like(self.graph, self.channels)
        effects, channels = np.zeros(len(links)), np.zeros(len(self.channels))
        shares = _of_mean(self._by_member(links.adjacency))[1] * torch.from_numpy(weights)
        for member, share in zip(self.members, shares, strict=True):
            adjacency = links.adjacency if member.links is None else member.links(features, links.adjacency)
            by_pair, by_value = _gradients(member, features, adjacency, share)
            stays = _places_in(adjacency, links.adjacency)
            effects += np.bincount(links.of_pair[stays], by_pair, minlength=len(links))
            channels += (by_value * features).sum(axis=0)
        found = zip(self.channels, channels.tolist(), strict=True)
        return Parts(effects, links.by_node(effects), tuple(ChannelEffect(name, gap) for name, gap in found))


def _of_mean(logits: Tensor) -> tuple[Tensor, Tensor]:
    """The logit of the mean of the members' scores, (n,), and its derivative by each member's logit, (members, n)."""
    if len(logits) == 1:
        return logits[0], torch.ones_like(logits)
    leaves = logits.clone().requires_grad_()
    with torch.enable_grad():
        positive = torch.logsumexp(torch.nn.functional.logsigmoid(leaves), dim=0)
        negative = torch.logsumexp(torch.nn.functional.logsigmoid(-leaves), dim=0)
        (by_member,) = torch.autograd.grad((positive - negative).sum(), leaves)
    return (positive - negative).detach(), by_member


def _gradients(member: Fitted, features: npt.NDArray[np.float32], adjacency: Adjacency, share: Tensor) -> tuple[
    Reals, Reals
]:  # fmt: skip
    """Of share · logits: weight times derivative of each pair, (pairs,), and the derivative of X, (n, d)."""
    dtype = member.classifier.weight.dtype
    spec = member.encoder.spec if isinstance(member.encoder, Encoder) else None
    operator, blocks = (None, None) if spec is None else (spec.propagation, spec.blocks)
    inputs = TracedInputs(features, adjacency, operator, blocks=blocks, dtype=dtype)
    with torch.enable_grad():
        for mask in member.evaluation_masks:  # view by view, so that one view's messages are in memory at a time
            inputs.trace()
            logits = member.classifier(member.encoder(inputs.view(mask), inputs))[:, 0]
            (logits @ (share / len(member.evaluation_masks)).to(dtype)).backward()
    by_weight, by_value = inputs.pair_weight.grad, inputs.values.grad
    if by_weight is None or by_value is None:
        raise InputError(
            "explain: encoder: its output does not depend on the weights of links by a gradient, so that nothing says "
            "what a link adds."
        )
    return (inputs.pair_weight.detach() * by_weight).double().numpy(), by_value.double().numpy()


class TracedInputs(GraphInputs):
    """Inputs whose links have weights that gradients go back to.

    Attributes:
        pair_weight: of each directed pair, (pairs,).
        values: X, (n, d).
    """

    def __init__(
        self,
        features: npt.NDArray[np.float32],
        adjacency: Adjacency,
        operator: Operator | None,
        *,
        blocks: Blocks | None,
        dtype: torch.dtype,
    ) -> None:
        super().__init__(features, adjacency, operator, blocks=blocks, dtype=dtype)
        weights = np.ones(adjacency.num_pairs) if adjacency.weights is None else adjacency.weights
        self.pair_weight = self._tensor(weights).requires_grad_()
        self.values = self._tensor(features).requires_grad_()

    @property
    def weighted(self) -> bool:
        """Also plain links: their weights of one are what the gradient is taken by."""
        return True

    def trace(self) -> None:
        """Make anew what is made of weights and values, for another backward pass."""
        self.x = self.values.clone()
        self.edge_weight = self.pair_weight.clone()
        if self.operator is not None:
            self.weighted_edges = self._traced_operator(self.operator)
            if (kinds := self.adjacency.kinds) is not None:
                edges, weights = self.weighted_edges
                codes = torch.full_like(edges[0], len(kinds.names))  # the self-loops come behind the links
                codes[: len(kinds.codes)] = torch.tensor(kinds.codes)
                of_kind = [codes == code for code in range(len(kinds.names) + 1)]
                self.edges_by_kind = [(edges[:, chosen], weights[chosen]) for chosen in of_kind]

    def _traced_operator(self, operator: Operator) -> tuple[Tensor, Tensor]:
        """S as PyG has it: (source above target, with a self-loop each), and the weight of every entry."""
        n, weights, loops = self.num_nodes, self.pair_weight, operator.self_loops
        source, target = self.edge_index
        if operator.kind != "sum":
            power = -0.5 if operator.kind == "gcn" else -1.0
            degree = torch.full((n,), loops, dtype=self.dtype).index_add(0, target, weights)
            some = degree > 0
            inverse = torch.where(some, torch.where(some, degree, 1.0).pow(power), 0.0)
            own = loops * inverse * (inverse if operator.kind == "gcn" else 1.0)
            weights = weights * inverse[target] * (inverse[source] if operator.kind == "gcn" else 1.0)
        else:
            own = torch.full((n,), loops, dtype=self.dtype)
        if not loops:
            return self.edge_index, weights
        nodes = torch.arange(n)
        return torch.cat([self.edge_index, nodes.expand(2, n)], dim=1), torch.cat([weights, own])


def _places_in(part: Adjacency, whole: Adjacency) -> npt.NDArray[np.intp]:
    """Where the pairs of a part stand among those of the whole."""
    if part.num_pairs == whole.num_pairs:
        return np.arange(whole.num_pairs)
    n = whole.num_nodes
    keys, all_keys = (each.sources.astype(np.int64) * n + each.indices for each in (part, whole))
    return np.searchsorted(all_keys, keys)
