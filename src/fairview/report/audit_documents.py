"""What may stand in audit.json, and what does a report take from it? As untrusted as every other document."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from fairview.report.documents import (
    MOST_ATTRIBUTES,
    Bounds,
    Count,
    DocumentPart,
    GraphRecord,
    GroupRow,
    MetricsRow,
    ModelRow,
    Number,
    Text,
)


class HomophilyRow(DocumentPart):
    """How a group is linked."""

    group: Text
    nodes: Count | None = None
    homophily: Number = None
    mean_degree: Number = None


class ChannelRow(DocumentPart):
    """One channel's correlation with the sensitive attribute, per hop."""

    name: Text
    sensitive: bool = False
    constant: bool = False
    correlation: Annotated[list[Number], Field(min_length=1, max_length=64)]
    low: list[Number] | None = None
    high: list[Number] | None = None
    rank: list[int | None] | None = None
    change: Number = None
    p_value: list[Number] | None = None
    leak_p_value: list[Number] | None = None
    leaking: bool = False


class ProbeRow(Bounds):
    """How well the sensitive attribute can be read from something."""

    on: Text = ""
    hop: Count | None = None
    model: Text = ""
    probe: Text = "linear"
    auc: Number = None


class ScoreBounds(Bounds):
    """A score with its interval."""

    score: float


class HiddenRow(DocumentPart):
    """How well a column that is no channel can be read."""

    name: Text
    kind: Text = ""
    measure: Text = ""
    nodes: Count | None = None
    from_channels: ScoreBounds | None = None
    from_graph: ScoreBounds | None = None
    difference: ScoreBounds | None = None
    readable: bool = False
    undefined: Text = ""

    @model_validator(mode="after")
    def _fit(self) -> HiddenRow:
        if len({part is None for part in (self.from_channels, self.from_graph, self.difference)}) > 1:
            raise ValueError("expected from_channels, from_graph and difference, or none of them")
        return self


class LabelLeakRow(DocumentPart):
    """A channel that predicts the label by itself."""

    name: Text
    auc: Number = None


class KeptRow(DocumentPart):
    """How likely a channel is kept, and its correlation with the sensitive attribute."""

    name: Text
    keep_probability: float
    correlation_before: Number = None
    correlation_after: Number = None


class Theorem2Document(DocumentPart):
    """The paper's bound for a model."""

    applies: bool = False
    reason: Text = ""
    chi: Number = None
    epsilon: Number = None
    left: Number = None
    printed: Number = None
    corrected: Number = None
    predicted: Number = None
    measured: Number = None
    printed_holds: bool | None = None
    corrected_holds: bool | None = None
    assumptions: list[Text] = []


class ScoresRow(DocumentPart):
    """A histogram of one group's scores."""

    group: Text
    edges: Annotated[list[float], Field(max_length=1001)]
    counts: list[Count]

    @model_validator(mode="after")
    def _fit(self) -> ScoresRow:
        if len(self.edges) != len(self.counts) + 1:
            raise ValueError(f"{len(self.edges)} edges for {len(self.counts)} counts; expected one edge more")
        return self


class BinRow(Bounds):
    """One bin of a calibration curve."""

    predicted: float
    observed: float
    nodes: Count | None = None


class CalibrationRow(DocumentPart):
    """One group's calibration curve."""

    group: Text
    bins: list[BinRow] = []


class RocRow(Bounds):
    """One group's ROC curve."""

    group: Text
    auc: Number = None
    points: Annotated[list[Annotated[list[float], Field(min_length=2, max_length=2)]], Field(max_length=2000)] = []


class ThresholdRow(MetricsRow):
    """The metrics at one threshold."""

    threshold: float
    low: dict[Text, Number] = {}
    high: dict[Text, Number] = {}


class ThresholdsDocument(DocumentPart):
    """Metrics at every threshold."""

    chosen: Number = None
    points: Annotated[list[ThresholdRow], Field(max_length=2000)] = []


class ModelGroupsDocument(DocumentPart):
    """What the audit of a model says by the groups of one sensitive attribute, or of all together."""

    keep: list[KeptRow] | None = None
    representations: list[ProbeRow] = []
    theorem2: Theorem2Document | None = None
    groups: list[GroupRow] = []
    scores: list[ScoresRow] = []
    calibration: list[CalibrationRow] = []
    roc: list[RocRow] = []
    thresholds: ThresholdsDocument | None = None


class ModelAuditDocument(ModelGroupsDocument):
    """The part of audit.json on a model."""

    method: Text = ""
    encoder: Text | None = None
    group_at_prediction: bool | None = None
    rows: list[ModelRow] = []
    notes: list[Text] = []
    attributes: Annotated[dict[Text, ModelGroupsDocument], Field(max_length=MOST_ATTRIBUTES)] = {}


class GraphGroupsDocument(DocumentPart):
    """What the audit of a graph says of one sensitive attribute, or of all together."""

    homophily: Number = None
    homophily_by_group: list[HomophilyRow] = []
    channels: list[ChannelRow] = []
    probe: list[ProbeRow] = []
    undefined: dict[Text, Text] = {}
    notes: list[Text] = []

    @model_validator(mode="after")
    def _fit(self) -> GraphGroupsDocument:
        lengths = {len(channel.correlation) for channel in self.channels}
        if len(lengths) > 1:
            raise ValueError(
                f"channels have {sorted(lengths)} correlations; expected one per hop, equally many for all"
            )
        return self


class AttributeAudit(GraphGroupsDocument):
    """One of several sensitive attributes."""

    groups: dict[Text, Count] = {}
    group_unknown: Count = 0
    sensitive_channels: list[Text] = []


class AuditDocument(GraphGroupsDocument):
    """audit.json, of a graph or of a run."""

    kind: Literal["audit"]
    version: Literal[1]
    graph: GraphRecord = GraphRecord()
    operator: Text = ""
    hops: Count | None = None
    rule: Text = ""
    level: Number = None
    permutations: Count | None = None
    shuffling: Text | None = "exact"
    label_leaks: list[LabelLeakRow] = []
    label_leak_threshold: Number = None
    hidden: list[HiddenRow] = []
    model: ModelAuditDocument | None = None
    attributes: Annotated[dict[Text, AttributeAudit], Field(max_length=MOST_ATTRIBUTES)] = {}

    @property
    def sensitive(self) -> str:
        """What the sensitive attribute is called."""
        return self.graph.sensitive or "the sensitive attribute"
