"""What may stand in the JSON files of a run, an audit or a comparison, and what does a report take from them?

The files are untrusted. Absent keys make the report shorter; a wrong value is an error; unknown keys are ignored.
Every text is made printable here, once, so that no name from the data can do anything later. A class is named after
the document, or the part of one, that it reads.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from fairview.metrics.registry import METRICS, gap_names

LONGEST_TEXT = 500
MOST_ATTRIBUTES = 100
_ROUNDING = 1e-9
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
Share = Annotated[float, Field(ge=0, le=1)]
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

    value: Share | None = None
    low: Share | None = None
    high: Share | None = None


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


def check_ranges(values: Mapping[str, Any]) -> None:
    """Metrics by name, each within its range; what is no number is told elsewhere."""
    for name, value in values.items():
        if name in METRICS and isinstance(value, int | float):
            least, most = METRICS[name].range
            if not least <= value <= most:
                raise ValueError(f"{name}: expected a number from {least:g} to {most:g}")


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
    without_interval: dict[Text, Text] = {}  # and why

    @model_validator(mode="before")
    @classmethod
    def _registered(cls, document: Any) -> Any:
        if not isinstance(document, dict):
            return document
        known = {name: document[name] for name in METRICS if name in document}
        check_ranges(known)
        intervals = document.get("intervals")
        reasons = intervals.get("undefined", {}) if isinstance(intervals, dict) else {}
        return document | {"metrics": known, "without_interval": reasons}

    def value(self, metric: str) -> float | None:
        """The metric; None where it is undefined or unknown."""
        return self.metrics.get(metric)

    def interval(self, metric: str) -> tuple[float, float] | None:
        """Its interval; None where there is none."""
        return self.intervals.get(metric, Bounds()).interval


class GroupsRow(MetricsRow):
    """The gaps between the groups of one sensitive attribute, or between combinations of several's."""

    group_unknown: Count = 0
    groups: list[GroupRow] = []
    pairs: dict[Text, list[PairRow]] = {}
    left_out: dict[Text, list[Text]] = {}  # by gap, the combinations that are too small for it

    @model_validator(mode="after")
    def _in_range(self) -> GroupsRow:
        for end in ("low", "high"):
            check_ranges({name: getattr(bounds, end) for name, bounds in self.intervals.items()})
        return self


class ModelRow(MetricsRow):
    """The metrics of a model; of several sensitive attributes the largest gap, and those of each."""

    attributes: Annotated[dict[Text, GroupsRow], Field(max_length=MOST_ATTRIBUTES)] = {}

    @model_validator(mode="after")
    def _largest(self) -> ModelRow:
        for gap in gap_names() if self.attributes else ():
            gaps = [value for row in self.attributes.values() if (value := row.value(gap)) is not None]
            value = self.value(gap)
            if value is not None and (not gaps or abs(max(gaps) - value) > _ROUNDING):
                raise ValueError(f"{gap}: expected the largest gap among its attributes")
        return self


class EvaluationDocument(ModelRow, GroupsRow):
    """One split of metrics.json."""

    nodes: Count | None = None


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


class KindRecord(DocumentPart):
    """How much a kind of links counts, and how often it is kept."""

    weight: float
    keep_probability: float


class RunRecord(DocumentPart):
    """run.json: how the run was made."""

    kind: Literal["run"] = "run"
    version: Literal[1, 2] = 1
    method: Text
    group_at_prediction: bool | None = None
    parameters: dict[Text, Any] = {}
    seed: int | None = None
    identity: Text = ""
    best_epoch: Count | None = None
    epochs: Count | None = None
    selection_left_out: list[Any] = []
    keep_probability: dict[Text, float] | None = None
    link_kinds: dict[Text, KindRecord] = {}
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
    attributes: Annotated[dict[Text, dict[Text, Count]], Field(max_length=MOST_ATTRIBUTES)] = {}  # groups of each


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

    @model_validator(mode="after")
    def _in_range(self) -> ComparisonRow:
        check_ranges(self.mean)  # the ends of its interval may lie beyond
        return self

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
