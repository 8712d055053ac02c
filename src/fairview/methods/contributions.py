"""What moves a linear score, and what holds the groups' scores apart? Each channel at each hop, as parts of a sum.

The score of node i is u_i = b + Σ_c Σ_h k_i(c, h): the columns of channel c after h hops, centred, times their weights.
So the difference between the mean scores of two groups is the sum of the differences of the mean k(c, h), exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairview import notebook

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Contribution:
    """One channel at one hop.

    Attributes:
        channel: its name.
        hop: 0 is the node itself, 1 its neighbours, and so on.
        score: mean over nodes of |k|, in units of the logit.
        gap: mean of k in the first group less that in the second, in units of the logit.
    """

    channel: str
    hop: int
    score: float
    gap: float


@dataclass(frozen=True, repr=False)
class Contributions:
    """All channels and hops, the largest part of the gap first.

    Attributes:
        rows: one for each channel and hop.
        groups: the two groups that `gap` compares.
        gap: mean logit of the first group less that of the second: the sum of the rows' gaps.
        split: whose nodes were looked at.
        nodes: how many of each of the two groups.
    """

    rows: tuple[Contribution, ...]
    groups: tuple[str, str]
    gap: float
    split: str
    nodes: tuple[int, int]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "groups": list(self.groups),
            "gap": self.gap,
            "split": self.split,
            "nodes": list(self.nodes),
            "contributions": [dict(vars(row)) for row in self.rows],
        }

    def to_frame(self) -> pl.DataFrame:
        """A polars frame with the columns `channel`, `hop`, `score` and `gap`."""
        import polars as pl

        schema = {"channel": pl.String, "hop": pl.Int64, "score": pl.Float64, "gap": pl.Float64}
        return pl.DataFrame([vars(row) for row in self.rows], schema=schema)

    def _headline(self) -> str:
        first, second = self.groups
        return f"Mean logit of '{first}' less that of '{second}' on {self.split}: {self.gap:+.3f}"

    def __repr__(self) -> str:
        width = max([len("channel"), *(len(row.channel) for row in self.rows[:_SHOWN])])
        lines = [self._headline(), f"{'channel':{width}}  hop   score     gap"]
        lines += [
            f"{row.channel:{width}}  {row.hop:3d}  {row.score:6.3f}  {row.gap:+.3f}" for row in self.rows[:_SHOWN]
        ]
        if len(self.rows) > _SHOWN:
            lines.append(f"and {len(self.rows) - _SHOWN} more; to_frame() has all.")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        cells = [[row.channel, row.hop, row.score, row.gap] for row in self.rows[:_SHOWN]]
        table = notebook.table(["channel", "hop", "score", "gap"], cells, caption="Parts of the logit")
        return notebook.block(self._headline(), table)


_SHOWN = 15
