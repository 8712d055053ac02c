"""What must be known of a model to explain its gap? Its logits for any links, and how links and channels move them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from fairview.data.adjacency import Adjacency
from fairview.explanation.links import LinkList

Reals = npt.NDArray[np.floating[Any]]


@dataclass(frozen=True)
class ChannelEffect:
    """A channel's part of the gap, in units of the logit.

    Attributes:
        channel: its name.
        gap: its part; where the score is linear, the parts of all channels add up to the gap.
        home: of that, what comes from each node's own value; None where the score is not linear.
        links: what comes from the values of others, over links; likewise.
    """

    channel: str
    gap: float
    home: float | None = None
    links: float | None = None


def parts_at_home(names: Sequence[str], gaps: Sequence[float], homes: Sequence[float]) -> tuple[ChannelEffect, ...]:
    """The parts of channels, of which some is from each node's own value, and the rest comes over links.

    Example:
        >>> parts_at_home(["age"], [3.0], [1.0])
        (ChannelEffect(channel='age', gap=3.0, home=1.0, links=2.0),)
    """
    return tuple(ChannelEffect(*row, row[1] - row[2]) for row in zip(names, gaps, homes, strict=True))


class Parts(NamedTuple):
    """What links, nodes and channels add to a weighted sum of the logits.

    Attributes:
        links: what each link adds, (links,).
        nodes: what all links of each node add together, (nodes,): an estimate that says whom to try.
        channels: each channel's part.
        kinds: the part of each kind of links, which add up to the sum, if the model weighs kinds and is linear.
    """

    links: Reals
    nodes: Reals
    channels: tuple[ChannelEffect, ...]
    kinds: Mapping[str, float] = MappingProxyType({})


class Score(Protocol):
    """The score of a fitted model on the nodes of one graph, as a function of its links."""

    @property
    def exact(self) -> bool:
        """Whether `parts` has the effect of each link exactly."""
        ...

    @property
    def how(self) -> str:
        """The effects of links are found, in words."""
        ...

    def logits(self, adjacency: Adjacency) -> Reals:
        """The logit of each node if these were the links, (n,), in float64."""
        ...

    def parts(self, links: LinkList, weights: Reals) -> Parts:
        """Of the sum of the logits by these weights."""
        ...
