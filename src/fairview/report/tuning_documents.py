"""What may stand in tune.json and certificate.json, and what does a report take from them?

They are untrusted, as all documents are (documents.py): absent keys make the report shorter, a wrong value is an error.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from fairview.metrics.registry import METRICS
from fairview.report.documents import (
    Count,
    DocumentPart,
    EvaluationDocument,
    GraphRecord,
    MetricsRow,
    ModelRow,
    Number,
    Share,
    Text,
)

Population = Literal["new", "graph"]
MOST_CANDIDATES = 5000


def gap_metric(gap: str) -> str:
    """The name of a gap among the metrics.

    Example:
        >>> gap_metric("equal_opportunity"), gap_metric("equal_opportunity_gap")
        ('equal_opportunity_gap', 'equal_opportunity_gap')
    """
    return gap if gap in METRICS else f"{gap}_gap"


class CertifiedGroup(DocumentPart):
    """A group among the nodes of the certification: how many, and how many of them got a yes."""

    group: Text
    nodes: Count
    positive: Count | None = None


class LimitRow(DocumentPart):
    """A limit that was asked for and, where it was tested, how a model stands to it."""

    gap: Text
    limit: Share
    attribute: Text | None = None  # of several, whose groups are compared
    estimate: Number = None
    upper_bound: Number = None
    p_value: Number = None
    confidence: Share | None = None
    nodes: Count | None = None
    groups: list[list[CertifiedGroup]] = []  # one list for each label among which the gap compares the groups

    @property
    def metric(self) -> str:
        """The gap's name among the metrics."""
        return gap_metric(self.gap)


class ChosenModel(DocumentPart):
    """The model that was taken."""

    method: Text = ""
    settings: dict[Text, Any] = {}
    threshold: Number = None
    group_at_prediction: bool = False
    candidate: Count | None = None
    utility: Number = None
    limits: list[LimitRow] = []


class NearestModel(DocumentPart):
    """The model that came nearest to the limits when none kept them."""

    candidate: Count | None = None
    limits: list[LimitRow] = []


class Refusal(DocumentPart):
    """What was nearest, what the nodes at hand can certify, and how many would be needed."""

    nearest: NearestModel | None = None
    certifiable: Number = None
    nodes_at_hand: Count | None = None
    nodes_needed: Count | None = None


class CandidateRow(DocumentPart):
    """One model that was tried."""

    method: Text = ""
    label: Text = ""
    settings: dict[Text, Any] = {}
    threshold: Number = None
    group_at_prediction: bool = False
    on_frontier: bool = False
    metrics: MetricsRow = MetricsRow()
    tested: bool = False
    certified: bool = False
    p_value: Number = None
    upper_bound: Number = None

    @property
    def title(self) -> str:
        """Its label, or its method."""
        return self.label or self.method


class YardstickRow(DocumentPart):
    """What the candidates are measured against: `constant`, the majority answer, or `plain`, without a limit.

    `metrics` are those of the nodes that the candidates are compared on, `test` those of the test nodes.
    """

    name: Text
    label: Text = ""
    metrics: MetricsRow = MetricsRow()
    test: ModelRow | None = None


class ChoiceRow(DocumentPart):
    """What the rule would take at another limit; no utility where it would refuse.

    A model that is taken, but is not among the candidates that are shown, has a utility alone.
    """

    limit: Share
    candidate: Count | None = None
    utility: Number = None

    @property
    def refused(self) -> bool:
        """Whether nothing would be taken."""
        return self.candidate is None and self.utility is None


class TuningDocument(DocumentPart):
    """tune.json."""

    kind: Literal["tuning"]
    version: Literal[1]
    graph: GraphRecord = GraphRecord()
    run: Text | None = None
    limits: list[LimitRow] = []
    gaps: list[Text] = []
    confidence: Share | None = None
    utility: Text = "balanced_accuracy"
    population: Population | None = None
    chosen: ChosenModel | None = None
    refused: Text | None = None
    refusal: Refusal | None = None
    metrics: dict[Text, EvaluationDocument] = {}
    frontier: Annotated[list[CandidateRow], Field(max_length=MOST_CANDIDATES)] = []
    yardsticks: Annotated[list[YardstickRow], Field(max_length=20)] = []
    choices: Annotated[list[ChoiceRow], Field(max_length=1000)] = []
    nodes: dict[Text, Count] = {}
    conditions: list[Text] = []
    notes: list[Text] = []
    seconds: dict[Text, Number] = {}
    trials: Count | None = None

    @property
    def candidate(self) -> CandidateRow | None:
        """The chosen one among the candidates."""
        place = self.chosen.candidate if self.chosen else None
        return None if place is None else self.frontier[place]

    def yardstick(self, name: str) -> YardstickRow | None:
        """By name."""
        return next((row for row in self.yardsticks if row.name == name), None)

    @model_validator(mode="after")
    def _fit(self) -> TuningDocument:
        nearest = self.refusal.nearest if self.refusal else None
        named = [self.chosen.candidate if self.chosen else None, nearest.candidate if nearest else None]
        wrong = [place for place in (*named, *(row.candidate for row in self.choices)) if not self._has(place)]
        if wrong:
            raise ValueError(f"candidate {wrong[0]} is named; expected one of the {len(self.frontier)} in frontier")
        return self

    def _has(self, place: int | None) -> bool:
        return place is None or place < len(self.frontier)


class CertificateDocument(DocumentPart):
    """certificate.json."""

    kind: Literal["certificate"]
    version: Literal[1]
    statement: Text = ""
    limits: Annotated[list[LimitRow], Field(min_length=1)]
    model_sha256: Text = ""
    graph_sha256: Text = ""
    nodes_sha256: Text = ""
    threshold: Number = None
    population: Population | None = None
    rule: Text = ""
    conditions: list[Text] = []
    order: Count | None = None
    candidates: Count | None = None
    versions: dict[Text, Text] = {}
