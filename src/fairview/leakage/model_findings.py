"""What does the audit of a model hold? Plain, frozen records, for reading and for JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fairview.leakage.json_record import json_record
from fairview.leakage.outcomes import GroupOutcomes
from fairview.leakage.score_curves import Calibration, Roc, ScoreHistogram
from fairview.leakage.theorem2 import Theorem2
from fairview.leakage.threshold_curve import ThresholdCurve
from fairview.metrics.evaluation import Evaluation
from fairview.metrics.intervals import Interval
from fairview.metrics.registry import METRICS
from fairview.undefined import Metric, Undefined, plain

if TYPE_CHECKING:
    import altair as alt
    import polars as pl


@dataclass(frozen=True)
class Kept:
    """How likely a channel is kept, and its |correlation| with the sensitive attribute before and after one hop."""

    name: str
    keep_probability: float
    correlation_before: float | None
    correlation_after: float | None


@dataclass(frozen=True)
class Readable:
    """How well a probe reads the sensitive attribute off a model's representations: 0.5 is not at all."""

    model: str
    probe: str
    auc: Metric
    low: float | None = None
    high: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """For JSON, with the reason if the AUC is undefined."""
        reason = {"undefined": {"auc": self.auc.reason}} if isinstance(self.auc, Undefined) else {}
        return json_record(self) | reason


@dataclass(frozen=True, kw_only=True, eq=False)
class _ByGroup:
    """What an audit says by the groups of one attribute."""

    keep: tuple[Kept, ...] | None
    representations: tuple[Readable, ...]
    theorem2: Theorem2
    groups: tuple[GroupOutcomes, ...]
    scores: tuple[ScoreHistogram, ...]
    calibration: tuple[Calibration, ...]
    roc: tuple[Roc, ...]
    thresholds: ThresholdCurve


@dataclass(frozen=True, kw_only=True)
class GroupAudit(_ByGroup):
    """What the audit of a model says by the groups of one sensitive attribute; see `ModelAudit`."""

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return json_record(self)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ModelAudit(_ByGroup):
    """What `audit_model` found; `to_dict` is for JSON.

    Attributes:
        method: name of the model's method.
        encoder: its encoder, if it has one.
        split: whose labelled nodes were evaluated.
        threshold: above it, a node is predicted positive.
        rows: metrics with intervals by name, the model first, then what it is compared with.
        group_at_prediction: names of the rows whose models need each node's group to predict it.
        keep: by channel; None for a method that learns no masks.
        representations: what probes read off them, for the model and the plain one.
        theorem2: the paper's bound for this model.
        groups: counts and rates by group.
        scores: how the scores are spread, by group.
        calibration: score against observed share, by group.
        roc: ranking, by group.
        thresholds: what another threshold would do.
        notes: what was left out, in words.
        attributes: with several sensitive attributes, what is said by the groups of each; `keep` and what follows it
            are then about the combinations of their groups.
    """

    method: str
    encoder: str | None
    split: str
    threshold: float = 0.5
    rows: Mapping[str, Evaluation]
    group_at_prediction: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    attributes: Mapping[str, GroupAudit] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """For JSON: what is undefined is None, with the reason beside it."""
        rows = [_row(name, each, name in self.group_at_prediction) for name, each in self.rows.items()]
        found = json_record(self) | {"rows": rows, "group_at_prediction": rows[0]["group_at_prediction"]}
        del found["attributes"]
        first = ("method", "encoder", "split", "threshold", "rows", "group_at_prediction")
        record = {name: found.pop(name) for name in first} | found
        if self.attributes:
            record["attributes"] = {name: part.to_dict() for name, part in self.attributes.items()}
        return record

    def __repr__(self) -> str:
        first = next(iter(self.rows.values()))
        title = f"ModelAudit of {self.method}{f' ({self.encoder})' if self.encoder else ''}"
        metrics = ("auc", "accuracy", "statistical_parity_gap", "equal_opportunity_gap")
        lines = [f"{title} on '{self.split}', {first.nodes:,} nodes"]
        for name, evaluation in self.rows.items():
            lines.append(f"  {name}: " + ", ".join(f"{metric} {_short(evaluation[metric])}" for metric in metrics))
        for name, part in first.attributes.items():
            lines.append(f"  by {name}: " + ", ".join(f"{metric} {_short(part[metric])}" for metric in metrics[2:]))
        for group in self.groups:
            small = ", small" if group.small else ""
            lines.append(f"  group '{group.group}': {group.nodes:,} nodes, selected {group.selection_rate}{small}")
        return "\n".join(lines)

    def to_frame(self) -> pl.DataFrame:
        """A polars frame with a row per model and metric, the audited model first.

        Columns: `model`, `metric`, `value`, `low` and `high` of its interval, and `undefined`, why there is no value.

        Example:
            >>> import fairview as fv
            >>> graph = fv.load_dataset("german")
            >>> fv.audit_model(fv.Constant().fit(graph), graph).to_frame().row(2)[:3]
            ('constant', 'accuracy', 0.7)
        """
        from fairview.metrics.evaluation_display import evaluations_frame

        return evaluations_frame(self.rows)

    def chart(self, figure: str | None = None) -> alt.VConcatChart:
        """A figure of the report: `tradeoff` (default), `groups`, `mask`, `probes` or `thresholds`; needs altair."""
        from fairview.report.chart import chart

        return chart(self, figure)

    def _repr_html_(self) -> str:
        from fairview.leakage.audit_display import model_audit_html

        return model_audit_html(self)


def _row(name: str, evaluation: Evaluation, group_at_prediction: bool) -> dict[str, Any]:
    metrics = {metric: plain(evaluation[metric]) for metric in METRICS}
    known = {metric: each for metric, each in evaluation.intervals.items() if isinstance(each, Interval)}
    intervals = {metric: {"low": interval.low, "high": interval.high} for metric, interval in known.items()}
    row = (
        {"name": name, "group_at_prediction": group_at_prediction}
        | metrics
        | {"undefined": evaluation.undefined, "intervals": intervals}
    )
    if not evaluation.attributes:
        return row
    parts = {attribute: part.gaps_to_dict() for attribute, part in evaluation.attributes.items()}
    few = ("groups", "pairs")  # the groups of the audited model stand below, and may be many
    return row | {"attributes": {n: {k: v for k, v in part.items() if k not in few} for n, part in parts.items()}}


def _short(value: Metric) -> str:
    return "undefined" if isinstance(value, Undefined) else f"{value:.3f}"
