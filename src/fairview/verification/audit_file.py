"""Is audit.json about this graph and this model? Sizes, groups and metrics are compared; probes are not repeated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fairview.data.graph import NodeGraph
from fairview.data.summary import describe_graph
from fairview.leakage.json_keys import OF_THE_GRAPH
from fairview.metrics.registry import METRICS
from fairview.report.audit_documents import AuditDocument
from fairview.report.documents import EvaluationDocument, GraphRecord, visible
from fairview.undefined import plain
from fairview.verification import graph_record
from fairview.verification.predictions import CLOSE

NOT_REPEATED = "audit.json: its correlations, probes and curves were not made again."


def against_metrics(audit: AuditDocument, metrics: Mapping[str, EvaluationDocument]) -> Iterator[str]:
    """The audit's first row is the model of the run, on the test nodes."""
    rows = audit.model.rows if audit.model else []
    if not rows or "test" not in metrics:
        return
    told, known = rows[0], metrics["test"]
    for name in [name for name in METRICS if name in told.metrics and name in known.metrics]:
        if not _close(told.metrics[name], known.metrics[name]):
            yield f"audit.json: the model's {name} is not that of metrics.json."
    if told.attributes.keys() != known.attributes.keys():
        yield "audit.json: its model is compared by other sensitive attributes than in metrics.json."
        return
    for attribute, part in told.attributes.items():
        again = known.attributes[attribute].metrics
        for name in [name for name in METRICS if name in part.metrics and name in again]:
            if not _close(part.metrics[name], again[name]):
                yield f"audit.json: the model's {name} by {attribute} is not that of metrics.json."


def against_graph(audit: AuditDocument, graph: NodeGraph) -> Iterator[str]:
    """What the audit says of its graph."""
    problems = list(graph_record.against_graph(audit.graph, graph, "audit.json", "the audit"))
    yield from problems
    if problems:
        return
    if not _close(audit.homophily, plain(graph.homophily())):
        yield "audit.json: 'homophily' is not that of the graph."
    names = [each.name for each in graph.attributes] if graph.several else []
    if list(audit.attributes) != list(map(visible, names)):
        yield "audit.json: 'attributes' are not those of the graph."
        return
    for name, part in zip(names, audit.attributes.values(), strict=True):
        view = graph.attribute(name)
        again = GraphRecord.model_validate(describe_graph(view))
        wrong = [key for key in OF_THE_GRAPH if getattr(part, key) != getattr(again, key)]
        wrong += [] if _close(part.homophily, plain(view.homophily())) else ["homophily"]
        yield from (f"audit.json: '{key}' by {name} is not that of the graph." for key in wrong)


def _close(told: float | None, again: float | None) -> bool:
    return told is again if told is None or again is None else abs(told - again) <= CLOSE
