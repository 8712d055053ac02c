"""What does a fitted model do to each group, what does its inside still know of them, and what is it compared with?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from torch import nn

from fairview.arguments import require_seed
from fairview.data.graph import NodeGraph
from fairview.data.graph_argument import require_graph
from fairview.data.stored_links import StoredLinks
from fairview.errors import InputError, quoted
from fairview.isolation import isolated
from fairview.leakage.cross_validation import Features
from fairview.leakage.json_record import json_record
from fairview.leakage.outcomes import GroupOutcomes, group_outcomes
from fairview.leakage.probe import PROBES, probe_auc, small_note, without_small
from fairview.leakage.score_curves import Calibration, Roc, ScoreHistogram, calibration, roc, score_histogram
from fairview.leakage.theorem2 import Theorem2, theorem2
from fairview.leakage.threshold_curve import ThresholdCurve, threshold_curve
from fairview.methods.constant import Constant
from fairview.methods.contract import Method, require_model
from fairview.methods.evaluate import evaluate
from fairview.methods.fitted import Fitted
from fairview.methods.registry import name_of, needs_group
from fairview.metrics.evaluation import Evaluation
from fairview.metrics.intervals import Interval
from fairview.metrics.registry import METRICS
from fairview.nn.encoders import Encoder
from fairview.propagation.correlation import sensitive_correlation
from fairview.propagation.operators import Operator
from fairview.undefined import Metric, Undefined
from fairview.undefined import plain as number_or_none

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


@dataclass(frozen=True, kw_only=True)
class GroupAudit:
    """What the audit of a model says by the groups of one sensitive attribute; see `ModelAudit`."""

    keep: tuple[Kept, ...] | None
    representations: tuple[Readable, ...]
    theorem2: Theorem2
    groups: tuple[GroupOutcomes, ...]
    scores: tuple[ScoreHistogram, ...]
    calibration: tuple[Calibration, ...]
    roc: tuple[Roc, ...]
    thresholds: ThresholdCurve

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return json_record(self)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ModelAudit:
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
    keep: tuple[Kept, ...] | None
    representations: tuple[Readable, ...]
    theorem2: Theorem2
    groups: tuple[GroupOutcomes, ...]
    scores: tuple[ScoreHistogram, ...]
    calibration: tuple[Calibration, ...]
    roc: tuple[Roc, ...]
    thresholds: ThresholdCurve
    notes: tuple[str, ...] = ()
    attributes: Mapping[str, GroupAudit] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """For JSON: what is undefined is None, with the reason beside it."""
        rows = [_row(name, each, name in self.group_at_prediction) for name, each in self.rows.items()]
        record = json_record(self) | {"rows": rows, "group_at_prediction": rows[0]["group_at_prediction"]}
        del record["attributes"]
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
            >>> audit_model(fv.Constant().fit(graph), graph).to_frame().row(2)[:3]
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


@isolated()
def audit_model(
    model: Method,
    graph: NodeGraph,
    *,
    split: str = "test",
    plain: Method | None = None,
    others: Mapping[str, Method] | None = None,
    probes: bool = True,
    seed: int = 0,
) -> ModelAudit:
    """Everything that can be said about a fitted model on the labelled nodes of a split.

    Args:
        model: any fitted method; the more it tells of itself, the more is audited.
        graph: with the split.
        split: `train`, `val`, `test`, or `all`.
        plain: a fitted model without mitigation, to compare rows and representations with.
        others: more fitted models for the rows, by name.
        probes: False leaves the probes out, which take the longest.
        seed: of resamples and probes. The rows' own intervals are those of `evaluate`.

    Example:
        >>> import fairview as fv
        >>> graph = fv.load_dataset("german")
        >>> audit_model(fv.Constant().fit(graph), graph).groups[0].selection_rate
        1.000 [0.976, 1.000]
    """
    require_graph(graph, "audit_model")
    require_model(model, "audit_model")
    require_seed(seed)
    method = method_name(model)
    compared = _compared(model, graph, plain, others or {})
    rows = {name: evaluate(one, graph, split=split, intervals=True) for name, one in compared}
    evaluation = rows[method]
    chosen = graph.split(split) & graph.labelled
    scores, threshold = _probabilities(model, graph)[chosen], getattr(model, "threshold_", 0.5)
    inside, inside_notes = _inside(model, plain, graph) if probes else ({}, [])
    links = graph.adjacency
    part = []
    if isinstance(links, StoredLinks) and links.sampled:
        part = [f"The model was audited on {graph.num_nodes:,} of the folder's {links.nodes:,} nodes."]
    nobody = evaluation.group_unknown
    unknown = [f"Without a known group, and in no group's numbers: {nobody:,}."] if nobody else []
    by_name: dict[str, GroupAudit] = {}
    notes: list[str] = []
    for name, found in (evaluation.attributes or {graph.sensitive_name: evaluation}).items():
        view = graph.attribute(name)
        keep, keep_notes = _keep(model, view)
        readable, left_out = _readable(inside, view, seed)
        by_name[name] = GroupAudit(
            keep=keep,
            representations=readable,
            theorem2=theorem2(model, view),
            **_outcomes(view, found, chosen, scores, threshold, seed),
        )
        notes = [*keep_notes, *left_out]  # in the end those of all attributes together
    together = by_name.pop(graph.sensitive_name)
    return ModelAudit(
        method=method,
        encoder=encoder_name(model),
        split=split,
        threshold=threshold,
        rows=rows,
        group_at_prediction=tuple(name for name, one in compared if needs_group(one)),
        **vars(together),
        notes=(*part, *unknown, *notes, *inside_notes),
        attributes=by_name,
    )


def _outcomes(
    graph: NodeGraph,
    evaluation: Evaluation,
    chosen: npt.NDArray[np.bool_],
    scores: npt.NDArray[np.float64],
    threshold: float,
    seed: int,
) -> dict[str, Any]:
    """Counts and curves of each group among the chosen nodes."""
    labels, codes = graph.labels[chosen], graph.sensitive[chosen]
    members = [(group, codes == code) for code, group in enumerate(graph.groups)]
    return {
        "groups": group_outcomes(evaluation),
        "scores": tuple(score_histogram(group, scores[those]) for group, those in members),
        "calibration": tuple(calibration(group, labels[those], scores[those]) for group, those in members),
        "roc": tuple(roc(group, labels[those], scores[those], seed=seed) for group, those in members),
        "thresholds": threshold_curve(
            labels,
            scores,
            codes=codes,
            groups=graph.groups,
            chosen=threshold,
            left_out=evaluation.left_out,
            seed=seed,
        ),
    }


# --- who is compared --------------------------------------------------------------------------------------------------


def _compared(
    model: Method, graph: NodeGraph, plain: Method | None, others: Mapping[str, Method]
) -> list[tuple[str, Method]]:
    """The model, the plain one, the majority answer, then the others; each under a name of its own."""
    models: list[tuple[str, Method]] = [(method_name(model), model)]
    if plain is not None:
        models.append(("plain", plain))
    if not isinstance(model, Constant):
        known = any((graph.splits[name] & graph.labelled).any() for name in ("train", "val") if name in graph.splits)
        models.append(("constant", Constant(answer="majority" if known else "positive").fit(graph)))
    models += others.items()
    names = [name for name, _ in models]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(f"others: the name {quoted(twice)} is taken by the audit itself; choose another.")
    return models


def method_name(model: Method) -> str:
    """Its name in the registry, or its class for a method of the user's own."""
    return name_of(model).rpartition(":")[2]


