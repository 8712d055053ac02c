"""What may stand in explanation.json, and what does a report take from it? As untrusted as every other document."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from fairview.report.documents import Count, DocumentPart, GraphRecord, Number, Share, Text


class LinkRow(DocumentPart):
    """A link and its effect on the gap."""

    source: Text
    target: Text
    effect: float
    estimate: Number = None
    source_group: Text | None = None
    target_group: Text | None = None
    kind: Text | None = None


class NodeRow(DocumentPart):
    """A node and the effect of all its links."""

    node: Text
    effect: float
    links: Count | None = None
    group: Text | None = None


class ChannelPartRow(DocumentPart):
    """A channel's part of the gap."""

    channel: Text
    gap: float
    home: Number = None
    links: Number = None


class LinkKindRow(DocumentPart):
    """A kind of links, its part of the gap, and the effect of all its links."""

    kind: Text
    links: Count
    gap: Number = None
    effect: Number = None


class RemovalRow(DocumentPart):
    """Some links removed."""

    k: Count
    chosen: Text
    draws: Count = 1
    gap_before: float
    gap_after: float
    statistical_parity_gap_before: Share | None = None
    statistical_parity_gap_after: Share | None = None
    accuracy_before: Share | None = None
    accuracy_after: Share | None = None


class ExplanationDocument(DocumentPart):
    """explanation.json."""

    kind: Literal["explanation"]
    version: Literal[1]
    graph: GraphRecord = GraphRecord()
    method: Text = ""
    encoder: Text | None = None
    sensitive: Text = ""
    groups: Annotated[list[Text], Field(min_length=2, max_length=2)]
    counts: Annotated[list[Count], Field(min_length=2, max_length=2)]
    gap: float
    split: Text = "all"
    evaluated: Text = "test"
    exact: bool = False
    num_links: Annotated[int, Field(ge=1, le=10**15)]
    widening: Count
    closing: Count | None = None
    links: list[LinkRow] = []
    nodes: list[NodeRow] = []
    channels: list[ChannelPartRow] = []
    kinds: list[LinkKindRow] = []
    removed: list[RemovalRow] = []
    undefined: dict[Text, Text] = {}
    notes: list[Text] = []

    @model_validator(mode="after")
    def _fit(self) -> ExplanationDocument:
        if self.widening > self.num_links:
            raise ValueError(f"{self.widening} of {self.num_links} links widen the gap; expected at most all")
        if self.kinds and (of_kinds := sum(row.links for row in self.kinds)) != self.num_links:
            raise ValueError(f"{of_kinds} links of all kinds together; expected num_links, {self.num_links}")
        return self
