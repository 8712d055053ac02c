"""How does one figure of the report get into a notebook? As an altair chart, which front ends draw inline."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Protocol, cast

from fairview.errors import InputError, did_you_mean
from fairview.leakage.findings import GraphAudit
from fairview.optional import require

if TYPE_CHECKING:
    import altair as alt

    from fairview.explanation.explanation import Explanation
    from fairview.leakage.model_findings import ModelAudit
    from fairview.report.figures.figure import Figure
    from fairview.report.folder import Content
    from fairview.study.comparison import Comparison

WIDTH = 560
NEUTRAL = "#808080"


class TuningResult(Protocol):
    """What `tune` returns: an object that knows its tune.json."""

    def to_dict(self) -> dict[str, Any]: ...


def chart(
    result: GraphAudit | ModelAudit | Explanation | Comparison | TuningResult, figure: str | None = None
) -> alt.VConcatChart:
    """Draw a figure of the report from a result in memory.

    Args:
        result: what `audit`, `audit_model`, `explain`, `compare` or `tune` returned; each also has a method `chart`.
        figure: which one; by default `leak` for a graph, `tradeoff` for models, `explanation` for what explains one,
            and `frontier` for a tuning. A name that is not there is answered with those that are.

    Raises:
        InputError: the result has no such figure.
        FairviewError: altair is not installed.

    Example:
        >>> import fairview as fv
        >>> audit = fv.audit(fv.synthetic_graph(200, seed=1), permutations=19, probes=False)
        >>> fv.chart(audit, "leak").vconcat[0].title
        'Correlation with group, before and after message passing'
    """
    altair = require("altair", extra="report", purpose="Charts need altair")
    from fairview.report.figures import figures_of
    from fairview.report.figures.figure import CONFIG

    drawn = {each.key: each for each in figures_of(_content(result), parts=False) if each.panels}
    chosen = _chosen(drawn, figure, type(result).__name__)
    panels = [panel.chart.properties(title=panel.title, width=WIDTH) for panel in chosen.panels]
    apart = dict.fromkeys(("color", "fill", "shape", "size", "strokeDash"), "independent")
    joined = altair.vconcat(*panels).resolve_scale(**apart)
    return cast("alt.VConcatChart", joined.configure(**_config(CONFIG)))


def _config(config: dict[str, Any]) -> dict[str, Any]:
    """The report's look without a background, in a grey that can be read on white and on black."""
    axis = {"labelColor": NEUTRAL, "titleColor": NEUTRAL, "gridColor": f"{NEUTRAL}40"}
    changes = {"title": {"color": NEUTRAL}, "legend": {"labelColor": NEUTRAL}, "axis": axis}
    return config | {"background": "transparent"} | {part: config[part] | more for part, more in changes.items()}


def _chosen(drawn: dict[str, Figure], figure: str | None, kind: str) -> Figure:
    if not drawn:
        raise InputError(f"chart: this {kind} has nothing to draw; its numbers are undefined.")
    name = figure if figure is not None else "tradeoff" if "tradeoff" in drawn else next(iter(drawn))
    if name not in drawn:
        raise InputError(f"chart: this {kind} has no figure '{name}'.{did_you_mean(name, list(drawn))}")
    return drawn[name]


def _content(result: object) -> Content:
    """What the report would read from the result's files; torch is imported only for models and tunings."""
    from fairview.report.audit_documents import AuditDocument
    from fairview.report.documents import ComparisonDocument
    from fairview.report.folder import Content
    from fairview.report.tuning_documents import TuningDocument

    if isinstance(result, GraphAudit):
        return Content("", audit=AuditDocument.model_validate_json(json.dumps(result.to_dict())))
    from fairview.explanation.explanation import Explanation
    from fairview.leakage.model_findings import ModelAudit
    from fairview.report.explanation_documents import ExplanationDocument
    from fairview.study.comparison import Comparison

    if isinstance(result, Explanation):
        return Content("", explanation=ExplanationDocument.model_validate_json(json.dumps(result.to_dict())))
    if isinstance(result, ModelAudit):
        audit = {"kind": "audit", "version": 1, "model": result.to_dict()}
        return Content("", audit=AuditDocument.model_validate_json(json.dumps(audit)))
    if isinstance(result, Comparison):
        return Content("", comparison=ComparisonDocument.model_validate_json(json.dumps(result.to_dict())))
    document = result.to_dict() if callable(getattr(result, "to_dict", None)) else None  # type: ignore[attr-defined]
    if isinstance(document, dict) and document.get("kind") == "tuning":
        return Content("", tuning=TuningDocument.model_validate_json(json.dumps(document)))
    kind = type(result).__name__
    raise InputError(
        f"chart: {kind} has no chart; expected a GraphAudit, a ModelAudit, an Explanation, a Comparison or a Tuning."
    )
