"""Is it fair, and how sure can one be? The answer in plain words, by rules that the page states."""

from __future__ import annotations

from fairview.explanation.sentences import summary
from fairview.report.folder import Content
from fairview.report.verdict.certificate import frame_of
from fairview.report.verdict.comparison_verdict import comparison_verdict
from fairview.report.verdict.graph_verdict import graph_verdict
from fairview.report.verdict.measured import measure
from fairview.report.verdict.model_verdict import model_verdict
from fairview.report.verdict.parts import Fact, Frame, ReportVerdict
from fairview.report.verdict.tuning_verdict import tuning_verdict

__all__ = ["Fact", "Frame", "ReportVerdict", "frame_of", "verdict_of"]


def verdict_of(content: Content) -> ReportVerdict:
    """On the tuning if there is one, else on the model, else on the comparison, else on the graph."""
    if content.tuning is not None:
        return tuning_verdict(content, content.tuning)
    measured = measure(content)
    if measured is not None:
        return model_verdict(content, measured)
    if content.comparison is not None:
        return comparison_verdict(content.comparison)
    if content.audit is not None:
        return graph_verdict(content.audit)
    if content.explanation is not None:
        told = summary(content.explanation.model_dump())
        return ReportVerdict("unsure", "An explanation alone says nothing of fairness.", tuple(told))
    return ReportVerdict(
        "unsure", "This run has no test numbers.", ("Nothing was measured on nodes whose labels it had not seen.",)
    )
