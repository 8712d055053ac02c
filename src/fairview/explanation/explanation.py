"""What did `explain` find? Plain, frozen records, for reading and for JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from fairview.data.link_kinds import LinkKinds
from fairview.explanation.removal import Removal
from fairview.explanation.score import ChannelEffect
from fairview.leakage.json_record import json_record
from fairview.undefined import Undefined

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

Table = Literal["links", "nodes", "channels", "kinds", "removed"]


@dataclass(frozen=True, kw_only=True)
class LinkEffect:
    """A link and its effect: the gap with it less the gap without it. Above 0, it widens the gap.

    Attributes:
        source: id of one end; of an undirected link, either.
        target: id of the other.
        effect: in units of the logit.
        estimate: of the effect, before it was checked by removal; None if it is exact anyway.
        source_group: None if it is not known.
        target_group: likewise.
        kind: of the link, if the model weighs kinds.
    """

    source: str
    target: str
    effect: float
    estimate: float | None = None
    source_group: str | None = None
    target_group: str | None = None
    kind: str | None = None


@dataclass(frozen=True)
class NodeEffect:
    """A node and the effect of all its links: the gap with them less the gap without them, by removal.

    Attributes:
        node: its id.
        effect: in units of the logit.
        links: how many it has.
        group: None if it is not known.
    """

    node: str
    effect: float
    links: int
    group: str | None = None


@dataclass(frozen=True)
class KindEffect:
    """A kind of links, and how much of the gap comes over it.

    Attributes:
        kind: its name; that of a node itself is last.
        links: how many there are.
        gap: the part of the gap that comes over links of this kind. The parts of all kinds add up to the gap. None
            where the score is not linear.
        effect: the gap less the gap without all links of this kind, by removal; None for what a node has of itself.
    """

    kind: str
    links: int
    gap: float | None
    effect: float | None


@dataclass(frozen=True, eq=False)
class EveryLink:
    """The effects of all links, with the numbers of their ends and the ids of the nodes, and their kinds if weighed."""

    source: npt.NDArray[np.int32]
    target: npt.NDArray[np.int32]
    effect: npt.NDArray[np.floating[Any]]
    ids: Sequence[str] = field(repr=False)
    kinds: LinkKinds | None = field(default=None, repr=False)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Explanation:
    """What `explain` found; `to_dict` is for JSON, `print` for people.

    Attributes:
        graph: source, hash, sizes and groups.
        method: name of the model's method.
        encoder: its encoder, if it has one.
        sensitive: name of the attribute whose groups are compared.
        groups: the two that are compared, the one with the higher mean logit first.
        counts: how many nodes of each.
        gap: mean logit of the first less that of the second.
        split: whose nodes these are.
        evaluated: on whose labelled nodes the metrics of `removed` were taken.
        threshold: above it, a score is a yes.
        exact: whether every link's effect is; otherwise those of `links` and `nodes` were checked by removal.
        num_links: how many links there are.
        widening: how many of them widen the gap.
        closing: how many of those that widen it most add up to the whole gap; None if all of them do not.
        links: those that widen it most.
        nodes: those whose links widen it most.
        channels: all of them, the largest part of the gap first.
        kinds: of links, if the model weighs them.
        removed: what happens without the k links that widen it most, and without k others.
        notes: what else a reader should know.
        every: the effects of all links.
    """

    graph: Mapping[str, Any]
    method: str
    encoder: str | None
    sensitive: str
    groups: tuple[str, str]
    counts: tuple[int, int]
    gap: float
    split: str
    evaluated: str
    threshold: float
    exact: bool
    num_links: int
    widening: int
    closing: int | None
    links: tuple[LinkEffect, ...]
    nodes: tuple[NodeEffect, ...]
    channels: tuple[ChannelEffect, ...]
    kinds: tuple[KindEffect, ...] = ()
    removed: tuple[Removal, ...]
    notes: tuple[str, ...] = ()
    every: EveryLink

    def to_dict(self) -> dict[str, Any]:
        """The document `explanation.json`: plain data, None where something is undefined or not exact."""
        record = json_record(self)
        del record["every"]
        if not self.kinds:
            del record["kinds"]
            record["links"] = [{name: row[name] for name in row if name != "kind"} for row in record["links"]]
        return {"kind": "explanation", "version": 1} | record | {"undefined": self.undefined}

    @property
    def undefined(self) -> dict[str, str]:
        """The metrics of `removed` without a value, and why."""
        reasons = {}
        for row in self.removed:
            for name in ("statistical_parity_gap", "accuracy"):
                for measured in (row.before, row.after):
                    if isinstance(value := getattr(measured, name), Undefined):
                        reasons[name] = value.reason
        return reasons

    def to_frame(self, table: Table = "links") -> pl.DataFrame:
        """A polars frame: all `links`, the most widening first, or another table.

        Links have `source`, `target` and `effect`, and `kind` if the model weighs kinds of links.

        Args:
            table: `links`, or what `to_dict` has under `nodes`, `channels`, `kinds` or `removed`.

        Example:
            >>> import fairview as fv
            >>> graph = fv.load_dataset("german")
            >>> found = fv.explain(fv.Vanilla(epochs=50).fit(graph), graph)
            >>> found.to_frame().shape, found.to_frame("channels").columns
            ((21742, 3), ['channel', 'gap', 'home', 'links'])
        """
        from fairview.explanation.display import explanation_frame

        return explanation_frame(self, table)

    def chart(self, figure: str | None = None) -> alt.VConcatChart:
        """The figure of the report: what removing links does, and the channels' parts; needs altair."""
        from fairview.report.chart import chart

        return chart(self, figure)

    def __repr__(self) -> str:
        from fairview.explanation.sentences import described

        return described(self.to_dict())

    __str__ = __repr__

    def _repr_html_(self) -> str:
        from fairview.explanation.display import explanation_html

        return explanation_html(self)
