"""Is audit.json about this graph and this model? Sizes, groups and metrics are compared; probes are not repeated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fairview.data.graph import NodeGraph
from fairview.metrics.registry import METRICS
from fairview.report.audit_documents import AuditDocument
from fairview.report.documents import EvaluationDocument
from fairview.undefined import plain
from fairview.verification import graph_record
from fairview.verification.predictions import CLOSE

NOT_REPEATED = "audit.json: its correlations, probes and curves were not made again."


def against_metrics(audit: AuditDocument, metrics: Mapping[str, EvaluationDocument]) -> Iterator[str]:
    """The audit's first row is the model of the run, on the test nodes."""
    rows = audit.model.rows if audit.model else []
    if not rows or "test" not in metrics:
        return
    told, known = rows[0].metrics, metrics["test"].metrics
    for name in [name for name in METRICS if name in told and name in known]:
        if not _close(told[name], known[name]):
            yield f"audit.json: the model's {name} is not that of metrics.json."


def against_graph(audit: AuditDocument, graph: NodeGraph) -> Iterator[str]:
    """What the audit says of its graph."""
    problems = list(graph_record.against_graph(audit.graph, graph, "audit.json", "the audit"))
    yield from problems
    if not problems and not _close(audit.homophily, plain(graph.homophily())):
        yield "audit.json: 'homophily' is not that of the graph."


def _close(told: float | None, again: float | None) -> bool:
    return told is again if told is None or again is None else abs(told - again) <= CLOSE
