"""What may stand in the JSON files of a run, an audit or a comparison, and what does a report take from them?

The files are untrusted. Absent keys make the report shorter; a wrong value is an error; unknown keys are ignored.
Every text is made printable here, once, so that no name from the data can do anything later. A class is named after
the document, or the part of one, that it reads.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from fairview.metrics.registry import METRICS

LONGEST_TEXT = 500
_INVISIBLE = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ud800-\udfff\ufeff\ufffe\uffff]"
)


def visible(text: str) -> str:
    r"""A text as it may be shown: invisible and direction-changing characters as codes, and not endless.

    Example:
        >>> visible("age\x00 \u202eyears")
        'age\\u0000 \\u202eyears'
    """
    if len(text) > LONGEST_TEXT:
        text = text[: LONGEST_TEXT - 1] + "…"
    return _INVISIBLE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


Text = Annotated[str, AfterValidator(visible)]
Number = float | None
Count = Annotated[int, Field(ge=0, le=10**15)]


class DocumentPart(BaseModel):
    """Anything in a document: unknown keys are ignored, wrong values are errors."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True, allow_inf_nan=False, hide_input_in_errors=True)


class Bounds(DocumentPart):
    """A 95 % interval, where there is one."""

    low: Number = None
    high: Number = None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Both ends; None if one of them is not known."""
        return None if self.low is None or self.high is None else (self.low, self.high)


class RateBounds(Bounds):
    """A share of a group, with or without its interval."""

    value: Number = None


def _rate(value: Any) -> Any:
    """A rate may be a bare number."""
    return {"value": value} if type(value) in (int, float) else value


GroupRate = Annotated[RateBounds | None, BeforeValidator(_rate)]


class GroupRow(DocumentPart):
    """One group's counts and rates on the evaluated nodes."""

    group: Text
    nodes: Count
    positives: Count | None = None
    selection_rate: GroupRate = None
    true_positive_rate: GroupRate = None
    false_positive_rate: GroupRate = None
    small: bool | None = None


class PairRow(DocumentPart):
    """The gap between two of the groups."""

    groups: list[Text] = []
    gap: Number = None


class MetricsRow(DocumentPart):
    """The metrics of one model, one epoch or one threshold.

    A document has them beside its other keys. Those in the registry are read; others are of a package that is not
    installed here, and ignored.
    """

    name: Text = ""
    group_at_prediction: bool = False
    metrics: dict[str, Number] = {}
    undefined: dict[Text, Text] = {}
    intervals: dict[Text, Bounds] = {}

    @model_validator(mode="before")
    @classmethod
    def _registered(cls, document: Any) -> Any:
        if not isinstance(document, dict):
            return document
        return document | {"metrics": {name: document[name] for name in METRICS if name in document}}

    def value(self, metric: str) -> float | None:
        """The metric; None where it is undefined or unknown."""
        return self.metrics.get(metric)

    def interval(self, metric: str) -> tuple[float, float] | None:
        """Its interval; None where there is none."""
        return self.intervals.get(metric, Bounds()).interval


class EvaluationDocument(MetricsRow):
    """One split of metrics.json."""

    nodes: Count | None = None
    group_unknown: Count = 0
    groups: list[GroupRow] = []
    pairs: dict[Text, list[PairRow]] = {}


class EpochLine(DocumentPart):
    """One line of history.jsonl."""

    epoch: Count
    loss: dict[Text, Number] = {}
    val: MetricsRow = MetricsRow()


class DataRecord(DocumentPart):
    """Where the data of a run come from."""

    source: Text = ""
    sha256: Text = ""
    files: dict[Text, Text] = {}
    notes: list[Text] = []


class RunRecord(DocumentPart):
    """run.json: how the run was made."""

    kind: Literal["run"] = "run"
    version: Literal[1, 2] = 1
    method: Text = ""
    group_at_prediction: bool | None = None
    parameters: dict[Text, Any] = {}
    seed: int | None = None
    identity: Text = ""
    best_epoch: Count | None = None
    epochs: Count | None = None
    selection_left_out: list[Any] = []
    keep_probability: dict[Text, float] | None = None
    data: DataRecord = DataRecord()
    versions: dict[Text, Text] = {}
    platform: Text = ""
    machine: dict[Text, Text | None] = {}
    notes: list[Text] = []


class GraphRecord(DocumentPart):
    """Source, size and groups of a graph."""

    source: Text = ""
    sha256: Text = ""
    nodes: Count | None = None
    edges: Count | None = None
    sensitive: Text = ""
    groups: dict[Text, Count] = {}
    group_unknown: Count = 0
    sensitive_channels: list[Text] = []


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


class ModelAuditDocument(DocumentPart):
    """The part of audit.json on a model."""

    method: Text = ""
    encoder: Text | None = None
    group_at_prediction: bool | None = None
    rows: list[MetricsRow] = []
    keep: list[KeptRow] | None = None
    representations: list[ProbeRow] = []
    theorem2: Theorem2Document | None = None
    groups: list[GroupRow] = []
    scores: list[ScoresRow] = []
    calibration: list[CalibrationRow] = []
    roc: list[RocRow] = []
    thresholds: ThresholdsDocument | None = None
    notes: list[Text] = []


class AuditDocument(DocumentPart):
    """audit.json, of a graph or of a run."""

    kind: Literal["audit"]
    version: Literal[1]
    graph: GraphRecord = GraphRecord()
    homophily: Number = None
    homophily_by_group: list[HomophilyRow] = []
    operator: Text = ""
    hops: Count | None = None
    rule: Text = ""
    level: Number = None
    permutations: Count | None = None
    channels: list[ChannelRow] = []
    probe: list[ProbeRow] = []
    label_leaks: list[LabelLeakRow] = []
    label_leak_threshold: Number = None
    hidden: list[HiddenRow] = []
    undefined: dict[Text, Text] = {}
    notes: list[Text] = []
    model: ModelAuditDocument | None = None

    @property
    def sensitive(self) -> str:
        """What the sensitive attribute is called."""
        return self.graph.sensitive or "the sensitive attribute"

    @model_validator(mode="after")
    def _fit(self) -> AuditDocument:
        lengths = {len(channel.correlation) for channel in self.channels}
        if len(lengths) > 1:
            raise ValueError(
                f"channels have {sorted(lengths)} correlations; expected one per hop, equally many for all"
            )
        return self


class DifferenceRow(Bounds):
    """A difference to the plain model."""

    mean: Number = None


class ComparisonRow(DocumentPart):
    """One method of a comparison, over all its trials."""

    method: Text = ""
    encoder: Text | None = None
    label: Text = ""
    runs: Count | None = None
    group_at_prediction: bool = False
    mean: dict[Text, Number] = {}
    std: dict[Text, Number] = {}
    low: dict[Text, Number] = {}
    high: dict[Text, Number] = {}
    undefined: dict[Text, Text] = {}
    rank: dict[Text, Number] = {}
    pareto: bool = False
    difference: dict[Text, DifferenceRow | None] | None = None
    seconds: Number = None
    memory_mb: Number = None

    @property
    def title(self) -> str:
        """Its label, or method and encoder."""
        return self.label or " · ".join(part for part in (self.method, self.encoder) if part)


class ComparisonDocument(DocumentPart):
    """summary.json."""

    kind: Literal["comparison"]
    version: Literal[1]
    graph: GraphRecord = GraphRecord()
    selection: Text = ""
    splits: Count | None = None
    seeds: Count | None = None
    rows: list[ComparisonRow] = []
    notes: list[Text] = []
