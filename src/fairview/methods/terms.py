"""How does one pass of the encoder serve a loss whose terms look at different nodes?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from fairview.nn.paths import Rows, Where


@dataclass(frozen=True)
class Term:
    """A part of a loss.

    Attributes:
        nodes: that it looks at.
        loss: the mean loss, weighted, of some of them: from their outputs (views, nodes, outputs) and their places
            among the term's nodes.
        whole: whether it compares all of its nodes with each other, so that they can't come in parts.
    """

    nodes: npt.NDArray[np.intp]
    loss: Callable[[Tensor, Tensor], Tensor]
    whole: bool = False


def joined(terms: Sequence[Term], outputs_of: Callable[[Rows], Tensor]) -> Callable[[Rows, Where], Tensor]:
    """The sum of the terms as a mean over the nodes of all of them, behind each other, which `Network.step` takes.

    Of a part, a term counts with the share of its own nodes that lie there: the parts add up to the terms' means.

    Example:
        >>> mean = lambda outputs, places: outputs.mean()
        >>> loss = joined([Term(np.arange(1), mean), Term(np.arange(3), mean)], lambda part: part)
        >>> values = torch.tensor([[1.0, 3.0, 3.0, 6.0]])
        >>> loss(values, slice(None)).item()
        5.0
        >>> [round(loss(values[:, half], half).item(), 5) for half in (slice(0, 2), slice(2, 4))]  # 5 on average
        [4.0, 6.0]
    """
    edges = [0, *accumulate(len(term.nodes) for term in terms)]
    everywhere, ends = torch.arange(edges[-1]), torch.tensor(edges)

    def loss_of(part: Rows, where: Where) -> Tensor:
        outputs, here = outputs_of(part), everywhere[where]
        total = outputs.new_zeros(())
        stretches = pairwise(torch.searchsorted(here, ends).tolist())  # the places of a part are in ascending order
        for term, start, (first, last) in zip(terms, edges[:-1], stretches, strict=True):
            if first < last:
                share = (last - first) / len(term.nodes) / (len(here) / edges[-1])
                total = total + term.loss(outputs[:, first:last], here[first:last] - start) * share
        return total

    return loss_of
