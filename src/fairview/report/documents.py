"""What may stand in the JSON files of a run, an audit or a comparison, and what does a report take from them?

The files are untrusted. Absent keys make the report shorter; a wrong value is an error; unknown keys are ignored.
Every text is made printable here, once, so that no name from the data can do anything later.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

METRICS = (
    "auc",
    "f1",
    "accuracy",
    "balanced_accuracy",
    "false_positive_rate",
    "statistical_parity_gap",
    "equal_opportunity_gap",
    "equalized_odds_gap",
)  # as in fairview.metrics, which these documents outlive
LONGEST_TEXT = 500
_INVISIBLE = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ud800-\udfff\ufeff\ufffe\uffff]"
)


def shown(text: str) -> str:
    r"""A text as it may be shown: invisible and direction-changing characters as codes, and not endless.

    Example:
        >>> shown("age\x00 \u202eyears")
        'age\\u0000 \\u202eyears'
    """
    if len(text) > LONGEST_TEXT:
        text = text[: LONGEST_TEXT - 1] + "…"
    return _INVISIBLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _rate(value: Any) -> Any:
    return {"value": value} if isinstance(value, (int, float)) and not isinstance(value, bool) else value


Text = Annotated[str, AfterValidator(shown)]
Number = float | None
Count = Annotated[int, Field(ge=0, le=10**15)]


class Document(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, strict=True, allow_inf_nan=False, hide_input_in_errors=True)


class Interval(Document):
    low: Number = None
    high: Number = None


class Rate(Interval):
    value: Number = None


GroupRate = Annotated[Rate | None, BeforeValidator(_rate)]


class Group(Document):
    """One group's counts and rates on the evaluated nodes."""

    group: Text
    nodes: Count
    positives: Count | None = None
    true_positives: Count | None = None
    false_positives: Count | None = None
    selection_rate: GroupRate = None
    true_positive_rate: GroupRate = None
    false_positive_rate: GroupRate = None
    small: bool | None = None


class Pair(Document):
    groups: list[Text] = []
    gap: Number = None


class Row(Document):
    """The metrics of one model, or of one epoch."""

    name: Text = ""
    auc: Number = None
    f1: Number = None
    accuracy: Number = None
    balanced_accuracy: Number = None
    false_positive_rate: Number = None
    statistical_parity_gap: Number = None
    equal_opportunity_gap: Number = None
    equalized_odds_gap: Number = None
    undefined: dict[Text, Text] = {}
    intervals: dict[Text, Interval] = {}

    def value(self, metric: str) -> float | None:
        found = getattr(self, metric)
        return None if found is None else float(found)

    def interval(self, metric: str) -> tuple[float, float] | None:
        found = self.intervals.get(metric)
        return None if found is None or found.low is None or found.high is None else (found.low, found.high)


class Evaluation(Row):
    """One split of metrics.json."""

    nodes: Count | None = None
    group_unknown: Count = 0
    groups: list[Group] = []
    pairs: dict[Text, list[Pair]] = {}


class Epoch(Document):
    """One line of history.jsonl."""

    epoch: Count
    loss: dict[Text, Number] = {}
    val: Row = Row()


class Data(Document):
    source: Text = ""
    sha256: Text = ""
    files: dict[Text, Text] = {}
    notes: list[Text] = []


class RunRecord(Document):
    """run.json: how the run was made."""

    method: Text = ""
    parameters: dict[Text, Any] = {}
    seed: int | None = None
    identity: Text = ""
    best_epoch: Count | None = None
    epochs: Count | None = None
    selection_left_out: list[Any] = []
    keep_probability: dict[Text, float] | None = None
    threads: Count | None = None
    data: Data = Data()
    versions: dict[Text, Text] = {}
    platform: Text = ""


class GraphFacts(Document):
    source: Text = ""
    sha256: Text = ""
    nodes: Count | None = None
    edges: Count | None = None
    sensitive: Text = ""
    groups: dict[Text, Count] = {}
    group_unknown: Count = 0
    sensitive_channels: list[Text] = []


