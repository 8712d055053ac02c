"""What does a discriminator learn to guess? Each node's group, by every sensitive attribute.

Each attribute has a head: outputs of its own, which stand side by side in one linear layer. The loss is the mean over
the heads of the mean loss over the nodes that a head knows the group of. The nodes of all heads are one list, so that
one pass serves all of them: a node weighs n / n_h in head h, which knows n_h of the n, or nothing if it is not known.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from fairview.data.graph import BoolArray, NodeGraph
from fairview.errors import InputError
from fairview.methods.contract import grouped_nodes
from fairview.nn.losses import balanced_weights, discriminator_loss, generator_loss


@dataclass(frozen=True, eq=False)
class GuessedGroups:
    """The nodes that a discriminator learns from, and the answers.

    Attributes:
        nodes: of which a group is known, (n,).
        groups: codes, (n,); of several attributes (n, attributes), int64.
        weights: of each node, averaging to 1 over the nodes, in the shape of `groups`; None if all weigh alike.
        outputs: of each head: 1 for two groups, one per group for more.
    """

    nodes: npt.NDArray[np.intp]
    groups: Tensor
    weights: Tensor | None
    outputs: tuple[int, ...]

    @classmethod
    def of(cls, graph: NodeGraph, among: BoolArray, *, balanced: bool, dtype: torch.dtype) -> GuessedGroups:
        """The groups of some nodes of a graph.

        Args:
            graph: with its sensitive attributes.
            among: the nodes that may be learnt from.
            balanced: let every group of an attribute weigh the same.
            dtype: of the logits.
        """
        known = grouped_nodes(graph) & among
        nodes = known.nonzero()[0]
        for attribute in graph.attributes:
            if not (attribute.codes[nodes] >= 0).any():
                raise InputError(f"train: '{attribute.name}' is known for no node of the train split.")
        outputs = tuple(1 if len(each.groups) == 2 else len(each.groups) for each in graph.attributes)
        codes = [torch.from_numpy(each.codes[nodes].astype("int64")) for each in graph.attributes]
        counts = [len(each.groups) for each in graph.attributes]
        if not graph.several:
            weights = balanced_weights(codes[0], counts[0], dtype) if balanced else None
            return cls(nodes, codes[0].to(dtype) if outputs == (1,) else codes[0], weights, outputs)
        each_weight = [_weights(one, count, dtype, balanced=balanced) for one, count in zip(codes, counts, strict=True)]
        return cls(nodes, torch.stack(codes, dim=1).clamp(min=0), torch.stack(each_weight, dim=1), outputs)

    def discriminator_loss(self, logits: Tensor, groups: Tensor, weights: Tensor | None) -> Tensor:
        """The mean over the heads, for some of the nodes.

        Args:
            logits: (views, nodes, outputs of all heads).
            groups: those of these nodes.
            weights: the same.
        """
        if weights is None or groups.ndim == 1:
            return discriminator_loss(logits, groups, weights)

        def of_head(head: int, own: Tensor) -> Tensor:
            codes = groups[:, head]
            return discriminator_loss(own, codes.to(own) if self.outputs[head] == 1 else codes, weights[:, head])

        return self._mean(logits, of_head)

    def generator_loss(self, logits: Tensor) -> Tensor:
        """How far the heads are from guessing, in the mean."""
        if len(self.outputs) == 1:
            return generator_loss(logits)
        return self._mean(logits, lambda _, own: generator_loss(own))

    def _mean(self, logits: Tensor, of_head: Callable[[int, Tensor], Tensor]) -> Tensor:
        heads = torch.split(logits, list(self.outputs), dim=-1)
        return torch.stack([of_head(head, own.contiguous()) for head, own in enumerate(heads)]).mean()


def _weights(codes: Tensor, count: int, dtype: torch.dtype, *, balanced: bool) -> Tensor:
    """Of all nodes in one head: 0 where it does not know the group; the mean over all nodes is 1."""
    known = codes >= 0
    found = torch.zeros(len(codes), dtype=dtype)
    found[known] = balanced_weights(codes[known], count, dtype) if balanced else torch.ones((), dtype=dtype)
    return found * (len(codes) / int(known.sum()))