def encoder_name(model: Method) -> str | None:
    """Of a model that has one: its kind, or the class of the user's own."""
    encoder = getattr(model, "encoder", None)
    return type(encoder).__name__ if isinstance(encoder, nn.Module) else encoder


def _probabilities(model: Method, graph: NodeGraph) -> npt.NDArray[np.float64]:
    scores = np.asarray(model.predict_proba(graph), dtype=np.float64)[:, 1]
    if len(scores) and not (scores.min() >= 0 and scores.max() <= 1):
        span = f"from {scores.min():g} to {scores.max():g}"
        raise InputError(f"predict_proba: values {span}; an audit needs probabilities between 0 and 1.")
    return scores


# --- what the model says of itself ------------------------------------------------------------------------------------


def _keep(model: Method, graph: NodeGraph) -> tuple[tuple[Kept, ...] | None, list[str]]:
    """Each channel's probability of being kept beside its correlation; None if no masks were learnt.

    Of `sign`, each channel at each hop, whose correlation 'after' is that at the hop.
    """
    fitted = getattr(model, "fitted_", None)
    if not isinstance(fitted, Fitted) or fitted.mask is None:
        return None, []
    probabilities: dict[str, float] = model.keep_probability_  # type: ignore[attr-defined]
    operator = fitted.encoder.spec.propagation if isinstance(fitted.encoder, Encoder) else None
    weighs_kinds = isinstance(fitted.encoder, Encoder) and fitted.encoder.spec.kinds is not None
    blocks = 1 if weighs_kinds else fitted.encoder.blocks
    try:
        by_hop = np.abs(sensitive_correlation(graph, operator or Operator(), max(1, blocks - 1))).tolist()
    except InputError as error:  # fewer than two groups
        return tuple(Kept(name, keep, None, None) for name, keep in probabilities.items()), [str(error)]
    places = [graph.channel_index(name) for name in model.facts_.channels]  # type: ignore[attr-defined]
    hops = range(blocks) if blocks > 1 else (1,)
    rows = [
        Kept(name, keep, by_hop[0][place], by_hop[hop][place])
        for (name, keep), (hop, place) in zip(probabilities.items(), product(hops, places), strict=True)
    ]
    note = [] if operator else ["The encoder has no operator of its own: 'after' is one hop of the gcn operator."]
    return tuple(rows), note


def _inside(model: Method, plain: Method | None, graph: NodeGraph) -> tuple[dict[str, Features], list[str]]:
    """The representations of the model and of the plain one, by name."""
    found, notes = {}, []
    for name, one in ((method_name(model), model), ("plain", plain)):
        if one is not None and hasattr(one, "representations"):
            found[name] = one.representations(graph)
        elif one is not None:
            notes.append(f"'{name}' has no representations to probe.")
    return found, notes


def _readable(inside: Mapping[str, Features], graph: NodeGraph, seed: int) -> tuple[tuple[Readable, ...], list[str]]:
    """Probes on representations, over all nodes whose group is known."""
    codes, left_out = without_small(graph.sensitive, graph.groups) if graph.several else (graph.sensitive, ())
    readable = []
    for name, features in inside.items():
        for kind in PROBES:
            probe = probe_auc(features, codes, kind=kind, seed=seed)
            known = (probe,) if isinstance(probe, Undefined) else (probe.auc, probe.low, probe.high)
            readable.append(Readable(name, kind, *known))
    return tuple(readable), [f"{small_note(left_out)}."] if left_out and readable else []


# --- writing it down --------------------------------------------------------------------------------------------------


def _row(name: str, evaluation: Evaluation, group_at_prediction: bool) -> dict[str, Any]:
    metrics = {metric: number_or_none(evaluation[metric]) for metric in METRICS}
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