class GroupHomophily(Document):
    group: Text
    nodes: Count | None = None
    homophily: Number = None
    mean_degree: Number = None


class Channel(Document):
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


class Probe(Interval):
    """How well the sensitive attribute can be read from something."""

    on: Text = ""
    model: Text = ""
    probe: Text = "linear"
    auc: Number = None


class LabelLeak(Document):
    name: Text
    auc: Number = None


class Kept(Document):
    name: Text
    keep_probability: float
    correlation_before: Number = None
    correlation_after: Number = None


class Theorem2(Document):
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


class Scores(Document):
    group: Text
    edges: Annotated[list[float], Field(max_length=1001)]
    counts: list[Count]

    @model_validator(mode="after")
    def _fit(self) -> Scores:
        if len(self.edges) != len(self.counts) + 1:
            raise ValueError(f"{len(self.edges)} edges for {len(self.counts)} counts; expected one edge more")
        return self


class Bin(Interval):
    predicted: float
    observed: float
    nodes: Count | None = None


class Calibration(Document):
    group: Text
    bins: list[Bin] = []


class Roc(Interval):
    group: Text
    auc: Number = None
    points: Annotated[list[Annotated[list[float], Field(min_length=2, max_length=2)]], Field(max_length=2000)] = []


class ThresholdPoint(Document):
    threshold: float
    accuracy: Number = None
    statistical_parity_gap: Number = None
    equal_opportunity_gap: Number = None
    low: dict[Text, Number] = {}
    high: dict[Text, Number] = {}


class Thresholds(Document):
    chosen: Number = None
    points: Annotated[list[ThresholdPoint], Field(max_length=2000)] = []


class ModelAudit(Document):
    method: Text = ""
    encoder: Text | None = None
    split: Text = "test"
    threshold: Number = 0.5
    rows: list[Row] = []
    keep: list[Kept] | None = None
    representations: list[Probe] = []
    theorem2: Theorem2 | None = None
    groups: list[Group] = []
    scores: list[Scores] = []
    calibration: list[Calibration] = []
    roc: list[Roc] = []
    thresholds: Thresholds | None = None
    notes: list[Text] = []


class Audit(Document):
    """audit.json, of a graph or of a run."""

    kind: Literal["audit"]
    version: Literal[1]
    graph: GraphFacts = GraphFacts()
    homophily: Number = None
    homophily_by_group: list[GroupHomophily] = []
    operator: Text = ""
    hops: Count | None = None
    rule: Text = ""
    level: Number = None
    permutations: Count | None = None
    channels: list[Channel] = []
    probe: list[Probe] = []
    label_leaks: list[LabelLeak] = []
    label_leak_threshold: Number = None
    undefined: dict[Text, Text] = {}
    notes: list[Text] = []
    model: ModelAudit | None = None

    @model_validator(mode="after")
    def _fit(self) -> Audit:
        lengths = {len(channel.correlation) for channel in self.channels}
        if len(lengths) > 1:
            raise ValueError(
                f"channels have {sorted(lengths)} correlations; expected one per hop, equally many for all"
            )
        return self


class Difference(Interval):
    mean: Number = None


class Compared(Document):
    """One method of a comparison, over all its trials."""

    method: Text = ""
    encoder: Text | None = None
    label: Text = ""
    runs: Count | None = None
    mean: dict[Text, Number] = {}
    std: dict[Text, Number] = {}
    low: dict[Text, Number] = {}
    high: dict[Text, Number] = {}
    undefined: dict[Text, Text] = {}
    rank: dict[Text, Number] = {}
    pareto: bool = False
    difference: dict[Text, Difference | None] | None = None
    seconds: Number = None
    memory_mb: Number = None

    @property
    def title(self) -> str:
        return self.label or " · ".join(part for part in (self.method, self.encoder) if part)


class Comparison(Document):
    """summary.json."""

    kind: Literal["comparison"]
    version: Literal[1]
    graph: GraphFacts = GraphFacts()
    selection: Text = ""
    splits: Count | None = None
    seeds: Count | None = None
    metrics: list[Text] = []
    rows: list[Compared] = []
    notes: list[Text] = []
