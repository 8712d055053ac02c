"""What may stand in front of one linear layer? Several propagated copies of the channels, side by side: blocks.

    [P_1 X | P_2 X | ... | P_B X], shape (n, B d)

A mask then has an entry for each of the B d columns, and still commutes with propagation: P_b (X ∘ m_b) is
(P_b X) ∘ m_b. So the blocks are computed once for all views, like a single S X (docs/adr/0031).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from pydantic import BaseModel, ConfigDict, Field

from fairview.data.adjacency import Adjacency
from fairview.propagation.operators import Matrix, Operator, propagate


class Blocks(Protocol):
    """Which propagated copies of the channels stand side by side."""

    @property
    def count(self) -> int:
        """B."""
        ...

    def columns(self, channels: Sequence[str]) -> tuple[str, ...]:
        """The names of the B d columns, block by block."""
        ...

    def of(self, adjacency: Adjacency, features: Matrix) -> list[Matrix]:
        """P_1 X, ..., P_B X, each (n, d), in the dtype of the features."""
        ...


def column_name(channel: str, hop: int | str) -> str:
    """The column of a channel after some hops, or as a kind of links brings it.

    Example:
        >>> column_name("age", 2)
        'age@2'
    """
    return f"{channel}@{hop}"


class Hops(BaseModel):
    """X, S X, ..., S^k X: a column is named like that of a propagated folder.

    Attributes:
        operator: S.
        hops: k.

    Example:
        >>> Hops(operator=Operator(), hops=1).columns(["age", "debt"])
        ('age@0', 'debt@0', 'age@1', 'debt@1')
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    operator: Operator
    hops: int = Field(ge=1)

    @property
    def count(self) -> int:
        return self.hops + 1

    def columns(self, channels: Sequence[str]) -> tuple[str, ...]:
        return tuple(column_name(channel, hop) for hop in range(self.count) for channel in channels)

    def of(self, adjacency: Adjacency, features: Matrix) -> list[Matrix]:
        return propagate(adjacency, features, self.operator, hops=self.hops)
